"""Check that the origin store has the images of the database, and explain the store's errors."""

import re
import secrets
from urllib.parse import parse_qs, urlsplit

from prshots.contract.errors import StoreError
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.config.settings import Settings
from prshots.server.doctor import DoctorFinding, ok, problem
from prshots.server.doctor.fetch import FetchError, fetch
from prshots.server.domain.images.ports import ObjectStore
from prshots.server.domain.upkeep.reconciliation import without_bytes

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
    "NoSuchBucket": f"the bucket does not exist: {_CREATE}",
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
    "PermanentRedirect": f"the bucket is in another region: {_REGION}",
    "TemporaryRedirect": f"the bucket is in another region: {_REGION}",
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


async def check_sample(database: Database, store: ObjectStore) -> list[DoctorFinding]:
    """Look up some recorded images in the store. Raises RecordsError, StoreError."""
    upkeep = SqlUpkeep(database)
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
