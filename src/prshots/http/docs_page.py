"""The page at /docs, made from the OpenAPI document: no script, nothing loaded from elsewhere."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #62676d; --line: #dfe2e5; --paper: #fff; --soft: #f5f6f7;
  --accent: #2f6feb; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e6e9; --quiet: #9aa0a6; --line: #33373c; --paper: #17191b; --soft: #1f2225; --accent: #7aa7ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 32px 16px 64px; max-width: 832px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 28px; margin: 0 0 8px; } h2 { font-size: 18px; margin: 48px 0 8px; padding-top: 16px;
  border-top: 1px solid var(--line); } h3 { font-size: 14px; margin: 24px 0 8px; color: var(--quiet); }
p { margin: 8px 0; } a { color: var(--accent); }
code, pre { font: 14px/1.5 ui-monospace, monospace; }
pre { background: var(--soft); padding: 16px; overflow-x: auto; border-radius: 4px; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
td { padding: 8px 16px 8px 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; width: 1%; } ul { margin: 4px 0 0; padding-left: 16px; }
.method { color: var(--accent); } .quiet { color: var(--quiet); }
"""


def docs_page(document: dict[str, Any]) -> str:
    info, server = document["info"], document["servers"][0]["url"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>prshots API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style><main><h1>prshots API</h1>"
        f"<p>{_text(info['description'])}</p>"
        f'<p class="quiet">Version {escape(info["version"])} at <code>{escape(server)}</code>. '
        'For machines: <a href="/openapi.json">openapi.json</a>.</p>'
        f"<h3>The first upload</h3><pre>{escape(_curl(server))}</pre>"
        f"{''.join(_operation(*operation) for operation in operations)}</main></html>"
    )


def _curl(server: str) -> str:
    return (
        f'curl {server}/v1/upload -H "Authorization: Bearer $PRSHOTS_TOKEN" \\\n'
        "  -F image=@screenshot.png -F name=checkout/cart -F pr_number=1 \\\n"
        "  -F commit_sha=$(git rev-parse HEAD) -F viewport=1280x800"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    needs_token = (
        "<p>Needs <code>Authorization: Bearer &lt;token&gt;</code>.</p>" if "security" in operation else ""
    )
    given = "".join(
        _row(_name(name, required=need), _about(schema)) for name, need, schema in _inputs(operation)
    )
    replies = "".join(
        _row(f"<code>{status}</code>", _reply(reply)) for status, reply in operation["responses"].items()
    )
    return (
        f'<h2><code><span class="method">{method}</span> {escape(path)}</code></h2>'
        f"<p>{escape(operation['summary'])}.</p>{needs_token}"
        + (f"<h3>Takes</h3><table>{given}</table>" if given else "")
        + f"<h3>Answers</h3><table>{replies}</table>"
    )


def _inputs(operation: dict[str, Any]) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    for parameter in operation.get("parameters", ()):
        yield parameter["name"], parameter.get("required", False), parameter["schema"]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for name, schema in content["schema"]["properties"].items():
            yield name, name in content["schema"]["required"], schema


def _name(name: str, *, required: bool) -> str:
    return f"<code>{escape(name)}</code>" + ("" if required else ' <span class="quiet">optional</span>')


def _about(schema: dict[str, Any]) -> str:
    words = [schema.get("type", "")]
    if "minLength" in schema:
        words.append(f"{schema['minLength']} to {schema['maxLength']} characters")
    if "minimum" in schema and "maximum" in schema:
        words.append(f"{schema['minimum']} to {schema['maximum']}")
    if "pattern" in schema:
        words.append(f"`{schema['pattern']}`")
    return _text(", ".join(words)) + (
        f"<br>{_text(schema['description'])}" if "description" in schema else ""
    )


def _reply(reply: dict[str, Any]) -> str:
    schema = next(iter(reply.get("content", {}).values()), {}).get("schema", {})
    properties = schema.get("properties", {})
    messages = properties.get("error", {}).get("enum", ())
    fields = "" if "error" in properties else ", ".join(f"<code>{escape(name)}</code>" for name in properties)
    return (
        _text(reply["description"])
        + (f"<br>{fields}" if fields else "")
        + (
            f"<ul>{''.join(f'<li><code>{escape(message)}</code>' for message in messages)}</ul>"
            if messages
            else ""
        )
    )


def _row(first: str, second: str) -> str:
    return f"<tr><td>{first}<td>{second}"


def _text(text: str) -> str:
    """Escape, and set what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
