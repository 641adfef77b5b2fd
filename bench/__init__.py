"""Benchmarks that compare prshots with other servers. Run `python -m bench --help`."""
