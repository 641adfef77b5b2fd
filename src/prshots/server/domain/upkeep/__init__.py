"""What keeps database and store in order: sweep, reconciliation, safeguards."""
