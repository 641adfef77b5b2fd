"""SQLite and PostgreSQL: connections, schema, migrations, locks."""
