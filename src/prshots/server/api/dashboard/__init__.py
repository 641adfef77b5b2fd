"""The routes that the dashboard uses."""
