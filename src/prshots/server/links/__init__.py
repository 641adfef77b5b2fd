"""Signed links to images and the read-only ports behind them. Delivery needs nothing else."""
