"""Projects, upload tokens and trusts in SQL."""
