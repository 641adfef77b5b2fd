"""`prshots project trust`: let CI jobs upload by their ID tokens, without a secret."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

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
    from prshots.server.domain.keyless import Trusts
    from prshots.server.domain.models import Trust
    from prshots.server.domain.projects import Projects

T = TypeVar("T")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]


class Forge(NamedTuple):
    """A forge as an issuer: its address, and what it calls the repository that a job runs in."""

    issuer: str
    repository: str


def trust(
    name: NameArgument,
    *,
    issuer: Annotated[
        str, typer.Option(metavar="github|gitlab|URL", help="Who signs the ID tokens of the CI's jobs.")
    ],
    claims: Annotated[
        list[str] | None,
        typer.Option(
            "--claim",
            metavar="NAME=VALUE",
            help="What an ID token has to say, with * for any run of characters. May be given again.",
        ),
    ] = None,
    repository: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="The claim that names the repository, at any forge.")
    ] = "",
    ref: Annotated[
        str, typer.Option(metavar="REF", help="The claim ref: refs/heads/main at GitHub, main at GitLab.")
    ] = "",
    environment: Annotated[
        str, typer.Option(metavar="ENV", help="The claim environment: the environment that a job deploys to.")
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Let the CI jobs of a repository upload to a project by their ID tokens, without a secret."""
    settings = settings_from(config)
    forge = _forge(settings, issuer)
    wanted = _pairs(claims or [])
    shortcuts = {"ref": ref, "environment": environment}
    if repository:
        shortcuts[_repository_claim(forge)] = repository
    for claim, value in shortcuts.items():
        if value and wanted.setdefault(claim, value) != value:
            raise typer.BadParameter(f"the claim {claim} is given twice")

    async def add(accounts: "Projects", trusts: "Trusts") -> "Trust":
        return await trusts.add(await accounts.project(name), forge.issuer, wanted)

    made = _with_trusts(settings, add)
    print(made.id)
    say(f"Jobs may now upload to {name!r} whose ID token is of {made.issuer}")
    say(f"and says {_in_words(made.claims)}. Its audience has to be {settings.base_url}.")


def list_trusts(name: NameArgument, *, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List what a project trusts."""

    async def find(accounts: "Projects", trusts: "Trusts") -> list["Trust"]:
        return await trusts.of(await accounts.project(name))

    found = _with_trusts(settings_from(config), find)
    if as_json:
        print_json([asdict(trust) for trust in found])
        return
    print_table(
        ["ID", "ISSUER", "CLAIMS", "CREATED", "LAST USED"],
        [
            [
                trust.id,
                trust.issuer,
                _in_words(trust.claims),
                when(trust.created_at),
                when(trust.last_used_at),
            ]
            for trust in found
        ],
    )


def distrust(
    trust_id: Annotated[
        str, typer.Argument(metavar="ID", help="The trust's id, from `prshots project trusts`.")
    ],
    config: ConfigOption = None,
) -> None:
    """Remove a trust. The tokens that were given by it stop working at once."""
    _with_trusts(settings_from(config), lambda _, trusts: trusts.remove(trust_id))
    say(f"Removed trust {trust_id}, and the tokens that were given by it.")


def _with_trusts(settings: "Settings", work: Callable[["Projects", "Trusts"], Awaitable[T]]) -> T:
    from prshots.server.wiring import opened_trusts

    return run_with(opened_trusts(settings), lambda opened: work(*opened))


def _forge(settings: "Settings", issuer: str) -> Forge:
    """Return the forge that is meant: by a short name, then the one of the settings, or by its address."""
    from prshots.server.config.settings import GITHUB_ISSUER

    own = settings.github_url != "https://github.com"
    known = {
        "github": Forge(f"{settings.github_url}/_services/token" if own else GITHUB_ISSUER, "repository"),
        "gitlab": Forge(settings.gitlab_url, "project_path"),
    }
    by_address = {forge.issuer: forge for forge in known.values()}
    return known.get(issuer) or by_address.get(issuer) or Forge(issuer, "")


def _repository_claim(forge: Forge) -> str:
    if not forge.repository:
        raise typer.BadParameter(
            f"--repository is for GitHub and GitLab; for {forge.issuer}, name the claim: --claim NAME=VALUE"
        )
    return forge.repository


def _pairs(given: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in given:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals:
            raise typer.BadParameter(f"--claim takes NAME=VALUE; got {pair!r}")
        if pairs.setdefault(name, value) != value:
            raise typer.BadParameter(f"the claim {name} is given twice")
    return pairs


def _in_words(claims: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(claims.items()))
