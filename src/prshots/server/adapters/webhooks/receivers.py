"""Sends messages to webhooks, signed as by Standard Webhooks. In threads, to public addresses only."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from prshots import __version__
from prshots.contract.errors import ForgeError, InvalidInputError, UnreachableError
from prshots.contract.gates import describe_gate
from prshots.contract.redaction import redact
from prshots.contract.replies import Gate, GateState
from prshots.contract.safe_text import printable
from prshots.contract.sizes import pluralize
from prshots.server.adapters.deadlines import OverdueError, in_thread
from prshots.server.adapters.forges.token_encryption import decrypt, encrypt
from prshots.server.domain.webhooks.models import Event, Format, Receipt, WebhookSecret
from prshots.server.domain.webhooks.service import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx

    from prshots.server.adapters.forges.public_addresses import PublicTransport
    from prshots.server.config.values import Networks
    from prshots.server.domain.webhooks.models import Webhook
    from prshots.server.links import KeySource

CONNECT_SECONDS, CHECK_SECONDS = 5.0, 5.0
BUSY_SECONDS, MAX_REPLY_BYTES, KEPT_REPLY = 0.25, 64 * 1024, 1000
MAX_URL = 2000
SECRET_BYTES = 32
PREFIX = "whsec_"
GONE = 410

LONGEST_NAME = 100

_CARD = "application/vnd.microsoft.card.adaptive"
_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"


class Receivers:
    """Reaches addresses on the internet and in the `allowed` networks."""

    def __init__(self, keys: KeySource, allowed: Networks) -> None:
        self._keys, self._allowed = keys, allowed
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook")
        self._checks = ThreadPoolExecutor(2, thread_name_prefix="webhook-check")

    def close(self) -> None:
        for threads in (self._threads, self._checks):
            threads.shutdown(wait=False, cancel_futures=True)

    def new_secret(self, webhook_id: str) -> tuple[WebhookSecret, str]:
        plain = PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        return encrypt(WebhookSecret(webhook_id), plain, self._keys.ring()), plain

    def write(self, wanted: Format, message: Mapping[str, object]) -> str:
        # In Slack's and Teams' messages, names are in elements whose text is shown as it is: without markup,
        # links or mentions.
        if wanted is Format.SLACK:
            return json.dumps(_for_slack(message))
        return json.dumps(_for_teams(message) if wanted is Format.TEAMS else message)

    async def check(self, url: str) -> None:
        host, shown, scheme = _parse(url)

        def check() -> None:
            import httpx

            try:
                self._transport().check(host, shown, is_https=scheme == "https")
            except httpx.ConnectError as error:
                raise InvalidInputError(
                    f"url is invalid: {shown} has no address, check its spelling"
                ) from error
            except ForgeError as error:
                raise InvalidInputError(f"url is invalid: {error}") from error

        try:
            await in_thread(self._checks, check, CHECK_SECONDS)
        except OverdueError as error:
            raise InvalidInputError(
                f"url was not checked: looking up {shown} takes too long, try again"
            ) from error

    async def send(self, webhook: Webhook, message_id: str, body: str, seconds: float) -> Receipt:
        until, ring = time.monotonic() + seconds, self._keys.ring()
        now = int(time.time())
        signing = [each for each in webhook.secrets if not each.is_old or now < webhook.old_until]
        content = body.encode()
        headers = {
            "Accept-Encoding": "identity",  # replies are shown as they arrive
            "Content-Type": "application/json",
            "User-Agent": f"prshots/{__version__}",
            "webhook-id": message_id,
            "webhook-timestamp": str(now),
            "webhook-signature": sign([decrypt(each, ring) for each in signing], message_id, now, content),
        }

        def send() -> Receipt:
            if (left := until - time.monotonic()) <= 0:
                raise UnreachableError("the service was too busy to send this: it will retry")
            return self._post(webhook.url, headers, content, left)

        # Waits for the end, even if it overruns: only then is the result known.
        return await asyncio.get_running_loop().run_in_executor(self._threads, send)

    def _post(self, url: str, headers: Mapping[str, str], content: bytes, seconds: float) -> Receipt:
        import httpx

        from prshots.forges.deadline import closing_at_deadline, deadline_after
        from prshots.forges.sender import no_reply_message, permanent_error

        until = time.monotonic() + seconds
        client = httpx.Client(
            transport=self._transport(),
            timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
            trust_env=False,
            follow_redirects=False,
        )
        try:
            with (
                deadline_after(seconds),
                closing_at_deadline(client),
                client.stream("POST", url, headers=headers, content=content) as reply,
            ):
                return _receipt(reply.status_code, _read(reply, until))
        except httpx.ConnectTimeout as error:
            raise UnreachableError(f"no connection within {CONNECT_SECONDS:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, RuntimeError, OSError, ValueError) as error:
            # At the deadline, the connection is closed, and reading from it fails in any way.
            if isinstance(error, httpx.TimeoutException) or time.monotonic() > until:
                raise UnreachableError(
                    "the receiver did not answer in time: reply within 15 s, and do slow work afterwards"
                ) from error
            if isinstance(error, httpx.ConnectError):
                permanent = permanent_error(error.request, error)
                raise permanent or UnreachableError(no_reply_message(error.request, error)) from error
            raise UnreachableError(
                f"could not send the message: {str(error) or type(error).__name__}"
            ) from error

    def _transport(self) -> PublicTransport:
        from prshots.server.adapters.forges.public_addresses import PublicTransport

        return PublicTransport(
            self._allowed,
            only_https=True,
            setting="PRSHOTS_WEBHOOK_NETWORKS",
            busy_seconds=BUSY_SECONDS,
        )


def sign(signing: Sequence[str], message_id: str, at: int, content: bytes) -> str:
    """Return a signature with each secret, separated by spaces."""
    signed = f"{message_id}.{at}.".encode() + content
    keys = [base64.b64decode(secret.removeprefix(PREFIX)) for secret in signing]
    signatures = [base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys]
    return " ".join(f"v1,{signature}" for signature in signatures)


def _parse(url: str) -> tuple[str, str, str]:
    """Return the host, the host with its port, and the scheme. Raises InvalidInputError."""
    import httpx

    try:
        parts, parsed = urlsplit(url), httpx.URL(url)
        port = parts.port
    except (ValueError, httpx.InvalidURL):
        raise InvalidInputError("url is invalid: enter an address such as https://example.org/hook") from None
    is_clean = url.isascii() and url.isprintable() and not set(url) & set(' "<>\\^`{|}#')
    if (
        not is_clean
        or len(url) > MAX_URL
        or parts.scheme not in {"http", "https"}
        or not parts.hostname
        or port == 0
    ):
        raise InvalidInputError("url is invalid: enter an address such as https://example.org/hook")
    if "@" in parts.netloc:
        raise InvalidInputError("url contains a user or password: remove them, messages are signed")
    return parsed.raw_host.decode(), parts.netloc.lower(), parts.scheme


def _read(reply: httpx.Response, until: float) -> str:
    """Return the beginning of the reply, as it can be stored and shown."""
    found = b""
    for chunk in reply.iter_raw():
        found += chunk
        if len(found) >= MAX_REPLY_BYTES or time.monotonic() > until:
            break
    text = redact(found[:MAX_REPLY_BYTES].decode("utf-8", "replace")[: 2 * KEPT_REPLY])
    return printable(text)[:KEPT_REPLY]


def _receipt(status: int, reply: str) -> Receipt:
    if status in range(200, 300):
        return Receipt(status, reply)
    if status == GONE:
        error = "the receiver answered 410 and wants no more messages"
    elif status in range(300, 400):
        error = (
            f"the receiver answered {status}, a redirect: enter the final address, redirects are not followed"
        )
    else:
        error = f"the receiver answered {status}"
    return Receipt(status, reply, error, is_gone=status == GONE)


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
        if any("in_part" in shot for shot in data["shots"]):
            shots = f"changes in {shots}"
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
