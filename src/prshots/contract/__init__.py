"""What the client and the server agree on. Pure Python: it needs nothing installed."""
