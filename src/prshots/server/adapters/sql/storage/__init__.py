"""Quotas and usage in SQL."""
