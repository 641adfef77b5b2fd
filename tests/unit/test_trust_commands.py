"""`prshots project trust`, `trusts` and `distrust`: their options and their output."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from prshots.cli import app
from prshots.contract.errors import NotFoundError
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.domain.projects.service import Projects
from support.stores_and_records import open_database, open_records

Run = Callable[..., Result]
GITHUB = "https://token.actions.githubusercontent.com"
REVIEW = ("--environment", "review", "--claim", "ref=main")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command on a database with the project `web`. It does not catch exceptions."""

    async def with_project() -> None:
        records = open_records(tmp_path)
        await Projects(records, records).create_project("web")
        await records.close()

    def run(*args: str, **env: str) -> Result:
        settings = {"PRSHOTS_DATA_DIR": str(tmp_path), "PRSHOTS_BASE_URL": "https://shots.example", **env}
        return CliRunner().invoke(app, ["project", *args], env=settings, catch_exceptions=False)

    asyncio.run(with_project())
    return run


def test_a_trust_is_created_listed_and_removed(run: Run) -> None:
    made = run("trust", "web", "--issuer", "github", "--repository", "octo/app", "--ref", "refs/pull/*")
    assert made.exit_code == 0
    assert re.fullmatch(r"[0-9a-f]{12}\n", made.stdout)
    assert made.stderr == (
        f"CI jobs can now upload to 'web' with an ID token from {GITHUB}\n"
        "that has ref=refs/pull/*, repository=octo/app and the audience https://shots.example.\n"
    )
    gitlab = run("trust", "web", "--issuer", "gitlab", "--repository", "g/p", *REVIEW)
    assert gitlab.exit_code == 0
    trusts = {trust["id"]: trust for trust in json.loads(run("trusts", "web", "--json").stdout)}
    assert trusts[made.stdout.strip()]["claims"] == {"repository": "octo/app", "ref": "refs/pull/*"}
    assert trusts[gitlab.stdout.strip()]["issuer"] == "https://gitlab.com"
    assert trusts[gitlab.stdout.strip()]["claims"] == {
        "project_path": "g/p",
        "environment": "review",
        "ref": "main",
    }
    header, *rows = run("trusts", "web").stdout.splitlines()
    assert re.split(" {2,}", header) == ["ID", "ISSUER", "CLAIMS", "PINNED TO", "CREATED", "LAST USED"]
    assert len(rows) == 2
    removed = run("distrust", made.stdout.strip())
    assert (removed.exit_code, removed.stdout) == (0, "")
    (left,) = json.loads(run("trusts", "web", "--json").stdout)
    assert left["id"] == gitlab.stdout.strip()
    with pytest.raises(NotFoundError, match="project trusts NAME"):
        run("distrust", made.stdout.strip())


@pytest.mark.parametrize(
    ("github", "issuer", "trusted", "claim"),
    [
        (
            "https://github.acme.example",
            "github",
            "https://github.acme.example/_services/token",
            "repository",
        ),
        ("https://acme.ghe.com", "github", "https://token.actions.acme.ghe.com", "repository"),
        ("", "https://gitlab.acme.example", "https://gitlab.acme.example", "project_path"),
    ],
)
def test_a_self_hosted_forge_can_be_trusted(
    run: Run, github: str, issuer: str, trusted: str, claim: str
) -> None:
    own = {
        "PRSHOTS_GITHUB_URL": github,
        "PRSHOTS_GITLAB_URL": "https://gitlab.acme.example",
        "PRSHOTS_TRUSTED_ISSUERS": trusted,
    }
    assert run("trust", "web", "--issuer", issuer, "--repository", "a/b", **own).exit_code == 0
    (trust,) = json.loads(run("trusts", "web", "--json").stdout)
    assert (trust["issuer"], trust["claims"]) == (trusted, {claim: "a/b"})


def test_a_pin_is_listed_and_reset(run: Run, tmp_path: Path) -> None:
    trust_id = run("trust", "web", "--issuer", "github", "--repository", "octo/app").stdout.strip()

    async def pin() -> None:
        database = open_database(tmp_path)
        trusts = SqlTrusts(database)
        await trusts.pin_trust(trust_id, {"repository_id": "7"})
        await trusts.note_refused_ids(trust_id, {"repository_id": "8"}, 1_900_000_000)
        await database.close()

    asyncio.run(pin())
    listed = run("trusts", "web")
    assert "repository_id=7" in listed.stdout
    assert f"trust {trust_id} refused a job with repository_id=8" in listed.stderr
    reset = run("unpin", trust_id)
    assert (reset.exit_code, reset.stdout) == (0, "")
    (trust,) = json.loads(run("trusts", "web", "--json").stdout)
    assert (trust["pins"], trust["refused_ids"], trust["refused_at"]) == (None, None, None)
    with pytest.raises(NotFoundError, match="project trusts NAME"):
        run("unpin", "0" * 12)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--claim", "repository"], "--claim takes NAME=VALUE; got 'repository'"),
        (["--claim", "a=1", "--claim", "a=2"], "the claim a is given twice"),
        (["--repository", "a/b", "--claim", "repository=a/c"], "the claim repository is given twice"),
        (["--issuer", "https://ci.example", "--repository", "a/b"], "use --claim NAME=VALUE"),
    ],
)
def test_invalid_options_exit_with_code_2(run: Run, args: list[str], words: str) -> None:
    done = run("trust", "web", "--issuer", "github", *args)
    assert done.exit_code == 2
    assert words in re.sub(r"[\s│]+", " ", done.stderr)
