"""Writes messages in the formats of receivers.

In Slack's and Teams' messages, names are in elements whose text is shown as it is: without markup, links or
mentions.
"""

import json
from collections.abc import Mapping
from typing import Any

from prshots.contract.gates import describe_gate
from prshots.contract.replies import Gate, GateState
from prshots.contract.safe_text import printable
from prshots.contract.sizes import pluralize
from prshots.server.domain.webhooks.models import Event, Format

LONGEST_NAME = 100

_CARD = "application/vnd.microsoft.card.adaptive"
_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"


def write_message(wanted: Format, message: Mapping[str, Any]) -> str:
    if wanted is Format.SLACK:
        return json.dumps(_for_slack(message))
    return json.dumps(_for_teams(message) if wanted is Format.TEAMS else message)


def _for_slack(message: Mapping[str, Any]) -> dict[str, object]:
    title, sentence, url = describe(message)
    elements = [
        {"type": "text", "text": f"{title}\n", "style": {"bold": True}},
        {"type": "text", "text": f"{sentence} "},
        {"type": "link", "url": url, "text": "Open in prshots"},
    ]
    section = {"type": "rich_text_section", "elements": elements}
    # Notifications show this text. There, markup begins with one of three characters.
    plain = f"{title}: {sentence}".replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": plain, "blocks": [{"type": "rich_text", "elements": [section]}]}


def _for_teams(message: Mapping[str, Any]) -> dict[str, object]:
    title, sentence, url = describe(message)
    lines = [{"type": "TextRun", "text": title, "weight": "Bolder"}, {"type": "TextRun", "text": sentence}]
    card = {
        "$schema": _SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [line]} for line in lines],
        "actions": [{"type": "Action.OpenUrl", "title": "Open in prshots", "url": url}],
    }
    return {"type": "message", "attachments": [{"contentType": _CARD, "content": card}]}


def describe(message: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the title of a message, one sentence, and the page with more."""
    data = message["data"]
    title = _short(data["project"]["name"] if "project" in data else data["organization"]["name"])
    if pull := data.get("pull_request"):
        title = f"{title} #{pull['number']} {_short(pull['title'])}".rstrip()
    return title, _sentence(Event(message["type"]), data), str(data["url"])


def _sentence(event: Event, data: Mapping[str, Any]) -> str:
    if event is Event.COMPARED:
        counts = [f"{count} {verdict}" for verdict, count in data["screenshots"].items() if count]
        found = ", ".join(counts) or "no screenshots"
        return f"Compared {data['commit_sha'][:7]}: {found}. {_gate(data)}".rstrip()
    if event is Event.DECIDED:
        note = f" “{_short(data['note'])}”" if data["note"] else ""
        shots = pluralize(data["screenshots"], "screenshot")
        done = "withdrew the decision on" if data["decision"] == "withdrawn" else data["decision"]
        return f"{_short(data['by'])} {done} {shots}.{note} {_gate(data)}".rstrip()
    if event is Event.GATE:
        return _gate(data)
    if event is Event.EXPIRED:
        why = {"closed": "The pull request was closed", "deleted": "Somebody deleted the screenshots"}
        reason = why.get(data["reason"], "The retention period ended")
        return f"{reason}. prshots deleted {pluralize(data['images'], 'image')}."
    if event is Event.QUOTA:
        return "Stored images have reached 80 % of the quota."
    return "This is a test message."


def _gate(data: Mapping[str, Any]) -> str:
    if not (found := data.get("gate")):
        return ""
    return f"{describe_gate(Gate(GateState(found['state']), found['open'], found['reason']))}."


def _short(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= LONGEST_NAME else f"{shown[:LONGEST_NAME]}…"
