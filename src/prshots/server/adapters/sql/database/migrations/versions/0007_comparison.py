"""Baselines, comparisons, themes, and what the forge says about a pull request."""

import sqlalchemy as sa
from alembic import op

from prshots.server.adapters.sql.database.text_type import text

revision = "0007"
down_revision = "0006"

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_SHOT = ("name", "viewport", "theme")


def upgrade() -> None:
    _extend_tables()
    _replace_indexes()
    _create_baselines()
    _create_comparisons()


def _extend_tables() -> None:
    op.add_column("projects", sa.Column("keep_baselines", sa.Integer, nullable=False, server_default="50"))
    op.add_column("projects", _text_column("repository"))
    op.add_column("tokens", sa.Column("branch", text()))
    op.add_column("images", sa.Column("theme", text(8), nullable=False, server_default=""))
    op.add_column("images", sa.Column("sha256", text(64)))
    op.add_column("images", sa.Column("diff_base", text(32)))
    for name in ("title", "source_branch", "author", "path"):
        op.add_column("pulls", _text_column(name))


def _text_column(name: str) -> sa.Column[str]:
    return sa.Column(name, text(), nullable=False, server_default="")


def _replace_indexes() -> None:
    op.drop_index("images_by_shot", "images")
    op.create_index("images_by_shot", "images", ["project_id", "pr_number", *_SHOT, "seq"])
    op.drop_index("images_by_age", "images")
    aging = sa.text("scheduled_at IS NULL AND pr_number > 0")
    op.create_index(
        "images_by_age",
        "images",
        ["project_id", "uploaded_at"],
        sqlite_where=aging,
        postgresql_where=aging,
    )


def _project_column(*, primary_key: bool = False) -> sa.Column[str]:
    key = sa.ForeignKey("projects.id")
    return sa.Column("project_id", text(32), key, nullable=False, primary_key=primary_key)


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
