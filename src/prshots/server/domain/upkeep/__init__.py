"""Upkeep of the database and the store: sweep, reconciliation, safeguards."""
