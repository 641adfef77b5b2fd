"""Benchmarks: how fast prshots is compared with other servers. Run `python -m bench --help`."""
