"""Every PRSHOTS_* setting, validated once and then passed on as plain values."""

import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from prshots.contract import variables
from prshots.contract.errors import SettingsError
from prshots.contract.limits import MAX_IMAGE_BYTES
from prshots.contract.redaction import redact
from prshots.contract.sizes import MAX_QUOTA_BYTES
from prshots.server.config import values
from prshots.server.links import KeyRing

PREFIX = variables.PREFIX
PROVIDERS = ("github", "gitlab", "gitea", "oidc")
GITHUB_ISSUER, GITLAB_ISSUER = "https://token.actions.githubusercontent.com", "https://gitlab.com"

_SCHEME = re.compile(r"[a-z0-9+]{1,16}://|/")
_NO_PASSWORD = re.compile(r"[A-Za-z0-9._/-]*")

T = TypeVar("T")


def _setting(read: Callable[[object], T], default: T, takes: str, *, secret: bool = False) -> T:
    """Declare a setting: its reader, and a description of valid values. Secrets are never printed."""
    declared: T = field(default=default, repr=not secret, metadata={"read": read, "takes": takes})
    return declared


def _port(default: int) -> int:
    return _setting(values.whole(1, 65_535), default, "a port number from 1 to 65535")


def _address() -> str:
    return _setting(values.public_url, "", "an http:// or https:// URL without a query or spaces")


def _workers() -> int:
    """Declare the number of a component's processes. The default is PRSHOTS_WORKERS."""
    return _setting(values.workers_or_empty, cast("int", ""), values.WORKERS)


def _quota() -> int:
    return _setting(values.whole(0, MAX_QUOTA_BYTES), 0, "a whole number of bytes, or 0 for no limit")


def _text(takes: str) -> str:
    return _setting(values.text(), "", takes)


def _secret(takes: str) -> str:
    return _setting(values.text(), "", takes, secret=True)


def _keys(given: object) -> str:
    text = values.text()(given)
    if text:
        KeyRing.parse(text)
    return text


def _reachable_host(host: str) -> str:
    """Return the host part of a URL that reaches a local server listening on `host`."""
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"[{target}]" if ":" in target else target


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings. `docs/run/settings.md` describes them. Raises SettingsError for an invalid value."""

    data_dir: Path = _setting(  # noqa: RUF009 - returns a field, and a path is immutable
        values.path, Path("data"), "a folder"
    )
    host: str = _setting(values.text(1), "127.0.0.1", "an address to listen on")
    api_port: int = _port(8081)
    img_port: int = _port(8082)
    web_port: int = _port(8080)
    sweep_port: int = _port(8083)
    base_url: str = _address()
    img_url: str = _address()
    web_url: str = _address()
    api_url: str = _address()
    database_url: str = _setting(
        values.database_url,
        "",
        f"sqlite:///<path> or postgresql://<user>:<password>@<host>/<name>; {values.PERCENT_ENCODE}",
        secret=True,
    )
    store_url: str = _setting(
        values.store_url, "", "file:///<path>, s3://<bucket>/<prefix>, gs://… or az://…", secret=True
    )
    counter_url: str = _setting(
        values.counter_url,
        "memory://",
        "memory:// or redis://<user>:<password>@<host>:<port> (rediss, valkey, valkeys); "
        + values.PERCENT_ENCODE,
        secret=True,
    )
    signing_keys: str = _setting(_keys, "", "kid:hex,kid:hex; the first signs, all verify", secret=True)
    signing_keys_file: Path = _setting(values.path, Path(), "a file of kid:hex lines")  # noqa: RUF009 - as above
    uploads_per_minute: int = _setting(values.whole(1), 120, "a whole number from 1")
    max_image_bytes: int = _setting(
        values.whole(1024, 100 * 1024**2), MAX_IMAGE_BYTES, "a whole number of bytes from 1024 to 104857600"
    )
    organization_quota_bytes: int = _quota()
    project_quota_bytes: int = _quota()
    cache_seconds: int = _setting(values.whole(0, 31_536_000), 3600, "a whole number from 0 to 31536000")
    img_cache_bytes: int = _setting(
        values.whole(0, 1024**4), 32 * 1024**2, "a whole number of bytes from 0 to 1099511627776"
    )
    github_client_id: str = _text("the client id of your GitHub OAuth app")
    github_client_secret: str = _secret("the client secret of your GitHub OAuth app")
    github_url: str = _setting(
        values.public_url, "https://github.com", "the URL of github.com or your GitHub Enterprise server"
    )
    gitlab_client_id: str = _text("the id of your GitLab application")
    gitlab_client_secret: str = _secret("the secret of your GitLab application")
    gitlab_url: str = _setting(
        values.public_url, "https://gitlab.com", "the URL of gitlab.com or your GitLab server"
    )
    gitea_client_id: str = _text("the client id of your Gitea OAuth2 application")
    gitea_client_secret: str = _secret("the client secret of your Gitea OAuth2 application")
    gitea_url: str = _setting(values.public_url, "", "the URL of your Gitea or Forgejo server")
    forge_hosts: str = _setting(
        values.hosts, "", "comma-separated hosts such as git.example.org or git.example.org:3000"
    )
    github_app_id: str = _text("the id of your GitHub App")
    github_app_key: str = _secret("the private key of your GitHub App, in PEM format")
    oidc_client_id: str = _text("the client id at your OpenID Connect issuer")
    oidc_client_secret: str = _secret("the client secret at your OpenID Connect issuer")
    oidc_issuer: str = _setting(values.public_url, "", "the URL of your OpenID Connect issuer")
    oidc_name: str = _setting(values.text(1, 40), "single sign-on", "1 to 40 characters")
    oidc_groups_claim: str = _setting(values.text(1, 200), "groups", "the name of a claim")
    sign_in_groups: bool = _setting(values.truth, False, "true or false")
    allowed_users: str = _text("comma-separated logins; * for everyone")
    allowed_organizations: str = _text("comma-separated organizations or groups")
    allowed_email_domains: str = _text("comma-separated domains such as example.org")
    trusted_issuers: str = _setting(
        values.issuers,
        f"{GITHUB_ISSUER},{GITLAB_ISSUER}",
        "comma-separated https:// URLs of OpenID issuers",
    )
    trusted_proxies: str = _setting(
        values.networks, "127.0.0.0/8,::1", "comma-separated IP addresses or networks such as 10.0.0.0/8"
    )
    audit_days: int = _setting(values.whole(1, 36_500), 400, "a whole number of days from 1 to 36500")
    webhook_networks: str = _setting(
        values.networks, "", "comma-separated IP addresses or networks such as 10.0.0.0/8"
    )
    workers: int = _setting(values.workers, 1, values.WORKERS)
    api_workers: int = _workers()
    img_workers: int = _workers()
    drain_seconds: float = _setting(values.number(0, 300), 0.0, "a number of seconds from 0 to 300")
    grace_seconds: float = _setting(values.number(1, 600), 4.0, "a number of seconds from 1 to 600")
    log_format: str = _setting(values.one_of("console", "json"), "console", "console or json")
    log_level: str = _setting(values.one_of("info", "warning", "error"), "info", "info, warning or error")
    log_requests: bool = _setting(values.truth, False, "true or false")

    def __post_init__(self) -> None:
        """Parse the given values and fill in derived defaults."""
        for known in fields(self):
            self._set(known.name, _read(known, getattr(self, known.name)))
        derived: dict[str, str | Path | int] = {
            "base_url": f"http://localhost:{self.api_port}",
            "img_url": f"http://localhost:{self.img_port}",
            "web_url": f"http://localhost:{self.web_port}",
            "api_url": f"http://{_reachable_host(self.host)}:{self.api_port}",
            "database_url": f"sqlite:///{self.data_dir}/prshots.db",
            "store_url": f"file://{self.data_dir.absolute()}/images",
            "signing_keys_file": self.data_dir / "signing-keys",
            "api_workers": self.workers,
            "img_workers": self.workers,
        }
        for name, value in derived.items():
            if getattr(self, name) in {"", Path(), 0}:
                self._set(name, value)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the dataclass is frozen after __post_init__

    @property
    def providers(self) -> list[str]:
        """The configured login providers, in the order of the sign-in page."""
        return [name for name in PROVIDERS if getattr(self, f"{name}_client_id")]

    def check_providers(self) -> None:
        """Raise SettingsError for an incomplete provider, or if no setting says who may sign in."""
        for name in self.providers:
            for part in (f"{name}_client_secret", "oidc_issuer" if name == "oidc" else f"{name}_url"):
                if not getattr(self, part):
                    client_id = f"{name}_client_id".upper()
                    raise SettingsError(
                        f"{PREFIX}{part.upper()}: got nothing, takes {SETTINGS[part].metadata['takes']}; "
                        f"required because {PREFIX}{client_id} is set"
                    )
        if self.providers and not (
            self.allowed_users or self.allowed_organizations or self.allowed_email_domains
        ):
            raise SettingsError(
                f"{PREFIX}ALLOWED_USERS: got nothing, takes comma-separated logins, or * for everyone with "
                f"an account at the provider; or set {PREFIX}ALLOWED_ORGANIZATIONS or "
                f"{PREFIX}ALLOWED_EMAIL_DOMAINS instead"
            )

    @property
    def issuers(self) -> list[str]:
        """The issuers that projects may trust, spelled exactly as in their tokens."""
        return values.split_by_commas(self.trusted_issuers)

    @property
    def on_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite:")

    @property
    def on_disk(self) -> bool:
        return self.store_url.startswith("file:")

    @property
    def counts_in_memory(self) -> bool:
        return self.counter_url == "memory://"

    @property
    def local_database(self) -> Path | None:
        """The database's file, or None for a database server."""
        return self.database_path if self.on_sqlite else None

    @property
    def local_store(self) -> Path | None:
        """The folder with the images, or None for a bucket."""
        return self.store_path if self.on_disk else None

    @property
    def database_place(self) -> str:
        """The database's location for messages: a path, or a server without its password."""
        if self.on_sqlite:
            return str(self.database_path)
        parts = urlsplit(self.database_url)
        return f"PostgreSQL at {parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def store_place(self) -> str:
        """The origin store's location for messages: a folder, or a bucket without its options."""
        return str(self.store_path) if self.on_disk else self.store_url.partition("?")[0]

    @property
    def database_path(self) -> Path:
        return Path(self.database_url.removeprefix("sqlite:///"))

    @property
    def store_path(self) -> Path:
        return Path(self.store_url.removeprefix("file://"))


SETTINGS: dict[str, Field[Any]] = {known.name: known for known in fields(Settings)}
SECRET_FILES = {
    f"{name}_file": name
    for name, known in SETTINGS.items()
    if not known.repr and f"{name}_file" not in SETTINGS  # the signing keys' file is a separate setting
}
"""The names that give a secret as a file, as Docker, Kubernetes and systemd's LoadCredential mount it."""

NAMES = (*SETTINGS, *SECRET_FILES)


def load_settings(config: Path | None = None) -> Settings:
    """Read the environment and the TOML file. Raises a SettingsError that says what to fix."""
    from_file = _read_toml(config) if config else {}
    for name in from_file:
        if name not in NAMES:
            nearest = variables.nearest_name(name, NAMES).upper()
            raise SettingsError(f"unknown setting {name.upper()} in {config}: {_what_to_do(nearest)}")
    for name, nearest in variables.unknown_variables(os.environ, NAMES).items():
        if nearest:
            raise SettingsError(f"unknown variable {name}: {_what_to_do(nearest)}")
    return Settings(**(_with_secrets(from_file) | _with_secrets(_from_environment())))


def ignored_variables() -> list[str]:
    """Return the PRSHOTS_ variables that nothing reads and that don't resemble any setting."""
    return [name for name, nearest in variables.unknown_variables(os.environ, NAMES).items() if not nearest]


def _what_to_do(nearest: str) -> str:
    return f"did you mean {nearest}?" if nearest else "see docs/run/settings.md"


def _with_secrets(given: dict[str, Any]) -> dict[str, Any]:
    """Replace each file of a secret with its content. Raises SettingsError."""
    files = {name: given[name] for name in SECRET_FILES if name in given}
    return {name: given[name] for name in given.keys() - files} | {
        SECRET_FILES[name]: _read_secret(name, file, given) for name, file in files.items()
    }


def _read_secret(name: str, file: object, given: dict[str, Any]) -> str:
    variable = f"{PREFIX}{name.upper()}"
    if SECRET_FILES[name] in given:
        raise SettingsError(f"{variable}: {variable.removesuffix('_FILE')} is set too; set only one of them")
    try:
        secret = Path(str(file)).read_text().strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text in UTF-8"
        raise SettingsError(f"{variable}: cannot read {file}: {reason}") from None
    if not secret:
        raise SettingsError(f"{variable}: {file} is empty; write the secret to it")
    return secret


def _from_environment() -> dict[str, str]:
    # An empty variable counts as unset, because compose files and CI systems pass unset variables as empty
    # ones. A value from a file, as in a Kubernetes Secret, ends with a line break.
    given = {name: os.environ.get(f"{PREFIX}{name.upper()}", "").strip() for name in NAMES}
    return {name: text for name, text in given.items() if text}


def _read(known: Field[Any], given: object) -> object:
    try:
        return known.metadata["read"](given)
    except SettingsError as error:  # from the signing keys: the message never contains the secret
        raise SettingsError(f"{PREFIX}{known.name.upper()}: {error}") from None
    except ValueError as error:
        raise SettingsError(
            f"{PREFIX}{known.name.upper()}: got {_quote(known, given)}, takes {known.metadata['takes']}"
        ) from (error if known.repr else None)  # its text may quote the secret


def _read_toml(config: Path) -> dict[str, Any]:
    try:
        with config.open("rb") as file:
            table = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"cannot read the settings in {config}: {reason}") from error
    return {key.upper().removeprefix(PREFIX).lower(): value for key, value in table.items()}


def _quote(known: Field[Any], value: object) -> str:
    """Return the given value for a message, without secrets."""
    if known.repr:
        return redact(repr(value))
    # In a URL that can't be parsed, anything after the scheme may be a password. A path has no password.
    is_url = known.name.endswith("_url") and isinstance(value, str)
    begin = _SCHEME.match(str(value)) if is_url else None
    if begin is None:
        return "an invalid value"
    return repr(value if _NO_PASSWORD.fullmatch(str(value), begin.end()) else f"{begin[0]}…")
