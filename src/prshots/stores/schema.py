"""The tables. `migrations/` brings a database here; a test holds the two together."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

SCHEMA_VERSION = "0002"
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
    Column("personal", Boolean, nullable=False, server_default=false()),
    Column("created_at", BigInteger, nullable=False, server_default="0"),
)

users = Table(
    "users",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("provider", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("login", Text, nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("avatar_url", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("provider", "subject", name="users_subject"),
)

members = Table(
    "members",
    metadata,
    Column("organization_id", ForeignKey("organizations.id"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True, index=True),
    Column("role", String(16), nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
)

login_states = Table(
    "login_states",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("provider", String(16), nullable=False),
    Column("verifier", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("browser_sha256", String(64), nullable=False),
    Column("return_to", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
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
    Column("created_by", Text, nullable=False, server_default=""),
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
    Column("thumbnail", String(16)),
)

# Kept up with every upload and every expiry, in their transactions: the dashboard counts nothing.
pulls = Table(
    "pulls",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("pr_number", Integer, primary_key=True),
    Column("images", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("last_upload_at", BigInteger, nullable=False),
    Column("last_commit", String(40), nullable=False),
    Column("closed_at", BigInteger),
)
Index("pulls_by_upload", pulls.c.project_id, pulls.c.last_upload_at, pulls.c.pr_number)
Index("pulls_by_bytes", pulls.c.project_id, pulls.c.bytes, pulls.c.pr_number)

uploads_by_day = Table(
    "uploads_by_day",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("uploads", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)

# Both columns in the key: asking for another project's id ends in the index, as for an id nobody has.
Index("images_by_id", images.c.id, images.c.project_id, unique=True)
Index("images_by_pr", images.c.project_id, images.c.pr_number, images.c.seq)
# In the order of the gallery, so that a page of it reads only its own rows.
Index(
    "images_by_shot",
    images.c.project_id,
    images.c.pr_number,
    images.c.name,
    images.c.viewport,
    images.c.seq,
)

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
