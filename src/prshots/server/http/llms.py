"""/llms.txt: instructions for a coding agent that finds this installation."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from prshots import __version__

_TEXT = """\
# prshots

> Screenshots for pull requests. Upload an image; get a signed URL and markdown that shows it to reviewers.

This is one team's installation of prshots. Its API is at {base_url}, its dashboard at {web_url}.

To show a page that you changed:

1. Install the command: `pip install prshots=={version}`. It needs Python 3.11 or newer.
2. Set `PRSHOTS_URL={base_url}` and `PRSHOTS_TOKEN`, an upload token of the project. Ask a person for the
   token: only people can create one, on the dashboard.
3. Take a screenshot before your change and one after it. Use synthetic data only: no secrets and no
   personal data.
4. In the checkout, run `prshots show after.png --before before.png --json`. Without a pull request, the
   screenshots are staged for the branch for 7 days. Run `prshots show` again when it is open: they move.
5. Paste `markdown` from the reply verbatim. The addresses in it are signed, so a changed one does not work.

`prshots mcp` offers the same as tools over MCP: `pip install 'prshots[mcp]=={version}'`.

## API

- [Reference]({base_url}/docs): every route, field and status
- [OpenAPI]({base_url}/openapi.json): the same for programs
"""


def llms_route(base_url: str, web_url: str) -> Route:
    text = _TEXT.format(base_url=base_url, web_url=web_url, version=__version__)
    reply = PlainTextResponse(text, headers={"Cache-Control": "public, max-age=300"})

    async def llms(_: Request) -> PlainTextResponse:
        return reply

    return Route("/llms.txt", llms)
