"""The fingerprints of the signing keys: replicas on different machines agree on their keys."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prshots.contract.errors import KeysError
from prshots.server.adapters.keys import KeyFile
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.upkeep.key_fingerprints import SharedKeys, SqlKeyFingerprints
from prshots.server.links import Key, KeyRing
from support.stores_and_records import ENGINES, SqlRecords, a_project, an_image, at_once, opener

OLD, NEW, OTHER = Key("k1", b"1" * 32), Key("k2", b"2" * 32), Key("k1", b"3" * 32)


@pytest.fixture(params=ENGINES)
def new_connection(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Database]:
    return opener(request, tmp_path, with_neighbor=False)  # with images, keys are not made anew


@pytest.fixture
def database(new_connection: Callable[[], Database]) -> Iterator[Database]:
    made = new_connection()
    yield made
    made.engine.dispose()


@pytest.fixture
def fingerprints(database: Database) -> SqlKeyFingerprints:
    return SqlKeyFingerprints(database.engine)


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str], KeyFile]:
    """Return the key file of a machine."""
    return lambda name: KeyFile(tmp_path / name / "signing-keys")


def test_a_fingerprint_identifies_a_secret_without_revealing_it() -> None:
    assert OLD.fingerprint == Key("other-kid", OLD.secret).fingerprint
    assert len({OLD.fingerprint, NEW.fingerprint, OTHER.fingerprint}) == 3
    assert OLD.secret.hex() not in OLD.fingerprint


def test_new_and_known_keys_are_accepted_but_not_another_key_under_a_known_kid(
    fingerprints: SqlKeyFingerprints,
) -> None:
    for ring in (KeyRing([OLD]), KeyRing([OLD]), KeyRing([NEW, OLD]), KeyRing([NEW])):
        fingerprints.agree(ring)
    with pytest.raises(
        KeysError, match="key k1 differs from the key k1 that this installation uses: restore"
    ):
        fingerprints.agree(KeyRing([Key("k3", b"4" * 32), OTHER]))
    assert fingerprints.used_kids() == {"k1", "k2"}


def test_a_ring_without_any_known_key_is_refused_unless_an_operator_registers_it(
    fingerprints: SqlKeyFingerprints,
) -> None:
    fingerprints.agree(KeyRing([OLD]))
    with pytest.raises(KeysError, match="never used these signing keys: k2"):
        fingerprints.agree(KeyRing([NEW]))
    fingerprints.register(KeyRing([NEW]))
    fingerprints.agree(KeyRing([NEW]))
    with pytest.raises(KeysError, match=r"key k1 differs.*: give the new key an id that was never used"):
        fingerprints.register(KeyRing([OTHER]))


def test_only_a_new_installation_creates_keys(
    fingerprints: SqlKeyFingerprints, machine: Callable[[str], KeyFile]
) -> None:
    first, second = machine("first"), machine("second")
    fingerprints.create_first(first)
    fingerprints.create_first(first)  # the file exists now
    fingerprints.agree(first.ring())
    with pytest.raises(KeysError, match=r"there are no signing keys in .*second.*: restore the key file"):
        fingerprints.create_first(second)
    assert not second.path.exists()


async def test_an_installation_with_images_creates_no_keys_and_reuses_no_kid(
    database: Database, fingerprints: SqlKeyFingerprints, machine: Callable[[str], KeyFile]
) -> None:
    """After an upgrade, no fingerprint is registered yet."""
    records, project = SqlRecords(database), a_project()
    await records.add_project(project)
    await records.add_image(an_image(project))
    with pytest.raises(KeysError, match="there are no signing keys"):
        fingerprints.create_first(machine("first"))
    with pytest.raises(KeysError, match="there are no signing keys"):
        SharedKeys(machine("first"), database).begin(refuses_wrong_keys=True)
    assert fingerprints.used_kids() == {"k1"}


def test_machines_that_start_at_the_same_time_do_not_both_create_keys(
    new_connection: Callable[[], Database], machine: Callable[[str], KeyFile]
) -> None:
    new_connection().engine.dispose()  # creates the tables

    def create() -> str:
        database, keys = new_connection(), machine(str(os.getpid()))
        try:
            SqlKeyFingerprints(database.engine).create_first(keys)
        except KeysError:
            return "refused"
        return keys.ring().format()

    results = at_once(create, processes=4)
    assert sorted(result == "refused" for result in results) == [False, True, True, True]


class TestKeysOfTheApi:
    async def test_a_machine_without_its_file_says_what_to_do_and_continues_when_it_is_there(
        self, database: Database, machine: Callable[[str], KeyFile]
    ) -> None:
        SharedKeys(machine("first"), database)._compare()
        keys = SharedKeys(machine("second"), database)
        keys._compare()
        for refused in (keys.ring, keys.fresh_ring):
            with pytest.raises(KeysError, match="restore the key file"):
                refused()
        with pytest.raises(KeysError, match="restore the key file"):
            await keys.check()
        machine("second").path.parent.mkdir(parents=True, exist_ok=True)
        machine("second").path.write_bytes(machine("first").path.read_bytes())
        keys._compare()
        await keys.check()
        assert keys.ring().keys == machine("first").ring().keys

    async def test_a_rotation_is_followed_and_a_wrong_file_is_not(
        self, database: Database, machine: Callable[[str], KeyFile]
    ) -> None:
        keys = SharedKeys(machine("first"), database)
        keys._compare()
        machine("first").rotate()
        keys._compare()
        assert keys.ring().signing_kid == "k2"
        machine("other").create_if_missing()
        machine("first").path.write_bytes(machine("other").path.read_bytes())
        keys._compare()
        assert keys.ring().signing_kid == "k2"
        with pytest.raises(KeysError, match="key k1 differs"):
            await keys.check()

    async def test_keys_are_not_compared_while_the_database_is_down(
        self, database: Database, machine: Callable[[str], KeyFile]
    ) -> None:
        database.not_open = "down"
        keys = SharedKeys(machine("first"), database)
        keys._compare()
        await keys.check()  # the database's own check reports it
        with pytest.raises(KeysError, match="not been compared"):
            keys.ring()
        assert not machine("first").path.exists()
