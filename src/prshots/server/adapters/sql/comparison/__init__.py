"""Baselines and comparisons in SQL."""
