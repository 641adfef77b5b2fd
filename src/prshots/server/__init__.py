"""The service: everything that `prshots serve` and the operator's commands run. Needs `prshots[server]`."""
