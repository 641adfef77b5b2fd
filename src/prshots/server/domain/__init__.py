"""The rules of the service. No module here imports HTTP, SQL or a vendor's library."""
