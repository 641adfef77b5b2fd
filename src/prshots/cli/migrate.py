"""`prshots migrate`: upgrade the database to this version's schema."""

from typing import Annotated

import typer

from prshots.cli.common import ConfigOption, say, settings_from
from prshots.contract.sizes import readable_size


def migrate(
    *,
    compact: Annotated[
        bool, typer.Option("--compact", help="Then rewrite SQLite's file without free space. Uploads wait.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Upgrade the database to this version's schema. Starting the service does the same."""
    from prshots.server.wiring import migrate_database, rewrite_database

    settings = settings_from(config)
    before, now = migrate_database(settings)
    if before == now:
        say(f"{settings.database_place} is up to date: schema {now}.")
    elif before is None:
        say(f"{settings.database_place} is ready: schema {now}.")
    else:
        say(f"{settings.database_place} was upgraded from schema {before} to {now}.")
    if compact:
        large, small = rewrite_database(settings)
        say(f"Rewrote it: {readable_size(large)} before, {readable_size(small)} now.")
