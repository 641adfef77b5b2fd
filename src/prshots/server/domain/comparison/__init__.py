"""Baselines, and the comparison of a pull request's images with them."""
