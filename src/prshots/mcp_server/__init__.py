"""The MCP server: what a coding agent can do with screenshots, as tools. Needs the extra `prshots[mcp]`.

Paths go in; addresses and markdown come out. No image passes through the model.
"""
