"""The page at /docs, generated from the OpenAPI document. It has no scripts and loads no other files."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

_STYLE = Path(__file__).with_suffix(".css").read_text("utf-8")

_NEEDS_AUTHORIZATION = '<p class="quiet">Send the header <code>Authorization: Bearer &lt;token&gt;</code></p>'


def docs_page(document: dict[str, Any]) -> str:
    info, server = document["info"], document["servers"][0]["url"]
    operations = [
        (f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>prshots API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><main><h1>prshots API</h1>"
        f"<p>{_text(info['description'])}</p>"
        f'<p class="quiet">Version {escape(info["version"])} at <code>{escape(server)}</code>. '
        'For machines: <a href="/openapi.json">openapi.json</a></p>'
        f'<nav class="contents">{"".join(_entry(*operation) for operation in operations)}</nav>'
        f"<h3>A first upload</h3><pre>{escape(_curl(server))}</pre>"
        f"{''.join(_operation(*operation) for operation in operations)}</main></html>"
    )


def _curl(server: str) -> str:
    return (
        f'curl {server}/v1/upload -H "Authorization: Bearer $PRSHOTS_TOKEN" \\\n'
        "  -F image=@screenshot.png -F name=checkout/cart -F pr_number=1 \\\n"
        "  -F commit_sha=$(git rev-parse HEAD) -F viewport=1280x800"
    )


def _entry(route: str, operation: dict[str, Any]) -> str:
    summary = escape(operation["summary"], quote=False)
    return f'<a href="#{operation["operationId"]}"><span>{summary}</span><code>{escape(route)}</code></a>'


def _operation(route: str, operation: dict[str, Any]) -> str:
    takes = "".join(_row(_name(name, required=need), about) for name, need, about in _inputs(operation))
    answers = "".join(
        _row(f"<code>{status}</code>", _reply(reply)) for status, reply in operation["responses"].items()
    )
    return (
        f'<section id="{operation["operationId"]}"><h2>{escape(operation["summary"], quote=False)}</h2>'
        f"<p><code>{escape(route)}</code></p>"
        + (_NEEDS_AUTHORIZATION if "security" in operation else "")
        + (f"<h3>Parameters</h3><table>{takes}</table>" if takes else "")
        + f"<h3>Replies</h3><table>{answers}</table></section>"
    )


def _inputs(operation: dict[str, Any]) -> Iterator[tuple[str, bool, str]]:
    for parameter in operation.get("parameters", ()):
        about = _about(parameter["schema"] | {"description": parameter.get("description", "")})
        yield parameter["name"], parameter.get("required", False), about
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for name, schema in content["schema"].get("properties", {}).items():
            yield name, name in content["schema"]["required"], _about(schema)


def _name(name: str, *, required: bool) -> str:
    return f"<code>{escape(name)}</code>" + ("" if required else '<br><span class="quiet">optional</span>')


def _about(schema: dict[str, Any]) -> str:
    """Describe a value's limits, followed by its description in the document."""
    facts = []
    if "maxLength" in schema:
        facts.append(f"{schema.get('minLength', 0)} to {schema['maxLength']} characters.")
    if "maximum" in schema:
        facts.append(f"An integer from {schema['minimum']:,.0f} to {schema['maximum']:,.0f}.")
    if schema.get("description"):
        facts.append(schema["description"])
    return _text(" ".join(facts))


def _reply(reply: dict[str, Any]) -> str:
    contents: list[dict[str, Any]] = list(reply.get("content", {}).values())
    properties = contents[0]["schema"]["properties"] if contents else {}
    lines = properties["error"].get("enum", []) if "error" in properties else [", ".join(properties)]
    items = "".join(f"<li><code>{escape(line, quote=False)}</code>" for line in lines)
    return f'{_text(reply["description"])}<ul class="messages">{items}</ul>'


def _row(first: str, second: str) -> str:
    return f"<tr><td>{first}<td>{second}"


def _text(text: str) -> str:
    """Escape the text, and format text in backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
