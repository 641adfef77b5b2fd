"""The contract of every `KeySource`, and the key file: created once, replaced atomically, followed by every process."""

import os
import stat
import threading
from pathlib import Path

import pytest

from prshots.contract.errors import ConflictError, NotFoundError, SettingsError
from prshots.server.adapters.keys import RECHECK_SECONDS, SECRET_BYTES, FixedKeys, KeyFile
from prshots.server.links import KeyRing, KeySource, LinkState, check
from support.port_watch import PortWatch
from support.stores_and_records import at_once, filled_up, read_only, small_disk
from support.waiting import wait_until

TWO_KEYS = f"new:{'ab' * 32},old:{'cd' * 32}"


@pytest.fixture(params=["file", "setting"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> KeySource:
    """Return a source of these two keys. Add new adapters here."""
    path = tmp_path / "signing-keys"
    path.write_text(TWO_KEYS.replace(",", "\n"))
    is_file = request.param == "file"
    return PortWatch().over(KeyFile(path) if is_file else FixedKeys(KeyRing.parse(TWO_KEYS)), KeySource)


def test_the_first_key_signs_and_every_key_verifies(source: KeySource) -> None:
    ring = source.ring()
    assert ring is source.ring()  # cached
    assert ring.signing_kid == "new"
    assert ring.keys == source.fresh_ring().keys
    for kid in ("new", "old"):
        url = ring.sign("0a" * 16, "png", 2_000_000_000, kid)
        assert f"token={kid}." in url
        assert check(ring, url, 0).verdict is LinkState.VALID


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    made = KeyFile(tmp_path / "signing-keys")
    made.create_if_missing()
    return made


def kids(keys: KeyFile) -> list[str]:
    return [key.kid for key in keys.fresh_ring().keys]


def test_a_new_file_holds_one_random_key_in_the_documented_format(keys: KeyFile, tmp_path: Path) -> None:
    (key,) = keys.ring().keys
    assert (key.kid, len(key.secret)) == ("k1", SECRET_BYTES)
    another = KeyFile(tmp_path / "elsewhere" / "signing-keys")
    another.create_if_missing()
    assert another.ring().keys[0].secret != key.secret
    for _ in range(2):
        assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
        lines = [f"{key.kid}:{key.secret.hex()}\n" for key in keys.fresh_ring().keys]
        assert keys.path.read_text() == "".join(lines)
        keys.rotate()


def test_concurrent_processes_create_the_file_once(tmp_path: Path) -> None:
    def create() -> str:
        keys = KeyFile(tmp_path / "new" / "signing-keys")
        keys.create_if_missing()
        return keys.ring().format()

    (ring,) = set(at_once(create, processes=8))
    assert KeyRing.parse(ring).signing_kid == "k1"


def test_concurrent_rotations_lose_no_key(keys: KeyFile) -> None:
    def rotate() -> str:
        return " ".join(KeyFile(keys.path).rotate() for _ in range(10))

    made = " ".join(at_once(rotate, processes=2)).split()
    assert len(set(made)) == 20
    assert set(kids(keys)) == {"k1", *made}


def test_a_rotation_puts_a_new_key_first(keys: KeyFile) -> None:
    keys.path.with_name("signing-keys.new").write_text("k2:ab")  # left by a crash
    assert [keys.rotate(), keys.rotate()] == ["k2", "k3"]
    assert kids(keys) == ["k3", "k2", "k1"]
    assert len({key.secret for key in keys.ring().keys}) == 3


def test_rotation_keeps_a_key_with_a_custom_kid(tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "signing-keys")
    keys.path.write_text(f"spring:{'ab' * 32}\n")
    assert keys.rotate() == "k1"
    assert kids(keys) == ["k1", "spring"]


def test_only_an_existing_key_that_does_not_sign_can_be_retired(keys: KeyFile) -> None:
    keys.rotate()
    with pytest.raises(ConflictError, match="keys rotate"):
        keys.retire("k2")
    with pytest.raises(NotFoundError, match="'k9'"):
        keys.retire("k9")
    keys.retire("k1")
    assert kids(keys) == ["k2"]
    assert keys.rotate() == "k3"  # no kid is used twice


def test_the_file_is_read_again_every_two_seconds(keys: KeyFile) -> None:
    now = 1000.0
    followed = KeyFile(keys.path, lambda: now)
    assert followed.ring().signing_kid == "k1"
    keys.rotate()
    assert followed.fresh_ring().signing_kid == "k2"
    keys.rotate()
    now += RECHECK_SECONDS
    assert followed.ring().signing_kid == "k2"
    now += 0.001
    assert followed.ring().signing_kid == "k3"


@pytest.mark.parametrize("content", [b"", b"garbage", b"\xff\xfe\x00", None])
def test_an_invalid_or_missing_file_leaves_only_loaded_keys_in_use(
    keys: KeyFile, content: bytes | None
) -> None:
    ring, good = keys.ring(), keys.path.read_bytes()
    keys.path.unlink()
    if content is not None:
        keys.path.write_bytes(content)
    assert keys.fresh_ring() is ring
    with pytest.raises(SettingsError, match=r"cannot read the signing keys in .*/signing-keys"):
        KeyFile(keys.path).ring()
    keys.path.write_bytes(good)
    keys.rotate()
    assert keys.fresh_ring().signing_kid == "k2"


def test_a_reader_never_sees_a_partly_written_file(keys: KeyFile) -> None:
    seen: set[str] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(keys.path.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    written = {keys.path.read_text()}
    for _ in range(30):
        KeyFile(keys.path).rotate()
        written.add(keys.path.read_text())
        wait_until(lambda: keys.path.read_text() in seen, "the reader to see the new keys")
    done.set()
    reader.join()
    assert seen <= written


def test_rotation_on_a_full_disk_fails_and_keeps_the_keys(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        keys = KeyFile(disk / "signing-keys")
        keys.create_if_missing()
        before = keys.path.read_bytes()
        with filled_up(disk), pytest.raises(SettingsError, match="No space left"):
            keys.rotate()
        assert keys.path.read_bytes() == before
        keys.rotate()


def test_writing_to_a_read_only_folder_fails_with_the_reason(keys: KeyFile) -> None:
    with read_only(keys.path.parent):
        assert kids(keys) == ["k1"]
        with pytest.raises(SettingsError, match=r"cannot write the signing keys to .*: Read-only"):
            keys.rotate()
        with pytest.raises(SettingsError, match=r"cannot write the signing keys to .*: Read-only"):
            KeyFile(keys.path.parent / "new" / "signing-keys").create_if_missing()


def test_errors_and_logs_contain_no_secret(keys: KeyFile, capfd: pytest.CaptureFixture[str]) -> None:
    secret = keys.ring().keys[0].secret.hex()
    keys.path.write_text(f"{secret}\nk1:{secret[:20]}\n")
    os.utime(keys.path, (0, 0))
    keys.fresh_ring()
    with pytest.raises(SettingsError) as caught:
        keys.rotate()
    said = "".join(capfd.readouterr()) + str(caught.value)
    assert "signing key number 1" in said
    assert secret[:8] not in said
