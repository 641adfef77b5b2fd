"""The first schema. Databases with a lower number come from development versions and aren't upgraded.

The columns have the same order as in databases of development versions.
"""

import secrets

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.schema import text

revision = "0011"
down_revision = None
step = "expand"
oldest = "0011"

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_SHOT = ("name", "viewport", "theme")


def upgrade() -> None:
    _create_installation()
    _create_people()
    _create_projects()
    _create_tokens()
    _create_images()
    _create_totals()
    _create_baselines()
    _create_comparisons()
    _create_staging()
    op.execute(sa.text("INSERT INTO installation (id) VALUES (:id)").bindparams(id=secrets.token_hex(16)))
    op.execute("INSERT INTO organizations (id, name) VALUES ('local', 'local')")


def _create_partial_index(name: str, table: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)


def _project_column(*, primary_key: bool = False) -> sa.Column[str]:
    key = sa.ForeignKey("projects.id")
    return sa.Column("project_id", text(32), key, nullable=False, primary_key=primary_key)


def _text_column(name: str) -> sa.Column[str]:
    return sa.Column(name, text(), nullable=False, server_default="")


def _create_installation() -> None:
    op.create_table(
        "installation",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("oldest_schema", text(16), nullable=False, server_default="0010"),
    )
    op.create_table(
        "signing_keys",
        sa.Column("kid", text(32), primary_key=True),
        sa.Column("fingerprint", text(32), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _create_people() -> None:
    op.create_table(
        "organizations",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("name", text(), nullable=False, unique=True),
        sa.Column("personal", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "users",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("provider", text(16), nullable=False),
        sa.Column("subject", text(), nullable=False),
        sa.Column("login", text(), nullable=False, index=True),
        sa.Column("name", text(), nullable=False),
        sa.Column("avatar_url", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("provider", "subject", name="users_subject"),
    )
    op.create_table(
        "members",
        sa.Column("organization_id", text(32), sa.ForeignKey("organizations.id"), primary_key=True),
        sa.Column("user_id", text(32), sa.ForeignKey("users.id"), primary_key=True, index=True),
        sa.Column("role", text(16), nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("sha256", text(64), primary_key=True),
        sa.Column("user_id", text(32), sa.ForeignKey("users.id"), nullable=False, index=True),
        sa.Column("created_at", sa.BigInteger, nullable=False, index=True),
        sa.Column("last_seen_at", sa.BigInteger, nullable=False, index=True),
    )
    op.create_table(
        "login_states",
        sa.Column("sha256", text(64), primary_key=True),
        sa.Column("provider", text(16), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _create_projects() -> None:
    op.create_table(
        "projects",
        sa.Column("id", text(32), primary_key=True),
        sa.Column("organization_id", text(32), sa.ForeignKey("organizations.id"), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("policy", text(16), nullable=False),
        sa.Column("retain_days", sa.Integer),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("keep_baselines", sa.Integer, nullable=False, server_default="50"),
        _text_column("repository"),
        sa.Column("uploads_per_minute", sa.Integer),
        sa.UniqueConstraint("organization_id", "name", name="projects_name"),
    )
    op.create_table(
        "trusts",
        sa.Column("id", text(32), primary_key=True),
        _project_column(),
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
    op.create_index("ix_trusts_project_id", "trusts", ["project_id"])
    op.create_index("trusts_by_anchor", "trusts", ["issuer", "anchor"])


def _create_tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", text(32), primary_key=True),
        _project_column(),
        sa.Column("label", text(), nullable=False),
        sa.Column("hint", text(16), nullable=False),
        sa.Column("sha256", text(64), nullable=False, unique=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("last_used_at", sa.BigInteger),
        sa.Column("revoked_at", sa.BigInteger),
        _text_column("created_by"),
        sa.Column("expires_at", sa.BigInteger),
        sa.Column("trust_id", text(32), sa.ForeignKey("trusts.id")),
        sa.Column("pr_number", sa.Integer),
        sa.Column("branch", text()),
    )
    op.create_index("ix_tokens_project_id", "tokens", ["project_id"])
    # There can be thousands of short-lived tokens. Lists skip them, and the sweep reads only them.
    lasting = ["project_id", "created_at", "id"]
    _create_partial_index("tokens_lasting", "tokens", lasting, "expires_at IS NULL")
    _create_partial_index("tokens_by_expiry", "tokens", ["expires_at"], "expires_at IS NOT NULL")
    _create_partial_index("tokens_by_trust", "tokens", ["trust_id"], "trust_id IS NOT NULL")


def _create_images() -> None:
    op.create_table(
        "images",
        sa.Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
        sa.Column("id", text(32), nullable=False),
        _project_column(),
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
        sa.Column("theme", text(8), nullable=False, server_default=""),
        sa.Column("sha256", text(64)),
        sa.Column("diff_base", text(32)),
        sa.Column("before_id", text(32)),
    )
    # With both columns in the key, querying another project's id takes as long as querying an unknown id.
    op.create_index("images_by_id", "images", ["id", "project_id"], unique=True)
    by_pr = ["project_id", "pr_number", "seq"]
    op.create_index("images_by_pr", "images", by_pr)
    # In gallery order: a page reads only its own rows.
    op.create_index("images_by_shot", "images", ["project_id", "pr_number", *_SHOT, "seq"])
    _create_partial_index("images_paired", "images", by_pr, "before_id IS NOT NULL")
    # Each index contains only the rows that the sweep still has to process. Baselines don't expire by age.
    closed, aging = "closed_at IS NOT NULL AND scheduled_at IS NULL", "scheduled_at IS NULL AND pr_number > 0"
    _create_partial_index("images_by_age", "images", ["project_id", "uploaded_at"], aging)
    _create_partial_index("images_closed", "images", ["project_id", "seq"], closed)
    _create_partial_index("images_scheduled", "images", ["id"], "scheduled_at IS NOT NULL")


def _create_totals() -> None:
    op.create_table(
        "pulls",
        _project_column(primary_key=True),
        sa.Column("pr_number", sa.Integer, primary_key=True),
        sa.Column("images", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("last_upload_at", sa.BigInteger, nullable=False),
        sa.Column("last_commit", text(40), nullable=False),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("opened", sa.Integer, nullable=False, server_default="0"),
        *(_text_column(name) for name in ("title", "source_branch", "author", "path")),
    )
    by_upload = ["project_id", "last_upload_at", "pr_number"]
    op.create_index("pulls_by_upload", "pulls", by_upload)
    op.create_index("pulls_by_bytes", "pulls", ["project_id", "bytes", "pr_number"])
    # One index per state: a single index would make finding the few open pull requests scan all closed ones.
    _create_partial_index("pulls_open", "pulls", by_upload, "closed_at IS NULL")
    _create_partial_index("pulls_closed", "pulls", by_upload, "closed_at IS NOT NULL")
    op.create_table(
        "project_totals",
        _project_column(primary_key=True),
        sa.Column("images", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("open_pulls", sa.Integer, nullable=False),
        sa.Column("last_upload_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "uploads_by_day",
        _project_column(primary_key=True),
        sa.Column("day", sa.Integer, primary_key=True),
        sa.Column("uploads", sa.Integer, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
    )


def _create_baselines() -> None:
    op.create_table(
        "baselines",
        sa.Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
        _project_column(),
        sa.Column("branch", text(), nullable=False),
        sa.Column("commit_sha", text(40), nullable=False),
        sa.Column("name", text(), nullable=False),
        sa.Column("viewport", text(16), nullable=False),
        sa.Column("theme", text(8), nullable=False),
        sa.Column("own", sa.Integer, nullable=False),
        sa.Column("image_id", text(32), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_baselines_image_id", "baselines", ["image_id"])
    op.create_index(
        "baselines_of_commit", "baselines", ["project_id", "commit_sha", "branch", *_SHOT, "own"], unique=True
    )
    op.create_index("baselines_by_shot", "baselines", ["project_id", "branch", *_SHOT, "seq"])
    op.create_table(
        "baseline_commits",
        sa.Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
        _project_column(),
        sa.Column("branch", text(), nullable=False),
        sa.Column("commit_sha", text(40), nullable=False),
        sa.Column("complete", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "baseline_commits_by_sha", "baseline_commits", ["project_id", "commit_sha", "branch"], unique=True
    )
    op.create_index("baseline_commits_by_branch", "baseline_commits", ["project_id", "branch", "seq"])


def _create_comparisons() -> None:
    op.create_table(
        "comparisons",
        _project_column(primary_key=True),
        sa.Column("pr_number", sa.Integer, primary_key=True),
        sa.Column("commit_sha", text(40), primary_key=True),
        sa.Column("branch", text(), nullable=False),
        sa.Column("commits", text(), nullable=False),
        sa.Column("complete", sa.Integer, nullable=False),
        sa.Column("first_seq", sa.BigInteger, nullable=False),
        sa.Column("run", text(32), nullable=False),
        sa.Column("state", text(16), nullable=False),
        sa.Column("base_commit", text(40)),
        sa.Column("missing", sa.Integer, nullable=False, server_default="0"),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "compared_shots",
        _project_column(primary_key=True),
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
        sa.Column("pixels", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("regions", text(), nullable=False, server_default="[]"),
        sa.Column("shift", sa.Integer, nullable=False, server_default="0"),
        sa.Column("reason", text(), nullable=False, server_default=""),
    )
    op.create_index("ix_compared_shots_image_id", "compared_shots", ["image_id"])
    op.create_index("ix_compared_shots_base_id", "compared_shots", ["base_id"])
    op.create_table(
        "pair_results",
        _project_column(primary_key=True),
        sa.Column("before_sha256", text(64), primary_key=True),
        sa.Column("after_sha256", text(64), primary_key=True),
        sa.Column("engine", sa.Integer, nullable=False),
        sa.Column("verdict", text(16), nullable=False),
        sa.Column("pixels", sa.BigInteger, nullable=False),
        sa.Column("regions", text(), nullable=False),
        sa.Column("shift", sa.Integer, nullable=False),
        sa.Column("reason", text(), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_pair_results_created_at", "pair_results", ["created_at"])


def _create_staging() -> None:
    op.create_table(
        "staged",
        sa.Column("image_id", text(32), primary_key=True),
        _project_column(),
        sa.Column("branch", text(), nullable=False),
        sa.Column("repository", text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_staged_expires_at", "staged", ["expires_at"])
    op.create_index("staged_by_branch", "staged", ["project_id", "branch"])
    op.create_table(
        "put_urls",
        sa.Column("sha256", text(64), primary_key=True),
        sa.Column("before_sha256", text(64), unique=True),
        sa.Column("before_id", text(32)),
        _project_column(),
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
    for name in ("project_id", "expires_at"):
        op.create_index(f"ix_put_urls_{name}", "put_urls", [name])
