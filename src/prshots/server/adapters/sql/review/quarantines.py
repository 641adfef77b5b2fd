"""Quarantined shots, and how often they have differed since."""

from collections.abc import Mapping

import sqlalchemy as sa

from prshots.contract.replies import Verdict
from prshots.server.adapters.sql.columns import given
from prshots.server.adapters.sql.database.schema import quarantines
from prshots.server.domain.images.models import ShotKey

_SHOTS = sa.select(*(quarantines.c[name] for name in ShotKey._fields)).where(
    *given(quarantines, "project_id"), quarantines.c.until > sa.bindparam("now")
)
# A commit counts once, however often it is compared.
_COUNT = sa.text(
    "INSERT INTO quarantined_commits (quarantine_id, pr_number, commit_sha, project_id, differed) "
    "SELECT quarantines.id, compared.pr_number, compared.commit_sha, compared.project_id, "
    "CASE WHEN compared.verdict = :unchanged THEN 0 ELSE 1 END FROM quarantines "
    "JOIN compared_shots AS compared ON compared.project_id = quarantines.project_id "
    "AND compared.name = quarantines.name AND compared.viewport = quarantines.viewport "
    "AND compared.theme = quarantines.theme "
    "WHERE quarantines.project_id = :project_id AND quarantines.until > :now "
    "AND compared.pr_number = :pr_number AND compared.commit_sha = :commit_sha "
    "AND compared.verdict <> :failed "
    "ON CONFLICT (quarantine_id, pr_number, commit_sha) DO UPDATE SET differed = excluded.differed"
)
_VERDICTS = {"unchanged": Verdict.UNCHANGED.value, "failed": Verdict.FAILED.value}


def quarantined_shots(connection: sa.Connection, project_id: str, now: int) -> list[ShotKey]:
    found = connection.execute(_SHOTS, {"project_id": project_id, "now": now})
    return sorted(ShotKey(*shot) for shot in found)


def count_quarantined(connection: sa.Connection, comparison: Mapping[str, object], now: int) -> None:
    """Record for each quarantined shot whether it differs in this finished comparison, given by its key."""
    connection.execute(_COUNT, {**comparison, **_VERDICTS, "now": now})
