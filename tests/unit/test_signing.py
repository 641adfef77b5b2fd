"""Signed URLs: a URL is valid only if a key of the ring signed it."""

import hmac
import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from prshots.contract.errors import SettingsError
from prshots.contract.object_names import THUMBNAIL_EXT
from prshots.server.links import MIN_SECRET_BYTES, Key, KeyRing, LinkState, check

NOW = 1_800_000_000
SECRETS = st.binary(min_size=MIN_SECRET_BYTES, max_size=64)
KIDS = st.text(string.ascii_letters + string.digits + "_-", min_size=1, max_size=32)
RINGS = st.builds(
    lambda secrets: KeyRing(Key(kid, secret) for kid, secret in secrets.items()),
    st.dictionaries(KIDS, SECRETS, min_size=1, max_size=4),
)
IMAGE_IDS = st.text("0123456789abcdef", min_size=32, max_size=32)
EXTS = st.sampled_from(["png", "jpg", "webp", THUMBNAIL_EXT])
TIMES = st.integers(1, 999_999_999_999)

RING = KeyRing([Key("k2", b"b" * 32), Key("k1", b"a" * 32)])
URL = RING.sign("0a" * 16, "png", NOW + 60, "k1")
PATH, _, QUERY = URL.partition("?")


def verdict(ring: KeyRing, url: str, now: float = NOW) -> LinkState:
    return check(ring, url, now).verdict


@given(RINGS, IMAGE_IDS, EXTS, TIMES, st.data())
def test_a_url_signed_by_any_key_of_the_ring_is_valid(
    ring: KeyRing, image_id: str, ext: str, exp: int, data: st.DataObject
) -> None:
    kid = data.draw(st.sampled_from([key.kid for key in ring.keys]))
    url = ring.sign(image_id, ext, exp, kid)
    found = check(ring, url, exp - 1)
    assert found.verdict is LinkState.VALID
    assert (found.image_id, found.ext, found.exp) == (image_id, ext, exp)
    assert f"&token={kid}." in url


REFUSED = {LinkState.INVALID, LinkState.UNKNOWN_KEY, LinkState.NOT_AN_IMAGE_PATH}


def test_replacing_any_single_character_is_refused() -> None:
    for position, right in enumerate(URL):
        for wrong in set(string.printable) - {right}:
            assert verdict(RING, URL[:position] + wrong + URL[position + 1 :]) in REFUSED


@given(
    position=st.integers(0, len(URL)),
    kind=st.sampled_from(["replace", "insert", "delete", "swap", "repeat"]),
    character=st.one_of(st.sampled_from(URL + "ABCDEF%+;&#/. \n\0"), st.characters()),
)
@example(position=URL.index("k1"), kind="replace", character="K")
@example(position=len(URL), kind="insert", character="\n")
@example(position=URL.index("exp=") + 4, kind="insert", character="0")
@example(position=URL.index("exp=") + 4, kind="insert", character="٣")
@example(position=URL.index("?"), kind="insert", character="/")
def test_any_change_to_the_url_is_refused(position: int, kind: str, character: str) -> None:
    before, after = URL[:position], URL[position:]
    changed = {
        "replace": before + character + after[1:],
        "insert": before + character + after,
        "delete": before + after[1:],
        "swap": before + after[1:2] + after[:1] + after[2:],
        "repeat": before + after[:1] * 2 + after[1:],
    }[kind]
    assume(changed != URL)
    assert verdict(RING, changed) in REFUSED


@pytest.mark.parametrize(
    "query",
    [
        "",
        QUERY.upper(),
        "&".join(reversed(QUERY.split("&"))),
        QUERY + "&exp=1",
        "exp=1&" + QUERY,
        QUERY.replace("k1", "%6b1"),
        QUERY * 1000,
    ],
)
def test_any_other_form_of_the_query_is_invalid(query: str) -> None:
    assert verdict(RING, f"{PATH}?{query}") is LinkState.INVALID


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/i/",
        f"/i/{'0A' * 16}.png",
        f"/i/{'0a' * 16}.gif",
        f"/i/{'0a' * 16}.thumb",
        f"/i/{'0a' * 16}.thumb.png",
        f"/i/{'0a' * 16}.thumb-webp",
        f"/i/{'0a' * 16}.thumb.thumb.webp",
        f"/i/..%2f{'0a' * 16}.png",
        "/i/../x",
    ],
)
def test_other_paths_are_not_image_paths(path: str) -> None:
    assert verdict(RING, f"{path}?{QUERY}") is LinkState.NOT_AN_IMAGE_PATH


@given(RINGS, IMAGE_IDS, EXTS, TIMES, st.floats(0, 10**9))
def test_a_url_expires_at_its_exp_time(
    ring: KeyRing, image_id: str, ext: str, exp: int, seconds: float
) -> None:
    url = ring.sign(image_id, ext, exp, ring.signing_kid)
    assert verdict(ring, url, exp + seconds) is LinkState.EXPIRED


def test_image_and_thumbnail_signatures_are_not_interchangeable() -> None:
    image, thumbnail = (RING.sign("0a" * 16, ext, NOW + 60, "k1") for ext in ("webp", THUMBNAIL_EXT))
    assert verdict(RING, thumbnail) is LinkState.VALID
    assert verdict(RING, thumbnail.replace(".thumb", "")) is LinkState.INVALID
    assert verdict(RING, image.replace(".webp", ".thumb.webp")) is LinkState.INVALID


def test_old_urls_are_valid_after_rotation_until_their_key_is_removed() -> None:
    new, old = RING.keys
    assert verdict(KeyRing([Key("k3", b"c" * 32), new, old]), URL) is LinkState.VALID
    assert verdict(KeyRing([new]), URL) is LinkState.UNKNOWN_KEY
    assert verdict(KeyRing([new, Key("k1", b"not the same")]), URL) is LinkState.INVALID


def test_signing_with_an_unknown_kid_uses_the_first_key() -> None:
    assert RING.sign("0a" * 16, "png", NOW, "gone") == RING.sign("0a" * 16, "png", NOW, "k2")


@given(RINGS, st.sampled_from([",", "\n", " , ", "\r\n", "\t", ",,"]))
def test_a_key_ring_is_read_as_written_with_any_separator(ring: KeyRing, between: str) -> None:
    text = between.join(f"{key.kid}:{key.secret.hex().upper()}" for key in ring.keys)
    assert KeyRing.parse(f"{between}{text}{between}").keys == ring.keys
    assert KeyRing.parse(ring.format()).keys == ring.keys


@pytest.mark.parametrize(
    "wrong",
    [
        "k1:" + "5e" * (MIN_SECRET_BYTES - 1),  # too short
        "k1:" + "5e" * MIN_SECRET_BYTES + "5",  # half a byte
        "k1:" + "5x" * 32,  # not hexadecimal
        "5e" * 32,  # no kid
        "k1=" + "5e" * 32,  # another separator
        ":" + "5e" * 32,
        "k.1:" + "5e" * 32,
        "k" * 33 + ":" + "5e" * 32,
        "5e" * 32 + ":k1",  # swapped
        "k1:" + "5e" * 32 + ":",
        "k1:" + "\N{FULLWIDTH DIGIT FIVE}" * 64,
    ],
)
def test_a_malformed_or_weak_key_is_refused_and_not_shown(wrong: str) -> None:
    with pytest.raises(SettingsError) as caught:
        KeyRing.parse(f"k0:{'ab' * 32},{wrong}")
    assert "5e5" not in str(caught.value)
    assert "5x5" not in str(caught.value)
    assert "abab" not in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.binary(min_size=16, max_size=200), IMAGE_IDS, EXTS, TIMES)
def test_the_signature_is_hmac_sha256(secret: bytes, image_id: str, ext: str, exp: int) -> None:
    """We compute the HMAC in two halves; the standard library does it in one call."""
    signed = f"/i/{image_id}.{ext}?exp={exp}"
    mac = hmac.digest(secret, signed.encode(), "sha256").hex()
    assert KeyRing([Key("k1", secret)]).sign(image_id, ext, exp, "k1") == f"{signed}&token=k1.{mac}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no signing key"),
        ("\n,\n", "no signing key"),
        (f"k1:{'ab' * 32},k1:{'cd' * 32}", "same kid"),
    ],
)
def test_no_key_and_two_keys_with_the_same_kid_are_refused(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        KeyRing.parse(text)
