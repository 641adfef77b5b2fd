"""The rules of the service. They know no HTTP, no SQL and no vendor."""
