"""All errors of the client and the server. `server/http/error_boundary.py` maps them to HTTP statuses."""

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Literal

EXPIRE_FAILED = "expire failed, retry later"
"""The message of ExpireFailedError. Other delete failures don't promise a later deletion."""

QUOTA_REACHED = "storage quota reached"
"""The message of QuotaReachedError. Unlike a full disk, it doesn't pass by waiting."""


class PrshotsError(Exception):
    """The base of all errors that prshots raises on purpose.

    `count_request` is set if the error is part of an outage, which has its own line in the log. Call it for
    each request that fails with the error, instead of logging another line. `retry_after` is how many seconds
    the other side asked us to wait, or 0. `is_final` means that no retry can help.
    """

    count_request: Callable[[], None] | None = None
    retry_after = 0.0
    is_final = False


class SettingsError(PrshotsError):
    """A setting is invalid, so the program doesn't start."""


class InvalidInputError(PrshotsError):
    """The client sent invalid input, or the caller gave invalid arguments."""


class ImageAddressError(InvalidInputError):
    """The service's URL is the URL of its images."""


class ClosedPullRequestError(PrshotsError):
    """The pull request is closed, so nothing is sent. A command still succeeds."""


class RefusedInputError(InvalidInputError):
    """The service's reply refused the input."""


class NoScreenshotsError(PrshotsError):
    """No given path is or contains a usable screenshot."""


class PayloadTooLargeError(PrshotsError):
    """The image or the whole body is too large."""


class UnsupportedTypeError(PrshotsError):
    """The image's type isn't supported, or differs from its declared type."""


class RequestTimeoutError(PrshotsError):
    """The client stopped sending halfway."""


class RateLimitedError(PrshotsError):
    """Too many uploads to this project in the last minute."""


class QuotaReachedError(PrshotsError):
    """An upload doesn't fit into the storage quota of its project or organization."""


class BusyError(PrshotsError):
    """Too many request bodies are being received."""


class UnauthorizedError(PrshotsError):
    """The token is missing or invalid."""


class ForbiddenError(PrshotsError):
    """This person may see the object but not change it, or the request comes from another site."""


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
    """A login provider or issuer didn't answer, or broke its protocol."""


class ExchangeRefusedError(PrshotsError):
    """The service refused to exchange an ID token for an upload token. Only the log has the reason.

    `issuer` and `subject` come from the unverified token, if they could be read.
    """

    def __init__(self, reason: str, issuer: str = "", subject: str = "") -> None:
        super().__init__(reason)
        self.issuer, self.subject = issuer, subject


class ProjectUnclearError(ExchangeRefusedError):
    """The job doesn't name its project. The reason says what to set, and nothing about other projects."""


class NotFoundError(PrshotsError):
    """The object doesn't exist, or belongs to someone else."""

    is_final = True


class KeysError(SettingsError):
    """The signing keys are missing, or differ from those that the installation uses."""


class ConflictError(PrshotsError):
    """The name is taken."""


class PictureError(PrshotsError):
    """An image can't be decoded: it is damaged, not supported, or takes too much time or memory."""

    reason: ClassVar[Literal["damaged", "unsupported", "too_large"]]


class DamagedPictureError(PictureError):
    reason = "damaged"


class UnsupportedPictureError(PictureError):
    reason = "unsupported"


class PictureTooLargeError(PictureError):
    reason = "too_large"


class PictureWorkerError(PrshotsError):
    """An image wasn't decoded now. A later attempt may succeed."""


class PictureWorkerDiedError(PictureWorkerError):
    """The process that decodes an image died or was too slow, possibly because of this image."""


class ExpireFailedError(PrshotsError):
    """An image wasn't deleted now. The sweep deletes it later."""


class StoreError(PrshotsError):
    """The origin store failed."""


class StoreFullError(StoreError):
    """The origin store is full."""


class ForeignStoreError(StoreError):
    """The origin store belongs to another database."""


class RecordsError(PrshotsError):
    """The database failed."""


class RecordsFullError(RecordsError):
    """The database's disk is full."""


class RecordsBusyError(RecordsError):
    """Another process is writing to the database and didn't finish in time."""


class RecordsUnsureError(RecordsError):
    """The database failed during a commit, which may or may not have happened."""


class SchemaTooNewError(RecordsError):
    """A newer version has migrated the database."""


class MovedError(RecordsError):
    """The data was moved to another database or store."""


class CounterUnavailableError(PrshotsError):
    """The upload counter didn't answer."""


class WrongClockError(PrshotsError):
    """Clocks differ too much to tell which files are old."""


class DegradedError(PrshotsError):
    """A check found an engine that still works, but may fail soon or only works partly."""


class BackupError(PrshotsError):
    """A backup or restore failed."""


class MoveError(PrshotsError):
    """`prshots move` can't continue. The message says what to do."""


class CallError(PrshotsError):
    """A request by the client failed. The message names the request and says what to do."""


class UnreachableError(CallError):
    """The server didn't answer, even after retries."""


class WrongAddressError(CallError):
    """Another program answers at this address, or the address redirects."""


class ForgeError(CallError):
    """The forge (GitHub, GitLab, …) failed."""

    def __init__(self, words: str = "", *, is_final: bool = False) -> None:
        super().__init__(words)
        self.is_final = is_final


class ForgeRefusedError(ForgeError):
    """The forge token lacks permission."""
