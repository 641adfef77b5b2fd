"""The tables as queries see them. `migrations/` creates them, with their indexes and defaults.

A test compares the two, except for the indexes and defaults.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

SCHEMA_VERSION = "0034"
"""The newest migration. Every start compares it, to load Alembic only when there is work to do."""

metadata = sa.MetaData()


def text(length: int | None = None) -> TypeEngine[str]:
    """Return the type of a text column, for tables and migrations. Every database sorts it by bytes.

    SQLite always does. PostgreSQL would sort by the database's locale: paging through lists would skip rows,
    and LIKE couldn't use indexes.
    """
    if length is None:
        return sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


# SQLite only autoincrements columns of type INTEGER.
_Sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")

# One row. The origin store has the same id, to keep a sweep with the wrong database from deleting anything.
# Processes with schema `oldest_schema` or newer may run on this database: see `found_schema.py`.
installation = sa.Table(
    "installation",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("oldest_schema", text(16), nullable=False),
)

organizations = sa.Table(
    "organizations",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("name", text(), nullable=False, unique=True),
    sa.Column("personal", sa.Boolean, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    # How many bytes its projects may store, or NULL for the service's limit.
    sa.Column("quota_bytes", sa.BigInteger),
)

users = sa.Table(
    "users",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("provider", text(16), nullable=False),
    sa.Column("subject", text(), nullable=False),
    sa.Column("login", text(), nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("avatar_url", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("provider", "subject", name="users_subject"),
)

# A maintainer is stored as `member`, the name that the version before knows. `from_group`: they joined
# through a group of their login provider, and leave with it.
members = sa.Table(
    "members",
    metadata,
    sa.Column("organization_id", sa.ForeignKey("organizations.id"), primary_key=True),
    sa.Column("user_id", sa.ForeignKey("users.id"), primary_key=True),
    sa.Column("role", text(16), nullable=False),
    sa.Column("from_group", sa.Boolean, nullable=False),
)

# Open invitations. `invited_by` is a login. There are no foreign keys: a move replaces rows of organizations
# and users, which would delete invitations (CASCADE), and the version before doesn't know this table.
invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("organization_id", text(32), primary_key=True),
    sa.Column("user_id", text(32), primary_key=True),
    sa.Column("role", text(16), nullable=False),
    sa.Column("invited_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("sha256", text(64), primary_key=True),
    sa.Column("user_id", sa.ForeignKey("users.id"), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("last_seen_at", sa.BigInteger, nullable=False),
)

login_states = sa.Table(
    "login_states",
    metadata,
    sa.Column("sha256", text(64), primary_key=True),
    sa.Column("provider", text(16), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

projects = sa.Table(
    "projects",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("organization_id", sa.ForeignKey("organizations.id"), nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("policy", text(16), nullable=False),
    sa.Column("retain_days", sa.Integer),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("keep_baselines", sa.Integer, nullable=False),
    sa.Column("repository", text(), nullable=False),
    sa.Column("uploads_per_minute", sa.Integer),
    # The verdicts that need a decision, joined by commas.
    sa.Column("review_verdicts", text(), nullable=False),
    sa.Column("four_eyes", sa.Boolean, nullable=False),
    sa.Column("quota_bytes", sa.BigInteger),
    sa.UniqueConstraint("organization_id", "name", name="projects_name"),
)

# `claims`, `pins` and `refused_ids` are JSON objects. `anchor` is the claim that names the repository, as
# `name=value` up to its first `*`. An index on it finds a token's trusts.
trusts = sa.Table(
    "trusts",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("issuer", text(), nullable=False),
    sa.Column("claims", text(), nullable=False),
    sa.Column("anchor", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("last_used_at", sa.BigInteger),
    sa.Column("pins", text()),
    sa.Column("refused_ids", text()),
    sa.Column("refused_at", sa.BigInteger),
)

tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("label", text(), nullable=False),
    sa.Column("hint", text(16), nullable=False),
    sa.Column("sha256", text(64), nullable=False, unique=True),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("last_used_at", sa.BigInteger),
    sa.Column("revoked_at", sa.BigInteger),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("trust_id", sa.ForeignKey("trusts.id")),
    sa.Column("pr_number", sa.Integer),
    sa.Column("branch", text()),
    sa.Column("creator_id", text(32)),
    sa.Column("revoked_by", text()),
)

# `kind` is an `ImageKind`. Only images of pull requests have a `pr_number`; for others it is 0. A before
# image belongs to the image whose `before_id` names it. A reference has the bytes of another image, named by
# its `source_id`. `pixels` is empty if the image can't be decoded.
images = sa.Table(
    "images",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("id", text(32), nullable=False),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("pr_number", sa.Integer, nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("commit_sha", text(40), nullable=False),
    sa.Column("viewport", text(16), nullable=False),
    sa.Column("ext", text(8), nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("uploaded_at", sa.BigInteger, nullable=False),
    sa.Column("kid", text(32), nullable=False),
    sa.Column("closed_at", sa.BigInteger),
    sa.Column("scheduled_at", sa.BigInteger),
    sa.Column("thumbnail", text(16)),
    sa.Column("theme", text(8), nullable=False),
    sa.Column("sha256", text(64)),
    # The id of the base of the stored difference image.
    sa.Column("diff_base", text(32)),
    sa.Column("before_id", text(32)),
    sa.Column("kind", text(16), nullable=False),
    sa.Column("source_id", text(32)),
    sa.Column("pixels", text(64)),
)

# Every upload and expiry updates this in its transaction, so the dashboard never has to count. The row with
# the number 0 counts the images without a pull request. Before images only count with their bytes.
pulls = sa.Table(
    "pulls",
    metadata,
    sa.Column("project_id", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("pr_number", sa.Integer, primary_key=True),
    sa.Column("images", sa.Integer, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("last_upload_at", sa.BigInteger, nullable=False),
    sa.Column("last_commit", text(40), nullable=False),
    sa.Column("closed_at", sa.BigInteger),
    # 1 if the last upload opened it (its first ever, or its first since it was closed), else 0. An upload
    # reads this in its own transaction to update the project's number of open pull requests.
    sa.Column("opened", sa.Integer, nullable=False),
    # From the forge. `path` is the rest of its address after the project's repository.
    sa.Column("title", text(), nullable=False),
    sa.Column("source_branch", text(), nullable=False),
    sa.Column("author", text(), nullable=False),
    sa.Column("path", text(), nullable=False),
    # Who deleted all its images, by login. The next upload resets `deleted_at`.
    sa.Column("deleted_at", sa.BigInteger),
    sa.Column("deleted_by", text()),
    # The newest commit whose run took no screenshots.
    sa.Column("skipped_commit", text(40)),
)

# The sums over `pulls`, updated together. A project's first upload creates its row.
project_totals = sa.Table(
    "project_totals",
    metadata,
    sa.Column("project_id", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("images", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("open_pulls", sa.Integer, nullable=False),
    sa.Column("last_upload_at", sa.BigInteger, nullable=False),
)

# Lets replicas on different machines notice that their key files differ. Only used on a shared database.
signing_keys = sa.Table(
    "signing_keys",
    metadata,
    sa.Column("kid", text(32), primary_key=True),
    sa.Column("fingerprint", text(32), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

uploads_by_day = sa.Table(
    "uploads_by_day",
    metadata,
    sa.Column("project_id", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True),
    sa.Column("uploads", sa.Integer, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
)

# Which image a shot has on a branch at a commit. Many commits can share an image. `own` is 1 for the branch's
# own build and 0 for an image of a merged pull request, which counts until that build uploads.
baselines = sa.Table(
    "baselines",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("branch", text(), nullable=False),
    sa.Column("commit_sha", text(40), nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("viewport", text(16), nullable=False),
    sa.Column("theme", text(8), nullable=False),
    sa.Column("own", sa.Integer, nullable=False),
    sa.Column("image_id", text(32), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# The commits of a branch that have baselines, in the order of their first upload. `complete` is 1 once the
# build has reported that all its images are uploaded.
baseline_commits = sa.Table(
    "baseline_commits",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("branch", text(), nullable=False),
    sa.Column("commit_sha", text(40), nullable=False),
    sa.Column("complete", sa.Integer, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# A comparison of one commit of a pull request with its base. `commits` is a JSON list, and so is
# `queued_pulls`, the numbers of the pull requests ahead in a merge queue. `first_seq` is the
# commit's first image: the dashboard shows the comparison with the highest one. `run` identifies the attempt
# of a process, and `seen_at` is when that process last reported progress.
comparisons = sa.Table(
    "comparisons",
    metadata,
    sa.Column("project_id", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("pr_number", sa.Integer, primary_key=True),
    sa.Column("commit_sha", text(40), primary_key=True),
    sa.Column("branch", text(), nullable=False),
    sa.Column("commits", text(), nullable=False),
    sa.Column("complete", sa.Integer, nullable=False),
    sa.Column("first_seq", sa.BigInteger, nullable=False),
    sa.Column("run", text(32), nullable=False),
    sa.Column("state", text(16), nullable=False),
    sa.Column("base_commit", text(40)),
    sa.Column("missing", sa.Integer, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("queued_pulls", text(), nullable=False),
)


def _difference_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("pixels", sa.BigInteger, nullable=False),
        sa.Column("reason", text(), nullable=False),
        sa.Column("pixels_before", text(64), nullable=False),
        sa.Column("pixels_after", text(64), nullable=False),
        sa.Column("difference", text(), nullable=False),
    ]


# The shots of a comparison. `verdict` is NULL until it is known. `difference` is JSON: the pieces, moves,
# colors and close-ups. It is empty without any.
compared_shots = sa.Table(
    "compared_shots",
    metadata,
    sa.Column("project_id", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("pr_number", sa.Integer, primary_key=True),
    sa.Column("commit_sha", text(40), primary_key=True),
    sa.Column("name", text(), primary_key=True),
    sa.Column("viewport", text(16), primary_key=True),
    sa.Column("theme", text(8), primary_key=True),
    sa.Column("image_id", text(32)),
    sa.Column("base_id", text(32)),
    sa.Column("base_commit", text(40)),
    sa.Column("ancestor", sa.Integer, nullable=False),
    sa.Column("verdict", text(16)),
    *_difference_columns(),
)

# The results for two images with these hashes. `engine` is the version of the comparison rules.
pair_results = sa.Table(
    "pair_results",
    metadata,
    sa.Column("project_id", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("before_sha256", text(64), primary_key=True),
    sa.Column("after_sha256", text(64), primary_key=True),
    sa.Column("engine", sa.Integer, nullable=False),
    sa.Column("verdict", text(16), nullable=False),
    *_difference_columns(),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# The replies to uploads with an `Idempotency-Key`, for a day. `key` is the SHA-256 of the route and the key.
upload_keys = sa.Table(
    "upload_keys",
    metadata,
    sa.Column("project_id", text(32), primary_key=True),
    sa.Column("key", text(64), primary_key=True),
    sa.Column("reply", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# Images that wait for the pull request of a branch. `repository` is the repository with the branch, in lower
# case, and empty for the project's own.
staged = sa.Table(
    "staged",
    metadata,
    sa.Column("image_id", text(32), primary_key=True),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("branch", text(), nullable=False),
    sa.Column("repository", text(), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

# One-time URLs for an upload. `pr_number` is 0 if the image will be staged under `branch`. `before_sha256` is
# the hash of the secret for the before image, and `before_id` is that image's id once it is uploaded.
put_urls = sa.Table(
    "put_urls",
    metadata,
    sa.Column("sha256", text(64), primary_key=True),
    sa.Column("before_sha256", text(64), unique=True),
    sa.Column("before_id", text(32)),
    sa.Column("project_id", sa.ForeignKey("projects.id"), nullable=False),
    sa.Column("token_id", text(32), nullable=False),
    sa.Column("pr_number", sa.Integer, nullable=False),
    sa.Column("branch", text(), nullable=False),
    sa.Column("repository", text(), nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("commit_sha", text(40), nullable=False),
    sa.Column("viewport", text(16), nullable=False),
    sa.Column("theme", text(8), nullable=False),
    sa.Column("content_type", text(32), nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

# What people decided about a pair of images, identified by their pixels. The newest row of a pair counts.
# `boxes` are those of the part that a decision is about, as JSON, or null for the whole pair. A part's row is
# only `is_newest` if it completes the pair. Otherwise, it counts if it is later than the row that is.
# Like all tables below, it has no foreign keys: see `invitations`. `user_id` is empty for a token, and `by`
# is then its label. `pin_x` and `pin_y` are from 0 to 1.
decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("pr_number", sa.Integer, nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("viewport", text(16), nullable=False),
    sa.Column("theme", text(8), nullable=False),
    sa.Column("pixels_before", text(64), nullable=False),
    sa.Column("pixels_after", text(64), nullable=False),
    sa.Column("decision", text(16), nullable=False),
    sa.Column("by", text(), nullable=False),
    sa.Column("user_id", text(32), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("note", text(), nullable=False),
    sa.Column("pin_x", sa.Float),
    sa.Column("pin_y", sa.Float),
    sa.Column("is_newest", sa.Boolean, nullable=False),
    sa.Column("boxes", text()),
)

# The pairs that a pull request has asked about. `pair` is a hash of the shot and its pixels, and
# `after_decision` the `seq` of the newest decision at that time, or 0.
asked_pairs = sa.Table(
    "asked_pairs",
    metadata,
    sa.Column("project_id", text(32), primary_key=True),
    sa.Column("pr_number", sa.Integer, primary_key=True),
    sa.Column("pair", text(64), primary_key=True),
    sa.Column("after_decision", sa.BigInteger, nullable=False),
)

# Shots that never block a pull request until `until`.
quarantines = sa.Table(
    "quarantines",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("viewport", text(16), nullable=False),
    sa.Column("theme", text(8), nullable=False),
    sa.Column("reason", text(), nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("project_id", "name", "viewport", "theme", name="quarantines_shot"),
)

# The commits that have been compared since a shot's quarantine began. `differed` is 1 if the shot differed.
quarantined_commits = sa.Table(
    "quarantined_commits",
    metadata,
    sa.Column("quarantine_id", text(32), primary_key=True),
    sa.Column("pr_number", sa.Integer, primary_key=True),
    sa.Column("commit_sha", text(40), primary_key=True),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("differed", sa.Integer, nullable=False),
)

# The images that a shot had on a branch, one row for each change. Outlives the images by 30 days. `pixels` is
# empty until they are identified. `commit_sha` is the commit that brought the change.
branch_pixels = sa.Table(
    "branch_pixels",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("branch", text(), nullable=False),
    sa.Column("commit_sha", text(40), nullable=False),
    sa.Column("name", text(), nullable=False),
    sa.Column("viewport", text(16), nullable=False),
    sa.Column("theme", text(8), nullable=False),
    sa.Column("image_id", text(32), nullable=False),
    sa.Column("pixels", text(64), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# How the service reaches a project's forge. `secret` is the token, encrypted with the signing key `kid`. Both
# are empty for the operator's GitHub App.
connections = sa.Table(
    "connections",
    metadata,
    sa.Column("project_id", text(32), primary_key=True),
    sa.Column("forge", text(16), nullable=False),
    sa.Column("api_url", text(), nullable=False),
    sa.Column("repository", text(), nullable=False),
    sa.Column("kid", text(32), nullable=False),
    sa.Column("secret", text(), nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# Deliveries to a forge: one row for each pull request and `kind`, kept after it is sent. Every cause raises
# `version` and sets `due_at`, which is NULL while nothing waits. The content is computed when it is sent, so
# the newest state wins. `first_due_at` is the time of the first cause since the last attempt. `sent` is the
# content sent last, or empty if that is unknown. A `holder` sends until `lease_until`.
outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("project_id", text(32), primary_key=True),
    sa.Column("pr_number", sa.Integer, primary_key=True),
    sa.Column("kind", text(16), primary_key=True),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("due_at", sa.BigInteger),
    sa.Column("first_due_at", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("error", text(), nullable=False),
    sa.Column("holder", text(32), nullable=False),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("sent", text(), nullable=False),
)

# Who did what. Rows are only added, except that old ones are removed. `organization_id` is empty for acts on
# the whole installation. `actor_kind` is an `ActorKind`, and `details` a JSON object. Outlives everything
# that it names, so it holds names as well as ids.
audit_log = sa.Table(
    "audit_log",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("organization_id", text(32), nullable=False),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("project", text(), nullable=False),
    sa.Column("actor_kind", text(16), nullable=False),
    sa.Column("actor_id", text(32), nullable=False),
    sa.Column("actor", text(), nullable=False),
    sa.Column("address", text(64), nullable=False),
    sa.Column("action", text(32), nullable=False),
    sa.Column("target", text(), nullable=False),
    sa.Column("details", text(), nullable=False),
    sa.Column("pr_number", sa.Integer),
    # JSON that only exports read. It comes last, because SQLite reads past it to reach later columns.
    sa.Column("shots", text()),
)

# Groups of a login provider whose members join an organization when they sign in. `name` is in lower case.
organization_groups = sa.Table(
    "organization_groups",
    metadata,
    sa.Column("organization_id", text(32), primary_key=True),
    sa.Column("provider", text(16), primary_key=True),
    sa.Column("name", text(), primary_key=True),
    sa.Column("role", text(16), nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
)

# The groups that the login provider named at a user's last sign-in, in lower case.
user_groups = sa.Table(
    "user_groups",
    metadata,
    sa.Column("user_id", text(32), primary_key=True),
    sa.Column("name", text(), primary_key=True),
)

# Links that let one person join an organization. Using or revoking a link removes its row.
invitation_links = sa.Table(
    "invitation_links",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("organization_id", text(32), nullable=False),
    sa.Column("sha256", text(64), nullable=False, unique=True),
    sa.Column("role", text(16), nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
)

# Links that show one pull request's changes to people without an account. `ended_at` is set when somebody
# revokes the link (`ended_by`) or when the pull request closes (`ended_by` is empty).
share_links = sa.Table(
    "share_links",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("pr_number", sa.Integer, nullable=False),
    sa.Column("sha256", text(64), nullable=False, unique=True),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger),
    sa.Column("ended_by", text(), nullable=False),
)

# Where events go. `project_id` is empty for all projects of the organization. `events` are joined by commas.
# `secret` is encrypted with the signing key `kid`. Until `old_until`, messages are also signed with the
# `old_secret`. `sent_at` is when a message last arrived, and `failing_since` when the first of those since
# failed. `disabled_at` is set when the receiver asked for no more messages.
webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("id", text(32), primary_key=True),
    sa.Column("organization_id", text(32), nullable=False),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("url", text(), nullable=False),
    sa.Column("format", text(16), nullable=False),
    sa.Column("events", text(), nullable=False),
    sa.Column("kid", text(32), nullable=False),
    sa.Column("secret", text(), nullable=False),
    sa.Column("old_kid", text(32), nullable=False),
    sa.Column("old_secret", text(), nullable=False),
    sa.Column("old_until", sa.BigInteger, nullable=False),
    sa.Column("created_by", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("sent_at", sa.BigInteger),
    sa.Column("failing_since", sa.BigInteger),
    sa.Column("disabled_at", sa.BigInteger),
)

# The messages of webhooks, kept after they are sent. `id` is the `webhook-id`. `cause` is a JSON object that
# was recorded with the cause. `payload` is the body, or empty until the first attempt writes it. `due_at` is
# NULL while nothing waits. A `holder` sends until `lease_until`. `status` and `reply` are the receiver's
# answer to the last attempt.
webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("seq", _Sequence, primary_key=True, autoincrement=True),
    sa.Column("id", text(48), nullable=False, unique=True),
    sa.Column("webhook_id", text(32), nullable=False),
    sa.Column("organization_id", text(32), nullable=False),
    sa.Column("project_id", text(32), nullable=False),
    sa.Column("pr_number", sa.Integer, nullable=False),
    sa.Column("event", text(16), nullable=False),
    sa.Column("cause", text(), nullable=False),
    sa.Column("payload", text(), nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("due_at", sa.BigInteger),
    sa.Column("first_due_at", sa.BigInteger, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("holder", text(32), nullable=False),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("sent_at", sa.BigInteger),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("reply", text(), nullable=False),
    sa.Column("error", text(), nullable=False),
)

# What a project's files took on a day (in days since 1970, UTC), by the kind of file. A sweep measures it.
# `estimated`: the sweep listed only a part of a very large store.
usage_by_day = sa.Table(
    "usage_by_day",
    metadata,
    sa.Column("project_id", text(32), primary_key=True),
    sa.Column("day", sa.Integer, primary_key=True),
    sa.Column("kind", text(16), primary_key=True),
    sa.Column("files", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("estimated", sa.Boolean, nullable=False),
)
