"""The client: what runs in CI. It uses only the public API, and needs nothing of the server."""
