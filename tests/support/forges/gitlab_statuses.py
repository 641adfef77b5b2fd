"""Commit statuses as in GitLab: Ci::CreateCommitStatusService, GenericCommitStatus, CommitStatus's state machine."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from support.forges.forge_server import Answer

_WAITS = ("pending", "running")
_EVENTS = {
    "pending": "enqueue",
    "running": "run",
    "success": "success",
    "failed": "drop",
    "canceled": "cancel",
}
_FROM = {"enqueue": ("created",), "run": ("created", "pending")}
"""The states that an event can start from, where it can't start from all of an unfinished status."""


@dataclass
class ExternalJob:
    """A status, which GitLab shows as a job of the commit's pipeline."""

    sha: str
    name: str
    owner: str
    state: str = "created"
    description: str = ""
    url: str = ""


class Pipelines:
    """The newest pipeline of each commit. `job_names` are its other jobs, which no status can be named like."""

    def __init__(self) -> None:
        self.external_jobs: list[ExternalJob] = []
        self.job_names: set[str] = set()

    def set_status(self, sha: str, given: Mapping[str, str], owner: str) -> Answer:
        name = given.get("name") or given.get("context") or "default"
        if given.get("state") not in _EVENTS:
            return Answer(400, {"error": "state does not have a valid value"})
        if wrong := self._wrong_fields(name, given):
            return Answer(400, {"message": wrong})
        waiting = [
            job
            for job in self.external_jobs
            if (job.sha, job.name, job.owner) == (sha, name, owner) and job.state in _WAITS
        ]
        job = waiting[0] if waiting else ExternalJob(sha, name, owner)
        event = _EVENTS[given["state"]]
        if event in _FROM and job.state not in _FROM[event]:
            words = f'Cannot transition status via :{event} from :{job.state} (Reason(s): Status cannot transition via "{event}")'
            return Answer(400, {"message": words})
        if not waiting:
            self.external_jobs.append(job)
        job.state = given["state"]
        job.description = given.get("description", job.description)
        job.url = given.get("target_url", job.url)
        body = {
            "id": self.external_jobs.index(job) + 1,
            "sha": sha,
            "name": name,
            "status": job.state,
            "ref": "cart",
        }
        return Answer(201, body | {"description": job.description, "target_url": job.url})

    def _wrong_fields(self, name: str, given: Mapping[str, str]) -> dict[str, list[str]]:
        wrong = {
            field: ["is too long (maximum is 255 characters)"]
            for field in ("description", "target_url")
            if len(given.get(field, "")) > 255
        }
        if not re.match(r"https?://[^/]", given.get("target_url", "http://x")):
            wrong["target_url"] = ["must be a valid URL"]
        if name in self.job_names:
            wrong["name"] = ["has already been taken"]
        return wrong
