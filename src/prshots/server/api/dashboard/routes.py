"""The dashboard's API: for the pages we serve, by session; no stable contract.

Every handler gets who is signed in, and finds what it works on by asking for that person's: what belongs to
others is not found, exactly like what does not exist.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prshots.contract.errors import InvalidInputError, NotFoundError
from prshots.server.api.dashboard import fields, views
from prshots.server.api.dashboard.views import Json
from prshots.server.api.request_body import json_object
from prshots.server.domain.images import Images, pr_number_from_text
from prshots.server.domain.keyless import Trusts
from prshots.server.domain.models import (
    SECONDS_PER_DAY,
    Image,
    Project,
    ProjectSummary,
    PullRequest,
    Role,
    User,
)
from prshots.server.domain.organizations import Organizations
from prshots.server.domain.ports import Overview
from prshots.server.domain.projects import ProjectChanges, Projects
from prshots.server.domain.thumbnails import Thumbnails
from prshots.server.http.headers import names_tag

PREFIX = "/v1/dashboard"
PAGE = 60
CARDS, PULLS, BIGGEST = 24, 30, 10
NEWEST_OF_PULL = 4
MAX_THUMBNAILS = 24
MAX_DAYS = 366
REMOVAL_SECONDS = 2.0
"""How long one call works on removing a project: the page then shows how far it has come, and calls again."""

_SAFE_METHODS = {"GET", "HEAD"}

Handler = Callable[[Request, User], Awaitable[Json]]
SignedIn = Callable[[Request], Awaitable[User]]
OwnOrigin = Callable[[Request], None]


@dataclass(frozen=True)
class Dashboard:
    images: Images
    accounts: Projects
    trusts: Trusts
    organizations: Organizations
    overview: Overview
    thumbnails: Thumbnails
    avatar_origins: frozenset[str]
    """From where the pages may load people's pictures."""

    service: Json
    """What the pages tell of the service itself: its addresses and limits."""

    clock: Callable[[], float] = time.time

    def routes(self, signed_in: SignedIn, require_own_origin: OwnOrigin) -> list[Route]:
        """Return the routes. Each asks who is signed in; one that changes something, from where too."""

        def route(path: str, handlers: dict[str, Handler]) -> Route:
            async def endpoint(request: Request) -> Response:
                if request.method not in _SAFE_METHODS:
                    require_own_origin(request)
                user = await signed_in(request)
                method = "GET" if request.method == "HEAD" else request.method
                status = HTTPStatus.CREATED if (method, path) in CREATING else HTTPStatus.OK
                return _reply(request, await handlers[method](request, user), status)

            return Route(PREFIX + path, endpoint, methods=list(handlers))

        by_path: dict[str, dict[str, Handler]] = {}
        for (method, path), name in ROUTES.items():
            by_path.setdefault(path, {})[method] = getattr(self, name)
        return [route(path, handlers) for path, handlers in by_path.items()]

    async def me(self, _: Request, user: User) -> Json:
        return {
            "user": views.user_view(user, self.avatar_origins),
            "organizations": [
                views.organization_view(organization, role)
                for organization, role in await self.organizations.of(user)
            ],
            "service": self.service,
        }

    # Projects

    async def projects(self, request: Request, user: User) -> Json:
        after = views.key_of(request.query_params.get("after"), (str, str))
        found = await self.overview.projects_of(user.id, after, CARDS)
        since = self._today() - views.CARD_DAYS + 1
        days = await self.overview.days([summary.project.id for summary in found], since)
        return views.page_view(
            "projects",
            found,
            CARDS,
            lambda summary: views.project_view(summary, days.get(summary.project.id, []), self._today()),
            lambda summary: (summary.project.name, summary.project.id),
        )

    async def create_project(self, request: Request, user: User) -> Json:
        body = await json_object(request)
        organization, _ = await self.organizations.find(user, fields.text(body, "organization_id"))
        project = await self.accounts.create_project(fields.text(body, "name"), organization=organization)
        return await self._project_view(user, project.id)

    async def project(self, request: Request, user: User) -> Json:
        return await self._project_view(user, request.path_params["project_id"])

    async def change_project(self, request: Request, user: User) -> Json:
        project, body = await self._project(request, user), await json_object(request)
        changes: ProjectChanges = {}
        if "name" in body:
            changes["name"] = fields.text(body, "name")
        if "policy" in body:
            changes["policy"] = fields.policy(body["policy"])
        if "retain_days" in body:
            changes["retain_days"] = fields.days(body["retain_days"])
        changed = await self.accounts.change_project(project, **changes)
        return await self._project_view(user, changed.id)

    async def would_expire(self, request: Request, user: User) -> Json:
        project, query = await self._project(request, user), request.query_params
        days = fields.number(query["retain_days"], "retain_days") if query.get("retain_days") else None
        count, size = await self.overview.would_expire(
            project.id,
            fields.policy(query.get("policy", project.policy)),
            days,
            int(self.clock()),
        )
        return {"images": count, "bytes": size}

    async def delete_project(self, request: Request, user: User) -> Json:
        project = await self.organizations.project_to_delete(user, request.path_params["project_id"])
        if fields.text(await json_object(request), "name") != project.name:
            raise InvalidInputError("the name does not match: type it as it is written on the page")
        return {"remaining": await self.images.remove_project(project, REMOVAL_SECONDS)}

    async def usage(self, request: Request, user: User) -> Json:
        summary = await self._summary(user, request.path_params["project_id"])
        project = summary.project
        count = fields.number(request.query_params.get("days", "90"), "days")
        if not 1 <= count <= MAX_DAYS:
            raise InvalidInputError(f"days is a whole number from 1 to {MAX_DAYS}")
        days = await self.overview.days([project.id], self._today() - count + 1)
        filled = views.every_day(days.get(project.id, []), self._today(), count)
        return {
            "days": [views.day_view(day) for day in filled],
            "images": summary.images,
            "bytes": summary.bytes,
            "biggest": [
                views.pull_view(pull) for pull in await self.overview.biggest_pulls(project.id, BIGGEST)
            ],
        }

    # Pull requests and their images

    async def pulls(self, request: Request, user: User) -> Json:
        project, query = await self._project(request, user), request.query_params
        states = {None: None, "": None, "open": False, "closed": True}
        if query.get("state") not in states:
            raise InvalidInputError("state is open or closed")
        found = await self.overview.pulls(
            project.id,
            closed=states[query.get("state")],
            search=fields.search(query.get("q", "")),
            before=views.key_of(query.get("after"), (int, int)),
            limit=PULLS,
        )
        newest = await self.overview.newest_images(
            project.id, [pull.pr_number for pull in found if pull.images], NEWEST_OF_PULL
        )

        def view(pull: PullRequest) -> Json:
            images = newest.get(pull.pr_number, [])
            return views.pull_view(pull) | {"newest": [self._image_view(image) for image in images]}

        return views.page_view(
            "pulls", found, PULLS, view, lambda pull: (pull.last_upload_at, pull.pr_number)
        )

    async def pull(self, request: Request, user: User) -> Json:
        project, number = await self._pull(request, user)
        pull = await self.overview.pull(project.id, number)
        if pull is None:
            raise NotFoundError("not found")
        return views.pull_view(pull)

    async def shots(self, request: Request, user: User) -> Json:
        project, number = await self._pull(request, user)
        after = views.key_of(request.query_params.get("after"), (str, str))
        found = await self.overview.shots(project.id, number, after, PAGE)
        return views.page_view(
            "shots",
            found,
            PAGE,
            lambda shot: {"newest": self._image_view(shot.newest), "count": shot.images},
            lambda shot: (shot.newest.name, shot.newest.viewport),
        )

    async def images_of_shot(self, request: Request, user: User) -> Json:
        (project, number), query = await self._pull(request, user), request.query_params
        after = views.key_of(query.get("after"), (int,))
        shot = (query.get("name", ""), query.get("viewport", ""))
        before = after[0] if after else views.MAX_INTEGER - 1
        found = await self.overview.images_of_shot(project.id, number, shot, before, PAGE)
        return views.page_view("images", found, PAGE, self._image_view, lambda image: (image.seq,))

    async def comment(self, request: Request, user: User) -> Json:
        project, number = await self._pull(request, user)
        markdown = await self.images.comment(project, number)
        return {"markdown": markdown, "html": await asyncio.to_thread(views.rendered, markdown)}

    async def expire(self, request: Request, user: User) -> Json:
        project, number = await self._pull(request, user)
        outcome = await self.images.expire(project, number, whatever_the_policy=True)
        pull = await self.overview.pull(project.id, number)
        return {"expired": outcome.expired, "failed": pull.images if pull else 0}

    async def delete_image(self, request: Request, user: User) -> Json:
        project, image_id = await self._project(request, user), request.path_params["image_id"]
        await self.images.delete(project, image_id)
        return {"ok": True, "id": image_id}

    async def make_thumbnails(self, request: Request, user: User) -> Json:
        project, body = await self._project(request, user), await json_object(request)
        ids = fields.image_ids(body.get("ids"), MAX_THUMBNAILS)
        asked = await self.overview.images(project.id, ids)
        made = await self.thumbnails.make(asked)
        return {
            "thumbnails": {
                image.id: self.images.thumbnail_url_of(image) if made[image.id] else None
                for image in asked
                if image.id in made
            }
        }

    # Tokens

    async def tokens(self, request: Request, user: User) -> Json:
        project = await self._project(request, user)
        before = views.key_of(request.query_params.get("after"), (int, str))
        found = await self.overview.tokens(project.id, before, PAGE)
        return views.page_view(
            "tokens", found, PAGE, views.token_view, lambda token: (token.created_at, token.id)
        )

    async def create_token(self, request: Request, user: User) -> Json:
        project, body = await self._project(request, user), await json_object(request)
        label = fields.text(body, "label").strip()
        token, secret = await self.accounts.create_token(project, label, created_by=user.login)
        return {"token": views.token_view(token), "secret": secret}

    async def revoke_token(self, request: Request, user: User) -> Json:
        project = await self._project(request, user)
        try:
            await self.accounts.revoke_token(request.path_params["token_id"], project)
        except NotFoundError as error:
            raise NotFoundError("not found") from error
        return {"ok": True}

    # Trusts

    async def list_trusts(self, request: Request, user: User) -> Json:
        project = await self._project(request, user)
        return {"trusts": [views.trust_view(trust) for trust in await self.trusts.of(project)]}

    async def create_trust(self, request: Request, user: User) -> Json:
        project, body = await self._project(request, user), await json_object(request)
        trust = await self.trusts.add(
            project, fields.text(body, "issuer").strip(), fields.claims(body.get("claims")), user.login
        )
        return views.trust_view(trust)

    async def remove_trust(self, request: Request, user: User) -> Json:
        project = await self._project(request, user)
        try:
            await self.trusts.remove(request.path_params["trust_id"], project)
        except NotFoundError as error:
            raise NotFoundError("not found") from error
        return {"ok": True}

    # Organizations

    async def create_organization(self, request: Request, user: User) -> Json:
        organization = await self.organizations.create(user, fields.text(await json_object(request), "name"))
        return views.organization_view(organization, Role.OWNER)

    async def organization(self, request: Request, user: User) -> Json:
        found = await self.organizations.find(user, request.path_params["organization_id"])
        return views.organization_view(*found)

    async def members(self, request: Request, user: User) -> Json:
        after = views.key_of(request.query_params.get("after"), (str, str))
        found = await self.organizations.members(user, request.path_params["organization_id"], after, PAGE)
        return views.page_view(
            "members",
            found,
            PAGE,
            lambda member: views.member_view(member, user, self.avatar_origins),
            lambda member: (member.user.login, member.user.id),
        )

    async def add_member(self, request: Request, user: User) -> Json:
        body, organization_id = await json_object(request), request.path_params["organization_id"]
        role = fields.role(body.get("role", Role.MEMBER))
        member = await self.organizations.add_member(user, organization_id, fields.text(body, "login"), role)
        return views.member_view(member, user, self.avatar_origins)

    async def change_member(self, request: Request, user: User) -> Json:
        role, path = fields.role((await json_object(request)).get("role")), request.path_params
        await self.organizations.change_role(user, path["organization_id"], path["member_id"], role)
        return {"ok": True}

    async def remove_member(self, request: Request, user: User) -> Json:
        path = request.path_params
        await self.organizations.remove_member(user, path["organization_id"], path["member_id"])
        return {"ok": True}

    # What they share

    async def _project(self, request: Request, user: User) -> Project:
        return await self.organizations.project(user, request.path_params["project_id"])

    async def _pull(self, request: Request, user: User) -> tuple[Project, int]:
        project = await self._project(request, user)
        try:
            return project, pr_number_from_text(request.path_params["pr_number"])
        except InvalidInputError as error:
            raise NotFoundError("not found") from error

    async def _summary(self, user: User, project_id: str) -> ProjectSummary:
        summary = await self.overview.summary_of(user.id, project_id)
        if summary is None:
            raise NotFoundError("not found")
        return summary

    async def _project_view(self, user: User, project_id: str) -> Json:
        summary = await self._summary(user, project_id)
        days = await self.overview.days([project_id], self._today() - views.CARD_DAYS + 1)
        return views.project_view(summary, days.get(project_id, []), self._today())

    def _image_view(self, image: Image) -> Json:
        return views.image_view(image, self.images)

    def _today(self) -> int:
        return int(self.clock()) // SECONDS_PER_DAY


ROUTES: dict[tuple[str, str], str] = {
    ("GET", "/me"): "me",
    ("GET", "/projects"): "projects",
    ("POST", "/projects"): "create_project",
    ("GET", "/projects/{project_id}"): "project",
    ("PATCH", "/projects/{project_id}"): "change_project",
    ("POST", "/projects/{project_id}/delete"): "delete_project",
    ("GET", "/projects/{project_id}/would-expire"): "would_expire",
    ("GET", "/projects/{project_id}/usage"): "usage",
    ("GET", "/projects/{project_id}/pulls"): "pulls",
    ("GET", "/projects/{project_id}/pulls/{pr_number}"): "pull",
    ("GET", "/projects/{project_id}/pulls/{pr_number}/shots"): "shots",
    ("GET", "/projects/{project_id}/pulls/{pr_number}/images"): "images_of_shot",
    ("GET", "/projects/{project_id}/pulls/{pr_number}/comment"): "comment",
    ("POST", "/projects/{project_id}/pulls/{pr_number}/expire"): "expire",
    ("DELETE", "/projects/{project_id}/images/{image_id}"): "delete_image",
    ("POST", "/projects/{project_id}/thumbnails"): "make_thumbnails",
    ("GET", "/projects/{project_id}/tokens"): "tokens",
    ("POST", "/projects/{project_id}/tokens"): "create_token",
    ("DELETE", "/projects/{project_id}/tokens/{token_id}"): "revoke_token",
    ("GET", "/projects/{project_id}/trusts"): "list_trusts",
    ("POST", "/projects/{project_id}/trusts"): "create_trust",
    ("DELETE", "/projects/{project_id}/trusts/{trust_id}"): "remove_trust",
    ("POST", "/organizations"): "create_organization",
    ("GET", "/organizations/{organization_id}"): "organization",
    ("GET", "/organizations/{organization_id}/members"): "members",
    ("POST", "/organizations/{organization_id}/members"): "add_member",
    ("PATCH", "/organizations/{organization_id}/members/{member_id}"): "change_member",
    ("DELETE", "/organizations/{organization_id}/members/{member_id}"): "remove_member",
}
CREATING = {
    ("POST", "/projects"),
    ("POST", "/projects/{project_id}/tokens"),
    ("POST", "/projects/{project_id}/trusts"),
    ("POST", "/organizations"),
    ("POST", "/organizations/{organization_id}/members"),
}


def _reply(request: Request, content: Json, status: int) -> Response:
    """Answer with a tag of the content: an open page asks every few seconds, and mostly nothing is new."""
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    tag = hashlib.sha256(body).hexdigest()[:32]
    headers = {"Cache-Control": "no-store", "ETag": f'"{tag}"'}
    if request.method in _SAFE_METHODS and names_tag(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(body, status, headers, media_type="application/json")
