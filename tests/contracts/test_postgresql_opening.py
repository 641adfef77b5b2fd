"""PostgreSQL that cannot be opened: one line says why, without the password."""

import sys

import pytest

from prshots.contract.errors import RecordsError, SettingsError
from prshots.server import wiring
from prshots.server.config.settings import Settings
from support.engine_servers import PostgreSQL
from support.free_ports import free_port

PASSWORD = "pass-word"


def assert_plain(error: BaseException | None) -> None:
    assert "\n" not in str(error)
    while error is not None:  # every error that a traceback would show
        assert PASSWORD not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def refused(url: str) -> str:
    with pytest.raises(RecordsError, match=r"^PostgreSQL at .*: the database did not answer: ") as caught:
        wiring.open_database(Settings(database_url=url))
    assert_plain(caught.value)
    return str(caught.value)


def test_a_wrong_password_is_reported_without_leaking_it(postgresql: PostgreSQL) -> None:
    rules = postgresql.folder / "data" / "pg_hba.conf"
    rules.write_text(f"host all locked 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    postgresql.execute("SELECT pg_reload_conf()")
    postgresql.execute("CREATE ROLE locked LOGIN PASSWORD 'another'")
    url = f"postgresql://locked:{PASSWORD}@127.0.0.1:{postgresql.port}/postgres"
    assert "password authentication failed" in refused(url)


def test_a_missing_database_is_reported(postgresql: PostgreSQL) -> None:
    assert 'database "missing" does not exist' in refused(postgresql.url("missing"))


def test_a_refused_connection_is_reported() -> None:
    url = f"postgresql://ann:{PASSWORD}@127.0.0.1:{free_port()}/prshots"
    assert "Connection refused" in refused(url)


@pytest.mark.parametrize("end", ["%zz@127.0.0.1/db", "@127.0.0.1/db?no_such=1", "@127.0.0.1/db?sslmode"])
def test_an_invalid_database_url_is_refused_without_its_password(end: str) -> None:
    with pytest.raises(
        SettingsError, match=r"^PRSHOTS_DATABASE_URL: got an invalid value, takes postgresql://"
    ) as caught:
        wiring.open_database(Settings(database_url=f"postgresql://ann:{PASSWORD}{end}"))
    assert_plain(caught.value)


def test_without_the_driver_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "prshots.server.adapters.sql.database.postgresql")
    with pytest.raises(SettingsError, match=r"pip install 'prshots\[postgresql\]'"):
        wiring.open_database(Settings(database_url="postgresql://127.0.0.1/db"))
