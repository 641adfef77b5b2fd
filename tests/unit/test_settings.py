"""Settings: where they come from, and the error when one is wrong."""

import math
import os
import traceback
from pathlib import Path

import pytest

from prshots.contract.errors import SettingsError
from prshots.server.config.settings import PROVIDERS, SECRET_FILES, SETTINGS, Settings, load_settings
from prshots.server.config.values import quota

KEYS = f"k1:{'5e' * 32}"


CASES: dict[str, tuple[str, object, str]] = {
    "DATA_DIR": ("/srv/shots", Path("/srv/shots"), ""),
    "API_PORT": ("9001", 9001, "70000"),
    "IMG_PORT": ("9002", 9002, "0"),
    "WEB_PORT": ("9003", 9003, "http"),
    "SWEEP_PORT": ("9004", 9004, "-1"),
    "BASE_URL": ("https://shots.example.com/", "https://shots.example.com", "shots.example.com"),
    "IMG_URL": ("https://img.example.com/a/", "https://img.example.com/a", "ftp://img"),
    "WEB_URL": ("http://[::1]:80", "http://[::1]:80", "http://a b?c=<d>"),
    "API_URL": ("http://10.0.0.1:81", "http://10.0.0.1:81", "ftp://api"),
    "DATABASE_URL": ("sqlite:////srv/a.db", "sqlite:////srv/a.db", "mysql://db"),
    "STORE_URL": ("file:///srv/images", "file:///srv/images", "/srv/images"),
    "COUNTER_URL": ("redis://cache:6379/1", "redis://cache:6379/1", "memory://here"),
    "SIGNING_KEYS_FILE": ("/run/keys", Path("/run/keys"), ""),
    "UPLOADS_PER_MINUTE": ("5", 5, "0"),
    "MAX_IMAGE_BYTES": ("2048", 2048, "1023"),
    "CACHE_SECONDS": ("0", 0, "-1"),
    "IMG_CACHE_BYTES": ("0", 0, "-1"),
    "GITHUB_URL": ("https://git.acme.test/", "https://git.acme.test", "acme"),
    "GITLAB_URL": ("https://lab.test", "https://lab.test", "lab"),
    "GITEA_URL": ("https://tea.test", "https://tea.test", "tea"),
    "OIDC_ISSUER": ("https://id.test", "https://id.test", "id"),
    "OIDC_NAME": ("Acme", "Acme", "x" * 41),
    "TRUSTED_ISSUERS": ("https://a.test/, http://[::1]", "https://a.test/, http://[::1]", "http://10.0.0.1"),
    "WORKERS": ("3", 3, "many"),
    "API_WORKERS": ("256", 256, "257"),
    "IMG_WORKERS": ("2", 2, "0"),
    "DRAIN_SECONDS": ("2.5", 2.5, "-1"),
    "GRACE_SECONDS": ("30", 30, "0"),
    "LOG_FORMAT": ("json", "json", "xml"),
    "LOG_LEVEL": ("warning", "warning", "verbose"),
    "LOG_REQUESTS": ("true", True, "perhaps"),
}
"""For each setting that is not plain text: a valid text, its value, and an invalid text."""

SECRET_URLS = ["database_url", "store_url", "counter_url"]


def value_of(settings: Settings, name: str) -> object:
    return getattr(settings, name.lower())


def error_of(config: Path | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(config)
    message = str(caught.value)
    assert "\n" not in message
    return message


def error_of_value(name: str, value: str) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings(**{name: value})
    return str(caught.value)


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PRSHOTS_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "prshots.toml"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    without = load_settings()
    for name in SETTINGS:
        monkeypatch.setenv(f"PRSHOTS_{name.upper()}", "")
    assert load_settings() == without


def test_the_promised_defaults() -> None:
    loaded = load_settings()
    assert (loaded.web_port, loaded.api_port, loaded.img_port) == (8080, 8081, 8082)
    assert (loaded.host, loaded.data_dir) == ("127.0.0.1", Path("data"))
    assert (loaded.uploads_per_minute, loaded.max_image_bytes, loaded.cache_seconds) == (120, 5242880, 3600)


@pytest.mark.parametrize("spelling", ["PRSHOTS_{}", "{}", "prshots_{}"])
def test_a_setting_is_read_from_a_file(config: Path, spelling: str) -> None:
    for name, (text, value, _) in CASES.items():
        for key in (spelling.format(name), spelling.format(name).lower()):
            config.write_text(f'{key} = "{text}"')
            assert value_of(load_settings(config), name) == value


def test_a_number_in_a_file_needs_no_quotes(config: Path) -> None:
    config.write_text("api_port = 9001")
    assert load_settings(config).api_port == 9001


def test_the_environment_overrides_the_file(monkeypatch: pytest.MonkeyPatch, config: Path) -> None:
    for name, (text, value, wrong) in CASES.items():
        config.write_text(f'{name} = "{wrong}"')
        monkeypatch.setenv(f"PRSHOTS_{name}", text)
        assert value_of(load_settings(config), name) == value


def test_an_invalid_value_is_refused_with_what_the_setting_takes(
    monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    for name, (_, _, wrong) in CASES.items():
        if wrong:
            takes = SETTINGS[name.lower()].metadata["takes"]
            config.write_text(f'{name} = "{wrong}"')
            assert error_of(config) == f"PRSHOTS_{name}: got {wrong!r}, takes {takes}"
            monkeypatch.setenv(f"PRSHOTS_{name}", wrong)
            assert error_of() == error_of(config)
            monkeypatch.delenv(f"PRSHOTS_{name}")
    monkeypatch.setenv("PRSHOTS_API_PORT", "http")
    assert error_of() == "PRSHOTS_API_PORT: got 'http', takes a port number from 1 to 65535"


@pytest.mark.parametrize(
    ("name", "urls"),
    [
        ("database_url", "sqlite:// sqlite:/// sqlite:///:memory: sqlite://host/name.db sqlite:name.db"),
        ("database_url", "postgresql://db postgresql://db/ postgresql+psycopg://db/name"),
        (
            "trusted_issuers",
            f"http://ci.test https:// https://a\tb https://a?x=1 ci file:///etc https://{'a' * 300}",
        ),
    ],
)
def test_an_invalid_url_is_refused(name: str, urls: str) -> None:
    for url in urls.split(" "):
        assert error_of_value(name, url).startswith(f"PRSHOTS_{name.upper()}: got ")


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("database_url", "postgresql://user:word@db.test:5433/shots?sslmode=require"),
        ("database_url", "postgresql:///shots?host=/run/postgresql"),
        ("database_url", "postgresql://user@/shots?host=a:1&host=b:2"),
        ("database_url", "postgresql://ann:word%40b%2Fc%23d%3Fe:f;g=h&i@one:5432,two:5433/shots?x=a@b"),
        # Newer Pythons refuse an IPv6 address beside other hosts.
        ("database_url", "postgresql://ann:word%40b@[::1]:5433/shots"),
        ("database_url", "postgresql://%2Frun%2Fpostgresql/shots"),
        ("database_url", "postgresql:///shots?user=ann@corp"),
        ("store_url", "s3://bucket/some/prefix?endpoint=http://127.0.0.1:9000&region=eu"),
        ("store_url", "gs://bucket"),
        ("store_url", "az://container/prefix?account=us"),
        ("counter_url", "rediss://:word@cache.test:6380/2"),
        ("counter_url", "valkey://cache"),
    ],
)
def test_server_urls_are_accepted_and_their_passwords_hidden(name: str, url: str) -> None:
    settings = Settings(**{name: url})
    assert getattr(settings, name) == url
    assert "word" not in repr(settings) + settings.database_place


@pytest.mark.parametrize("name", SECRET_URLS)
@pytest.mark.parametrize(
    "url", ["mysql://me:pass/w@rd@db/x", "https://me:pass/w@rd@db", "ftp://db/x?password=pass/w@rd"]
)
def test_an_invalid_url_is_refused_without_showing_its_password(name: str, url: str) -> None:
    said = error_of_value(name, url)
    assert said.startswith(f"PRSHOTS_{name.upper()}: got '")
    assert "pass/w" not in said


@pytest.mark.parametrize(("name", "scheme"), [("database_url", "postgresql"), ("counter_url", "redis")])
@pytest.mark.parametrize("mark", ["@", "/", "#", "?", "/?", "@/", "?x=", "/7?x=", "[", "@@"])
@pytest.mark.parametrize("rest", ["@db.test:5432/shots", "@db.test/shots?sslmode=require"])
def test_an_unescaped_character_in_a_password_is_refused_with_what_to_do(
    name: str, scheme: str, mark: str, rest: str
) -> None:
    url = f"{scheme}://ann:first{mark}second{rest}"  # not below: a traceback shows the line
    with pytest.raises(SettingsError) as raised:
        Settings(**{name: url})
    said = str(raised.value)
    assert said.startswith(f"PRSHOTS_{name.upper()}: got '{scheme}://…', takes ")
    assert "for example @ as %40" in said
    assert not any(part in said for part in ("first", "second", "ann"))
    logged = "".join(traceback.format_exception(raised.value))
    assert not any(part in logged for part in ("first", "second"))


@pytest.mark.parametrize("name", SECRET_URLS)
@pytest.mark.parametrize("value", ["postgresql:ann:word@db", "word", "my secret://word@db/x", "://word"])
def test_a_secret_value_that_is_not_a_url_is_not_shown(name: str, value: str) -> None:
    said = error_of_value(name, value)
    assert said.startswith(f"PRSHOTS_{name.upper()}: got an invalid value, takes ")


def test_a_password_in_a_url_that_takes_none_is_not_shown() -> None:
    said = error_of_value("base_url", "https://ann:pa@word@shots.test")
    assert said.startswith("PRSHOTS_BASE_URL: got 'https://ann:[hidden]@shots.test', takes ")


def test_default_urls_and_paths_follow_the_ports_and_data_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRSHOTS_DATA_DIR", "/srv/shots")
    monkeypatch.setenv("PRSHOTS_IMG_PORT", "9002")
    loaded = load_settings()
    assert loaded.img_url == "http://localhost:9002"
    assert loaded.database_path == Path("/srv/shots/prshots.db")
    assert loaded.store_path == Path("/srv/shots/images")
    assert loaded.signing_keys_file == Path("/srv/shots/signing-keys")


def test_a_line_break_after_a_value_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kubernetes passes on a Secret's file as it is, and editors end files with a line break."""
    monkeypatch.setenv("PRSHOTS_DATABASE_URL", "postgresql://ann:secret@db/prshots\n")
    monkeypatch.setenv("PRSHOTS_API_PORT", " \n")
    assert load_settings().database_url == "postgresql://ann:secret@db/prshots"
    assert load_settings().api_port == 8081


def test_a_secret_can_be_in_a_file(monkeypatch: pytest.MonkeyPatch, config: Path, tmp_path: Path) -> None:
    """As Docker, Kubernetes and systemd mount it."""
    secret, missing = tmp_path / "secret", tmp_path / "none"
    secret.write_text("postgresql://ann:secret@db/prshots\n")
    config.write_text(f'database_url_file = "{secret}"')
    assert load_settings(config).database_url == "postgresql://ann:secret@db/prshots"
    monkeypatch.setenv("PRSHOTS_DATABASE_URL", "sqlite:////srv/a.db")  # the environment overrides the file
    assert load_settings(config).database_url == "sqlite:////srv/a.db"
    name = "PRSHOTS_DATABASE_URL_FILE"
    monkeypatch.setenv(name, str(secret))
    assert error_of() == f"{name}: PRSHOTS_DATABASE_URL is set too; set only one of them"
    monkeypatch.delenv("PRSHOTS_DATABASE_URL")
    secret.write_text("mysql://ann:word@db/prshots")
    assert error_of().startswith("PRSHOTS_DATABASE_URL: got 'mysql://…', takes ")
    secret.write_text(" \n")
    assert error_of() == f"{name}: {secret} is empty; write the secret to it"
    secret.write_bytes(b"\xff\xfe")
    assert error_of() == f"{name}: cannot read {secret}: not text in UTF-8"
    monkeypatch.setenv(name, str(missing))
    assert error_of() == f"{name}: cannot read {missing}: No such file or directory"


def test_every_secret_can_be_in_a_file() -> None:
    others = {"database_url_file", "store_url_file", "counter_url_file", "github_app_key_file"}
    assert set(SECRET_FILES) == others | {f"{provider}_client_secret_file" for provider in PROVIDERS}


def test_an_unknown_setting_is_refused_by_name(config: Path) -> None:
    config.write_text('api_prot = "secret"')
    assert error_of(config) == f"unknown setting API_PROT in {config}: did you mean API_PORT?"
    config.write_text('favorite_color = "secret"')
    assert error_of(config) == f"unknown setting FAVORITE_COLOR in {config}: see docs/run/settings.md"


def test_an_unreadable_or_invalid_file_is_refused_by_name(config: Path) -> None:
    assert error_of(config) == f"cannot read the settings in {config}: No such file or directory"
    config.write_bytes(b"\xff\xfe")
    assert error_of(config).startswith(f"cannot read the settings in {config}: ")
    config.write_text("api_port = ")
    assert error_of(config).startswith(f"cannot read the settings in {config}: ")
    config.unlink()
    config.mkdir()
    assert error_of(config) == f"cannot read the settings in {config}: Is a directory"


def test_signing_keys_are_not_shown(monkeypatch: pytest.MonkeyPatch, config: Path) -> None:
    """`test_signing.py` has all kinds of invalid keys."""
    assert "5e5e" not in repr(Settings(signing_keys=KEYS))
    config.write_text(f'signing_keys = "{KEYS},{KEYS}"')
    from_file = error_of(config)
    assert from_file.startswith("PRSHOTS_SIGNING_KEYS: ")
    assert "5e5e" not in from_file
    monkeypatch.setenv("PRSHOTS_SIGNING_KEYS", f"{KEYS},{KEYS}")
    assert error_of() == from_file
    monkeypatch.delenv("PRSHOTS_SIGNING_KEYS")
    config.write_text(f'signing_keys = ["{KEYS}"]')
    assert error_of(config).startswith("PRSHOTS_SIGNING_KEYS: got an invalid value, takes kid:hex")
    assert "5e5e" not in error_of(config)


def test_workers_are_the_default_of_both_components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRSHOTS_WORKERS", "3")
    loaded = load_settings()
    assert (loaded.api_workers, loaded.img_workers) == (3, 3)
    monkeypatch.setenv("PRSHOTS_IMG_WORKERS", "1")
    loaded = load_settings()
    assert (loaded.api_workers, loaded.img_workers) == (3, 1)


@pytest.mark.parametrize(("processors", "workers"), [({0}, 1), ({1, 5, 6}, 3), (set(range(64)), 8)])
def test_automatic_workers_are_as_many_as_the_processors_up_to_8(
    monkeypatch: pytest.MonkeyPatch, processors: set[int], workers: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: processors)
    monkeypatch.setattr("prshots.server.config.values.quota", lambda *_: 64.0)
    monkeypatch.setenv("PRSHOTS_API_WORKERS", "auto")
    loaded = load_settings()
    assert (loaded.api_workers, loaded.img_workers) == (workers, 1)


@pytest.mark.parametrize(
    ("written", "processors"), [("150000 100000", 1.5), ("max 100000", math.inf), (None, math.inf)]
)
def test_the_quota_of_a_container_limits_the_processors(
    tmp_path: Path, written: str | None, processors: float
) -> None:
    (tmp_path / "own").write_text("0::/system.slice/prshots.service\n")
    folder = tmp_path / "system.slice/prshots.service"
    folder.mkdir(parents=True)
    if written:
        (folder / "cpu.max").write_text(f"{written}\n")
    assert quota(tmp_path / "own", tmp_path) == processors


GITHUB = {"github_client_id": "id", "github_client_secret": "secret"}


class TestLoginProviders:
    def test_are_optional_and_listed_in_the_order_of_the_sign_in_page(self) -> None:
        Settings().check_providers()
        assert Settings(oidc_client_id="id", **GITHUB).providers == ["github", "oidc"]

    @pytest.mark.parametrize(
        ("given", "missing"),
        [
            ({"github_client_id": "id"}, "GITHUB_CLIENT_SECRET"),
            ({"gitea_client_id": "id", "gitea_client_secret": "secret"}, "GITEA_URL"),
            ({"oidc_client_id": "id", "oidc_client_secret": "secret"}, "OIDC_ISSUER"),
            (GITHUB, "ALLOWED_USERS"),
        ],
    )
    def test_that_are_incomplete_are_refused_with_the_missing_setting(
        self, given: dict[str, str], missing: str
    ) -> None:
        with pytest.raises(SettingsError, match=f"^PRSHOTS_{missing}: got nothing"):
            Settings(**given).check_providers()

    @pytest.mark.parametrize("who", ["allowed_users", "allowed_organizations", "allowed_email_domains"])
    def test_need_only_one_allow_list_of_any_kind(self, who: str) -> None:
        Settings(**GITHUB, **{who: "acme"}).check_providers()


def test_issuers_are_split_at_commas_and_otherwise_unchanged() -> None:
    settings = Settings(trusted_issuers=" https://ci.test/ ,, http://localhost:1,http://127.0.0.1:2/x")
    assert settings.issuers == ["https://ci.test/", "http://localhost:1", "http://127.0.0.1:2/x"]
