"""Alembic runs this: it migrates over the connection it is given, inside the caller's transaction."""

from alembic import context

from prshots.server.adapters.sql.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
