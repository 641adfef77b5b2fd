"""Every PRSHOTS_* variable once, validated once, then passed on as plain values."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from prshots.errors import SettingsError
from prshots.signing import KeyRing

PREFIX = "PRSHOTS_"
PROVIDERS = ("github", "gitlab", "gitea", "oidc")
CLOUDS = ("s3", "gs", "az")
COUNTERS = ("redis", "rediss", "valkey", "valkeys")

_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.:_~/\[\]-]+")


def _public_url(url: str) -> str:
    # It ends up inside markdown and HTML, so it holds nothing that would need escaping there.
    # A port that is none makes `urlsplit` raise a ValueError too.
    if url and not (_PUBLIC_URL.fullmatch(url) and urlsplit(url).hostname and urlsplit(url).port != 0):
        raise ValueError("an http:// or https:// address without query or spaces")
    return url.rstrip("/")


def _reachable(host: str) -> str:
    """Return where a part on this machine is reached that listens on `host`, as it stands in a URL."""
    own = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - it is what is listened on
    return f"[{own}]" if ":" in own else own


def _file_url(scheme: str, no_path: str = "") -> Callable[[str], str]:
    def check(url: str) -> str:
        path = url.removeprefix(f"{scheme}:///")
        if url and path in {"", url, no_path}:
            raise ValueError(f"{scheme}:///<path>")
        return url

    return check


def _postgresql(url: str) -> str:
    # Its server may be named in the query, as a socket or as several hosts; the database is always a path.
    if not url.startswith("postgresql://") or not urlsplit(url).path.strip("/"):
        raise ValueError("postgresql://<host>/<name>")
    return url


def _one_of(*schemes: str) -> Callable[[str], str]:
    """Take an address of one of these kinds; the adapter that is made of it looks at it more closely."""

    def check(url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in schemes or not parts.hostname or parts.port == 0:
            raise ValueError("an address")
        return url

    return check


def _either(scheme: str, embedded: Callable[[str], str], server: Callable[[str], str]) -> AfterValidator:
    return AfterValidator(lambda url: (embedded if url.startswith(scheme) or not url else server)(url))


def _memory(url: str) -> str:
    if url != "memory://":
        raise ValueError("memory://")
    return url


def _keys(text: str) -> str:
    if text:
        try:
            KeyRing.parse(text)
        except SettingsError as error:  # it says what is wrong without a word of the secret
            raise SettingsError(f"{PREFIX}SIGNING_KEYS: {error}") from None
    return text


Port = Annotated[int, Field(ge=1, le=65_535)]
PublicUrl = Annotated[str, AfterValidator(_public_url)]


class Settings(BaseSettings):
    """The settings, each with what `docs/settings.md` says of it."""

    # An empty variable is an unset one: compose files and CI systems pass those on.
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    data_dir: Path = Field(Path("data"), description="a folder; everything the embedded default keeps")
    host: str = Field("127.0.0.1", min_length=1, description="an address to listen on")
    api_port: Port = Field(8081, description="a port number from 1 to 65535")
    img_port: Port = Field(8082, description="a port number from 1 to 65535")
    web_port: Port = Field(8080, description="a port number from 1 to 65535")
    base_url: PublicUrl = Field("", description="an http:// or https:// address without query or spaces")
    img_url: PublicUrl = Field("", description="an http:// or https:// address without query or spaces")
    web_url: PublicUrl = Field("", description="an http:// or https:// address without query or spaces")
    api_url: PublicUrl = Field("", description="an http:// or https:// address without query or spaces")
    # SQLite would take :memory:, but each of our processes would have a memory of its own.
    database_url: Annotated[str, _either("sqlite:", _file_url("sqlite", no_path=":memory:"), _postgresql)] = (
        Field("", repr=False, description="sqlite:///<path> or postgresql://<user>:<password>@<host>/<name>")
    )
    store_url: Annotated[str, _either("file:", _file_url("file"), _one_of(*CLOUDS))] = Field(
        "", repr=False, description="file:///<path>, s3://<bucket>/<prefix>, gs://… or az://…"
    )
    counter_url: Annotated[str, _either("memory:", _memory, _one_of(*COUNTERS))] = Field(
        "memory://",
        repr=False,
        description="memory:// or redis://<host>:<port> (rediss, valkey, valkeys)",
    )
    signing_keys: Annotated[str, AfterValidator(_keys)] = Field(
        "", repr=False, description="kid:hex,kid:hex; the first signs, all verify"
    )
    signing_keys_file: Path = Field(
        default_factory=lambda data: data["data_dir"] / "signing-keys", description="a file of kid:hex lines"
    )
    uploads_per_minute: int = Field(120, ge=1, description="a whole number from 1")
    max_image_bytes: int = Field(
        5 * 1024**2, ge=1024, le=100 * 1024**2, description="a whole number of bytes from 1024 to 104857600"
    )
    cache_seconds: int = Field(3600, ge=0, le=31_536_000, description="a whole number from 0 to 31536000")
    github_client_id: str = Field("", description="the id of an OAuth app")
    github_client_secret: str = Field("", repr=False, description="the secret of that OAuth app")
    github_url: PublicUrl = Field("https://github.com", description="GitHub's address, or your own GitHub's")
    gitlab_client_id: str = Field("", description="the id of an application")
    gitlab_client_secret: str = Field("", repr=False, description="the secret of that application")
    gitlab_url: PublicUrl = Field("https://gitlab.com", description="GitLab's address, or your own GitLab's")
    gitea_client_id: str = Field("", description="the id of an OAuth2 application")
    gitea_client_secret: str = Field("", repr=False, description="the secret of that application")
    gitea_url: PublicUrl = Field("", description="your Gitea's or Forgejo's address")
    oidc_client_id: str = Field("", description="the id of a client")
    oidc_client_secret: str = Field("", repr=False, description="the secret of that client")
    oidc_issuer: PublicUrl = Field("", description="the issuer's address")
    oidc_name: str = Field("single sign-on", min_length=1, max_length=40, description="1 to 40 characters")
    allowed_users: str = Field("", description="logins, apart by commas; * for everyone")
    allowed_organizations: str = Field("", description="organizations or groups, apart by commas")
    allowed_email_domains: str = Field("", description="domains such as example.org, apart by commas")
    workers: int = Field(1, ge=1, le=256, description="a whole number from 1 to 256")
    drain_seconds: float = Field(0, ge=0, le=300, description="a number of seconds from 0 to 300")
    grace_seconds: float = Field(4, ge=1, le=600, description="a number of seconds from 1 to 600")
    log_format: Literal["console", "json"] = Field("console", description="console or json")
    log_requests: bool = Field(False, description="true or false")

    @model_validator(mode="after")
    def fill_in(self) -> Self:
        """Derive the defaults that depend on other settings, and refuse what does not go together."""
        derived = {
            "base_url": f"http://localhost:{self.api_port}",
            "img_url": f"http://localhost:{self.img_port}",
            "web_url": f"http://localhost:{self.web_port}",
            "api_url": f"http://{_reachable(self.host)}:{self.api_port}",
            "database_url": f"sqlite:///{self.data_dir}/prshots.db",
            "store_url": f"file://{self.data_dir.absolute()}/images",
        }
        for name, value in derived.items():
            if not getattr(self, name):
                object.__setattr__(self, name, value)
        if self.workers > 1 and self.counter_url == "memory://":
            raise SettingsError(
                f"{PREFIX}WORKERS: got {self.workers}, takes 1 while {PREFIX}COUNTER_URL is memory://, "
                "because each worker would count uploads on its own"
            )
        return self

    @property
    def providers(self) -> list[str]:
        """The login providers that are set up, in the order of the sign-in page."""
        return [name for name in PROVIDERS if getattr(self, f"{name}_client_id")]

    def check_providers(self) -> None:
        """Raise SettingsError for half a provider, and for one that nobody said who may come in by."""
        for name in self.providers:
            for part in (f"{name}_client_secret", "oidc_issuer" if name == "oidc" else f"{name}_url"):
                if not getattr(self, part):
                    since = f"{name}_client_id".upper()
                    raise SettingsError(
                        f"{PREFIX}{part.upper()}: got nothing, takes {_takes(part)}, "
                        f"since {PREFIX}{since} is set"
                    )
        if self.providers and not (
            self.allowed_users or self.allowed_organizations or self.allowed_email_domains
        ):
            raise SettingsError(
                f"{PREFIX}ALLOWED_USERS: got nothing, takes logins, or * for everyone the provider lets in; "
                f"{PREFIX}ALLOWED_ORGANIZATIONS and {PREFIX}ALLOWED_EMAIL_DOMAINS do as well"
            )

    @property
    def on_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite:")

    @property
    def on_disk(self) -> bool:
        return self.store_url.startswith("file:")

    @property
    def database_place(self) -> str:
        """Where the database is, in words for a message: a path, or a server without the password."""
        if self.on_sqlite:
            return str(self.database_path)
        parts = urlsplit(self.database_url)
        return f"PostgreSQL at {parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def store_place(self) -> str:
        """Where the images are, in words for a message: a folder, or a bucket without its options."""
        return str(self.store_path) if self.on_disk else self.store_url.partition("?")[0]

    @property
    def database_path(self) -> Path:
        return Path(self.database_url.removeprefix("sqlite:///"))

    @property
    def store_path(self) -> Path:
        return Path(self.store_url.removeprefix("file://"))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic-settings gives it
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - likewise
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # What load_settings passes in comes from the file, so the environment stands above it.
        del settings_cls
        return env_settings, init_settings


def load_settings(config: Path | None = None) -> Settings:
    """Read the environment and the TOML file. Raises SettingsError, whose one line says what to change."""
    from_file = _read_toml(config) if config else {}
    try:
        return Settings(**from_file)
    except ValidationError as error:
        raise SettingsError(_explain(error, config)) from error


def _read_toml(config: Path) -> dict[str, Any]:
    try:
        with config.open("rb") as file:
            table = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SettingsError(f"cannot read the settings in {config}: {reason}") from error
    return {key.upper().removeprefix(PREFIX).lower(): value for key, value in table.items()}


def _explain(error: ValidationError, config: Path | None) -> str:
    first = error.errors()[0]
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return f"{field.upper()} in {config} is not a setting; docs/settings.md lists them"
    return f"{PREFIX}{field.upper()}: got {_shown(field, first['input'])}, takes {_takes(field)}"


def _takes(field: str) -> str | None:
    return Settings.model_fields[field].description


def _shown(field: str, value: object) -> str:
    """Show what was given, without a secret that it may hold."""
    if Settings.model_fields[field].repr:
        return repr(value)
    if field.endswith("_url") and isinstance(value, str):
        return repr(re.sub(r"\?.*", "?…", re.sub(r"//.*@", "//…@", value)))
    return "a value"
