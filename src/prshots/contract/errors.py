"""All errors of client and server. `server/http/error_boundary.py` maps them to HTTP statuses.

PrshotsError
├── SettingsError            a setting is invalid; the program does not start
├── InvalidInputError        the client sent invalid input, or the caller gave invalid arguments
│   ├── ImageAddressError    … because the service's URL is the URL of its images
│   └── RefusedInputError    … according to the service, in its reply to the client
├── PayloadTooLargeError     the image or the whole body is too large
├── UnsupportedTypeError     not a supported image type, or not the type it was declared as
├── RequestTimeoutError      the client stopped sending halfway
├── RateLimitedError         too many uploads for this project in the last minute
├── BusyError                too many request bodies are being received
├── UnauthorizedError        missing or invalid token
├── ForbiddenError           this person may see it but not change it; or a request from another site
├── SignInRefusedError       the sign-in failed; its `refusal` says why
├── ProviderError            a login provider or issuer did not answer, or broke its protocol
├── ExchangeRefusedError     an ID token gets no upload token; the reason goes to the log only
│   └── ProjectUnclearError  … because the job does not say which project it means
├── NotFoundError            does not exist, or belongs to someone else
├── ConflictError            the name is taken
├── PictureError             an image cannot be decoded; its `reason` says why
│   ├── DamagedPictureError      … because the file is damaged
│   ├── UnsupportedPictureError  … because it uses a feature of its format that we don't decode
│   └── PictureTooLargeError     … because decoding it takes too much time or memory
├── PictureWorkerError       an image was not decoded now; a later try may succeed
│   └── PictureWorkerDiedError   … because the process died or was too slow, maybe because of this image
├── ExpireFailedError        not deleted now, but scheduled: the sweep finishes it
├── StoreError               the origin store failed
│   ├── StoreFullError       … because it is full
│   └── ForeignStoreError    … because it belongs to another database
├── RecordsError             the database failed
│   ├── RecordsFullError     … because its disk is full
│   ├── RecordsUnsureError   … during a commit, which may or may not have happened
│   ├── SchemaTooNewError    … because a newer version has migrated it
│   └── MovedError           … because the data was moved to another database or store
├── CounterUnavailableError  the rate counter did not answer
├── WrongClockError          clocks differ too much to tell which files are old
├── DegradedError            a check found an engine that works, but not for long or not for everything
├── BackupError              a backup or restore failed
├── MoveError                `prshots move` cannot continue; the message says what to do
└── CallError                a request by the client failed; the message says which, and what to do
    ├── UnreachableError     … because the server did not answer, even after retries
    ├── WrongAddressError    … because another program answers there, or it redirects
    └── ForgeError           … because the forge (GitHub, GitLab, …) failed
        └── ForgeRefusedError  … because the forge token lacks permission
"""

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Literal

from prshots.contract.rate_limits import RateLimit

EXPIRE_FAILED = "expire failed, retry later"
"""The message of ExpireFailedError. Other failures of a delete promise nothing."""


class PrshotsError(Exception):
    """The base of all errors that prshots raises on purpose.

    `count_request` is set if the error is part of an outage, which has its own line in the log. Call it for
    each request that fails with the error, instead of logging another line.
    """

    count_request: Callable[[], None] | None = None


class SettingsError(PrshotsError):
    pass


class InvalidInputError(PrshotsError):
    pass


class ImageAddressError(InvalidInputError):
    pass


class RefusedInputError(InvalidInputError):
    pass


class PayloadTooLargeError(PrshotsError):
    pass


class UnsupportedTypeError(PrshotsError):
    pass


class RequestTimeoutError(PrshotsError):
    pass


class RateLimitedError(PrshotsError):
    """If the service raises it, `limit` is the limit that is used up."""

    def __init__(self, message: str, limit: RateLimit | None = None) -> None:
        super().__init__(message)
        self.limit = limit


class BusyError(PrshotsError):
    pass


class UnauthorizedError(PrshotsError):
    pass


class ForbiddenError(PrshotsError):
    pass


class Refusal(StrEnum):
    """Why a sign-in failed. The value is part of the sign-in page's URL."""

    DENIED = "denied"
    EXPIRED = "expired"
    OTHER_BROWSER = "other_browser"
    NOT_ALLOWED = "not_allowed"
    PROVIDER_FAILED = "provider_failed"
    LINK_USED = "link_used"


class SignInRefusedError(PrshotsError):
    def __init__(self, refusal: Refusal, reason: str = "") -> None:
        super().__init__(reason or refusal.value)
        self.refusal = refusal


class ProviderError(PrshotsError):
    pass


class ExchangeRefusedError(PrshotsError):
    """`issuer` and `subject` come from the unverified token, as far as it could be read."""

    def __init__(self, reason: str, issuer: str = "", subject: str = "") -> None:
        super().__init__(reason)
        self.issuer, self.subject = issuer, subject


class ProjectUnclearError(ExchangeRefusedError):
    """The reason tells the job's owner what to set, and nothing about other projects."""


class NotFoundError(PrshotsError):
    pass


class KeysError(SettingsError):
    """The signing keys are missing, or differ from those of the other replicas."""


class ConflictError(PrshotsError):
    pass


class PictureError(PrshotsError):
    reason: ClassVar[Literal["damaged", "unsupported", "too_large"]]


class DamagedPictureError(PictureError):
    reason = "damaged"


class UnsupportedPictureError(PictureError):
    reason = "unsupported"


class PictureTooLargeError(PictureError):
    reason = "too_large"


class PictureWorkerError(PrshotsError):
    pass


class PictureWorkerDiedError(PictureWorkerError):
    pass


class ExpireFailedError(PrshotsError):
    pass


class StoreError(PrshotsError):
    pass


class StoreFullError(StoreError):
    pass


class ForeignStoreError(StoreError):
    pass


class RecordsError(PrshotsError):
    pass


class RecordsFullError(RecordsError):
    pass


class RecordsBusyError(RecordsError):
    """Another process is writing to the database and did not finish in time."""


class RecordsUnsureError(RecordsError):
    pass


class SchemaTooNewError(RecordsError):
    pass


class MovedError(RecordsError):
    pass


class CounterUnavailableError(PrshotsError):
    pass


class WrongClockError(PrshotsError):
    pass


class DegradedError(PrshotsError):
    pass


class BackupError(PrshotsError):
    pass


class MoveError(PrshotsError):
    pass


class CallError(PrshotsError):
    pass


class UnreachableError(CallError):
    pass


class WrongAddressError(CallError):
    pass


class ForgeError(CallError):
    pass


class ForgeRefusedError(ForgeError):
    pass
