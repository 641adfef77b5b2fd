"""Images under any order of events: the real services on a real disk, compared with a simple model."""

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import urlsplit

import PIL.Image
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from prshots.contract.errors import ExpireFailedError, NotFoundError
from prshots.contract.limits import Policy
from prshots.contract.object_names import THUMBNAIL_EXT, origin_key
from prshots.server.domain.images.checks import UploadedFile, UploadFields, check_files
from prshots.server.domain.projects.models import Access, Project
from prshots.server.domain.projects.service import ProjectChanges, Projects
from prshots.server.domain.upkeep.sweep import sweep
from support.nasty_pictures import encoded
from support.service import SHA
from support.stores_and_records import (
    DAY,
    DiskStoreAt,
    engines_of,
    image_service,
    open_records,
)
from support.thumbnails_in_process import patient_thumbnails

HOUR = 3600
PRS = (1, 2)
PROJECTS = ("closing", "keeping")
PNG = encoded(PIL.Image.new("RGB", (8, 8), "red"))

T = TypeVar("T")


@dataclass
class Shot:
    """What the model knows about an image that has a record."""

    project: str
    pr_number: int
    uploaded_at: int
    data: bytes
    closed: bool = False
    scheduled: bool = False
    undeletable: bool = False
    looked_at: bool = False
    before: tuple[str, bytes] | None = None
    """The id and the bytes of the image that was uploaded with it as its before."""


class ImagesMachine(RuleBasedStateMachine):
    empty_database: Path  # migrated once, then copied: migrating for every run would take most of the time

    images = Bundle("images")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = Path(tempfile.mkdtemp())
        self.now = time.time()
        self.shots: dict[str, Shot] = {}
        shutil.copy(self.empty_database, self.folder / "prshots.db")
        self.records = open_records(self.folder)
        self.store = DiskStoreAt(self.folder / "images")
        self.accounts = Projects(self.records, self.records, self.clock)
        self.service = image_service(self.records, self.store, self.clock)
        self.thumbnails = patient_thumbnails(self.records, self.store)

    def teardown(self) -> None:
        self.run(self.thumbnails.close())
        self.run(self.records.close())
        self.store.close()
        self.loop.close()
        shutil.rmtree(self.folder)

    def run(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(work)

    def clock(self) -> float:
        return self.now

    def project(self, name: str) -> Project:
        return self.run(self.accounts.project(name))

    def path(self, image_id: str) -> Path:
        return self.store.root / origin_key(image_id, "png")

    @initialize(target=images)
    def two_projects_with_images(self) -> MultipleResults[str]:
        """Start with images: Hypothesis may disable the upload rule in a run, which would then test little."""
        self.run(self.accounts.create_project("closing", Policy.PR_CLOSE))
        self.run(self.accounts.create_project("keeping", Policy.RETAIN_DAYS, 3))
        return multiple(*(self.upload(project, pr_number) for project in PROJECTS for pr_number in PRS))

    # What clients do

    @rule(
        target=images,
        project=st.sampled_from(PROJECTS),
        pr_number=st.sampled_from(PRS),
        with_before=st.booleans(),
    )
    def upload_one(self, project: str, pr_number: int, with_before: bool) -> str:
        return self.upload(project, pr_number, with_before=with_before)

    def upload(self, project: str, pr_number: int, *, with_before: bool = True) -> str:
        data, before = PNG + secrets.token_bytes(8), PNG + secrets.token_bytes(9)
        checked = check_files(
            UploadFields("a", SHA, "1x1", theme=""),
            UploadedFile("image/png", [data], len(data)),
            UploadedFile("image/png", [before], len(before)) if with_before else None,
            max_image_bytes=9999,
        )
        uploaded = self.run(self.service.store_upload(self.project(project), pr_number, checked))
        shot = self.shots[uploaded.id] = Shot(project, pr_number, int(self.now), data)
        if uploaded.before_url:
            shot.before = PurePosixPath(urlsplit(uploaded.before_url).path).stem, before
        assert bool(shot.before) is with_before
        return uploaded.id

    @rule(image_id=images)
    def look_at(self, image_id: str) -> None:
        shot = self.shots.get(image_id)
        if shot is None or shot.scheduled:  # the dashboard lists neither
            return
        image = self.run(self.records.image(self.project(shot.project).id, image_id))
        assert image is not None
        shot.looked_at |= not shot.undeletable
        assert self.run(self.thumbnails.make([image])) == {image_id: "made" if shot.looked_at else "later"}

    @rule(image_id=images)
    def delete(self, image_id: str) -> None:
        shot = self.shots.get(image_id)
        deleting = self.service.delete(Access(self.project(shot.project if shot else "closing")), image_id)
        if shot is None:
            with pytest.raises(NotFoundError):
                self.run(deleting)
        elif shot.undeletable:
            with pytest.raises(ExpireFailedError):
                self.run(deleting)
            shot.scheduled = True
        else:
            self.run(deleting)
            del self.shots[image_id]

    @rule(project=st.sampled_from(PROJECTS), pr_number=st.sampled_from(PRS))
    def expire(self, project: str, pr_number: int) -> None:
        policy = self.project(project).policy
        of_pr = [
            shot for shot in self.shots.values() if (shot.project, shot.pr_number) == (project, pr_number)
        ]
        newly_closed = sum(not shot.closed for shot in of_pr)
        for shot in of_pr:
            shot.closed = True
            shot.scheduled |= policy is Policy.PR_CLOSE
        gone = self._finish(of_pr) if policy is Policy.PR_CLOSE else 0

        outcome = self.run(self.service.expire(self.project(project), pr_number))
        assert (outcome.policy, outcome.marked, outcome.expired) == (policy, newly_closed, gone)

    @rule(
        project=st.sampled_from(PROJECTS),
        policy=st.sampled_from(Policy),
        days=st.sampled_from([1, 3, 30]),
        limited=st.booleans(),
    )
    def change_policy(self, project: str, policy: Policy, days: int, limited: bool) -> None:
        keeps_days = limited or policy is Policy.RETAIN_DAYS
        changes: ProjectChanges = {"policy": policy, "retain_days": days if keeps_days else None}
        self.run(self.accounts.change_project(self.project(project), **changes))

    # What happens to the service

    @rule(seconds=st.sampled_from([HOUR // 2, 2 * HOUR, DAY, 3 * DAY, 40 * DAY]))
    def time_goes_by(self, seconds: int) -> None:
        self.now += seconds

    @rule(image_id=images)
    def bytes_become_undeletable(self, image_id: str) -> None:
        shot = self.shots.get(image_id)
        if shot and not shot.undeletable:
            self.path(image_id).unlink()
            self.path(image_id).mkdir()  # not even root can unlink a folder
            shot.undeletable = True

    @rule(image_id=images)
    def delete_while_the_disk_fails(self, image_id: str) -> None:
        """Do both at once: by chance, images would rarely become scheduled this way."""
        self.bytes_become_undeletable(image_id)
        self.delete(image_id)

    @precondition(lambda self: any(shot.undeletable for shot in self.shots.values()))
    @rule()
    def the_disk_is_repaired(self) -> None:
        for image_id, shot in self.shots.items():
            if shot.undeletable:
                self.path(image_id).rmdir()
                self.path(image_id).write_bytes(shot.data)
                shot.undeletable = False

    @rule()
    def sweep(self) -> None:
        for shot in self.shots.values():
            shot.scheduled |= self._is_due(shot)
        expected_failures = sum(shot.scheduled and shot.undeletable for shot in self.shots.values())
        expected_gone = self._finish(list(self.shots.values()))
        self.store.now = self.now
        report = self.run(sweep(engines_of(self.records, self.store), clock=self.clock))
        assert (report.expired, report.failed, report.orphans) == (expected_gone, expected_failures, 0)
        if not expected_failures:
            assert self.run(self.records.next_scheduled("", 1)) == []

    def _is_due(self, shot: Shot) -> bool:
        project = self.project(shot.project)
        too_old = (
            project.retain_days is not None and shot.uploaded_at <= int(self.now) - project.retain_days * DAY
        )
        return too_old or (project.policy is Policy.PR_CLOSE and shot.closed)

    def _finish(self, shots: list[Shot]) -> int:
        """Drop the scheduled images whose bytes can be deleted; return how many."""
        gone = [
            image_id
            for image_id, shot in self.shots.items()
            if shot in shots and shot.scheduled and not shot.undeletable
        ]
        for image_id in gone:
            del self.shots[image_id]
        return len(gone)

    # Invariants

    @invariant()
    def comments_list_the_active_images_in_upload_order(self) -> None:
        for project in self.run(self.accounts.projects()):
            for pr_number in PRS:
                _, listed = self.run(self.records.comment_entries(project.id, pr_number, 1000))
                assert [image.id for image in listed] == [
                    image_id
                    for image_id, shot in self.shots.items()
                    if (shot.project, shot.pr_number) == (project.name, pr_number) and not shot.scheduled
                ]

    @invariant()
    def the_scheduled_ones_wait_for_the_sweep(self) -> None:
        waiting = {image.id for image in self.run(self.records.next_scheduled("", 1000))}
        assert waiting == {image_id for image_id, shot in self.shots.items() if shot.scheduled}

    @invariant()
    def the_disk_holds_what_it_should_and_nothing_else(self) -> None:
        files = {path.name: path for path in self.store.root.glob("??/*") if path.is_file()}
        thumbnails = {name for name in files if name.endswith(THUMBNAIL_EXT)}
        assert thumbnails == {
            f"{image_id}.{THUMBNAIL_EXT}"
            for image_id, shot in self.shots.items()
            if shot.looked_at and not shot.scheduled
        }
        originals = {path.stem: path.read_bytes() for name, path in files.items() if name not in thumbnails}
        # A before image is deleted as soon as its image is scheduled, even if the image itself cannot be deleted.
        before_images = dict(
            shot.before for shot in self.shots.values() if shot.before and not shot.scheduled
        )
        images = {image_id: shot.data for image_id, shot in self.shots.items() if not shot.undeletable}
        assert originals == images | before_images


@pytest.mark.hypothesis  # the mark that the plugin gives to `given` tests
@pytest.mark.slow
def test_images_match_the_model_after_any_order_of_events(tmp_path: Path) -> None:
    asyncio.run(open_records(tmp_path).close())
    ImagesMachine.empty_database = tmp_path / "prshots.db"
    bounded = settings(
        max_examples=settings.default.max_examples // 5,  # each example has 25 steps
        stateful_step_count=25,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking would take minutes
        suppress_health_check=[HealthCheck.too_slow],
    )
    run_state_machine_as_test(ImagesMachine, settings=bounded)
