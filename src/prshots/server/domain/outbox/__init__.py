"""What goes out to a project's forge, and the connection that it goes through."""
