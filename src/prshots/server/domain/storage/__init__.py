"""Storage: quotas, and what is stored."""
