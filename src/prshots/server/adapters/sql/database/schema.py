"""The tables as queries see them. `migrations/` creates them, with their indexes and defaults.

A test compares the two, except for the indexes and defaults.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

SCHEMA_VERSION = "0013"
"""The newest migration. Every start compares it, to load Alembic only when there is work to do."""

metadata = MetaData()


def text(length: int | None = None) -> TypeEngine[str]:
    """Return the type of a text column, for tables and migrations. Every database sorts it by bytes.

    SQLite always does. PostgreSQL would sort by the database's locale: paging through lists would skip rows,
    and LIKE couldn't use indexes.
    """
    if length is None:
        return Text().with_variant(Text(collation="C"), "postgresql")
    return String(length).with_variant(String(length, collation="C"), "postgresql")


# SQLite only autoincrements columns of type INTEGER.
_Sequence = BigInteger().with_variant(Integer, "sqlite")

# One row. The origin store has the same id, to keep a sweep with the wrong database from deleting anything.
# Processes with schema `oldest_schema` or newer may run on this database: see `found_schema.py`.
installation = Table(
    "installation",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("oldest_schema", text(16), nullable=False),
)

organizations = Table(
    "organizations",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("name", text(), nullable=False, unique=True),
    Column("personal", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("provider", text(16), nullable=False),
    Column("subject", text(), nullable=False),
    Column("login", text(), nullable=False),
    Column("name", text(), nullable=False),
    Column("avatar_url", text(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("provider", "subject", name="users_subject"),
)

members = Table(
    "members",
    metadata,
    Column("organization_id", ForeignKey("organizations.id"), primary_key=True),
    Column("user_id", ForeignKey("users.id"), primary_key=True),
    Column("role", text(16), nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("sha256", text(64), primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_seen_at", BigInteger, nullable=False),
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
    Column("keep_baselines", Integer, nullable=False),
    Column("repository", text(), nullable=False),
    Column("uploads_per_minute", Integer),
    UniqueConstraint("organization_id", "name", name="projects_name"),
)

# `claims`, `pins` and `refused_ids` are JSON objects. `anchor` is the claim that names the repository, as
# `name=value` up to its first `*`. An index on it finds a token's trusts.
trusts = Table(
    "trusts",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
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

tokens = Table(
    "tokens",
    metadata,
    Column("id", text(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("label", text(), nullable=False),
    Column("hint", text(16), nullable=False),
    Column("sha256", text(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("created_by", text(), nullable=False),
    Column("last_used_at", BigInteger),
    Column("revoked_at", BigInteger),
    Column("expires_at", BigInteger),
    Column("trust_id", ForeignKey("trusts.id")),
    Column("pr_number", Integer),
    Column("branch", text()),
)

# `kind` is an `ImageKind`. Only images of pull requests have a `pr_number`; for others it is 0. A before
# image belongs to the image whose `before_id` names it.
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
    Column("theme", text(8), nullable=False),
    Column("sha256", text(64)),
    # The id of the base of the stored difference image.
    Column("diff_base", text(32)),
    Column("before_id", text(32)),
    Column("kind", text(16), nullable=False),
)

# Every upload and expiry updates this in its transaction, so the dashboard never has to count. The row with
# the number 0 counts the images without a pull request. Before images only count with their bytes.
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
    # 1 if the last upload opened it (its first ever, or its first since it was closed), else 0. An upload
    # reads this in its own transaction to update the project's number of open pull requests.
    Column("opened", Integer, nullable=False),
    # From the forge. `path` is the rest of its address after the project's repository.
    Column("title", text(), nullable=False),
    Column("source_branch", text(), nullable=False),
    Column("author", text(), nullable=False),
    Column("path", text(), nullable=False),
)

# The sums over `pulls`, updated together. A project's first upload creates its row.
project_totals = Table(
    "project_totals",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("images", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("open_pulls", Integer, nullable=False),
    Column("last_upload_at", BigInteger, nullable=False),
)

# Lets replicas on different machines notice that their key files differ. Only used on a shared database.
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

# Which image a shot has on a branch at a commit. Many commits can share an image. `own` is 1 for the branch's
# own build and 0 for an image of a merged pull request, which counts until that build uploads.
baselines = Table(
    "baselines",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("branch", text(), nullable=False),
    Column("commit_sha", text(40), nullable=False),
    Column("name", text(), nullable=False),
    Column("viewport", text(16), nullable=False),
    Column("theme", text(8), nullable=False),
    Column("own", Integer, nullable=False),
    Column("image_id", text(32), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# The commits of a branch that have baselines, in the order of their first upload. `complete` is 1 once the
# build has reported that all its images are uploaded.
baseline_commits = Table(
    "baseline_commits",
    metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("branch", text(), nullable=False),
    Column("commit_sha", text(40), nullable=False),
    Column("complete", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# A comparison of one commit of a pull request with its base. `commits` is a JSON list. `first_seq` is the
# commit's first image: the dashboard shows the comparison with the highest one. `run` identifies the attempt
# of a process, and `seen_at` is when that process last reported progress.
comparisons = Table(
    "comparisons",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("pr_number", Integer, primary_key=True),
    Column("commit_sha", text(40), primary_key=True),
    Column("branch", text(), nullable=False),
    Column("commits", text(), nullable=False),
    Column("complete", Integer, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("run", text(32), nullable=False),
    Column("state", text(16), nullable=False),
    Column("base_commit", text(40)),
    Column("missing", Integer, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
)

# The shots of a comparison. `verdict` is NULL until it is known. `regions` is a JSON list.
compared_shots = Table(
    "compared_shots",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("pr_number", Integer, primary_key=True),
    Column("commit_sha", text(40), primary_key=True),
    Column("name", text(), primary_key=True),
    Column("viewport", text(16), primary_key=True),
    Column("theme", text(8), primary_key=True),
    Column("image_id", text(32)),
    Column("base_id", text(32)),
    Column("base_commit", text(40)),
    Column("ancestor", Integer, nullable=False),
    Column("verdict", text(16)),
    Column("pixels", BigInteger, nullable=False),
    Column("regions", text(), nullable=False),
    Column("shift", Integer, nullable=False),
    Column("reason", text(), nullable=False),
)

# The results for two images with these hashes. `engine` is the version of the comparison rules.
pair_results = Table(
    "pair_results",
    metadata,
    Column("project_id", ForeignKey("projects.id"), primary_key=True),
    Column("before_sha256", text(64), primary_key=True),
    Column("after_sha256", text(64), primary_key=True),
    Column("engine", Integer, nullable=False),
    Column("verdict", text(16), nullable=False),
    Column("pixels", BigInteger, nullable=False),
    Column("regions", text(), nullable=False),
    Column("shift", Integer, nullable=False),
    Column("reason", text(), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# Images that wait for the pull request of a branch. `repository` is the repository with the branch, in lower
# case, and empty for the project's own.
staged = Table(
    "staged",
    metadata,
    Column("image_id", text(32), primary_key=True),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("branch", text(), nullable=False),
    Column("repository", text(), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# One-time URLs for an upload. `pr_number` is 0 if the image will be staged under `branch`. `before_sha256` is
# the hash of the secret for the before image, and `before_id` is that image's id once it is uploaded.
put_urls = Table(
    "put_urls",
    metadata,
    Column("sha256", text(64), primary_key=True),
    Column("before_sha256", text(64), unique=True),
    Column("before_id", text(32)),
    Column("project_id", ForeignKey("projects.id"), nullable=False),
    Column("token_id", text(32), nullable=False),
    Column("pr_number", Integer, nullable=False),
    Column("branch", text(), nullable=False),
    Column("repository", text(), nullable=False),
    Column("name", text(), nullable=False),
    Column("commit_sha", text(40), nullable=False),
    Column("viewport", text(16), nullable=False),
    Column("theme", text(8), nullable=False),
    Column("content_type", text(32), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)
