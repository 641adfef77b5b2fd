"""Processes that work on images, and their limits."""
