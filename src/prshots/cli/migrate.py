"""`prshots migrate`: upgrade the database to this version's schema."""

from prshots.cli.common import ConfigOption, say, settings_from


def migrate(config: ConfigOption = None) -> None:
    """Upgrade the database to this version's schema. Starting the service does the same."""
    from prshots.server.wiring import migrate_database

    settings = settings_from(config)
    before, now = migrate_database(settings)
    if before == now:
        say(f"{settings.database_place} is up to date: schema {now}.")
    elif before is None:
        say(f"{settings.database_place} is ready: schema {now}.")
    else:
        say(f"{settings.database_place} was upgraded from schema {before} to {now}.")
