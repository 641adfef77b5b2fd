"""Check the data folder, the keys, and the three engines."""

import os
import re
import secrets
import shlex
import stat
import time
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs, urlsplit

from prshots.contract.errors import SettingsError, StoreError
from prshots.contract.object_names import OWNER_MARK, origin_key
from prshots.contract.redaction import redact
from prshots.contract.sizes import readable_size
from prshots.server import wiring
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.database.found_schema import TOO_OLD, FoundSchema, found_schema
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION
from prshots.server.adapters.sql.upkeep.key_fingerprints import (
    WHAT_TO_DO,
    difference_between,
    fingerprints_in,
)
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.config.settings import Settings
from prshots.server.doctor import DoctorFinding, check_clock, ok, problem, warning
from prshots.server.doctor.fetch import FetchError, fetch
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.upkeep.reconciliation import without_bytes
from prshots.server.links import KeyRing
from prshots.server.observability.metrics import LOW_BYTES, free_bytes

DISK_NEARLY_FULL = 1024**3


class Engines:
    """Checks the engines, and keeps the results that later checks need."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._installation_id = ""
        self.has_usable_schema = False
        self.ring: KeyRing | None = None
        self.can_store = False

    @property
    def _is_new(self) -> bool:
        """Whether the service has never run with these settings. Missing keys are normal then."""
        settings = self._settings
        return settings.on_sqlite and not settings.database_path.exists()

    async def check_data_folder(self) -> list[DoctorFinding]:
        folder = self._settings.data_dir.absolute()
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if not existing.is_dir():
            return [problem("data folder", f"{existing} is a file: set PRSHOTS_DATA_DIR to a folder")]
        if not os.access(existing, os.W_OK | os.X_OK):
            return [problem("data folder", f"{existing} is not writable: give it to this user (chown)")]
        found = [
            ok("data folder", f"{folder} is writable")
            if existing == folder
            else warning("data folder", f"{folder} does not exist yet: the first start creates it")
        ]
        found += self._open_to_everyone()
        free = free_bytes(existing)
        space = f"{readable_size(free)} free on the disk of {existing}"
        if free < LOW_BYTES:
            found.append(
                problem("data folder", f"only {space}: free up space, or uploads will fail with 507")
            )
        elif free < DISK_NEARLY_FULL:
            found.append(warning("data folder", f"only {space}"))
        return found

    def _open_to_everyone(self) -> list[DoctorFinding]:
        """Warn about files that other users of this machine can read."""
        settings, folder = self._settings, self._settings.data_dir.absolute()
        places = [folder]
        if settings.on_sqlite:
            places.append(settings.database_path.absolute())
        if settings.on_disk:
            places.append(settings.store_path.absolute())
        readable = [place for place in places if place.exists() and place.stat().st_mode & stat.S_IRWXO]
        if folder not in readable:  # other users can't reach its contents
            readable = [place for place in readable if not place.is_relative_to(folder)]
        if not readable:
            return []
        named = " ".join(shlex.quote(str(place)) for place in readable)
        words = f"every user of this machine can read {named}: chmod -R o-rwx {named}"
        return [warning("data folder", f"{words} (nginx reads images through its group)")]

    async def check_keys(self) -> list[DoctorFinding]:
        settings = self._settings
        path = settings.signing_keys_file
        if not settings.signing_keys and not path.exists() and self._is_new:
            return [warning("signing keys", f"there are none yet: the first start creates {path}")]
        try:
            self.ring = wiring.existing_keys(settings).fresh_ring()
        except SettingsError as error:
            return [problem("signing keys", f"{error}: {WHAT_TO_DO}")]
        summary = f"{self.ring.signing_kid} signs, {len(self.ring.keys)} verify"
        if settings.signing_keys:
            return [ok("signing keys", f"{summary}; set by PRSHOTS_SIGNING_KEYS")]
        if path.stat().st_mode & stat.S_IROTH:
            words = f"every user of this machine can read {path} and sign URLs with it: chmod 600 {path}"
            return [warning("signing keys", words)]
        return [ok("signing keys", summary)]

    async def check_database(self) -> list[DoctorFinding]:
        settings = self._settings
        if self._is_new:
            words = f"{settings.database_path} does not exist yet: the first start creates it"
            return [warning("database", words)]
        database = wiring.database_as_it_is(settings)
        try:
            upkeep, schema = SqlUpkeep(database), await database.read(found_schema)
            await wiring.require_usable_database(database, settings)
            found = [self._schema(schema), *await _compare_clocks("database", upkeep.time)]
            self.has_usable_schema = schema.is_usable
            if schema.is_usable:
                self._installation_id = await upkeep.installation_id()
                found += [*await self._foreign_keys(database), *await self._dead_urls(upkeep)]
            return found
        finally:
            await database.close()

    def _schema(self, found: FoundSchema) -> DoctorFinding:
        place = self._settings.database_place
        if found.version == SCHEMA_VERSION:
            return ok("database", f"{place} answers and has schema {found.version}")
        if found.is_usable:
            words = (
                f"{place} has schema {found.version}, from a newer prshots. This version still works with "
                "it: install the newer one here as well"
            )
            return warning("database", words)
        if found.is_too_new:
            words = f"{place} has schema {found.version}, from a newer prshots: install that version"
            return problem("database", words)
        if found.is_too_old:
            return problem("database", f"{place} has schema {found.version}, {TOO_OLD}")
        current = f"has schema {found.version}" if found.version else "is empty"
        words = f"{place} {current}, but this version needs schema {SCHEMA_VERSION}: run `prshots migrate`"
        return warning("database", words)

    async def _foreign_keys(self, database: Database) -> list[DoctorFinding]:
        if self.ring is None:
            return []
        difference = difference_between(self.ring, await database.read(fingerprints_in))
        return [problem("signing keys", f"{difference}: {WHAT_TO_DO}")] if difference else []

    async def _dead_urls(self, upkeep: SqlUpkeep) -> list[DoctorFinding]:
        if self.ring is None:
            return []  # `check_keys` has reported it; here, every key would look missing
        dead = await upkeep.count_signed_with_others([key.kid for key in self.ring.keys])
        return [
            warning(
                "database",
                f"{count:,} images have URLs signed with key {kid}, which no longer exists: these URLs "
                "return 403. Restore the key, or fetch the comments of their pull requests again",
            )
            for kid, count in dead.items()
        ]

    async def check_store(self) -> list[DoctorFinding]:
        settings = self._settings
        store = wiring.open_store(settings)
        try:
            if settings.on_disk and not settings.store_path.exists():
                words = f"{settings.store_path} does not exist yet: the first start creates it"
                return await self._sample(store) or [warning("image store", words)]
            await store.check()
            await _try_out(store)
            mark = await store.read(OWNER_MARK)
            self.can_store = True
            clock = await _compare_clocks("image store", store.time, ". A sweep refuses a difference of 60 s")
            return [self._owner(mark), *clock, *await self._sample(store)]
        except StoreError as error:
            what_to_do = await advice(error, settings)
            words = f"{error}: {what_to_do}" if what_to_do else str(error)
            return [problem("image store", redact(words))]
        finally:
            store.close()

    async def _sample(self, store: ObjectStore) -> list[DoctorFinding]:
        if not self.has_usable_schema:
            return []
        database = wiring.database_as_it_is(self._settings)
        try:
            return await _check_sample(SqlUpkeep(database), store)
        finally:
            await database.close()

    def _owner(self, mark: bytes | None) -> DoctorFinding:
        works = "storing, reading and deleting work"
        owner = self._installation_id if mark is None else mark.decode(errors="replace")
        if not self._installation_id or owner == self._installation_id:
            return ok("image store", works)
        cause = "PRSHOTS_DATABASE_URL or PRSHOTS_STORE_URL is wrong, or one was restored without the other"
        return problem("image store", f"{works}, but it belongs to another database: {cause}")

    async def check_counter(self) -> list[DoctorFinding]:
        if self._settings.counts_in_memory:
            words = "in memory, which is right for one machine; for several, set PRSHOTS_COUNTER_URL to a "
            return [ok("counter", f"{words}Valkey or Redis, because each would count separately")]
        counter = wiring.open_counter(self._settings)
        try:
            await counter.check()
        finally:
            await counter.close()
        return [ok("counter", "counting works")]


async def _compare_clocks(
    about: str, engine_time: Callable[[], Awaitable[float | None]], more: str = ""
) -> list[DoctorFinding]:
    """Warn if an engine's clock differs from ours. An embedded engine has none."""
    asked = time.time()
    theirs = await engine_time()
    return [] if theirs is None else check_clock(about, theirs - (asked + time.time()) / 2, more)


async def _try_out(store: ObjectStore) -> None:
    """Store an object, read it back and delete it. Raises StoreError if one of these fails."""
    key, content = origin_key(secrets.token_hex(16), "png"), secrets.token_bytes(1000)
    await store.put(key, [content])
    try:
        same = await store.read(key) == content
    finally:
        failed = await store.delete([key])
    if not same:
        raise StoreError("it returned different bytes than were stored: do not use this store")
    if failed or await store.read(key) is not None:
        raise StoreError("deleting failed, so expired images would stay: allow prshots to delete objects")


SAMPLE = 100
PLACES = 20
"""The number of random positions that a sample is drawn from. Ids are random, so the sample is fair."""

_CODE = re.compile(r"the store answered (\d{3}) ?(\w*)")
_KEY = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_REGION = "set `region` in PRSHOTS_STORE_URL to the bucket's region, and `endpoint` to its server"
_CREATE = "create it, or correct PRSHOTS_STORE_URL; docs/run/engines.md has the commands"
_RIGHTS = (
    "allow this key to read, write, list and delete objects of the bucket: s3:GetObject, s3:PutObject, "
    "s3:DeleteObject, s3:ListBucket"
)
_CLOCK = "this machine's clock differs from the store's by too much: use NTP"
_ADVICE = {
    "ContainerNotFound": f"the container does not exist: {_CREATE}",
    "InvalidBucketName": "the name of the bucket is invalid: correct PRSHOTS_STORE_URL",
    "InvalidAccessKeyId": f"the store does not know this access key: check {_KEY}, and `endpoint`",
    "SignatureDoesNotMatch": f"the secret is wrong: check {_KEY}, and that no proxy changes the requests",
    "AuthenticationFailed": "the store refuses the credentials: check the account and its key",
    "InvalidToken": "the session token is invalid: renew AWS_SESSION_TOKEN, or remove it",
    "ExpiredToken": "the session token has expired: renew AWS_SESSION_TOKEN",
    "AccessDenied": _RIGHTS,
    "AllAccessDisabled": "the account or the bucket is blocked: ask your provider",
    "RequestTimeTooSkewed": _CLOCK,
    "AuthorizationHeaderMalformed": f"the bucket is in another region: {_REGION}",
    "IllegalLocationConstraintException": f"the bucket is in another region: {_REGION}",
    "QuotaExceeded": "the store is full: delete images, or get more space",
    "SlowDown": "the store is overloaded: try again later",
}
_ADVICE_BY_STATUS = {
    "301": f"the bucket is in another region: {_REGION}",
    "307": f"the bucket is in another region: {_REGION}",
    "401": f"the store wants credentials: set {_KEY}",
    "403": f"the store refuses the credentials: set {_KEY}, and {_RIGHTS}",
    "404": f"the bucket does not exist: {_CREATE}",
    "507": "the store is full: delete images, or get more space",
}


async def advice(error: StoreError, settings: Settings) -> str:
    """Return how to fix a store error, or "" if its message already says so."""
    if settings.on_disk:
        return ""
    if answered := _CODE.search(str(error)):
        status, code = answered.groups()
        return _ADVICE.get(code) or _ADVICE_BY_STATUS.get(status, "see the store's log")
    return await _network_advice(settings)


async def _network_advice(settings: Settings) -> str:
    """Connect to the store directly, because its client doesn't report why it couldn't connect."""
    parts = urlsplit(settings.store_url)
    endpoint = parse_qs(parts.query).get("endpoint", [""])[0]
    if not endpoint:
        clouds = "the clouds' own addresses: check DNS, firewalls, and `region` in PRSHOTS_STORE_URL"
        return f"this machine cannot reach {clouds}"
    try:
        await fetch(endpoint, to_start="the store")
    except FetchError as error:
        return f"{endpoint}: {error}"
    return f"{endpoint} answers HTTP, so try again, and check the rest of PRSHOTS_STORE_URL"


async def _check_sample(upkeep: SqlUpkeep, store: ObjectStore) -> list[DoctorFinding]:
    """Look up some recorded images in the store. Raises RecordsError, StoreError."""
    stored, _ = await upkeep.stored()
    if stored <= SAMPLE:
        images = await upkeep.images_by_id("", "g", SAMPLE)
    else:
        places = [secrets.token_hex(16) for _ in range(PLACES)]
        pages = [await upkeep.images_by_id(at, "g", SAMPLE // PLACES) for at in places]
        images = list({image.id: image for page in pages for image in page}.values())
    if not images:
        return []
    missing = len(await without_bytes(upkeep, store, images))
    if missing == len(images):
        where = "PRSHOTS_STORE_URL names the wrong store, its disk is not mounted, or it was not restored"
        words = f"the database has {stored:,} images, but the store has none of {missing} that were looked up"
        return [problem("image store", f"{words}: {where}. `prshots check` compares all of them")]
    if missing:
        words = f"{missing} of {len(images)} images that were looked up are not in the store"
        return [problem("image store", f"{words}: run `prshots check`")]
    return [ok("image store", f"{len(images)} of {stored:,} images were looked up, and all are there")]
