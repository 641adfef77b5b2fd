"""The ports for connections and the outbox, with the errors that each call raises."""

from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol

from prshots.contract.comments import Marker
from prshots.contract.gates import CommitStatus
from prshots.contract.replies import SizedComment
from prshots.server.domain.outbox.models import Attempt, Claim, Connection, FailingDelivery, PullDeliveries


class ConnectionRecords(Protocol):
    """The connections of projects. Raises RecordsError. Writing also raises RecordsFullError."""

    async def find(self, project_id: str) -> Connection | None: ...

    async def connections(self) -> list[Connection]:
        """Return all connections, ordered by project."""

    async def put(self, connection: Connection) -> None:
        """Add a project's connection, or replace it. Deliveries that failed are due again.

        Raises NotFoundError if the project was deleted.
        """

    async def replace_secret(self, before: Connection, after: Connection) -> bool:
        """Replace an encrypted token. Return False if the connection has changed."""

    async def remove(self, project_id: str) -> bool:
        """Remove a connection and all deliveries through it. Return False if the project has none."""


class ConnectedForges(Protocol):
    """The forges behind the connections."""

    def problem(self, connection: Connection) -> str:
        """Return why this connection can't work with the current keys and settings, or ""."""

    async def connect(self, connection: Connection, url: str, token: str) -> Connection:
        """Return the connection to the forge at this web address, with its encrypted token.

        Raises InvalidInputError if the token doesn't work for the repository, or KeysError.
        """


class OutboxRecords(Protocol):
    """What goes out to the forges of projects. Raises RecordsError. Writing also raises RecordsFullError.

    Decisions and comparisons add to it in their own transactions.
    """

    async def due(self, now: int, busy: Collection[str], limit: int) -> list[tuple[str, int]]:
        """Return pull requests with something due, statuses first: each project's id and number.

        Leaves out pull requests that someone holds, and `busy` projects. A pull request may appear twice.
        """

    async def claim(self, project_id: str, pr_number: int, holder: str, now: int, until: int) -> Claim | None:
        """Lease a pull request to this holder, until then. Return what is due: comments after all statuses.

        Return None if someone else holds it, or if the project has no connection. If the lease ends before
        `finish`, everything that was due is due again, and nothing counts as sent, because it may have been.
        """

    async def finish(self, claim: Claim, attempts: Sequence[Attempt], now: int) -> None:
        """Record attempts at all that is due, and end the lease. A cause that came in the meantime stays due.

        If the lease has already ended, everything is due again: the attempts may have replaced newer ones.
        """

    async def newer_commit(self, project_id: str, pr_number: int) -> str | None:
        """Return the newest commit with images, if it came after every compared commit."""

    async def discard_old(self, until: int, limit: int) -> int:
        """Remove up to `limit` rows that wait for nothing and had no cause since. Return how many."""

    async def count_waiting(self) -> int: ...

    async def failing(self, project_id: str, limit: int) -> tuple[list[FailingDelivery], int]:
        """Return what fails, newest pull requests first, and how much of the project waits."""

    async def of_pull(self, project_id: str, pr_number: int) -> PullDeliveries: ...


WriteComment = Callable[[int, Marker], Coroutine[Any, Any, SizedComment]]
"""Returns the comment in at most this many bytes, with this marker."""


class ForgeDelivery(Protocol):
    """Sends to forges. Each call ends after about `seconds`, and sends nothing later than that.

    Raises ForgeError, UnreachableError, RateLimitedError, NotFoundError, KeysError.
    """

    def exhausted(self) -> Collection[str]:
        """Return the projects whose connections have used up the requests of the last hour."""

    async def set_status(
        self, connection: Connection, pr_number: int, commit_sha: str, status: CommitStatus, seconds: float
    ) -> None:
        """Set a commit's status. The forge completes an abbreviated SHA if it is the pull request's head."""

    async def keep_comment(
        self, connection: Connection, pr_number: int, write: WriteComment, seconds: float
    ) -> None:
        """Make the pull request's comment current. Without screenshots, don't create one."""
