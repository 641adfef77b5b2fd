"""The service's rules. No module here imports HTTP, SQL or a vendor's library."""
