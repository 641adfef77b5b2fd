"""A client for the public API: one method per route."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from types import TracebackType
from typing import Any, BinaryIO, Self, TypeAlias, TypeVar, cast

import httpx

from prshots import __version__
from prshots.client.ci import validate
from prshots.client.fixed_length import FixedLengthFile
from prshots.client.image_address import refuse_image_address
from prshots.client.replies import ComparisonReply, ExpiredReply, comparison_from
from prshots.client.sending import OnWait, Sender, ignore_wait
from prshots.client.tokens import FixedToken, TokenSource
from prshots.contract.comments import MAX_COMMENT_BYTES, Marker, View
from prshots.contract.errors import (
    EXPIRE_FAILED,
    CallError,
    ExpireFailedError,
    InvalidInputError,
    NotFoundError,
    PayloadTooLargeError,
    PrshotsError,
    RefusedInputError,
    ServiceTooOldError,
    UnauthorizedError,
    UnsupportedTypeError,
    WrongAddressError,
)
from prshots.contract.limits import IMAGE_ID
from prshots.contract.redaction import redact
from prshots.contract.replies import (
    Moved,
    OneTimeUrls,
    ServiceLimits,
    SizedComment,
    Staged,
    StagedShot,
    Uploaded,
)

TIMEOUT_SECONDS = 60.0
CONNECT_SECONDS = 10.0
LIMITS_SECONDS = 10.0

_ERRORS: dict[int, type[Exception]] = {
    400: RefusedInputError,
    404: NotFoundError,
    413: PayloadTooLargeError,
    415: UnsupportedTypeError,
}

_NEW_ROUTES = ("/v1/baseline", "/v1/compare", "/v1/pull", "/v1/staged", "/v1/put-urls")
"""Routes that an older service does not have. Without them, uploads and comments work as before."""

_USES = {
    "/v1/staged": "stage screenshots",
    "/v1/staged/move": "stage screenshots",
    "/v1/put-urls": "give one-time upload URLs",
}
"""What a new route is for, if it is not to compare."""

_MISSING_ROUTE = {httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED}

Reply = TypeVar(
    "Reply", Uploaded, Staged, StagedShot, Moved, OneTimeUrls, ExpiredReply, SizedComment, ServiceLimits
)
Image: TypeAlias = bytes | Callable[[], BinaryIO]
"""An image's bytes, or a function that opens it."""


class Client:
    """Calls a prshots service with an upload token. Thread-safe. Close it, or use `with`.

    Failed requests are retried, and rate limits are waited for (see `sending.py`). Every method may raise
    UnauthorizedError, RateLimitedError, UnreachableError and CallError.
    """

    def __init__(self, url: str, token: str | TokenSource, *, on_wait: OnWait = ignore_wait) -> None:
        """Raise InvalidInputError if the URL or the token is malformed. Nothing is sent yet."""
        self.url = validate.root(url)
        if not self.url:
            raise InvalidInputError("invalid service URL: use an address such as https://prshots.example.com")
        self._tokens = FixedToken(token) if isinstance(token, str) else token
        self._client = _opened(self.url)
        self._sender = Sender(self._client, on_wait)
        self._limits: ServiceLimits | None = None
        self._asked_for_limits = False

    def close(self) -> None:
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def upload(
        self,
        image: Image,
        *,
        name: str,
        pr_number: int,
        commit_sha: str,
        viewport: str,
        content_type: str,
        theme: str = "",
        before: Image | None = None,
        before_content_type: str = "",
    ) -> Uploaded:
        """Upload an image of a pull request, with its `before` if there is one: the two are shown as a pair.

        The before has the image's content type unless `before_content_type` says otherwise. An older service
        ignores it: then the reply has no `before_url`. Also raises InvalidInputError, PayloadTooLargeError,
        UnsupportedTypeError.
        """
        fields = {"name": name, "pr_number": str(pr_number), "commit_sha": commit_sha, "viewport": viewport}
        files = {"image": (image, content_type)}
        if before is not None:
            files["before"] = (before, before_content_type or content_type)
        return self._sent_images("/v1/upload", files, fields, theme)

    def baseline(
        self,
        image: Image,
        *,
        name: str,
        branch: str,
        commit_sha: str,
        viewport: str,
        content_type: str,
        theme: str = "",
    ) -> Uploaded:
        """Upload an image as a branch's baseline. Raises what `upload` raises, and ServiceTooOldError."""
        fields = {"name": name, "branch": branch, "commit_sha": commit_sha, "viewport": viewport}
        return self._sent_images("/v1/baseline", {"image": (image, content_type)}, fields, theme)

    def missing_baselines(
        self, branch: str, commit_sha: str, shots: Sequence[Mapping[str, str]]
    ) -> list[dict[str, Any]]:
        """Record the baselines whose bytes the service has, and return the others, which have to be sent.

        Each shot has `name`, `viewport`, `theme` and `sha256`. Also raises InvalidInputError,
        ServiceTooOldError.
        """
        asked = {"branch": branch, "commit_sha": commit_sha, "shots": shots}
        missing = self._told("/v1/baseline/known", asked).get("missing")
        if not isinstance(missing, list) or not all(isinstance(shot, dict) for shot in missing):
            raise self._unlike(["missing"])
        return missing

    def complete_baselines(self, branch: str, commit_sha: str) -> None:
        """Say that a commit's baselines are all there. Also raises InvalidInputError, ServiceTooOldError."""
        self._told("/v1/baseline/complete", {"branch": branch, "commit_sha": commit_sha})

    def compare(
        self,
        pr_number: int,
        *,
        commit_sha: str,
        branch: str,
        commits: Sequence[str] = (),
        complete: bool = False,
    ) -> ComparisonReply:
        """Compare a pull request's images with the baselines of a branch, and return what is known so far.

        `commits` are the base's, newest first. With `complete`, a shot that is missing was removed. Also
        raises InvalidInputError, ServiceTooOldError.
        """
        asked = {"pr_number": pr_number, "commit_sha": commit_sha, "branch": branch}
        return self._comparison(
            self._told("/v1/compare", asked | {"commits": list(commits), "complete": complete})
        )

    def comparison(self, pr_number: int) -> ComparisonReply | None:
        """Return the latest comparison of a pull request; None without one, or if the service is too old."""
        try:
            reply = self._call("GET", "/v1/compare", lambda: {"params": {"pr_number": str(pr_number)}})
        except ServiceTooOldError:
            return None
        return self._comparison(reply)

    def describe(self, pr_number: int, about: Mapping[str, str]) -> str:
        """Tell the service about a pull request, and return its page on the dashboard.

        `about` may have `repository`, `url`, `title`, `source_branch` and `author`. Also raises
        InvalidInputError, ServiceTooOldError.
        """
        url = self._told("/v1/pull", {"pr_number": pr_number, **about}).get("dashboard_url")
        return url if isinstance(url, str) else ""

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
        if view is not View.ALL:  # the default, also of a service that has no views
            params["view"] = view.value
        return self._read(SizedComment, self._call("GET", "/v1/comment", lambda: {"params": params}))

    def expire(self, pr_number: int, *, merged_as: str = "", branch: str = "") -> ExpiredReply:
        """Tell the service that the pull request is closed, and as which commit of a branch it was merged."""
        merged = {"merged_as": merged_as, "branch": branch} if merged_as and branch else {}
        reply = self._told("/v1/expire", {"pr_number": pr_number, **merged})
        return self._read(ExpiredReply, {"baselines": 0} | reply)

    def delete(self, image_id: str) -> None:
        """Delete one image now. Also raises InvalidInputError, NotFoundError, ExpireFailedError."""
        if not IMAGE_ID.fullmatch(image_id):
            raise InvalidInputError("an image id is 32 hexadecimal characters: use the id of its upload")
        self._call("DELETE", f"/v1/images/{image_id}", dict)

    def limits(self) -> ServiceLimits | None:
        """Return the service's limits; None if they are not known. Asks once, without retries.

        An older service does not tell them. Then an upload that is too large fails with the service's 413.
        Raises ImageAddressError.
        """
        if not self._asked_for_limits:
            self._limits = self._fetched_limits()
            self._asked_for_limits = True
        return self._limits

    def stage(
        self,
        image: Image,
        *,
        name: str,
        branch: str,
        commit_sha: str,
        viewport: str,
        content_type: str,
        theme: str = "",
        repository: str = "",
        before: Image | None = None,
        before_content_type: str = "",
    ) -> Staged:
        """Upload an image, and its `before`, for a branch without a pull request. Raises like `baseline`.

        `repository` is the `owner/name` that has the branch; empty for the project's own.
        """
        fields = {"name": name, "branch": branch, "commit_sha": commit_sha, "viewport": viewport}
        where = fields | ({"repository": repository} if repository else {})
        files = {"image": (image, content_type)}
        if before is not None:
            files["before"] = (before, before_content_type or content_type)
        return self._read(Staged, self._reply_to_images("/v1/staged", files, where, theme))

    def staged(self, branch: str, *, repository: str | None = None) -> list[StagedShot]:
        """Return the images staged for a branch, oldest first. Raises InvalidInputError, ServiceTooOldError.

        With `repository`, only those that move to a pull request from there.
        """
        params = {"branch": branch} | ({} if repository is None else {"repository": repository})
        found = self._call("GET", "/v1/staged", lambda: {"params": params}).get("staged")
        if not isinstance(found, list) or not all(isinstance(shot, dict) for shot in found):
            raise self._unlike(["staged"])
        return [self._read(StagedShot, shot) for shot in found]

    def move_staged(self, branch: str, pr_number: int, *, repository: str, from_fork: bool) -> Moved:
        """Move what is staged for a branch to its pull request. Raises InvalidInputError, ServiceTooOldError.

        `repository` is the `owner/name` that has the branch. `from_fork`: it is not the project's own.
        """
        asked = {"branch": branch, "pr_number": pr_number, "repository": repository, "from_fork": from_fork}
        return self._read(Moved, self._told("/v1/staged/move", asked))

    def put_url(
        self,
        *,
        name: str,
        commit_sha: str,
        viewport: str,
        content_type: str,
        theme: str = "",
        pr_number: int | None = None,
        branch: str = "",
        repository: str = "",
        with_before: bool = False,
    ) -> OneTimeUrls:
        """Return a URL that takes one image with a PUT, without a token: of a pull request, or for a branch.

        Also raises InvalidInputError, UnsupportedTypeError, ServiceTooOldError.
        """
        what = {"name": name, "commit_sha": commit_sha, "viewport": viewport, "content_type": content_type}
        where = (
            {"branch": branch, "repository": repository} if pr_number is None else {"pr_number": pr_number}
        )
        asked = what | where | ({"theme": theme} if theme else {}) | {"with_before": with_before}
        reply = self._told("/v1/put-urls", asked)
        if with_before and not isinstance(reply.get("before_put_url"), str):
            raise self._unlike(["before_put_url"])
        return self._read(OneTimeUrls, {"before_put_url": ""} | reply)

    def _fetched_limits(self) -> ServiceLimits | None:
        try:
            reply = self._sender.send(
                lambda: self._client.build_request("GET", "/v1/limits", timeout=LIMITS_SECONDS), tries=1
            )
        except PrshotsError:
            return None
        refuse_image_address(self.url, reply)
        try:
            return self._read(ServiceLimits, self._value(reply, "GET"))
        except PrshotsError:
            return None

    def _sent_images(
        self, path: str, images: Mapping[str, tuple[Image, str]], fields: dict[str, str], theme: str
    ) -> Uploaded:
        """Send images, given by their form field with their content types."""
        return self._read(Uploaded, self._reply_to_images(path, images, fields, theme))

    def _reply_to_images(
        self, path: str, images: Mapping[str, tuple[Image, str]], fields: dict[str, str], theme: str
    ) -> dict[str, Any]:
        data = fields | ({"theme": theme} if theme else {})
        with ExitStack() as stack:
            # Opened once. Each attempt reads them from the beginning, in small parts.
            opened = {
                field: (stack.enter_context(_opened_image(image)), content_type)
                for field, (image, content_type) in images.items()
            }

            def parts() -> dict[str, Any]:
                files = {
                    field: (field, FixedLengthFile(file), content_type)
                    for field, (file, content_type) in opened.items()
                }
                return {"data": data, "files": files}

            return self._call("POST", path, parts, is_upload=True)

    def _told(self, path: str, asked: Mapping[str, object]) -> dict[str, Any]:
        return self._call("POST", path, lambda: {"json": asked})

    def _comparison(self, reply: dict[str, Any]) -> ComparisonReply:
        try:
            return comparison_from(reply)
        except (KeyError, TypeError, ValueError) as error:
            raise self._unlike([str(error)]) from error

    def _call(
        self, method: str, path: str, parts: Callable[[], dict[str, Any]], *, is_upload: bool = False
    ) -> dict[str, Any]:
        token = self._tokens.token()
        reply = self._send(method, path, parts, token, is_upload=is_upload)
        if reply.status_code == httpx.codes.UNAUTHORIZED and (other := self._tokens.renewed(token)):
            reply = self._send(method, path, parts, other, is_upload=is_upload)
        refuse_image_address(self.url, reply)
        if path.startswith(_NEW_ROUTES) and reply.status_code in _MISSING_ROUTE:
            raise ServiceTooOldError(
                f"{self.url} answered {reply.status_code} to {method} {path}: the service is too old "
                f"to {_USES.get(path, 'compare')}. Update it"
            )
        return self._value(reply, method)

    def _send(
        self, method: str, path: str, parts: Callable[[], dict[str, Any]], token: str, *, is_upload: bool
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return self._sender.send(
            lambda: self._client.build_request(method, path, headers=headers, **parts()), is_upload=is_upload
        )

    def _value(self, reply: httpx.Response, method: str) -> dict[str, Any]:
        status = reply.status_code
        if redirect := reply.next_request:  # not followed: a POST would become a GET, without the image
            raise WrongAddressError(
                f"{self.url} redirects to {_target(redirect)}: use that address (--url or PRSHOTS_URL)"
            )
        try:
            value = json.loads(reply.content)
        except ValueError:
            value = None
        is_wrong_address = status == httpx.codes.NOT_FOUND and method != "DELETE"
        if not isinstance(value, dict) or is_wrong_address:
            answered = f"{self.url} answered {status} {reply.reason_phrase}"
            if reply.is_server_error:
                raise CallError(answered)
            raise WrongAddressError(f"{answered}: is this the address of a prshots service?")
        if status in {httpx.codes.OK, httpx.codes.ACCEPTED}:
            return value
        words = redact(str(value.get("error", reply.reason_phrase)))[:300]
        if status == httpx.codes.UNAUTHORIZED:
            raise UnauthorizedError(
                f"{self.url} refused the token: it is wrong or revoked, or belongs to another service"
            )
        if words == EXPIRE_FAILED:
            raise ExpireFailedError(words)
        raise _ERRORS.get(status, CallError)(f"{self.url} answered {status}: {words}")

    def _read(self, kind: type[Reply], value: dict[str, Any]) -> Reply:
        """Return the reply. Fields that a later version adds are ignored."""
        found = {field.name: value.get(field.name) for field in fields(kind)}
        types = {field.name: cast("type", field.type) for field in fields(kind)}
        if missing := [name for name in found if not isinstance(found[name], types[name])]:
            raise self._unlike(missing)
        return kind(**cast("dict[str, Any]", found))

    def _unlike(self, missing: Sequence[str]) -> CallError:
        return CallError(
            f"{self.url} answered without {', '.join(missing)}: it is not a prshots service, or its "
            f"version does not match this client ({__version__})"
        )


def _opened_image(image: Image) -> BinaryIO:
    return io.BytesIO(image) if isinstance(image, bytes) else image()


def _opened(url: str) -> httpx.Client:
    """Return an HTTP client. The environment sets its proxy and certificate authorities."""
    try:
        return httpx.Client(
            base_url=url,
            headers={"User-Agent": f"prshots/{__version__}"},
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS),
        )
    except httpx.InvalidURL as error:
        raise InvalidInputError(f"{url} is not a valid address: {error}") from error
    except OSError as error:
        raise InvalidInputError(f"cannot read SSL_CERT_FILE or SSL_CERT_DIR: {error.strerror}") from error
    except (ValueError, ImportError) as error:
        raise InvalidInputError(
            f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is invalid: {redact(str(error))}"
        ) from error


def _target(redirect: httpx.Request) -> str:
    """Return the redirect's target as a service address."""
    path = redirect.url.path.removesuffix("/v1/upload").rstrip("/")
    return redact(f"{redirect.url.scheme}://{redirect.url.netloc.decode()}{path}")[:200]
