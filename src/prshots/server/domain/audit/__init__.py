"""Who did what: the audit log's entries, and who is acting now."""
