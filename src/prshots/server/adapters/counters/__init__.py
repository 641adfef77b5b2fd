"""The upload counter: in memory, or in Valkey or Redis."""
