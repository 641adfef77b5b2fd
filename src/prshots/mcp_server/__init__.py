"""The MCP server: a coding agent's tools for screenshots. Needs the extra `prshots[mcp]`.

Paths go in; addresses and markdown come out. No image passes through the model.
"""
