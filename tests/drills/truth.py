"""What the database and the store hold, compared with each other and with what was acknowledged."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Self

from drills.sites import Site
from support.upload_load import ONCE

IMAGES = "SELECT id, ext, project_id, pr_number, size, kind, name, scheduled_at, source_id FROM images"
TOTALS = "SELECT project_id, images, bytes, open_pulls FROM project_totals"
PULLS = "SELECT project_id, pr_number, images, bytes, closed_at FROM pulls"


@dataclass(frozen=True)
class Truth:
    """The records, and the totals that the dashboard shows, of the same moment."""

    images: list[tuple[str, str, str, int, int, str, str, int | None, str | None]]
    totals: list[tuple[str, int, int, int]]
    pulls: list[tuple[str, int, int, int, int | None]]

    @classmethod
    def of(cls, site: Site) -> Self:
        return cls(*site.snapshot(IMAGES, TOTALS, PULLS))

    @property
    def ids(self) -> set[str]:
        return {image[0] for image in self.images}


def wrong_totals(truth: Truth) -> list[str]:
    """Compare the stored totals with the sums over the records."""
    of_project: dict[str, Counter[str]] = {}
    of_pull: dict[tuple[str, int], Counter[str]] = {}
    for _, _, project, number, size, kind, *_ in truth.images:
        for counted in (
            of_project.setdefault(project, Counter()),
            of_pull.setdefault((project, number), Counter()),
        ):
            counted.update(images=kind != "before", bytes=size)  # of a before image, only the bytes count
    for project, number, _, _, closed_at in truth.pulls:
        of_project.setdefault(project, Counter()).update(open=closed_at is None and number > 0)
    told = {
        project: Counter(images=images, bytes=size, open=open_)
        for project, images, size, open_ in truth.totals
    }
    told_of_pull = {(row[0], row[1]): Counter(images=row[2], bytes=row[3]) for row in truth.pulls}
    return _differences("project", told, of_project) + _differences("pull request", told_of_pull, of_pull)


def _differences(what: str, told: Mapping[Any, Counter[str]], real: Mapping[Any, Counter[str]]) -> list[str]:
    return [
        f"{what} {key}: the totals say {dict(told.get(key, {}))}, the records {dict(real.get(key, {}))}"
        for key in {*told, *real}
        if told.get(key, Counter()) != real.get(key, Counter())
    ]


def wrong_records(truth: Truth, kept: AbstractSet[str], gone: AbstractSet[str]) -> list[str]:
    """Compare the records with each other, and with what was acknowledged before they were read."""
    active = {image[0] for image in truth.images if image[7] is None}
    sources = {image[0]: image[8] for image in truth.images if image[8] is not None}
    names = Counter((image[2], image[6]) for image in truth.images if image[6].startswith(ONCE))
    return [
        *(f"{name} was stored {count} times with one key" for (_, name), count in names.items() if count > 1),
        *(
            f"{image_id} refers to {source}, which is gone"
            for image_id, source in sources.items()
            if image_id in active and source not in active
        ),
        *(f"{image_id} was acknowledged, but has no record" for image_id in kept - truth.ids),
        *(f"{image_id} was deleted, but has a record" for image_id in gone & truth.ids),
    ]


def wrong_store(truth: Truth, stored: Mapping[str, int]) -> list[str]:
    """Compare the records with the store. Thumbnails are not made in a drill, and references have no bytes."""
    recorded = {f"{image[0][:2]}/{image[0]}.{image[1]}": image[4] for image in truth.images if not image[8]}
    return [
        *(f"{key} has a record, but no bytes" for key in recorded.keys() - stored.keys()),
        *(f"{key} has bytes, but no record" for key in stored.keys() - recorded.keys()),
        *(
            f"{key} has {stored[key]} bytes, but its record says {size}"
            for key, size in recorded.items()
            if key in stored and stored[key] != size
        ),
    ]
