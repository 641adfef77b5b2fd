"""A project whose screenshots are drawn without a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from support.drawn_pages import drawn_page, sha
from support.service import Service, upload
from support.signed_in_people import Person

PLAIN, RED = drawn_page(), drawn_page(button="red")
VIEWPORT = "320x240"


class Shop(NamedTuple):
    """A project with drawn screenshots, and the CI jobs that upload and compare them."""

    id: str
    ci: httpx.Client

    def baseline(self, commit: str, name: str, image: bytes = PLAIN) -> None:
        about = {"viewport": VIEWPORT, "commit_sha": sha(commit), "branch": "main"}
        upload(self.ci, image, path="/v1/baseline", name=name, **about).raise_for_status()

    def push(self, pr_number: int, commit: str, before: bytes | None = None, **shots: bytes) -> None:
        """Upload shots, each as a pair with this before image if there is one."""
        about = {"viewport": VIEWPORT, "pr_number": pr_number, "commit_sha": sha(commit)}
        for name, image in shots.items():
            upload(self.ci, image, name=name, before=before, **about).raise_for_status()

    def compare(self, pr_number: int, commit: str, *bases: str, **fields: object) -> dict[str, Any]:
        body = {"pr_number": pr_number, "commit_sha": sha(commit), "branch": "main"} | fields
        reply = self.ci.post(
            "/v1/compare", json=body | {"commits": [sha(base) for base in bases]}, timeout=60
        )
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def page(self, pr_number: int = 7, query: str = "") -> str:
        return f"/projects/{self.id}/prs/{pr_number}{query}"


@contextmanager
def shop_with_baselines(service: Service, owner: Person, name: str) -> Iterator[Shop]:
    """Make a project whose default branch has four screenshots."""
    project = owner.project(name)
    with service.client(owner.token(project)) as ci:
        made = Shop(project, ci)
        for each in ("step-1", "step-2", "banner", "gone"):
            made.baseline("main", each)
        ci.post("/v1/baseline/complete", json={"branch": "main", "commit_sha": sha("main")})
        yield made
