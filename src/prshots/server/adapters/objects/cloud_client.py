"""Turn PRSHOTS_STORE_URL into an obstore client for S3, Google Cloud Storage or Azure Blob Storage.

The URL never contains credentials. They come from the same sources as for each cloud's own tools: the
environment, a file that it names, or the machine's role.
"""

import atexit
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from prshots.contract.errors import SettingsError
from prshots.server.config.values import is_this_machine

if TYPE_CHECKING:  # obstore has these for type checkers only
    from obstore.store import ClientConfig, RetryConfig

CONNECT_SECONDS = 2
"""A store is nearby and answers a handshake in milliseconds. A slower store is down."""

IDLE_SECONDS = 30
"""How long to keep an idle connection. Firewalls silently drop idle connections, some after a minute."""

STREAM_SECONDS = 24 * 3600
"""The limit for a whole response. It is generous, because a slow reader slows down the transfer."""

Client = S3Store | GCSStore | AzureStore
Options = dict[str, str]
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_URL_QUERY = re.compile(r"\?[^\s)]*")


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How long the store may be silent in one attempt, and the deadline of a call including its retries."""

    silence_seconds: float
    total_seconds: float
    retries: int = 3


def open_client(url: str, limits: RequestLimits) -> Client:
    """Create a client without contacting the store. Raises SettingsError."""
    parts = urlsplit(url)
    kinds: dict[str, tuple[type[Client], Callable[[str, Options], dict[str, Any]], str, str]] = {
        "s3": (S3Store, _s3, "s3://<bucket>/<prefix>", "endpoint region addressing"),
        "gs": (GCSStore, lambda _bucket, _options: {}, "gs://<bucket>/<prefix>", ""),
        "az": (AzureStore, _az, "az://<container>/<prefix>", "account endpoint"),
    }
    kind, config_for, form, known = kinds[parts.scheme]
    try:
        options = _parse_options(parts, frozenset(known.split()))
        return kind(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config=config_for(parts.netloc, options),  # type: ignore[arg-type]  # each kind has its own type
            client_options=_client(limits, options.get("endpoint", "")),
            retry_config=_retries(limits),
        )
    except ValueError as error:  # raised by us, or by obstore for the prefix
        listed = f" with the options {', '.join(known.split())}" if known else " without options"
        raise SettingsError(f"PRSHOTS_STORE_URL: {error}; it takes {form}{listed}") from None
    except BaseError as error:
        raise SettingsError(f"PRSHOTS_STORE_URL: {first_line(error)}") from None


@atexit.register
def _silence_panics() -> None:
    """Close the standard error of a process that is about to exit.

    obstore's threads briefly outlive Python. A thread that still waits for a timed-out call would print half
    a page about its panic.
    """
    if sys.stderr:
        sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def first_line(error: BaseException) -> str:
    """Return the first line of a client's error, without its internals.

    This removes the query from URLs, because an Azure client puts its signature there.
    """
    return _URL_QUERY.sub("", str(error).partition("\n")[0])[:300]


def _parse_options(parts: SplitResult, known: frozenset[str]) -> Options:
    """Return the options in the URL. Raises ValueError for an invalid URL."""
    # No message quotes the value, because it may contain a secret.
    if "@" in parts.netloc:
        raise ValueError("credentials belong in the environment, not in the URL")
    if not _BUCKET.fullmatch(parts.netloc) or parts.fragment:
        raise ValueError("the name of the bucket or container is invalid")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    if len(pairs) != len(options) or not known.issuperset(options) or not all(options.values()):
        raise ValueError("an option is unknown, empty or given twice")
    if "endpoint" in options:
        _check_endpoint(options["endpoint"])
    return options


def _check_endpoint(url: str) -> None:
    parts = urlsplit(url)
    is_plain = not (parts.query or parts.fragment or "@" in parts.netloc or parts.path.strip("/"))
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0 or not is_plain:
        raise ValueError("endpoint is not http:// or https:// with a host and an optional port")


def _s3(bucket: str, options: Options) -> dict[str, Any]:
    endpoint, region = options.get("endpoint"), options.get("region")
    addressing = options.get("addressing", "path" if endpoint else "virtual")
    if addressing not in {"path", "virtual"}:
        raise ValueError("addressing must be path or virtual")
    is_virtual = addressing == "virtual"
    if endpoint and is_virtual:
        endpoint = endpoint.replace("://", f"://{bucket}.")
    config: dict[str, Any] = {
        "virtual_hosted_style_request": is_virtual,
        # TLS or a local connection already protects the body, so a second hash would be useless.
        "unsigned_payload": endpoint is None or _is_protected(endpoint),
    }
    if endpoint:
        config["endpoint"] = endpoint
    if region:
        config["region"] = region
    return config


def _is_protected(endpoint: str) -> bool:
    """Return whether the connection to the store is safe from tampering."""
    parts = urlsplit(endpoint)
    return parts.scheme == "https" or is_this_machine(parts.hostname or "")


def _az(_bucket: str, options: Options) -> dict[str, Any]:
    names = {"endpoint": "endpoint", "account": "account_name"}
    return {names[option]: value for option, value in options.items()}


def _client(limits: RequestLimits, endpoint: str) -> "ClientConfig":
    return {
        "allow_http": endpoint.startswith("http://"),  # the operator chose http
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "pool_idle_timeout": timedelta(seconds=IDLE_SECONDS),
        "read_timeout": timedelta(seconds=limits.silence_seconds),
        "timeout": timedelta(seconds=STREAM_SECONDS),
    }


def _retries(limits: RequestLimits) -> "RetryConfig":
    """Retry lost and failed requests: another node of the store may succeed."""
    return {
        "max_retries": limits.retries,
        "retry_timeout": timedelta(seconds=limits.total_seconds),
        "backoff": {
            "init_backoff": timedelta(milliseconds=50),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
    }
