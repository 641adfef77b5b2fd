"""The tables. `migrations/` creates the same schema step by step; a test compares the two."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
    false,
)

from prshots.server.adapters.sql.text_type import text

SCHEMA_VERSION = "0006"
"""The newest migration. Every start compares it, so that Alembic is only loaded if there is work to do."""

metadata = MetaData()

# SQLite only autoincrements columns of type INTEGER.
_Sequence = BigInteger().with_variant(Integer, "sqlite")

# One row. The origin store has the same id, so that a sweep with the wrong database deletes nothing.
installation = Table("installation", metadata, Column("id", text(32), primary_key=True))

organizations = Table(
    "organizations",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("name", text(), nullable=False, unique=True),
    Column("personal", Boolean, nullable=False, server_default=false()),
    Column("created_at", BigInteger, nullable=False, server_default="0"),
)

users = Table(
    "users",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("provider", text(16), nullable=False),
    Column("subject", text(), nullable=False),
    Column("login", text(), nullable=False, index=True),
    Column("name", text(), nullable=False),
    Column("avatar_url", text(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("provider", "subject", name="users_subject"),
)

members = Table(
    "members",
    metadata,
    Column("organization_id", ForeignKey("organizations.id"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True, index=True),
    Column("role", text(16), nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("sha256", text(64), primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("last_seen_at", BigInteger, nullable=False, index=True),
)

login_states = Table(
    "login_states",
    metadata,
    Column("sha256", text(64), primary_key=True),
    Column("provider", text(16), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("organization_id", ForeignKey("organizations.id"), nullable=False),
    Column("name", text(), nullable=False),
    Column("policy", text(16), nullable=False),
    Column("retain_days", Integer),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("organization_id", "name", name="projects_name"),
)

# `claims`, `pins` and `refused_ids` are JSON objects. `anchor` is the claim that names the repository, as
# `name=value` up to its first `*`. Its index finds the trusts that a token may match, however many projects
# trust its issuer.
trusts = Table(
    "trusts",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False, index=True),
    Column("issuer", text(), nullable=False),
    Column("claims", text(), nullable=False),
    Column("anchor", text(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", text(), nullable=False),
    Column("last_used_at", BigInteger),
    Column("pins", text()),
    Column("refused_ids", text()),
    Column("refused_at", BigInteger),
)
Index("trusts_by_anchor", trusts.c.issuer, trusts.c.anchor)

tokens = Table(
    "tokens",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False, index=True),
    Column("label", text(), nullable=False),
    Column("hint", text(16), nullable=False),
    Column("sha256", text(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", text(), nullable=False, server_default=""),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("expires_at", BigInteger),
    Column("trust_id", ForeignKey("trusts.id")),
    Column("pr_number", Integer),
)
# There can be thousands of short-lived tokens. Lists skip them, and the sweep reads nothing else.
_long_lived, _short_lived = tokens.c.expires_at.is_(None), tokens.c.expires_at.is_not(None)
_of_trust = tokens.c.trust_id.is_not(None)
Index(
    "tokens_lasting",
    tokens.c.project_id,
    tokens.c.created_at,
    tokens.c.id,
    sqlite_where=_long_lived,
    postgresql_where=_long_lived,
)
Index("tokens_by_expiry", tokens.c.expires_at, sqlite_where=_short_lived, postgresql_where=_short_lived)
Index("tokens_by_trust", tokens.c.trust_id, sqlite_where=_of_trust, postgresql_where=_of_trust)

images = Table(
    "images",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("id", text(32), nullable=False),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("pr_number", Integer, nullable=False),
    Column("name", text(), nullable=False),
    Column("commit_sha", text(40), nullable=False),
    Column("viewport", text(16), nullable=False),
    Column("ext", text(8), nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("uploaded_at", BigInteger, nullable=False),
    Column("kid", text(32), nullable=False),
    Column("closed_at", BigInteger),
    Column("scheduled_at", BigInteger),
    Column("thumbnail", text(16)),
)

# Updated in the transaction of every upload and expiry, so that the dashboard never has to count.
pulls = Table(
    "pulls",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("pr_number", Integer, primary_key=True),
    Column("images", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("last_upload_at", BigInteger, nullable=False),
    Column("last_commit", text(40), nullable=False),
    Column("closed_at", BigInteger),
    # 1 if the last upload opened it (the first one ever, or the first since it was closed), else 0. An upload
    # reads it in its own transaction to update the project's number of open pull requests.
    Column("opened", Integer, nullable=False, server_default="0"),
)
Index("pulls_by_upload", pulls.c.project_id, pulls.c.last_upload_at, pulls.c.pr_number)
Index("pulls_by_bytes", pulls.c.project_id, pulls.c.bytes, pulls.c.pr_number)
# An index per state, or the few open ones would have to be found among all closed ones.
_by_upload = (pulls.c.project_id, pulls.c.last_upload_at, pulls.c.pr_number)
_open_pull, _closed_pull = pulls.c.closed_at.is_(None), pulls.c.closed_at.is_not(None)
Index("pulls_open", *_by_upload, sqlite_where=_open_pull, postgresql_where=_open_pull)
Index("pulls_closed", *_by_upload, sqlite_where=_closed_pull, postgresql_where=_closed_pull)

# The sums over `pulls`, updated with it. A project's first upload creates its row.
project_totals = Table(
    "project_totals",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("images", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("open_pulls", Integer, nullable=False),
    Column("last_upload_at", BigInteger, nullable=False),
)

# So that replicas on different machines notice when their key files differ. Only used on a shared database.
signing_keys = Table(
    "signing_keys",
    metadata,
    Column("kid", text(32), primary_key=True),
    Column("fingerprint", text(32), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

uploads_by_day = Table(
    "uploads_by_day",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("day", Integer, primary_key=True),
    Column("uploads", Integer, nullable=False),
    Column("bytes", BigInteger, nullable=False),
)

# With both columns in the key, a query for another project's id takes as long as one for an unknown id.
Index("images_by_id", images.c.id, images.c.project_id, unique=True)
Index("images_by_pr", images.c.project_id, images.c.pr_number, images.c.seq)
# In gallery order, so that a page only reads its own rows.
Index(
    "images_by_shot",
    images.c.project_id,
    images.c.pr_number,
    images.c.name,
    images.c.viewport,
    images.c.seq,
)

# Partial indexes: each has only the rows that the sweep still has to process.
_active, _scheduled = images.c.scheduled_at.is_(None), images.c.scheduled_at.is_not(None)
_closed = images.c.closed_at.is_not(None) & _active
Index(
    "images_by_age",
    images.c.project_id,
    images.c.uploaded_at,
    sqlite_where=_active,
    postgresql_where=_active,
)
Index("images_closed", images.c.project_id, images.c.seq, sqlite_where=_closed, postgresql_where=_closed)
Index("images_scheduled", images.c.id, sqlite_where=_scheduled, postgresql_where=_scheduled)
