"""What the services need from the outside, and how each of it can fail.

Read-only code gets a read-only port. Adapters turn their vendor's exceptions into ours; no other exception
crosses a port.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from prshots.contract.limits import Policy
from prshots.server.domain.models import (
    DayOfUploads,
    Identity,
    Image,
    LoginState,
    Member,
    Organization,
    Project,
    ProjectSummary,
    PullRequest,
    Role,
    Session,
    Shot,
    Trust,
    UploadToken,
    User,
)
from prshots.server.domain.signing import KeyRing


class Records(Protocol):
    """The database. Every method raises RecordsError; the writing ones also RecordsFullError."""

    async def add_image(self, image: Image) -> None:
        """Commit the image's record, durably, before returning."""

    async def image(self, project_id: str, image_id: str) -> Image | None:
        """Find an image of this project. Costs the same whether another project has the id or nobody."""

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> tuple[int, list[Image]]:
        """Return how many images are not scheduled for expiry, and the newest of them in upload order."""

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Mark images as scheduled for expiry; one already marked keeps its time."""

    async def close_pr(self, project_id: str, pr_number: int, now: int, *, schedule: bool) -> int:
        """Mark the PR's images as belonging to a closed PR, and return how many were not so marked before.

        With `schedule`, all of the PR's images are scheduled for expiry in the same transaction.
        """

    async def is_closed(self, project_id: str, pr_number: int) -> bool:
        """Return whether the pull request was closed, with no upload since; False for an unknown one."""

    async def scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        """Return the next images scheduled for expiry whose id is past `after`, in the order of their ids.

        In that order their bytes lie together, so that a batch touches few folders.
        """

    async def schedule_due(self, now: int, limit: int) -> int:
        """Schedule up to `limit` images that a policy wants gone; return how many.

        Due are images past their project's `retain_days`, and images of closed PRs under `pr_close`.
        """

    async def remove_images(self, image_ids: Collection[str]) -> int:
        """Remove these records and return how many there were; those already gone are no error."""

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return which of these ids have a record."""

    async def installation_id(self) -> str:
        """Return the random id this database was given when it was made."""

    async def count_signed_with(self, kid: str) -> int: ...

    async def add_project(self, project: Project) -> None:
        """Raise ConflictError when the organization has a project of that name."""

    async def project(self, name: str, organization_id: str) -> Project | None: ...

    async def projects(self) -> list[Project]: ...

    async def change_project(self, project: Project) -> None:
        """Write its name, policy and retain_days. Raises ConflictError when the name is taken."""

    async def retire_project(self, project_id: str, now: int, limit: int) -> int:
        """Revoke its tokens, remove its trusts, and schedule up to `limit` images; return how many it has."""

    async def remove_project(self, project_id: str) -> bool:
        """Remove a project with its tokens, trusts and what was counted of it; False while it has images."""

    async def set_thumbnail(self, image_id: str, outcome: Literal["made", "impossible"]) -> bool:
        """Note what became of an image's thumbnail; False when the image has gone or is about to."""

    async def add_token(self, token: UploadToken) -> None: ...

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        """Find a token that is not revoked, by its hash. Asked every time: revoking holds at once."""

    async def tokens(self, project_id: str) -> list[UploadToken]:
        """Return tokens, oldest first; not the short-lived ones."""

    async def revoke_token(self, token_id: str, now: int, project_id: str | None = None) -> bool:
        """Return False when there is no such token, in this project if one is given.

        Revoking one twice keeps the first time.
        """

    async def touch_token(self, token_id: str, now: int) -> None: ...

    async def discard_expired_tokens(self, now: int, limit: int) -> int:
        """Remove up to `limit` short-lived tokens that are past their time; return how many."""

    async def check(self) -> None:
        """Ask the database the least there is to ask."""

    async def close(self) -> None: ...


class Overview(Protocol):
    """What the dashboard shows. Lists come in pages, by the key of the last entry seen; raises RecordsError.

    None of it slows down with the number of images in a project.
    """

    async def project_of(self, user_id: str, project_id: str) -> tuple[Project, Role] | None:
        """Find a project by its id, if this user is a member of its organization; else, as if it were not."""

    async def projects_of(
        self, user_id: str, after: tuple[str, str] | None, limit: int
    ) -> list[ProjectSummary]:
        """Return projects in the order of (name, id)."""

    async def summary_of(self, user_id: str, project_id: str) -> ProjectSummary | None: ...

    async def days(self, project_ids: Collection[str], since_day: int) -> dict[str, list[DayOfUploads]]:
        """Return the days with uploads from `since_day` on, oldest first, for each project that has any."""

    async def pulls(
        self,
        project_id: str,
        *,
        closed: bool | None,
        search: str,
        before: tuple[int, int] | None,
        limit: int,
    ) -> list[PullRequest]:
        """Return pull requests, newest (last_upload_at, pr_number) first.

        `search` finds a number by its first digits, a last commit by its beginning, and, in the newest 5,000,
        a part of a name of one of the screenshots.
        """

    async def pull(self, project_id: str, pr_number: int) -> PullRequest | None: ...

    async def biggest_pulls(self, project_id: str, limit: int) -> list[PullRequest]: ...

    async def newest_images(
        self, project_id: str, pr_numbers: Collection[int], each: int
    ) -> dict[int, list[Image]]:
        """Return the newest images of each pull request, newest first."""

    async def shots(
        self, project_id: str, pr_number: int, after: tuple[str, str] | None, limit: int
    ) -> list[Shot]:
        """Return the gallery in the order of (name, viewport)."""

    async def images_of_shot(
        self, project_id: str, pr_number: int, shot: tuple[str, str], before: int, limit: int
    ) -> list[Image]:
        """Return the images of one (name, viewport), newest first, with a `seq` below `before`."""

    async def images(self, project_id: str, image_ids: Collection[str]) -> list[Image]:
        """Return those of these images that the project has and that are not scheduled for expiry."""

    async def tokens(self, project_id: str, before: tuple[int, str] | None, limit: int) -> list[UploadToken]:
        """Return tokens, newest (created_at, id) first; not the short-lived ones."""

    async def would_expire(
        self, project_id: str, policy: Policy, retain_days: int | None, now: int
    ) -> tuple[int, int]:
        """Return how many images, and how many bytes, a sweep would expire now under these rules."""


class People(Protocol):
    """Who signs in, and to what they belong. Raises RecordsError; the writing ones also RecordsFullError."""

    async def add_login_state(self, state: LoginState) -> None: ...

    async def take_login_state(self, sha256: str) -> LoginState | None:
        """Remove it and return it; of two who ask at once, one gets it."""

    async def user_of_subject(self, provider: str, subject: str) -> User | None: ...

    async def users_of_login(self, login: str) -> list[User]:
        """Return the users of this login, whatever the provider and the case of its letters."""

    async def add_user(self, user: User, organization: Organization | None) -> None:
        """Add a user, and the organization that is theirs. Raises ConflictError when either is there."""

    async def update_user(self, user: User) -> None:
        """Write the login, name and avatar."""

    async def add_session(self, session: Session) -> None: ...

    async def session(self, sha256: str) -> tuple[Session, User] | None: ...

    async def touch_session(self, sha256: str, now: int) -> None: ...

    async def end_session(self, sha256: str) -> None: ...

    async def end_sessions_of(self, user_id: str) -> None: ...

    async def discard_old_logins(self, states: int, sessions: int, unseen: int) -> int:
        """Remove login states and sessions made before these times, and sessions unseen since the third.

        Return how many.
        """

    async def add_organization(self, organization: Organization, owner_id: str) -> None:
        """Raise ConflictError when the name is taken."""

    async def organizations_of(self, user_id: str) -> list[tuple[Organization, Role]]:
        """Return them by name, the personal one first."""

    async def organization_of(self, user_id: str, organization_id: str) -> tuple[Organization, Role] | None:
        """Find an organization by its id, if this user is a member; else, as if it were not."""

    async def members(self, organization_id: str, after: tuple[str, str] | None, limit: int) -> list[Member]:
        """Return a page of members in the order of (login, id)."""

    async def set_member(self, organization_id: str, user_id: str, role: Role) -> None:
        """Add a member or change their role. Raises ConflictError for the last owner's."""

    async def remove_member(self, organization_id: str, user_id: str) -> bool:
        """Return False when there is no such member. Raises ConflictError for the last owner."""


class TrustRecords(Protocol):
    """Which issuers projects trust. Raises RecordsError; the writing ones also RecordsFullError."""

    async def add_trust(self, trust: Trust, anchor: str, most: int) -> None:
        """Add it. Raises ConflictError when the project has the same, or `most` already."""

    async def trusts(self, project_id: str) -> list[Trust]:
        """Return them, newest (created_at, id) first."""

    async def is_trusted(self, issuer: str) -> bool:
        """Tell whether any project trusts this issuer."""

    async def trusts_by_anchor(
        self, issuer: str, anchors: Collection[str], project: str | None
    ) -> list[tuple[Trust, Project]]:
        """Return the trusts in this issuer that have one of these anchors, the oldest first.

        With `project`, only those of projects that have this name or id.
        """

    async def remove_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        """Remove it with all tokens that were given by it.

        Return False when there is no such trust, in this project if one is given.
        """

    async def touch_trust(self, trust_id: str, now: int) -> None: ...

    async def add_token_of_trust(self, token: UploadToken) -> bool:
        """Add a short-lived token; False when its trust has gone meanwhile."""


class Issuers(Protocol):
    """OpenID issuers as verifiers see them: by their keys."""

    async def verified_claims(self, issuer: str, id_token: str) -> dict[str, Any]:
        """Return what an ID token says, if this issuer has signed it and its time is now.

        Raises ExchangeRefusedError; and ProviderError when the issuer's keys are not to be had.
        """


class LoginProvider(Protocol):
    """A code host or OpenID issuer that people sign in with: OAuth 2.0, code with PKCE."""

    @property
    def id(self) -> str: ...

    @property
    def label(self) -> str:
        """What the sign-in button calls it."""

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        """Return where to send the browser. Raises ProviderError."""

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        """Exchange the code, and ask who it is.

        Raises ProviderError; and SignInRefusedError for a code that is used or too old.
        """


class OpenObject(NamedTuple):
    """An open file of the origin store: whoever gets it closes it."""

    fd: int
    size: int


@runtime_checkable
class FileReader(Protocol):
    """Reads a store on this machine, for delivery: the kernel sends its files."""

    def open(self, key: str) -> OpenObject | None:
        """Open an object for reading; None when it is not there. Raises StoreError."""

    def check(self) -> None:
        """Raise StoreError when objects cannot be read now."""


class ObjectStream(NamedTuple):
    """An object of a remote store as it arrives: whoever gets it closes `chunks`.

    `size` is the whole object's, also of a part of it. `chunks` raises StoreError if the rest does not come.
    """

    size: int
    chunks: AsyncGenerator[bytes, None]


class RemoteReader(Protocol):
    """Reads a store elsewhere, for delivery: the bytes pass through, a chunk at a time."""

    async def size(self, key: str) -> int | None:
        """Return an object's size; None when it is not there. Raises StoreError."""

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        """Begin to read an object, or a part of it; None when it is not there. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError when objects cannot be read now."""


class ObjectStore(Protocol):
    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        """Store an object whole and durably, or leave nothing. Raises StoreError, StoreFullError."""

    async def read(self, key: str) -> bytes | None:
        """Return an object whole; None when it is not there. Raises StoreError."""

    async def delete(self, keys: Collection[str]) -> set[str]:
        """Delete objects, durably; one that is not there counts as deleted. Return the keys that failed."""

    async def owner(self, claimant: str) -> str:
        """Return the id of the installation whose images these are; `claimant`, if they were nobody's.

        Raises StoreError.
        """

    def stored_before(self, cutoff: float) -> AsyncIterator[list[str]]:
        """Return the keys of all objects last written before `cutoff`, in batches. Raises StoreError."""

    async def discard_unfinished(self, cutoff: float) -> int:
        """Remove what writes cut short by a crash left behind before `cutoff`. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError when the store does not take or give objects now."""

    def close(self) -> None: ...


class RateCounter(Protocol):
    async def hit(self, project_id: str) -> bool:
        """Count one upload; False when the project has used up its minute.

        Raises CounterUnavailableError, after 50 ms at the latest: nobody waits longer for a counter.
        """

    async def check(self) -> None:
        """Raise CounterUnavailableError when uploads are not counted now."""

    async def close(self) -> None: ...


class KeySource(Protocol):
    def ring(self) -> KeyRing:
        """Return the keys as of a few seconds ago at most; cheap enough for every request."""

    def fresh_ring(self) -> KeyRing:
        """Return the keys as of now: for a URL signed with a key that is not known yet."""


class RenderThumbnail(Protocol):
    """Runs in a thread of its own. Raises ThumbnailError for bytes that it cannot or will not decode."""

    def __call__(self, data: bytes, tallness: float) -> bytes:
        """Return a small WebP. `tallness` is how many times higher than wide it may be."""
