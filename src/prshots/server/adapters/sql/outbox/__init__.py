"""Connections to forges, and what waits to be sent through them."""
