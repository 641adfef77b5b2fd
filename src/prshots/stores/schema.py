"""The tables. `migrations/` brings a database here; a test holds the two together."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

SCHEMA_VERSION = "0001"
"""The newest migration. Compared at every start, so that Alembic is loaded only when there is work for it."""

metadata = MetaData()

# SQLite numbers rows itself only for a column of type INTEGER.
_Sequence = BigInteger().with_variant(Integer, "sqlite")

# One row. The image store is marked with the id too, so that a sweep with the wrong database deletes nothing.
installation = Table("installation", metadata, Column("id", String(32), primary_key=True))

organizations = Table(
    "organizations",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

projects = Table(
    "projects",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("organization_id", ForeignKey("organizations.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("policy", String(16), nullable=False),
    Column("retain_days", Integer),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("organization_id", "name", name="projects_name"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False, index=True),
    Column("label", Text, nullable=False),
    Column("hint", String(16), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
)

images = Table(
    "images",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("pr_number", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("commit_sha", String(40), nullable=False),
    Column("viewport", String(16), nullable=False),
    Column("ext", String(8), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("uploaded_at", BigInteger, nullable=False),
    Column("kid", String(32), nullable=False),
    Column("closed_at", BigInteger),
    Column("scheduled_at", BigInteger),
)

# Both columns in the key: asking for another project's id ends in the index, as for an id nobody has.
Index("images_by_id", images.c.id, images.c.project_id, unique=True)
Index("images_by_pr", images.c.project_id, images.c.pr_number, images.c.seq)

# Partial: each holds only what the sweep has yet to look at.
_waiting, _scheduled = images.c.scheduled_at.is_(None), images.c.scheduled_at.is_not(None)
_closed = images.c.closed_at.is_not(None) & _waiting
Index(
    "images_by_age",
    images.c.project_id,
    images.c.uploaded_at,
    sqlite_where=_waiting,
    postgresql_where=_waiting,
)
Index("images_closed", images.c.project_id, images.c.seq, sqlite_where=_closed, postgresql_where=_closed)
Index("images_scheduled", images.c.id, sqlite_where=_scheduled, postgresql_where=_scheduled)
