"""Decisions, and what follows from them, in SQL."""
