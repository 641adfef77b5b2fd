"""What goes out to the forges of projects, in SQL."""
