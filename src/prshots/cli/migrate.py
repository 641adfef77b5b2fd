"""`prshots migrate`: upgrade the database to this version's schema."""

from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import ConfigOption, say, settings_from
from prshots.contract.sizes import readable_size

if TYPE_CHECKING:
    from prshots.server.adapters.sql.database.migrate import Migration


def migrate(
    *,
    compact: Annotated[
        bool, typer.Option("--compact", help="Then rewrite SQLite's file without free space. Uploads wait.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Upgrade the database to this version's schema. Starting the service does the same.

    Processes of the previous version keep working.
    """
    from prshots.server.wiring import migrate_database, rewrite_database

    settings = settings_from(config)
    say(f"{settings.database_place} {_outcome(migrate_database(settings))}")
    if compact:
        large, small = rewrite_database(settings)
        say(f"Rewrote it: {readable_size(large)} before, {readable_size(small)} now.")


def _outcome(migration: "Migration") -> str:
    before, now = migration.before.version, migration.now.version
    if migration.now.is_newer:
        kept = "This version still works with it: nothing to do."
        return f"has schema {now}, from a newer version of prshots. {kept}"
    if before == now:
        return f"is up to date: schema {now}."
    if before is None:
        return f"is ready: schema {now}."
    upgraded = f"was upgraded from schema {before} to {now}."
    if before < migration.now.oldest:
        return f"{upgraded} Processes of the old version do not work with it: stop them now."
    return f"{upgraded} Processes of the old version keep working: restart them one after another."
