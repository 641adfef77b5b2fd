"""The errors of the domain. They know no HTTP: the table of statuses is in `server/http/error_boundary.py`.

PrshotsError
├── SettingsError            a setting is wrong; the program does not start
├── InvalidInputError        what the client sent is wrong
├── PayloadTooLargeError     the image, or the body around it, is too large
├── UnsupportedTypeError     not an image we take, or not what it says it is
├── RequestTimeoutError      the client stopped sending halfway
├── RateLimitedError         too many uploads for this project in the last minute
├── UnauthorizedError        no token, or not one that works
├── ForbiddenError           yours to see, but not to change; or asked for by a page of another site
├── SignInRefusedError       nobody was signed in; its `refusal` says why
├── ProviderError            a login provider or issuer did not answer, or not in its own protocol
├── ExchangeRefusedError     an ID token gets no upload token; the reason is for the log alone
├── NotFoundError            nothing of that name here, or not yours
├── ConflictError            the name is taken
├── ThumbnailError           no thumbnail can be made of an image
├── ExpireFailedError        the bytes could not be deleted now; the image stays scheduled
├── StoreError               the origin store did not do it
│   └── StoreFullError       … because there is no room
├── RecordsError             the database did not do it
│   ├── RecordsFullError     … because there is no room
│   ├── RecordsUnsureError   … or did, and could not say so any more
│   └── SchemaTooNewError    … because a newer program has migrated it
├── CounterUnavailableError  the rate counter did not answer
├── BackupError              a backup could not be made, or not be put back
└── CallError                a call of the client's did not succeed; the message says which, and what to do
    ├── UnreachableError     … because nobody answered, however often it was tried
    └── ForgeError           … because the forge (GitHub, GitLab, …) did not do it
        └── ForgeRefusedError  … because the token there may not
"""

from enum import StrEnum


class PrshotsError(Exception):
    """Everything this program raises on purpose."""


class SettingsError(PrshotsError):
    pass


class InvalidInputError(PrshotsError):
    pass


class PayloadTooLargeError(PrshotsError):
    pass


class UnsupportedTypeError(PrshotsError):
    pass


class RequestTimeoutError(PrshotsError):
    pass


class RateLimitedError(PrshotsError):
    pass


class UnauthorizedError(PrshotsError):
    pass


class ForbiddenError(PrshotsError):
    pass


class Refusal(StrEnum):
    """Why a sign-in ended without one. The value is part of the sign-in page's address."""

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
    """`issuer` and `subject` are what the token says, as far as that could be read: nobody has proved it."""

    def __init__(self, reason: str, issuer: str = "", subject: str = "") -> None:
        super().__init__(reason)
        self.issuer, self.subject = issuer, subject


class NotFoundError(PrshotsError):
    pass


class ConflictError(PrshotsError):
    pass


class ThumbnailError(PrshotsError):
    pass


class ExpireFailedError(PrshotsError):
    pass


class StoreError(PrshotsError):
    pass


class StoreFullError(StoreError):
    pass


class RecordsError(PrshotsError):
    pass


class RecordsFullError(RecordsError):
    pass


class RecordsUnsureError(RecordsError):
    pass


class SchemaTooNewError(RecordsError):
    pass


class CounterUnavailableError(PrshotsError):
    pass


class BackupError(PrshotsError):
    pass


class CallError(PrshotsError):
    pass


class UnreachableError(CallError):
    pass


class ForgeError(CallError):
    pass


class ForgeRefusedError(ForgeError):
    pass
