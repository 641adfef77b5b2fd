"""What `prshots move` reads and writes in a database."""
