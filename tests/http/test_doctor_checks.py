"""What `prshots doctor` reports about addresses, clocks, folders, and anything in front of delivery."""

import asyncio
import contextlib
import io
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from prshots.contract.errors import StoreError
from prshots.server.adapters.keys import KeyFile
from prshots.server.adapters.objects.disk import DiskStore
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION
from prshots.server.config.settings import Settings
from prshots.server.doctor import DoctorFinding, State, check_clock
from prshots.server.doctor.engines import Engines, advice
from prshots.server.doctor.examination import (
    check_addresses,
    check_components,
    check_image_proxy,
    examine,
    examine_settings,
    png_of,
)
from prshots.server.links import Key, KeyRing, LinkState, check
from support.free_ports import free_port
from support.http_server import Answer, answering
from support.stores_and_records import a_project, an_image, open_records, small_disk
from support.web_component import Peer, scripted_api

RING = KeyRing([Key("k1", b"s" * 32)])


def settings(folder: Path, **others: Any) -> Settings:
    return Settings(data_dir=folder / "data", **others)


def said(findings: list[DoctorFinding], about: str = "") -> str:
    return "\n".join(f"{found.state} {found.words}" for found in findings if about in ("", found.about))


# A server in place of delivery

Answering = Callable[[str, bytes], Answer]
"""Gets the target and the stored bytes."""


async def proxied(folder: Path, answer: Answering) -> str:
    """Return the finding when `answer` replies in place of delivery."""
    root = folder / "data" / "images"
    root.mkdir(parents=True)

    def with_stored(asked: BaseHTTPRequestHandler, _: bytes) -> Answer:
        assert "cookie" not in asked.headers
        (path,) = root.rglob("*.png")
        return answer(asked.path, path.read_bytes())

    with answering(with_stored) as url:
        small = settings(folder, img_url=url, max_image_bytes=20_000)
        findings = await check_image_proxy(small, RING, can_store=True)
    assert list(root.rglob("*.png")) == []
    assert "token=" not in said(findings)
    return said(findings)


def as_delivery(target: str, image: bytes, **headers: str) -> Answer:
    if check(RING, target, time.time()).verdict is not LinkState.VALID:
        return 403, {"Content-Type": "application/json"}, b'{"error":"invalid signature"}'
    return 200, {"Content-Type": "image/png"} | headers, image


def always(status: int, headers: dict[str, str], body: bytes = b"") -> Answering:
    return lambda _target, _image: (status, headers, body)


class TestImageProxy:
    async def test_an_intact_image_from_delivery_is_ok(self, tmp_path: Path) -> None:
        assert (await proxied(tmp_path, as_delivery)).startswith("ok ")

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            (always(302, {"Location": "/login?next=secret"}), "An image proxy cannot sign in"),
            (always(200, {"Content-Type": "text/html"}, b"<html>"), "a page instead of the image"),
            (always(403, {}, b'{"error":"invalid signature"}'), "the same PRSHOTS_SIGNING_KEYS_FILE"),
            (always(403, {}, b"<html>forbidden"), "a proxy in front refuses it"),
            (always(401, {}), "requires a sign-in"),
            (always(404, {}, b"<html>"), "Route /i/ to the delivery component"),
            (always(502, {}, b"<html>"), "See its log"),
            (
                lambda target, image: as_delivery(target, image[:-1]),
                "19,998 bytes that differ from the 19,999",
            ),
            (lambda _, image: (200, {"Content-Type": "image/webp"}, image), "as image/webp"),
            (lambda _, image: (200, {"Content-Type": "image/png"}, image), "with an invalid signature"),
        ],
    )
    async def test_any_other_answer_is_a_problem_with_advice(
        self, tmp_path: Path, answer: Answering, words: str
    ) -> None:
        found = await proxied(tmp_path, answer)
        assert "problem " in found
        assert words in found
        assert "secret" not in found

    async def test_a_proxy_that_sets_cookies_is_a_warning(self, tmp_path: Path) -> None:
        def with_cookie(target: str, image: bytes) -> Answer:
            return as_delivery(target, image, **{"Set-Cookie": "a=b"})

        words = await proxied(tmp_path, with_cookie)
        assert words.startswith("ok ")
        assert "warning a proxy in front sets a cookie" in words

    async def test_a_timeout_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("prshots.server.doctor.fetch.REQUEST_SECONDS", 0.5)
        (tmp_path / "data" / "images").mkdir(parents=True)
        with answering(lambda _asked, _body: None) as url:
            findings = await check_image_proxy(settings(tmp_path, img_url=url), RING, can_store=True)
        assert "could not be fetched: no answer within" in said(findings)

    async def test_check_is_skipped_without_keys_or_a_store(self, tmp_path: Path) -> None:
        for ring, can_store in ((None, True), (RING, False)):
            assert "skipped" in said(await check_image_proxy(settings(tmp_path), ring, can_store=can_store))
        assert not (tmp_path / "data").exists()

    @pytest.mark.parametrize("size", [1023, 5 * 1024**2 - 1])
    def test_the_test_image_is_a_valid_png_of_the_given_size(self, size: int) -> None:
        image = png_of(size)
        assert len(image) == size
        Picture.open(io.BytesIO(image)).load()


class TestComponents:
    READY: Answer = (200, {}, b'{"status":"ok","checks":{"database":"ok"}}')

    async def parts(self, tmp_path: Path, ready: Answer, alive: Answer = READY, **others: str) -> str:
        with answering(lambda asked, _: ready if asked.path == "/readyz" else alive) as url:
            here = {"base_url": url, "img_url": url, "web_url": url} | others
            return said(await check_components(settings(tmp_path, **here)), "API")

    async def test_ready_degraded_and_down_are_reported_without_passwords(self, tmp_path: Path) -> None:
        assert "is ready" in await self.parts(tmp_path, self.READY)
        degraded = (200, {}, b'{"status":"degraded","checks":{"counter":"down: x://u:swordfish@h"}}')
        words = await self.parts(tmp_path, degraded)
        assert words.startswith("warning ")
        assert "counter: down" in words
        assert "swordfish" not in words
        down = (503, {}, b'{"error":"not ready: database","checks":{"database":"down: no answer"}}')
        words = await self.parts(tmp_path, down)
        assert words.startswith("problem ")
        assert "database: down: no answer" in words
        assert (await self.parts(tmp_path, (403, {}, b"no"))).startswith("ok ")

    async def test_another_program_at_the_address_is_a_problem(self, tmp_path: Path) -> None:
        for alive in (
            (200, {}, b"<html>"),
            (200, {}, b"[]"),
            (404, {}, b""),
            (302, {"Location": "/x?t=1"}, b""),
        ):
            words = await self.parts(tmp_path, self.READY, alive)
            assert words.startswith("problem ")
            assert "another program answers there" in words

    async def test_a_clock_that_is_off_is_reported(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prshots.server.doctor.CLOCK_SECONDS", 3600)
        late = (200, {"Date": formatdate(time.time() - 7200, usegmt=True)}, self.READY[2])
        words = await self.parts(tmp_path, self.READY, late)
        assert "s behind this machine's: use NTP" in words
        right = (200, {"Date": formatdate(time.time(), usegmt=True)}, self.READY[2])
        assert "clock" not in await self.parts(tmp_path, self.READY, right)
        for nonsense in ("yesterday", ""):
            assert "ok" in await self.parts(tmp_path, self.READY, (200, {"Date": nonsense}, self.READY[2]))
        (ahead,) = check_clock("API", 9000)
        assert ahead.words.startswith("its clock is 9000 s ahead of this machine's: use NTP")

    async def test_an_unreachable_address_is_reported_with_its_cause(self, tmp_path: Path) -> None:
        async def found(url: str) -> str:
            return await self.parts(tmp_path, self.READY, base_url=url)

        assert "prshots serve" in await found(f"http://127.0.0.1:{free_port()}")
        assert "its DNS entry" in await found("http://nowhere.invalid")
        with answering(lambda _asked, _body: self.READY) as url:
            assert "does not speak TLS there" in await found(url.replace("http", "https"))

    async def test_a_server_that_does_not_speak_http_is_reported(self, tmp_path: Path) -> None:
        def greet(peer: Peer) -> None:
            peer.send(b"220 smtp.example ESMTP\r\n")
            peer.read_head()  # a request that nobody reads would reset the connection

        with scripted_api() as server:
            server.act = greet
            url = f"http://127.0.0.1:{server.port}"
            assert "does not speak HTTP" in await self.parts(tmp_path, self.READY, base_url=url)


class TestAddresses:
    @pytest.mark.parametrize(
        ("others", "words"),
        [
            ({}, "cannot reach this machine"),
            ({"img_url": "https://10.1.2.3"}, "private network"),
            ({"img_url": "https://shots.internal"}, "private network"),
            ({"img_url": "https://shots"}, "private network"),
            ({"web_url": "http://shots.example.org"}, "not Secure"),
            ({"base_url": "http://shots.example.org"}, "tokens are sent unencrypted"),
            ({"max_image_bytes": 6 * 1024**2}, "over 5 MB"),
        ],
    )
    async def test_private_or_unencrypted_urls_and_large_images_are_warnings(
        self, tmp_path: Path, others: dict[str, Any], words: str
    ) -> None:
        findings = await check_addresses(settings(tmp_path, **others))
        assert words in said(findings)
        assert {found.state for found in findings} == {State.WARNING}

    async def test_public_https_urls_are_ok(self, tmp_path: Path) -> None:
        public = dict.fromkeys(("base_url", "img_url", "web_url"), "https://shots.example.org")
        assert (
            said(await check_addresses(settings(tmp_path, **public)))
            == "ok all URLs are public and use https"
        )


class TestEngines:
    async def test_a_missing_full_or_invalid_data_folder_is_reported(self, tmp_path: Path) -> None:
        engines = Engines(settings(tmp_path))
        assert "does not exist yet" in said(await engines.check_data_folder())
        with small_disk(tmp_path / "data", "12m"):
            assert "problem only" in said(await engines.check_data_folder())
        with small_disk(tmp_path / "data", "500m"):
            assert "warning only" in said(await engines.check_data_folder())
        (tmp_path / "data").rmdir()
        (tmp_path / "data").write_text("")
        assert "is a file" in said(await engines.check_data_folder())

    async def test_files_that_every_user_can_read_are_a_warning(self, tmp_path: Path) -> None:
        await open_records(tmp_path / "data").close()
        engines, outside = Engines(settings(tmp_path)), tmp_path / "elsewhere"
        assert "every user" not in said(await engines.check_data_folder())
        (tmp_path / "data" / "prshots.db").chmod(0o644)  # nobody can reach it
        assert "every user" not in said(await engines.check_data_folder())
        (tmp_path / "data").chmod(0o755)
        words = said(await engines.check_data_folder())
        assert f"warning every user of this machine can read {tmp_path}/data" in words
        assert f"chmod -R o-rwx {tmp_path}/data {tmp_path}/data/prshots.db" in words
        (tmp_path / "data").chmod(0o710)
        outside.mkdir()
        outside.chmod(0o755)
        engines = Engines(settings(tmp_path, store_url=f"file://{outside}"))
        assert f"chmod -R o-rwx {outside} " in said(await engines.check_data_folder())

    async def test_signing_keys_are_checked_and_never_revealed(self, tmp_path: Path) -> None:
        engines = Engines(settings(tmp_path))
        assert "the first start creates" in said(await engines.check_keys())
        keys = KeyFile(tmp_path / "data" / "signing-keys")
        keys.create_if_missing()
        assert said(await engines.check_keys()) == "ok k1 signs, 1 verify"
        keys.path.chmod(0o644)
        assert "chmod 600" in said(await engines.check_keys())
        keys.path.write_text("5e5e5e")
        words = said(await engines.check_keys())
        assert words.startswith("problem ")
        assert "5e5e" not in words
        fixed = Engines(settings(tmp_path, signing_keys=f"a:{'5e' * 32}"))
        assert said(await fixed.check_keys()) == "ok a signs, 1 verify; set by PRSHOTS_SIGNING_KEYS"

    async def test_a_lost_key_file_is_a_problem_and_is_not_recreated(self, tmp_path: Path) -> None:
        await open_records(tmp_path / "data").close()
        words = said(await Engines(settings(tmp_path)).check_keys())
        assert words.startswith("problem ")
        assert "No such file or directory: restore the key file from a backup" in words
        assert not (tmp_path / "data" / "signing-keys").exists()

    @pytest.mark.parametrize(
        ("version", "oldest", "words"),
        [
            ("9999", "9999", "problem"),
            ("9999", SCHEMA_VERSION, "This version still works with it"),
            ("0009", "", "has schema 0009, of a development version before 0.1.0"),
            (None, "", "is empty"),
        ],
    )
    async def test_a_newer_older_or_missing_schema_is_reported_and_not_migrated(
        self, tmp_path: Path, version: str | None, oldest: str, words: str
    ) -> None:
        await open_records(tmp_path / "data").close()
        with contextlib.closing(sqlite3.connect(tmp_path / "data" / "prshots.db")) as database:
            database.execute("UPDATE alembic_version SET version_num = ?", [version or ""])
            database.execute("UPDATE installation SET oldest_schema = ?", [oldest])
            if version is None:
                database.execute("DROP TABLE alembic_version")
            database.commit()
            assert words in said(await Engines(settings(tmp_path)).check_database())
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
        assert ("alembic_version" in tables) == (version is not None)  # the check migrated nothing

    async def test_a_file_that_is_not_a_database_is_a_problem(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "prshots.db").write_bytes(secrets.token_bytes(5000))
        findings = [found async for found in examine(settings(tmp_path), lambda _: None)]
        assert "problem" in said(findings, "database")
        assert "not a database" in said(findings, "database")


class TestStoredImages:
    async def found(self, folder: Path) -> str:
        engines = Engines(settings(folder))
        await engines.check_database()
        return said(await engines.check_store())

    async def test_images_that_the_store_lacks_are_a_problem(self, tmp_path: Path) -> None:
        records, project = open_records(tmp_path / "data"), a_project()
        await records.add_project(project)
        images = [an_image(project) for _ in range(20)]
        await asyncio.gather(*(records.add_image(image) for image in images))
        assert "problem the database has 20 images, but the store has none" in await self.found(tmp_path)
        assert not (tmp_path / "data" / "images").exists()
        (tmp_path / "data" / "images").mkdir()
        words = await self.found(tmp_path)
        assert "problem the database has 20 images, but the store has none" in words
        assert "prshots check" in words
        store = DiskStore(tmp_path / "data" / "images")
        for image in images:
            await store.put(image.key, [b"x"])
        assert "and all are there" in await self.found(tmp_path)
        await records.schedule([image.id for image in images[:10]], 1)  # these may lack their bytes
        await store.delete([image.key for image in images[:10]])
        assert "and all are there" in await self.found(tmp_path)
        await store.delete([image.key for image in images[10:19]])
        store.close()
        await records.remove_images([image.id for image in images[:10]])
        assert "problem 9 of 10 images that were looked up are not in the store" in await self.found(tmp_path)
        await records.close()

    @pytest.mark.parametrize(
        ("answer", "words"),
        [
            ("404 NoSuchBucket", "the bucket does not exist: create it"),
            ("403 AccessDenied", "s3:DeleteObject"),
            ("403 RequestTimeTooSkewed", "use NTP"),
            ("301", "another region: set `region`"),
            ("403", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
            ("500 InternalError", "see the store's log"),
        ],
    )
    async def test_an_error_of_the_store_comes_with_advice(
        self, tmp_path: Path, answer: str, words: str
    ) -> None:
        on_s3 = settings(tmp_path, store_url="s3://shots?region=x")
        assert words in await advice(StoreError(f"the store answered {answer}"), on_s3)

    async def test_a_store_that_cannot_be_reached_comes_with_the_cause(self, tmp_path: Path) -> None:
        async def cause(endpoint: str) -> str:
            on_s3 = settings(tmp_path, store_url=f"s3://shots?endpoint={endpoint}&region=x")
            return await advice(StoreError("Generic S3 error: error sending request"), on_s3)

        assert "nothing listens there: start the store" in await cause(f"http://127.0.0.1:{free_port()}")
        assert "unknown host name" in await cause("http://nowhere.invalid")
        with answering(lambda _asked, _body: (200, {}, b"")) as url:
            assert "does not speak TLS there" in await cause(url.replace("http", "https"))
            assert "answers HTTP" in await cause(url)
        assert "DNS" in await advice(StoreError("x"), settings(tmp_path, store_url="s3://shots?region=x"))


class TestSettings:
    def test_every_invalid_setting_is_reported_without_secrets(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("PRSHOTS_API_PORT", "70000")
        monkeypatch.setenv("PRSHOTS_SIGNING_KEYS", "5e" * 32)
        monkeypatch.setenv("PRSHOTS_WORKERS", "300")
        loaded, findings = examine_settings(None)
        assert loaded is not None
        assert loaded.api_port == 8081
        words = said(findings)
        assert [
            name for name in ("API_PORT", "SIGNING_KEYS", "WORKERS") if f"PRSHOTS_{name}: " not in words
        ] == []
        assert "5e5e" not in words
        assert os.environ["PRSHOTS_API_PORT"] == "70000"

        config = tmp_path / "config.toml"
        config.write_text("workers = 0")
        monkeypatch.delenv("PRSHOTS_WORKERS")
        loaded, findings = examine_settings(config)
        assert loaded is None
        assert "PRSHOTS_WORKERS: got 0" in said(findings)

    async def test_incomplete_or_unrestricted_sign_in_is_reported(self, tmp_path: Path) -> None:
        half = settings(tmp_path, github_client_id="id")
        findings = [found async for found in examine(half, lambda _: None)]
        assert "problem PRSHOTS_GITHUB_CLIENT_SECRET" in said(findings, "sign-in")
        open_to_all = settings(tmp_path, github_client_id="id", github_client_secret="s", allowed_users="*")
        findings = [found async for found in examine(open_to_all, lambda _: None)]
        assert "everyone with an account" in said(findings, "sign-in")
