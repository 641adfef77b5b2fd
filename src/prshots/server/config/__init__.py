"""The settings, and the readers for each kind of value."""
