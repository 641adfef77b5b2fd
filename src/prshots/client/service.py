"""A client for the public API: one method per route."""

import io
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any, BinaryIO, NotRequired, Self, TypeAlias, TypedDict, TypeVar, Unpack

import httpx

from prshots import __version__
from prshots.client.image_address import refuse_image_address, refuse_redirect
from prshots.client.keyless import FixedToken, TokenSource
from prshots.client.replies import ComparisonReply, comparison_from, gate_from, reply_from
from prshots.contract import errors, validate
from prshots.contract.comments import MAX_COMMENT_BYTES, Marker, View
from prshots.contract.gates import NoBaseline
from prshots.contract.limits import IMAGE_ID, MAX_KNOWN_SHOTS
from prshots.contract.redaction import redact, redact_briefly
from prshots.contract.replies import (
    Expired,
    Moved,
    OneTimeUrls,
    PullGate,
    ServiceLimits,
    SizedComment,
    Staged,
    StagedShot,
    Uploaded,
)
from prshots.contract.statements import message
from prshots.forges.sender import OnWait, Sender, ignore_wait, json_of

TIMEOUT_SECONDS = 60.0
CONNECT_SECONDS = 10.0
LIMITS_SECONDS = 10.0

_ERRORS: dict[int, type[Exception]] = {
    400: errors.RefusedInputError,
    404: errors.NotFoundError,
    413: errors.PayloadTooLargeError,
    415: errors.UnsupportedTypeError,
}

_FINDING_ROUTES = ("DELETE /v1/images/", "GET /v1/compare", "POST /v1/pull")
"""Routes that answer 404 if the requested object doesn't exist. Elsewhere, a 404 means a wrong address."""

Reply = TypeVar(
    "Reply", Uploaded, Staged, StagedShot, Moved, OneTimeUrls, Expired, SizedComment, ServiceLimits
)
Parsed = TypeVar("Parsed")
Image: TypeAlias = bytes | Callable[[], BinaryIO]
"""An image's bytes, or a function that opens it."""

HashedShot: TypeAlias = Mapping[str, str]
"""A shot's `name`, `viewport` and `theme`, and the `sha256` of its image."""


class ShotFields(TypedDict):
    """An upload's shot, commit and content type."""

    name: str
    viewport: str
    theme: NotRequired[str]
    commit_sha: str
    content_type: str


class Client:
    """Calls a prshots service with an upload token. Thread-safe. Close it, or use `with`.

    It retries failed requests and waits for rate limits (see `sender.py`). Every method may raise
    UnauthorizedError, RateLimitedError, UnreachableError and CallError.
    """

    def __init__(self, url: str, token: str | TokenSource, *, on_wait: OnWait = ignore_wait) -> None:
        """Create a client without sending anything.

        Raises InvalidInputError if the URL or token is malformed.
        """
        self.url = validate.root(url)
        if not self.url:
            raise errors.InvalidInputError(
                "invalid service URL: use an address such as https://prshots.example.com"
            )
        self._tokens = FixedToken(token) if isinstance(token, str) else token
        self._client = _open_client(self.url)
        self._sender = Sender(self._client, on_wait)

    def close(self) -> None:
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def upload(
        self,
        image: Image,
        *,
        pr_number: int,
        before: Image | None = None,
        before_content_type: str = "",
        **shot: Unpack[ShotFields],
    ) -> Uploaded:
        """Upload an image of a pull request. An image and its `before` are shown as a pair.

        The before image has the image's content type unless `before_content_type` says otherwise. Also raises
        InvalidInputError, PayloadTooLargeError, UnsupportedTypeError.
        """
        images = _with_before(image, shot["content_type"], before, before_content_type)
        fields = _form_fields(shot) | {"pr_number": str(pr_number)}
        return self._read(Uploaded, self._post_images("/v1/upload", images, fields))

    def baseline(self, image: Image, *, branch: str, **shot: Unpack[ShotFields]) -> Uploaded:
        """Upload an image as a branch's baseline. Raises the same errors as `upload`."""
        images = {"image": (image, shot["content_type"])}
        fields = _form_fields(shot) | {"branch": branch}
        return self._read(Uploaded, self._post_images("/v1/baseline", images, fields))

    def missing_images(
        self, pr_number: int, commit_sha: str, shots: Sequence[HashedShot]
    ) -> Sequence[Mapping[str, Any]]:
        """Give a pull request's commit the images whose bytes the service has. Return the missing shots."""
        return self._missing("/v1/upload/known", {"pr_number": pr_number, "commit_sha": commit_sha}, shots)

    def missing_baselines(
        self, branch: str, commit_sha: str, shots: Sequence[HashedShot]
    ) -> Sequence[Mapping[str, Any]]:
        """Record the baselines whose bytes the service has. Return the missing shots."""
        return self._missing("/v1/baseline/known", {"branch": branch, "commit_sha": commit_sha}, shots)

    def complete_baselines(self, branch: str, commit_sha: str) -> None:
        """Mark a commit's baselines as complete. Also raises InvalidInputError."""
        self._post_json("/v1/baseline/complete", {"branch": branch, "commit_sha": commit_sha})

    def compare(
        self,
        pr_number: int,
        *,
        commit_sha: str,
        branch: str,
        commits: Sequence[str] = (),
        complete: bool = False,
        queued_pulls: Sequence[int] = (),
    ) -> ComparisonReply:
        """Compare a pull request's images with the baselines of a branch. Return the results so far.

        `commits` are the base's, newest first. With `complete`, a missing shot counts as removed. Decisions
        about `queued_pulls`, the pull requests ahead in a merge queue, are also counted. Also raises
        InvalidInputError.
        """
        asked = {"pr_number": pr_number, "commit_sha": commit_sha, "branch": branch}
        asked |= {"commits": list(commits), "complete": complete}
        asked |= {"queued_pulls": list(queued_pulls)} if queued_pulls else {}
        return self._parse(comparison_from, self._post_json("/v1/compare", asked))

    def comparison(self, pr_number: int) -> ComparisonReply | None:
        """Return the latest comparison of a pull request, or None without one."""
        try:
            reply = self._call("GET", "/v1/compare", lambda: {"params": {"pr_number": str(pr_number)}})
        except errors.NotFoundError:
            return None
        return self._parse(comparison_from, reply)

    def gate(self, pr_number: int, *, no_baseline: NoBaseline = NoBaseline.BLOCK) -> PullGate:
        """Return the gate of the newest comparison, and the commit statuses to post."""
        params = {"pr_number": str(pr_number), "no_baseline": no_baseline.value}
        return self._parse(gate_from, self._call("GET", "/v1/gate", lambda: {"params": params}))

    def skip(self, pr_number: int, commit_sha: str, reason: str) -> PullGate:
        """Record that a commit's run takes no screenshots. Return the gate. Also raises InvalidInputError."""
        asked = {"pr_number": pr_number, "commit_sha": commit_sha, "skip": reason}
        return self._parse(gate_from, self._post_json("/v1/gate", asked))

    def describe(self, pr_number: int, about: Mapping[str, str]) -> str:
        """Describe a pull request to the service, and return its page on the dashboard.

        `about` may have `repository`, `url`, `title`, `source_branch` and `author`. Also raises
        InvalidInputError, and NotFoundError if nothing was uploaded to the pull request yet.
        """
        url = self._post_json("/v1/pull", {"pr_number": pr_number, **about}).get("dashboard_url")
        return validate.address(url)

    def comment(
        self,
        pr_number: int,
        *,
        limit: int = MAX_COMMENT_BYTES,
        marker: Marker = Marker.HTML,
        view: View = View.ALL,
    ) -> SizedComment:
        """Return the pull request's comment, in at most `limit` bytes. Also raises InvalidInputError."""
        params = {"pr_number": str(pr_number), "limit": str(limit), "marker": marker.value}
        if view is not View.ALL:  # the default
            params["view"] = view.value
        return self._read(SizedComment, self._call("GET", "/v1/comment", lambda: {"params": params}))

    def expire(self, pr_number: int, *, merged_as: str = "", branch: str = "") -> Expired:
        """Report that the pull request is closed, and as which commit of a branch it was merged."""
        merged = {"merged_as": merged_as, "branch": branch} if merged_as and branch else {}
        return self._read(Expired, self._post_json("/v1/expire", {"pr_number": pr_number, **merged}))

    def delete(self, image_id: str) -> None:
        """Delete one image now. Also raises InvalidInputError, NotFoundError, ExpireFailedError."""
        if not IMAGE_ID.fullmatch(image_id):
            raise errors.InvalidInputError(message("invalid_image_id"))
        self._call("DELETE", f"/v1/images/{image_id}", dict)

    def limits(self) -> ServiceLimits | None:
        """Return the service's limits, or None if they aren't known. Asks once, without retries.

        Without them, an upload that is too large fails with the service's 413. Raises ImageAddressError.
        """
        return self._limits

    def stage(
        self,
        image: Image,
        *,
        branch: str,
        repository: str = "",
        before: Image | None = None,
        before_content_type: str = "",
        **shot: Unpack[ShotFields],
    ) -> Staged:
        """Upload an image, and its `before`, for a branch without a pull request. Raises like `baseline`.

        `repository` is the `owner/name` with the branch, or empty for the project's own.
        """
        images = _with_before(image, shot["content_type"], before, before_content_type)
        fields = _form_fields(shot) | {"branch": branch} | ({"repository": repository} if repository else {})
        return self._read(Staged, self._post_images("/v1/staged", images, fields))

    def staged(self, branch: str, *, repository: str | None = None) -> list[StagedShot]:
        """Return the images staged for a branch, oldest first. Also raises InvalidInputError.

        With `repository`, return only those that move to a pull request from there.
        """
        params = {"branch": branch} | ({} if repository is None else {"repository": repository})
        found = self._call("GET", "/v1/staged", lambda: {"params": params})
        return [self._read(StagedShot, shot) for shot in self._objects_in(found, "staged")]

    def move_staged(self, branch: str, pr_number: int, *, repository: str, from_fork: bool) -> Moved:
        """Move a branch's staged images to its pull request. Also raises InvalidInputError.

        `repository` is the `owner/name` with the branch. `from_fork` means that it isn't the project's own.
        """
        asked = {"branch": branch, "pr_number": pr_number, "repository": repository, "from_fork": from_fork}
        return self._read(Moved, self._post_json("/v1/staged/move", asked))

    def put_url(
        self,
        *,
        pr_number: int | None = None,
        branch: str = "",
        repository: str = "",
        with_before: bool = False,
        **shot: Unpack[ShotFields],
    ) -> OneTimeUrls:
        """Return a URL that takes one image with a PUT and no token, for a pull request or a branch.

        Also raises InvalidInputError, UnsupportedTypeError.
        """
        place: dict[str, object] = {"branch": branch, "repository": repository}
        if pr_number is not None:
            place = {"pr_number": pr_number}
        kind = {"content_type": shot["content_type"], "with_before": with_before}
        reply = self._post_json("/v1/put-urls", _form_fields(shot) | place | kind)
        made = self._read(OneTimeUrls, reply)
        if with_before and not made.before_put_url:
            raise self._unexpected_reply(["before_put_url"])
        return made

    @cached_property
    def _limits(self) -> ServiceLimits | None:
        try:
            reply = self._sender.send(
                lambda: self._client.build_request("GET", "/v1/limits", timeout=LIMITS_SECONDS), tries=1
            )
            refuse_image_address(self.url, reply)
            return self._read(ServiceLimits, self._read_json(reply, "GET /v1/limits"))
        except errors.ImageAddressError:
            raise
        except errors.PrshotsError:
            return None

    def _post_images(
        self, path: str, images: Mapping[str, tuple[Image, str]], data: dict[str, str]
    ) -> dict[str, Any]:
        """Send images, given by form field with their content types."""
        with ExitStack() as stack:
            # Opened once. Each attempt reads them from the start, in small chunks.
            opened = {
                field: (stack.enter_context(_open_image(image)), content_type)
                for field, (image, content_type) in images.items()
            }

            def parts() -> dict[str, Any]:
                files = {
                    field: (field, _FixedLengthFile(file), content_type)
                    for field, (file, content_type) in opened.items()
                }
                return {"data": data, "files": files}

            return self._call("POST", path, parts, is_upload=True)

    def _missing(
        self, path: str, commit: Mapping[str, object], shots: Sequence[HashedShot]
    ) -> Sequence[Mapping[str, Any]]:
        missing: list[Mapping[str, Any]] = []
        for start in range(0, len(shots), MAX_KNOWN_SHOTS):
            asked = shots[start : start + MAX_KNOWN_SHOTS]
            try:
                missing += self._objects_in(self._post_json(path, {**commit, "shots": asked}), "missing")
            except (errors.WrongAddressError, errors.RefusedInputError, errors.PayloadTooLargeError):
                # An older service doesn't have this route. Otherwise, the uploads report what is wrong.
                missing += asked
        return missing

    def _post_json(self, path: str, asked: Mapping[str, object]) -> dict[str, Any]:
        return self._call("POST", path, lambda: {"json": asked})

    def _parse(self, parse: Callable[[Mapping[str, Any]], Parsed], reply: dict[str, Any]) -> Parsed:
        try:
            return parse(reply)
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._unexpected_reply([str(error)]) from error

    def _call(
        self, method: str, path: str, parts: Callable[[], dict[str, Any]], *, is_upload: bool = False
    ) -> dict[str, Any]:
        # Every attempt has the same key. So if a reply is lost, the service doesn't store the image twice.
        headers = {"Idempotency-Key": secrets.token_hex(16)} if is_upload else {}

        def send(token: str) -> httpx.Response:
            signed = headers | {"Authorization": f"Bearer {token}"}
            return self._sender.send(
                lambda: self._client.build_request(method, path, headers=signed, **parts()),
                is_upload=is_upload,
            )

        token = self._tokens.token()
        reply = send(token)
        if reply.status_code == httpx.codes.UNAUTHORIZED and (other := self._tokens.renew(token)):
            reply = send(other)
        refuse_image_address(self.url, reply)
        return self._read_json(reply, f"{method} {path}")

    def _read_json(self, reply: httpx.Response, route: str) -> dict[str, Any]:
        status = reply.status_code
        refuse_redirect(self.url, reply)
        value = json_of(reply)
        if status == httpx.codes.REQUEST_ENTITY_TOO_LARGE and not isinstance(value, dict):
            raise errors.RefusedInputError(message("proxy_refused_size", url=self.url))
        finds_nothing = status == httpx.codes.NOT_FOUND and route.startswith(_FINDING_ROUTES)
        has_no_route = status in {httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED} and not finds_nothing
        if not isinstance(value, dict) or has_no_route:
            answered = message("answered", who=self.url, status=f"{status} {reply.reason_phrase}")
            if reply.is_server_error:
                raise errors.CallError(answered)
            raise errors.WrongAddressError(message("is_this_prshots", answered=answered))
        if status in {httpx.codes.OK, httpx.codes.ACCEPTED}:
            return value
        words = redact_briefly(str(value.get("error", reply.reason_phrase)))
        if status == httpx.codes.UNAUTHORIZED:
            raise errors.UnauthorizedError(message("wrong_token", url=self.url))
        if words == errors.EXPIRE_FAILED:
            raise errors.ExpireFailedError(words)
        if words == errors.QUOTA_REACHED:
            raise errors.CallError(message("quota_reached", who=self.url))
        answered = message("answered_why", who=self.url, status=status, why=words)
        raise _ERRORS.get(status, errors.CallError)(answered)

    def _read(self, kind: type[Reply], value: dict[str, Any]) -> Reply:
        try:
            return reply_from(kind, value)
        except TypeError as error:
            raise self._unexpected_reply([str(error)]) from error

    def _objects_in(self, reply: dict[str, Any], name: str) -> list[dict[str, Any]]:
        found = reply.get(name)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self._unexpected_reply([name])
        return found

    def _unexpected_reply(self, missing: Sequence[str]) -> errors.CallError:
        return errors.CallError(
            f"{self.url} answered without {', '.join(missing)}: it is not a prshots service, or its "
            f"version does not match this client ({__version__})"
        )


class _FixedLengthFile:
    """A file that must not change while it is sent: the request's headers already state its length."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._length = self._left = file.seek(0, os.SEEK_END)

    def tell(self) -> int:
        return 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Rewind, or return the length. httpx needs nothing else."""
        self._left = self._length
        return self._length if whence == os.SEEK_END else self._file.seek(offset)

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._left -= len(data)
        if self._left < 0 or (self._left and not data):
            raise errors.CallError("the file changed during the upload")
        return data


def _form_fields(shot: ShotFields) -> dict[str, str]:
    fields = {"name": shot["name"], "commit_sha": shot["commit_sha"], "viewport": shot["viewport"]}
    return fields | ({"theme": theme} if (theme := shot.get("theme")) else {})


def _with_before(
    image: Image, content_type: str, before: Image | None, before_content_type: str
) -> dict[str, tuple[Image, str]]:
    images = {"image": (image, content_type)}
    return images if before is None else images | {"before": (before, before_content_type or content_type)}


def _open_image(image: Image) -> BinaryIO:
    return io.BytesIO(image) if isinstance(image, bytes) else image()


def _open_client(url: str) -> httpx.Client:
    """Return an HTTP client. The environment sets its proxy and certificate authorities."""
    try:
        return httpx.Client(
            base_url=url,
            headers={"User-Agent": f"prshots/{__version__}"},
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS),
        )
    except httpx.InvalidURL as error:
        raise errors.InvalidInputError(f"{url} is not a valid address: {error}") from error
    except OSError as error:
        raise errors.InvalidInputError(
            f"cannot read SSL_CERT_FILE or SSL_CERT_DIR: {error.strerror}"
        ) from error
    except (ValueError, ImportError) as error:
        raise errors.InvalidInputError(
            f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is invalid: {redact(str(error))}"
        ) from error
