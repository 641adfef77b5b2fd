"""The settings, and a reader for each kind of value."""
