"""How fast the service is, measured beside its peers in one run: `python -m bench`."""
