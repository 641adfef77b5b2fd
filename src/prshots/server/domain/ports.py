"""The ports: what the domain needs from engines and providers, and how each call can fail.

Read-only code gets a read-only port. Adapters turn their vendor's exceptions into ours. No other exception
crosses a port.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from prshots.contract.limits import Policy
from prshots.contract.replies import ComparisonState
from prshots.server.domain.comparison_models import (
    BaselineCommit,
    Bases,
    ComparisonRequest,
    PairResult,
    PlannedShot,
    ShotResult,
    StoredComparison,
)
from prshots.server.domain.models import (
    DayOfUploads,
    Hit,
    Identity,
    Image,
    ListedImage,
    LoginState,
    Member,
    Organization,
    Place,
    Project,
    ProjectSummary,
    PullRequest,
    PutUrl,
    Role,
    Session,
    Shot,
    ShotKey,
    StagedImage,
    ThumbnailState,
    Trust,
    UploadToken,
    User,
    WrongTotal,
)
from prshots.server.domain.names import ProjectReference
from prshots.server.domain.signing import KeyRing


class Records(Protocol):
    """The database. Every method raises RecordsError; those that write also raise RecordsFullError."""

    async def add_image(self, image: Image, branch: str = "", before: Image | None = None) -> None:
        """Commit the image's record durably before returning. With a branch, it becomes a baseline there.

        A `before` is committed with it, or neither is.

        Raises UnauthorizedError if its project is gone, and the token with it.
        """

    async def image(self, project_id: str, image_id: str) -> Image | None:
        """Find an image of this project. Takes equally long for another project's id and an unknown one."""

    async def befores(self, before_ids: Collection[str]) -> list[Image]:
        """Return those of these befores that exist, also if they are scheduled for expiry."""

    async def images_of_pr(self, project_id: str, pr_number: int, newest: int) -> tuple[int, list[Image]]:
        """Return how many images are not scheduled for expiry, and the newest of them in upload order."""

    async def listed_of_pr(
        self, project_id: str, pr_number: int, newest: int
    ) -> tuple[int, list[ListedImage]]:
        """Return the same as `images_of_pr`, with only what the comment says about each image."""

    async def newest_of_shots(self, project_id: str, pr_number: int, limit: int) -> tuple[list[Image], int]:
        """Return the newest image of each shot, and how many commits have images."""

    async def schedule(self, image_ids: Collection[str], now: int) -> None:
        """Mark images as scheduled for expiry. Images that are already scheduled keep their time.

        Whatever schedules an image, here and below, schedules its before with it.
        """

    async def close_pr(self, project_id: str, pr_number: int, now: int, *, schedule: bool) -> int:
        """Mark the PR's images as belonging to a closed PR. Return how many were not marked before.

        With `schedule`, also schedule all of the PR's images for expiry in the same transaction, and remove
        its comparisons.
        """

    async def is_closed(self, project_id: str, pr_number: int) -> bool:
        """Return whether the pull request was closed, with no upload since; False for an unknown one."""

    async def scheduled(
        self, after: str, limit: int, project_id: str | None = None, pr_number: int | None = None
    ) -> list[Image]:
        """Return the next images scheduled for expiry, ordered by id, with ids greater than `after`.

        The store keeps images by id, so that a batch in this order touches few folders.
        """

    async def schedule_due(self, now: int, limit: int) -> int:
        """Schedule up to `limit` images that are due to expire. Return how many.

        Images are due past their project's `retain_days`, and under `pr_close` once their PR is closed.
        """

    async def remove_images(self, image_ids: Collection[str]) -> int:
        """Remove these records and what refers to them. Return how many existed, not counting befores."""

    async def known_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return which of these ids have a record."""

    async def installation_id(self) -> str:
        """Return the random id that this database got when it was created."""

    async def count_signed_with(self, kid: str) -> int: ...

    async def add_project(self, project: Project) -> None:
        """Raise ConflictError if the organization already has a project with that name."""

    async def project(self, name: str, organization_id: str) -> Project | None: ...

    async def projects(self) -> list[Project]: ...

    async def change_project(self, project: Project) -> None:
        """Write everything that can change. Raises ConflictError if the name is taken."""

    async def retire_project(self, project_id: str, now: int, limit: int) -> int:
        """Revoke its tokens, remove its trusts, schedule up to `limit` images. Return how many it has."""

    async def remove_project(self, project_id: str) -> bool:
        """Remove a project with its tokens, trusts and totals. Return False if it still has images."""

    async def set_thumbnail(self, image_id: str, state: ThumbnailState) -> bool:
        """Record the thumbnail's state. Return False if the image is deleted or scheduled for expiry."""

    async def add_token(self, token: UploadToken) -> None:
        """Add it. Raises NotFoundError if its project is gone."""

    async def project_of_token(self, sha256: str) -> tuple[UploadToken, Project] | None:
        """Find a token that is not revoked, by its hash. Never cached: revoking works immediately."""

    async def tokens(self, project_id: str) -> list[UploadToken]:
        """Return tokens, oldest first, without the short-lived ones."""

    async def revoke_token(self, token_id: str, now: int, project_id: str | None = None) -> bool:
        """Revoke a token; a revoked one keeps its time. Return False if it does not exist.

        With `project_id`, only that project's tokens exist.
        """

    async def touch_token(self, token_id: str, now: int) -> None: ...

    async def discard_expired_tokens(self, now: int, limit: int) -> int:
        """Remove up to `limit` expired short-lived tokens. Return how many."""

    async def check(self) -> None:
        """Run the cheapest possible query."""

    async def describe_pull(
        self, project_id: str, pr_number: int, *, title: str, source_branch: str, author: str, path: str
    ) -> bool:
        """Write what the forge says about a pull request. What is empty stays as it was.

        Return False if it does not exist.
        """

    async def set_repository(self, project_id: str, repository: str) -> None:
        """Set the project's repository, unless it has one."""

    async def close(self) -> None: ...


class Upkeep(Protocol):
    """What the sweep and `prshots check` ask about the whole database. Raises RecordsError.

    Each call reads a page or the totals, so that none times out however many images there are.
    """

    async def time(self) -> float | None:
        """Return the current time by the database's own clock. None if it has none."""

    async def stored(self) -> tuple[int, int]:
        """Return the number of all images and the sum of their bytes, from the totals."""

    async def count_overdue(self, since: int, most: int) -> int:
        """Return how many images have been due to expire since this time; counts no further than `most`."""

    async def images_by_id(self, after: str, until: str, limit: int) -> list[Image]:
        """Return the next images with `after` < id <= `until`, ordered by id."""

    async def active_ids(self, image_ids: Collection[str]) -> set[str]:
        """Return which of these ids have a record that is not scheduled for expiry."""

    async def wrong_pulls(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        """Compare a page of pull requests with numbers above `after` with their images.

        Return the wrong ones, and the last number that was compared. None at the end.
        """

    async def wrong_days(self, project_id: str, after: int) -> tuple[list[WrongTotal], int | None]:
        """Compare some days above `after` with the images uploaded then, like `wrong_pulls`.

        A day counts uploads, including those deleted since. It is wrong if there are more images than that.
        """

    async def wrong_projects(self) -> list[WrongTotal]:
        """Return the projects whose totals are not the sums over their pull requests."""

    async def recompute(self, wrong: WrongTotal) -> None:
        """Write this total again, from a count that includes every concurrent upload and expiry once."""

    async def give_back_space(self, seconds: float) -> int:
        """Return free pages to the disk, for about this long at most. Return the bytes given back."""


class Overview(Protocol):
    """The dashboard's queries. Raises RecordsError.

    Lists are paged by the key of the last entry seen. No query gets slower with the number of images in a
    project.
    """

    async def project_of(self, user_id: str, project_id: str) -> tuple[Project, Role] | None:
        """Find a project by its id. None if the user is not a member of its organization."""

    async def projects_of(
        self, user_id: str, after: tuple[str, str] | None, limit: int
    ) -> list[ProjectSummary]:
        """Return projects ordered by (name, id)."""

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

        `search` matches the start of the number, the start of the last commit and, in the newest 5,000 pull
        requests, any part of a screenshot's name.
        """

    async def pull(self, project_id: str, pr_number: int) -> PullRequest | None: ...

    async def biggest_pulls(self, project_id: str, limit: int) -> list[PullRequest]: ...

    async def newest_images(
        self, project_id: str, pr_numbers: Collection[int], each: int
    ) -> dict[int, list[Image]]:
        """Return the newest images of each pull request, newest first."""

    async def shots(self, project_id: str, pr_number: int, after: ShotKey | None, limit: int) -> list[Shot]:
        """Return the gallery ordered by name, viewport and theme."""

    async def images_of_shot(
        self, project_id: str, pr_number: int, shot: ShotKey, before: int, limit: int
    ) -> list[Image]:
        """Return the images of one shot, newest first, with a `seq` below `before`."""

    async def images(self, project_id: str, image_ids: Collection[str]) -> list[Image]:
        """Return those of the images that belong to the project and are not scheduled for expiry."""

    async def tokens(self, project_id: str, before: tuple[int, str] | None, limit: int) -> list[UploadToken]:
        """Return tokens, newest (created_at, id) first, without the short-lived ones."""

    async def would_expire(
        self, project_id: str, policy: Policy, retain_days: int | None, now: int
    ) -> tuple[int, int]:
        """Return how many images and bytes a sweep would expire now under these rules."""


class People(Protocol):
    """Users, sessions and organizations. Raises RecordsError; methods that write also RecordsFullError."""

    async def add_login_state(self, state: LoginState) -> None:
        """Raise ConflictError if it exists."""

    async def take_login_state(self, sha256: str) -> LoginState | None:
        """Remove and return it. Of two concurrent calls, only one gets it."""

    async def user_of_subject(self, provider: str, subject: str) -> User | None: ...

    async def users_of_login(self, login: str) -> list[User]:
        """Return the users with this login at any provider. Ignores case."""

    async def add_user(self, user: User, organization: Organization | None) -> None:
        """Add a user and their personal organization. Raises ConflictError if either exists."""

    async def update_user(self, user: User) -> None:
        """Write the login, name and avatar."""

    async def add_session(self, session: Session) -> None: ...

    async def session(self, sha256: str) -> tuple[Session, User] | None: ...

    async def touch_session(self, sha256: str, now: int) -> None: ...

    async def end_session(self, sha256: str) -> None: ...

    async def end_sessions_of(self, user_id: str) -> None: ...

    async def discard_old_logins(self, states: int, sessions: int, unseen: int) -> int:
        """Remove login states and sessions created before these times, and sessions not seen since `unseen`.

        Return how many.
        """

    async def add_organization(self, organization: Organization, owner_id: str) -> None:
        """Raise ConflictError if the name is taken."""

    async def organizations_of(self, user_id: str) -> list[tuple[Organization, Role]]:
        """Return them by name, the personal one first."""

    async def organization_of(self, user_id: str, organization_id: str) -> tuple[Organization, Role] | None:
        """Find an organization by its id. None if the user is not a member."""

    async def members(self, organization_id: str, after: tuple[str, str] | None, limit: int) -> list[Member]:
        """Return a page of members, ordered by (login, id)."""

    async def set_member(self, organization_id: str, user_id: str, role: Role) -> None:
        """Add a member or change their role. Raises ConflictError rather than demote the last owner."""

    async def remove_member(self, organization_id: str, user_id: str) -> bool:
        """Return False if there is no such member. Raises ConflictError for the last owner."""


class TrustRecords(Protocol):
    """The trusts of projects. Raises RecordsError; methods that write also raise RecordsFullError."""

    async def add_trust(self, trust: Trust, anchor: str, most: int) -> None:
        """Add it. Raises ConflictError if the project has the same one, or already `most` trusts.

        Raises NotFoundError if the project is gone.
        """

    async def trusts(self, project_id: str) -> list[Trust]:
        """Return them, newest (created_at, id) first."""

    async def is_trusted(self, issuer: str) -> bool:
        """Return whether any project trusts this issuer."""

    async def trusts_by_anchor(
        self, issuer: str, anchors: Collection[str], project: ProjectReference
    ) -> list[tuple[Trust, Project]]:
        """Return the trusts for this issuer that have one of these anchors, oldest first.

        Only those of the projects that `project` can mean.
        """

    async def remove_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        """Remove a trust and all tokens issued through it. Return False if it does not exist.

        With `project_id`, only that project's trusts exist.
        """

    async def touch_trust(self, trust_id: str, now: int) -> None: ...

    async def pin_trust(self, trust_id: str, pins: Mapping[str, str]) -> Mapping[str, str] | None:
        """Pin a trust, unless it is pinned already. Return its pins; None if it does not exist."""

    async def unpin_trust(self, trust_id: str, project_id: str | None = None) -> bool:
        """Forget the pins and the refused ids. Return False if it does not exist, as in `remove_trust`."""

    async def note_refused_ids(self, trust_id: str, ids: Mapping[str, str], now: int) -> None: ...

    async def add_token_of_trust(self, token: UploadToken) -> bool:
        """Add a short-lived token. Return False if its trust was removed."""


class BaselineRecords(Protocol):
    """The baselines of projects. Raises RecordsError; methods that write also raise RecordsFullError.

    `Records.add_image` adds one together with its image.
    """

    async def reuse(
        self, project_id: str, branch: str, commit_sha: str, shots: Sequence[tuple[ShotKey, str]], now: int
    ) -> list[Image | None]:
        """Make images that the project's baselines already have the baselines of this commit.

        Each shot comes with a SHA-256. Return its image, or None if no baseline of the shot has these bytes.
        """

    async def adopt(self, image: Image, branch: str) -> bool:
        """Add an image and make it a baseline that ranks below the branch's own build.

        Return False, and change nothing, if the commit has such a baseline of the shot already.
        """

    async def complete(self, project_id: str, branch: str, commit_sha: str, now: int) -> int:
        """Note that the commit has all its baselines. Return how many shots it has."""

    async def bases(
        self, project_id: str, branch: str, commits: Sequence[str], shots: Collection[ShotKey]
    ) -> Bases:
        """Find the base of each shot: in the nearest listed commit that has it, else the branch's newest."""

    async def commits(
        self, project_id: str, branch: str | None, before: int | None, limit: int
    ) -> list[BaselineCommit]:
        """Return commits with baselines, newest first, with a `seq` below `before`."""

    async def branches(self, project_id: str) -> list[str]:
        """Return the branches with baselines, by name."""

    async def of_commit(
        self, project_id: str, branch: str, commit_sha: str, after: ShotKey | None, limit: int
    ) -> list[Image]:
        """Return the images of a commit's baselines, ordered by name, viewport and theme."""

    async def release(self, now: int, limit: int) -> int:
        """Remove baselines past retention, and schedule up to `limit` images that nothing needs any more.

        Kept are the newest `keep_baselines` commits of a branch, the newest baseline of each shot, and every
        image in a comparison of an open pull request. Return how many images were scheduled.
        """


class ComparisonRecords(Protocol):
    """The comparisons of pull requests. Raises RecordsError; methods that write also RecordsFullError."""

    async def images_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[Image]:
        """Return the newest image of each shot at a commit. Either SHA may be a prefix of the other."""

    async def pairs_at(self, project_id: str, pr_number: int, commit_sha: str) -> list[tuple[Image, Image]]:
        """Return the images that came with a before, and the befores.

        Those of the commit, and of others those that are still the newest image of their shot.
        """

    async def begin(
        self,
        request: ComparisonRequest,
        run: str,
        plan: Sequence[PlannedShot],
        *,
        state: ComparisonState,
        base_commit: str | None,
        missing: int,
        now: int,
    ) -> bool:
        """Record a comparison with what is known about it so far, in the place of an earlier run.

        Return False if an image of it is scheduled for expiry by now: then the plan must be made again.
        """

    async def was_complete(self, project_id: str, pr_number: int, commit_sha: str) -> bool:
        """Return whether an earlier request has said that the run of this commit is complete."""

    async def known_pairs(
        self, project_id: str, pairs: Collection[tuple[str, str]], engine: int
    ) -> dict[tuple[str, str], ShotResult]:
        """Return the results for pairs of SHA-256 that this version of the engine has compared before."""

    async def record(
        self,
        request: ComparisonRequest,
        run: str,
        results: Mapping[ShotKey, ShotResult],
        pairs: Mapping[tuple[str, str], ShotResult],
        *,
        engine: int,
        state: ComparisonState | None,
        now: int,
    ) -> bool:
        """Record results, and the final state, if there is one. Return False if another run replaced this.

        Without results it only says that the run is still being worked on.
        """

    async def set_diff(self, image_id: str, base_id: str) -> bool:
        """Record that the difference to this base is stored. Return False if the image is deleted."""

    async def diff_twin(self, image: Image, base: Image) -> Image | None:
        """Return an image with the same bytes and shot whose difference to this base is stored."""

    async def shown(self, project_id: str, pr_number: int) -> StoredComparison | None:
        """Return the comparison of the pull request's newest commit that has one."""

    async def version(self, project_id: str, pr_number: int) -> str | None:
        """Return a text that changes whenever what `shown` returns does, at a fraction of its cost.

        None without a comparison, and while it is running.
        """

    async def of_commit(self, project_id: str, pr_number: int, commit_sha: str) -> StoredComparison | None:
        """Return the comparison of one commit."""

    async def discard_old_pairs(self, before: int, limit: int) -> int:
        """Remove up to `limit` results that are older than this. Return how many."""


class StagedRecords(Protocol):
    """Images that wait for a pull request. Raises RecordsError; methods that write also RecordsFullError.

    An image that is past its `expires_at` or scheduled for expiry counts as gone.
    """

    async def add(self, staged: StagedImage) -> None:
        """Commit the image's record and where it is staged. Raises UnauthorizedError like `add_image`."""

    async def find(
        self,
        project_id: str,
        now: int,
        *,
        branch: str | None = None,
        repository: str | None = None,
        before: int | None = None,
        limit: int,
    ) -> list[StagedImage]:
        """Return staged images, newest first, with a `seq` below `before`.

        With `repository`, only what moves to a pull request from there: its own, and those of no repository.
        """

    async def count(self, project_id: str, branch: str, now: int) -> int: ...

    async def move(self, project_id: str, place: Place, pr_number: int, now: int, limit: int) -> int:
        """Give up to `limit` images that are staged for this branch of this repository to a pull request.

        Those of no repository, too. It is then as if they had been uploaded to it. Return how many. Of
        concurrent calls, one moves an image.
        """

    async def schedule_expired(self, now: int, limit: int) -> int:
        """Schedule up to `limit` staged images that are past their `expires_at`. Return how many."""


class PutUrlRecords(Protocol):
    """One-time URLs for uploads. Raises RecordsError; methods that write also raise RecordsFullError."""

    async def add(self, put_url: PutUrl) -> None:
        """Add it. Raises UnauthorizedError if its project is gone."""

    async def find(self, sha256: str, now: int) -> tuple[PutUrl, Project] | None:
        """Find a URL, or the one that this is the before's of, by the hash of its secret.

        None if it was used or has expired, or if the token that it was made with is not valid any more.
        """

    async def use(self, put_url: PutUrl, image: Image, staged: StagedImage | None) -> bool:
        """Commit the image's record and use up the URL. Return False, and do neither, if it was used."""

    async def use_before(self, put_url: PutUrl, before: Image) -> bool:
        """Commit the record of its before, like `use`. It must belong to an image until the URL expires."""

    async def discard_expired(self, now: int, limit: int) -> int:
        """Remove up to `limit` URLs past their `expires_at`, and schedule befores without an image.

        Return how many URLs.
        """


class Issuers(Protocol):
    """Verifies the ID tokens of OpenID issuers."""

    async def verified_claims(self, issuer: str, id_token: str) -> dict[str, Any]:
        """Return the claims of an ID token that this issuer signed and that is valid now.

        Raises ExchangeRefusedError, or ProviderError if the issuer's keys are unavailable.
        """


class LoginProvider(Protocol):
    """A forge or OpenID issuer that people sign in with: OAuth 2.0 code flow with PKCE."""

    @property
    def id(self) -> str: ...

    @property
    def label(self) -> str:
        """The name on the sign-in button."""

    async def authorization_url(self, *, redirect_uri: str, state: str, verifier: str, nonce: str) -> str:
        """Return the URL to send the browser to. Raises ProviderError."""

    async def identity(self, *, code: str, redirect_uri: str, verifier: str, nonce: str) -> Identity:
        """Exchange the code for the identity of the person.

        Raises ProviderError, or SignInRefusedError for a code that was used or has expired.
        """


class OpenObject(NamedTuple):
    """An open file of the origin store. The receiver must close it."""

    fd: int
    size: int


@runtime_checkable
class FileReader(Protocol):
    """Reads a local store for delivery, which sends its files with sendfile."""

    def open(self, key: str) -> OpenObject | None:
        """Open an object for reading. None if it does not exist. Raises StoreError."""

    def check(self) -> None:
        """Raise StoreError if objects cannot be read now."""


class ObjectStream(NamedTuple):
    """An object of a remote store as it arrives. The receiver must close `chunks`.

    `size` is the size of the whole object, also if only a range was requested. `chunks` raises StoreError if
    the transfer breaks off.
    """

    size: int
    chunks: AsyncGenerator[bytes, None]


class RemoteReader(Protocol):
    """Reads a remote store for delivery, one chunk at a time."""

    async def size(self, key: str) -> int | None:
        """Return an object's size. None if it does not exist. Raises StoreError."""

    async def stream(self, key: str, part: range | None = None) -> ObjectStream | None:
        """Start to read an object or a range of it. None if it does not exist. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if objects cannot be read now."""


class ObjectStore(Protocol):
    async def put(self, key: str, chunks: Sequence[bytes]) -> None:
        """Store an object completely and durably, or not at all. Raises StoreError, StoreFullError."""

    async def read(self, key: str) -> bytes | None:
        """Return a whole object. None if it does not exist. Raises StoreError."""

    async def delete(self, keys: Collection[str]) -> set[str]:
        """Delete objects durably. Missing ones count as deleted. Return the keys that failed."""

    async def owner(self, claimant: str) -> str:
        """Return the id of the installation that owns the store. Without an owner, `claimant` becomes it.

        Raises StoreError.
        """

    async def exists(self, key: str) -> bool:
        """Return whether the object is in the store. Raises StoreError."""

    async def time(self) -> float | None:
        """Return the current time by the store's own clock. None if it cannot tell. Raises StoreError."""

    def stored_before(self, cutoff: float, shards: Sequence[str] | None = None) -> AsyncIterator[list[str]]:
        """Yield the keys of all objects last written before `cutoff`, in order and in batches.

        `shards` restricts it to ids that begin with these pairs of digits. Raises StoreError.
        """

    async def sizes(self, shard: str) -> dict[str, int]:
        """Return the size by key of all objects whose ids begin with these two digits. Raises StoreError."""

    async def discard_unfinished(self, cutoff: float) -> int:
        """Remove partial writes that a crash left behind before `cutoff`. Raises StoreError."""

    async def check(self) -> None:
        """Raise StoreError if objects cannot be stored or read now."""

    def close(self) -> None: ...


class RateCounter(Protocol):
    async def hit(self, project_id: str, limit: int | None = None) -> Hit:
        """Count one upload, unless the project has reached its limit for the last minute.

        Without `limit`, the service's limit applies.

        Raises CounterUnavailableError after at most 50 ms, so that a slow counter cannot delay uploads. The
        time in which this process was busy does not count.
        """

    async def check(self) -> None:
        """Raise CounterUnavailableError if uploads cannot be counted now."""

    async def close(self) -> None: ...


class KeySource(Protocol):
    def ring(self) -> KeyRing:
        """Return the keys, at most a few seconds old. Cheap enough for every request."""

    def fresh_ring(self) -> KeyRing:
        """Return the current keys, for a URL signed with an unknown key."""


class RenderThumbnail(Protocol):
    """Raises PictureError for images that it cannot or will not decode.

    Raises PictureWorkerError if a later try may succeed, as its PictureWorkerDiedError if the image may be to
    blame.
    """

    async def __call__(self, data: bytes, tallness: float) -> bytes:
        """Return a small WebP. `tallness` is the maximum ratio of height to width."""


class ComparePictures(Protocol):
    """Compares two images. Raises the same errors as RenderThumbnail.

    Two adapters must give the same verdict for the same images: `tests/comparison/` has the corpus for it.
    """

    async def __call__(self, before: bytes, after: bytes) -> PairResult: ...
