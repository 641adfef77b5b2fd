"""`prshots mcp`: the MCP server for coding agents."""

import os

from prshots.cli import service_options as options
from prshots.contract.errors import PrshotsError


def mcp(*, timeout: options.Timeout = options.TIMEOUT) -> None:
    """Run an MCP server for coding agents, over stdio.

    It takes PRSHOTS_URL, PRSHOTS_TOKEN and PRSHOTS_FORGE_TOKEN from its environment. An agent starts it: see
    docs/use/agents.md. The timeout is for each call of a tool.
    """
    try:
        from prshots.mcp_server.server import create_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "prshots":
            raise
        raise PrshotsError(f"the MCP server needs {error.name}: pip install 'prshots[mcp]'") from error
    # Some agents pass "${NAME}" literally if the variable isn't set.
    environ = {name: "" if value.startswith("${") else value for name, value in os.environ.items()}
    create_server(environ, timeout).run()
