"""Queries and repairs over the whole database."""
