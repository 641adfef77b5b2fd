"""prshots: a self-hosted screenshot host for pull requests."""

__version__ = "0.1.0"
