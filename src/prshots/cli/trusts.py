"""`prshots project trust`: let CI jobs upload with their ID tokens instead of an upload token."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from prshots.cli.common import (
    ConfigOption,
    JsonOption,
    print_json,
    print_table,
    run_with,
    say,
    settings_from,
    when,
)

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings
    from prshots.server.domain.projects.keyless import Trusts
    from prshots.server.domain.projects.models import Trust
    from prshots.server.domain.projects.service import Projects

T = TypeVar("T")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]
TrustArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The trust's id, from `prshots project trusts`.")
]


def trust(
    name: NameArgument,
    *,
    issuer: Annotated[
        str, typer.Option(metavar="github|gitlab|URL", help="The issuer of the CI jobs' ID tokens.")
    ],
    claims: Annotated[
        list[str] | None,
        typer.Option(
            "--claim",
            metavar="NAME=VALUE",
            help="A claim that the ID token must have; * matches any characters. Repeatable.",
        ),
    ] = None,
    repository: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="The repository that the job runs in.")
    ] = "",
    ref: Annotated[
        str,
        typer.Option(metavar="REF", help="The `ref` claim: refs/heads/main on GitHub, main on GitLab."),
    ] = "",
    environment: Annotated[
        str,
        typer.Option(metavar="ENV", help="The `environment` claim: the environment the job deploys to."),
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Let CI jobs upload to a project without a token. Their ID tokens must have all the given claims."""
    settings = settings_from(config)
    issuer, repository_claim = _issuer_and_claim(settings, issuer)
    wanted = _pairs(claims or [])
    shortcuts = {"ref": ref, "environment": environment}
    if repository and not repository_claim:
        raise typer.BadParameter(
            f"--repository works for GitHub and GitLab only: for {issuer}, use --claim NAME=VALUE"
        )
    if repository:
        shortcuts[repository_claim] = repository
    for claim, value in shortcuts.items():
        if value and wanted.setdefault(claim, value) != value:
            raise typer.BadParameter(f"the claim {claim} is given twice")

    async def add(accounts: "Projects", trusts: "Trusts") -> "Trust":
        return await trusts.add(await accounts.project(name), issuer, wanted)

    made = _with_trusts(settings, add)
    print(made.id)
    say(f"CI jobs can now upload to {name!r} with an ID token from {made.issuer}")
    say(f"that has {_format_claims(made.claims)} and the audience {settings.base_url}.")


def list_trusts(name: NameArgument, *, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List a project's trusts."""

    async def find(accounts: "Projects", trusts: "Trusts") -> list["Trust"]:
        return await trusts.of(await accounts.project(name))

    found = _with_trusts(settings_from(config), find)
    if as_json:
        print_json([asdict(trust) for trust in found])
        return
    print_table(
        ["ID", "ISSUER", "CLAIMS", "PINNED TO", "CREATED", "LAST USED"],
        [
            [
                trust.id,
                trust.issuer,
                _format_claims(trust.claims),
                _format_claims(trust.pins or {}) or "-",
                when(trust.created_at),
                when(trust.last_used_at),
            ]
            for trust in found
        ],
    )
    for trust in found:
        if trust.refused_ids:
            say(
                f"On {when(trust.refused_at)}, trust {trust.id} refused a job with "
                f"{_format_claims(trust.refused_ids)}. If this is the right repository, run "
                f"`prshots project unpin {trust.id}`."
            )


def distrust(
    trust_id: TrustArgument,
    config: ConfigOption = None,
) -> None:
    """Remove a trust. Tokens issued through it stop working immediately."""
    _with_trusts(settings_from(config), lambda _, trusts: trusts.remove(trust_id))
    say(f"Removed trust {trust_id} and the tokens issued through it.")


def unpin(
    trust_id: TrustArgument,
    config: ConfigOption = None,
) -> None:
    """Forget the repository that a trust is pinned to. The next job pins its own."""
    _with_trusts(settings_from(config), lambda _, trusts: trusts.unpin(trust_id))
    say(f"Reset the pin of trust {trust_id}.")


def _with_trusts(settings: "Settings", work: Callable[["Projects", "Trusts"], Awaitable[T]]) -> T:
    from prshots.server.wiring import open_trusts

    return run_with(open_trusts(settings), lambda opened: work(*opened))


def _issuer_and_claim(settings: "Settings", issuer: str) -> tuple[str, str]:
    """Return the issuer's URL, and the claim that names a job's repository, or "" if unknown.

    `github` and `gitlab` are the servers from the settings.
    """
    github, gitlab = _github_issuer(settings.github_url), settings.gitlab_url
    if issuer in {"github", github}:
        return github, "repository"
    if issuer in {"gitlab", gitlab}:
        return gitlab, "project_path"
    return issuer, ""


def _github_issuer(url: str) -> str:
    from prshots.server.config.settings import GITHUB_ISSUER

    if url == "https://github.com":
        return GITHUB_ISSUER
    if url.endswith(".ghe.com"):  # GitHub Enterprise Cloud with data residency
        return url.replace("https://", "https://token.actions.")
    return f"{url}/_services/token"


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in given:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise typer.BadParameter(f"--claim takes NAME=VALUE; got {pair!r}")
        if pairs.setdefault(name, value) != value:
            raise typer.BadParameter(f"the claim {name} is given twice")
    return pairs


def _format_claims(claims: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(claims.items()))
