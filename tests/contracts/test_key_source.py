"""The contract of every `KeySource` adapter."""

from collections.abc import Callable
from pathlib import Path

import pytest

from prshots.server.adapters.keys import FixedKeys, KeyFile
from prshots.server.links import KeyRing, KeySource, LinkState, check
from support.port_watch import PortWatch

KEYS = f"new:{'ab' * 32},old:{'cd' * 32}"
IMAGE_ID = "0a" * 16


@pytest.fixture(params=["file", "setting"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> KeySource:
    """Return a source of these two keys. Add new adapters here."""
    path = tmp_path / "signing-keys"
    path.write_text(KEYS.replace(",", "\n"))
    adapters: dict[str, Callable[[], KeySource]] = {
        "file": lambda: KeyFile(path),
        "setting": lambda: FixedKeys(KeyRing.parse(KEYS)),
    }
    return PortWatch().over(adapters[request.param](), KeySource)


def test_the_first_key_signs_and_every_key_verifies(keys: KeySource) -> None:
    assert keys.ring().signing_kid == "new"
    for kid in ("new", "old"):
        url = keys.ring().sign(IMAGE_ID, "png", 2_000_000_000, kid)
        assert f"token={kid}." in url
        assert check(keys.ring(), url, 0).verdict is LinkState.VALID
        assert check(keys.fresh_ring(), url, 0).verdict is LinkState.VALID


def test_key_ring_is_cached(keys: KeySource) -> None:
    assert keys.ring() is keys.ring()
    assert keys.ring().keys == keys.fresh_ring().keys
