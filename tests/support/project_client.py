"""A project of a running service, as CI uses it over HTTP."""

import hashlib
from typing import Any

import httpx

from support.drawn_pages import sha
from support.service import upload


class Project:
    """A project of the service, and one of its pull requests."""

    def __init__(self, client: httpx.Client) -> None:
        self.client = client
        self.pr_number = 7

    def build(self, commit: str, *, complete: bool = False, **shots: bytes) -> None:
        """Upload baselines of main."""
        about = {"viewport": "320x240", "commit_sha": sha(commit), "branch": "main"}
        for name, image in shots.items():
            assert upload(self.client, image, path="/v1/baseline", name=name, **about).status_code == 200
        if complete:
            self.complete(commit)

    def complete(self, commit: str) -> dict[str, Any]:
        reply = self.client.post("/v1/baseline/complete", json={"branch": "main", "commit_sha": sha(commit)})
        assert reply.status_code == 200
        return dict(reply.json())

    def push(self, commit: str, before: bytes | None = None, **shots: bytes) -> None:
        """Upload images for the pull request, each as a pair if there is a before image."""
        for name, image in shots.items():
            kind = "image/jpeg" if image.startswith(b"\xff\xd8") else "image/png"
            about = {"name": name, "pr_number": self.pr_number, "commit_sha": sha(commit)}
            reply = upload(self.client, image, **about, viewport="320x240", content_type=kind, before=before)
            assert reply.status_code == 200

    def asked(self, commit: str, *commits: str, **fields: object) -> httpx.Response:
        body = {
            "pr_number": self.pr_number,
            "commit_sha": sha(commit),
            "branch": "main",
            "commits": [sha(each) for each in commits],
        }
        return self.client.post("/v1/compare", json=body | fields, timeout=60)

    def compare(self, commit: str, *commits: str, **fields: object) -> dict[str, Any]:
        reply = self.asked(commit, *commits, **fields)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def known(self, commit: str, **shots: bytes) -> dict[str, Any]:
        """Give the pull request's commit the images that the service knows."""
        body = {
            "pr_number": self.pr_number,
            "commit_sha": sha(commit),
            "shots": [
                {"name": name, "viewport": "320x240", "sha256": hashlib.sha256(image).hexdigest()}
                for name, image in shots.items()
            ],
        }
        reply = self.client.post("/v1/upload/known", json=body)
        assert reply.status_code == 200, reply.text
        return dict(reply.json())

    def comment(self, view: str = "") -> str:
        params = {"pr_number": self.pr_number} | ({"view": view} if view else {})
        return str(self.client.get("/v1/comment", params=params).json()["markdown"])

    def expire(self) -> dict[str, Any]:
        return dict(self.client.post("/v1/expire", json={"pr_number": self.pr_number}).json())
