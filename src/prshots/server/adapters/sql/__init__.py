"""The records in SQLite or PostgreSQL."""
