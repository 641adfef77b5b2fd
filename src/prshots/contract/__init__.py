"""The rules that client and server share. Pure Python without dependencies."""
