"""The contract of every `ConnectionRecords` adapter, and the encryption of tokens."""

from dataclasses import replace

import pytest
import sqlalchemy as sa

from prshots.contract.errors import KeysError, NotFoundError
from prshots.contract.forge_kinds import ForgeKind
from prshots.server.adapters.forges.token_encryption import decrypt, encrypt, encrypt_again
from prshots.server.adapters.sql.database.schema import outbox
from prshots.server.adapters.sql.outbox.causes import mark_due
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.projects.models import Project
from prshots.server.links import KeyRing
from support import neighbor
from support.contract_stores import Stores
from support.stores_and_records import NOW, ONE_KEY, a_project

TOKEN = "glpat-größer"
BOTH = KeyRing.parse(f"k2:{'ab' * 32},k1:{'0' * 64}")
NEW = KeyRing.parse(f"k2:{'ab' * 32}")


def a_connection(project: Project, token: str = TOKEN) -> Connection:
    api_url = "https://git.example/api/v4"
    plain = Connection(project.id, ForgeKind.GITLAB, api_url, "acme/shop", "ann", NOW)
    return encrypt(plain, token, ONE_KEY) if token else plain


async def due(stores: Stores) -> dict[int, int | None]:
    """Return when each pull request's status is due."""
    query = sa.select(outbox.c.pr_number, outbox.c.due_at).where(
        outbox.c.project_id == stores.project.id, outbox.c.kind == "status"
    )
    return {number: due_at for number, due_at in await stores.database.rows(query)}  # noqa: C416 - typed


async def listed(stores: Stores) -> list[Connection]:
    """Return all connections but the neighbor's."""
    return [each for each in await stores.connections.connections() if each.project_id != neighbor.ID]


async def test_a_connection_is_found_replaced_and_removed(stores: Stores) -> None:
    other = await stores.add_project()
    first, with_app = a_connection(stores.project), a_connection(other, token="")
    assert await stores.connections.find(stores.project.id) is None
    for connection in (first, with_app):
        await stores.connections.put(connection)
    assert await stores.connections.find(other.id) == with_app
    assert with_app.uses_app
    newer = replace(first, repository="acme/web", created_at=NOW + 1)
    await stores.connections.put(newer)
    in_order = sorted([newer, with_app], key=lambda each: each.project_id)
    assert await listed(stores) == in_order
    assert await stores.connections.remove(stores.project.id) is True
    assert await stores.connections.remove(stores.project.id) is False
    assert await listed(stores) == [with_app]


async def test_a_deleted_project_gets_no_connection(stores: Stores) -> None:
    with pytest.raises(NotFoundError, match=r"^not found$"):
        await stores.connections.put(a_connection(a_project()))
    assert await listed(stores) == []


async def test_a_new_token_makes_failed_deliveries_due_again_and_removing_it_discards_them(
    stores: Stores,
) -> None:
    await stores.connections.put(a_connection(stores.project))
    for number in (1, 2):
        await stores.database.write(lambda database, n=number: mark_due(database, stores.project.id, n, NOW))
    failed = sa.update(outbox).where(outbox.c.pr_number == 1).values(error="refused", due_at=NOW + 9000)
    await stores.database.execute(failed)
    await stores.connections.put(replace(a_connection(stores.project), created_at=NOW + 60))
    assert await due(stores) == {1: NOW + 60, 2: NOW}
    await stores.connections.remove(stores.project.id)
    assert await due(stores) == {}


async def test_tokens_are_encrypted_again_unless_the_connection_changed_or_its_key_is_lost(
    stores: Stores,
) -> None:
    old, lost = a_connection(stores.project), a_connection(await stores.add_project())
    for connection in (old, replace(lost, kid="gone")):
        await stores.connections.put(connection)
    await encrypt_again(stores.connections, lambda: BOTH)
    found = await stores.connections.find(stores.project.id)
    assert found
    assert (found.kid, decrypt(found, NEW)) == ("k2", TOKEN)
    assert found.secret != old.secret
    assert await stores.connections.find(lost.project_id) == replace(lost, kid="gone")
    assert await stores.connections.replace_secret(old, replace(old, kid="k9")) is False
    assert await stores.connections.find(stores.project.id) == found


def test_a_token_can_only_be_decrypted_for_its_project_and_address() -> None:
    connection = a_connection(a_project())
    assert decrypt(connection, BOTH) == TOKEN
    assert encrypt(connection, TOKEN, ONE_KEY).secret != connection.secret  # a new nonce each time
    assert TOKEN not in connection.secret + repr(connection)
    assert connection.secret not in repr(connection)
    other_key = KeyRing.parse(f"k1:{'ff' * 32}")
    for changed, ring in (
        (replace(connection, project_id="0" * 16), BOTH),
        (replace(connection, api_url="https://evil.example/api/v4"), BOTH),
        (replace(connection, secret=connection.secret[:-8] + "AAAAAAA="), BOTH),
        (replace(connection, secret="not base64"), BOTH),
        (replace(connection, secret="AAAA"), BOTH),
        (connection, other_key),
    ):
        with pytest.raises(KeysError, match="enter the token again"):
            decrypt(changed, ring)
    with pytest.raises(KeysError, match="signing key k1, which no longer exists: enter the token again"):
        decrypt(connection, NEW)
