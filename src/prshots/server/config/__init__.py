"""The settings, and how each kind of value is read."""
