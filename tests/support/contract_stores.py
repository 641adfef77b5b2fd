"""Every store on one database, with a project: what the contract suites of the records work on."""

from collections.abc import Callable
from dataclasses import replace

from prshots.server.adapters.sql.audit import SqlAudit
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.groups import SqlGroups
from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.invitation_links import SqlInvitationLinks
from prshots.server.adapters.sql.outbox.connections import SqlConnections
from prshots.server.adapters.sql.outbox.outbox import SqlOutbox
from prshots.server.adapters.sql.outbox.webhook_queues import SqlWebhookQueues
from prshots.server.adapters.sql.outbox.webhooks import SqlWebhooks
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.adapters.sql.review.decisions import SqlReviews
from prshots.server.adapters.sql.review.noise import SqlNoise
from prshots.server.adapters.sql.review.share_links import SqlShareLinks
from prshots.server.adapters.sql.storage.quotas import SqlQuotas
from prshots.server.adapters.sql.storage.usage import SqlUsage
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.audit.ports import AuditRecords
from prshots.server.domain.comparison.ports import BaselineRecords, ComparisonRecords
from prshots.server.domain.images.models import Image, PullRequestRecord
from prshots.server.domain.images.ports import Overview, PutUrlRecords, StagedRecords
from prshots.server.domain.outbox.ports import ConnectionRecords, OutboxRecords
from prshots.server.domain.people.models import User
from prshots.server.domain.people.ports import Groups, InvitationLinkRecords, People
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Project, Role
from prshots.server.domain.projects.ports import TrustRecords
from prshots.server.domain.review.ports import NoiseRecords, ReviewRecords, ShareLinkRecords
from prshots.server.domain.storage.ports import QuotaRecords, UsageRecords
from prshots.server.domain.upkeep.ports import Upkeep, WrongTotal
from prshots.server.domain.webhooks.ports import WebhookQueues, WebhookRecords
from support.port_watch import PortWatch
from support.stores_and_records import NOW, Records, SqlRecords, a_pair, a_project, an_image

ANN = User("ann", "github", "1", "ann-of-local", "Ann", "", NOW)
"""An owner of the organization that has the projects."""


class Stores:
    def __init__(self, engine: str, open_database: Callable[[], Database]) -> None:
        self.engine = engine
        self.database, watch = open_database(), PortWatch()
        self.records = watch.over(SqlRecords(self.database), Records)
        self._open, self._opened = open_database, [self.records]
        self.people = watch.over(SqlPeople(self.database), People)
        self.groups = watch.over(SqlGroups(self.database), Groups)
        self.links = watch.over(SqlInvitationLinks(self.database), InvitationLinkRecords)
        self.audit = watch.over(SqlAudit(self.database), AuditRecords)
        self.overview = watch.over(SqlOverview(self.database), Overview)
        self.connections = watch.over(SqlConnections(self.database), ConnectionRecords)
        self.outbox = watch.over(SqlOutbox(self.database), OutboxRecords)
        self.webhooks = watch.over(SqlWebhooks(self.database), WebhookRecords)
        self.queues = watch.over(SqlWebhookQueues(self.database), WebhookQueues)
        self.trusts = watch.over(SqlTrusts(self.database), TrustRecords)
        self.upkeep = watch.over(SqlUpkeep(self.database), Upkeep)
        self.baselines = watch.over(SqlBaselines(self.database), BaselineRecords)
        self.comparisons = watch.over(SqlComparisons(self.database), ComparisonRecords)
        self.reviews = watch.over(SqlReviews(self.database), ReviewRecords)
        self.noise = watch.over(SqlNoise(self.database), NoiseRecords)
        self.share_links = watch.over(SqlShareLinks(self.database), ShareLinkRecords)
        self.staged = watch.over(SqlStaged(self.database), StagedRecords)
        self.put_urls = watch.over(SqlPutUrls(self.database), PutUrlRecords)
        self.quotas = watch.over(SqlQuotas(self.database), QuotaRecords)
        self.usage = watch.over(SqlUsage(self.database), UsageRecords)
        self.project = a_project()

    async def fill(self) -> None:
        await self.records.add_project(self.project)
        await self.people.add_user(ANN, None)
        await self.people.set_member(LOCAL_ORGANIZATION, ANN.id, Role.OWNER)

    def open_again(self) -> SqlRecords:
        """Open the same database again, as another process would."""
        self._opened.append(SqlRecords(self._open()))
        return self._opened[-1]

    async def close(self) -> None:
        for records in self._opened:
            await records.close()

    async def add_project(self, project: Project | None = None) -> Project:
        project = project or a_project()
        await self.records.add_project(project)
        return project

    async def change_project(self, **changes: object) -> None:
        self.project = replace(self.project, **changes)
        await self.records.change_project(self.project, NOW)

    async def add(self, project: Project | None = None, branch: str = "", **changes: object) -> Image:
        image = an_image(project or self.project, **changes)
        await self.records.add_image(image, branch)
        return image

    async def add_some(self, count: int, project: Project | None = None, **changes: object) -> list[Image]:
        """Add images one after the other, so that their order is known."""
        return [await self.add(project, **changes) for _ in range(count)]

    async def add_pair(self, **changes: object) -> tuple[Image, Image]:
        after, before = a_pair(self.project, **changes)
        await self.records.add_image(after, before=before)
        return after, before

    async def image(self, image_id: str) -> Image:
        found = await self.records.image(self.project.id, image_id)
        assert found
        return found

    async def of_pull(self, pr_number: int = 7) -> list[str]:
        """Return the ids of a pull request's images in upload order."""
        return ids(await self.records.images_of_pr(self.project.id, pr_number, 1000))

    async def pull(self, pr_number: int = 7) -> PullRequestRecord:
        pull = await self.overview.pull(self.project.id, pr_number)
        assert pull
        return pull

    async def scheduled(self) -> list[str]:
        return ids(await self.records.next_scheduled("", 1000))

    async def totals(self) -> tuple[int, int, int]:
        """Return the project's stored number of images, of bytes and of open pull requests."""
        summary = await self.overview.summary_of(ANN.id, self.project.id)
        assert summary
        return summary.images, summary.bytes, summary.open_pulls

    async def wrong_totals(self) -> list[WrongTotal]:
        """Page through all totals."""
        found: list[WrongTotal] = []
        for compare in (self.upkeep.wrong_pulls, self.upkeep.wrong_days):
            after: int | None = -1
            while after is not None:
                wrong, after = await compare(self.project.id, after)
                found += wrong
        return found + await self.upkeep.wrong_projects()


def ids(images: list[Image]) -> list[str]:
    return [image.id for image in images]
