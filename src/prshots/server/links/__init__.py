"""Signed links to images, and the read-only ports behind them: all that delivery needs."""
