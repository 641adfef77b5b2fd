"""Alembic's entry point: migrate with the given connection, inside the caller's transaction."""

from alembic import context

from prshots.server.adapters.sql.database.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
