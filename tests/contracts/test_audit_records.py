"""The contract of every `AuditRecords` adapter."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from prshots.contract.limits import MAX_DECIDED_PAIRS
from prshots.server.adapters.sql.audit import record
from prshots.server.domain.audit.models import Action, AuditEntry, AuditFilter
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION
from support.contract_stores import Stores
from support.stores_and_records import ENGINES, a_project

pytestmark = pytest.mark.parametrize("stores", ENGINES, indirect=True)  # no partitions: they have no images


async def act(stores: Stores, action: Action, **about: object) -> None:
    def write(connection: sa.Connection) -> None:
        record(connection, action, **({"project_id": stores.project.id} | about))  # type: ignore[arg-type]

    await stores.database.write(write)


async def found(stores: Stores, **which: object) -> list[AuditEntry]:
    return await stores.audit.entries(LOCAL_ORGANIZATION, AuditFilter(**which), None, 100)  # type: ignore[arg-type]


async def test_entries_are_found_by_target_pull_request_and_project(stores: Stores) -> None:
    before = stores.project.name
    await act(stores, Action.IMAGE_DELETED, pr_number=7, target="\u00c4nderung 100%")
    await act(stores, Action.PULL_REQUEST_CLOSED, pr_number=7)
    await act(stores, Action.PULL_REQUEST_CLOSED, pr_number=70)
    await stores.change_project(name=f"{before}-renamed")
    await act(stores, Action.TOKEN_CREATED, target="#7")
    other = await stores.add_project(a_project())
    await act(stores, Action.PULL_REQUEST_CLOSED, pr_number=7, project_id=other.id)

    of_pull = [(entry.project, entry.target, entry.pr_number) for entry in await found(stores, pr_number=7)]
    assert of_pull == [(other.name, "#7", 7), (before, "#7", 7), (before, "\u00c4nderung 100%", 7)]
    assert len(await found(stores, target="\u00c4NDERUNG 100%")) == 1
    assert await found(stores, target="nderung") == await found(stores, target="%") == []
    assert len(await found(stores, target="#7")) == 3
    for name in (before, f"{before}-renamed"):  # then and now
        targets = {entry.target for entry in await found(stores, project=name)}
        assert {"#7", "#70"} <= targets
    assert {entry.project for entry in await found(stores, project=other.name)} == {other.name}
    assert len(await found(stores, project=other.name, pr_number=7)) == 1


async def test_only_exports_read_the_shots_of_a_decision(stores: Stores) -> None:
    pair = {"viewport": "1280x800", "theme": "dark", "pixels_before": "0" * 64, "pixels_after": "1" * 64}
    shots = [{"name": f"page {number}", **pair} for number in range(MAX_DECIDED_PAIRS)]
    await act(stores, Action.DECIDED, pr_number=7, details={"pairs": len(shots)}, shots=shots)
    (listed,) = await found(stores, action="decision")
    assert listed.details == {"pairs": MAX_DECIDED_PAIRS}
    (exported,) = await found(stores, action="decision", with_shots=True)
    assert exported == replace(listed, details={"pairs": MAX_DECIDED_PAIRS, "shots": shots})
