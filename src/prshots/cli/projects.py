"""`prshots project`: create projects, set their retention, and let CI jobs upload with their ID tokens."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import (
    ConfigOption,
    JsonOption,
    Sections,
    print_json,
    print_table,
    run_with,
    say,
    settings_from,
    when,
    with_accounts,
)
from prshots.contract import validate
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import Policy
from prshots.server.domain.projects.models import DEFAULT_KEEP_BASELINES, Project, Trust

if TYPE_CHECKING:
    from prshots.server.adapters.sql.database.database import Database
    from prshots.server.config.settings import Settings
    from prshots.server.domain.projects.keyless import Trusts
    from prshots.server.domain.projects.service import ProjectChanges, Projects

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]
TrustArgument = Annotated[
    str, typer.Argument(metavar="ID", help="The trust's id, from `prshots project trusts`.")
]


app = typer.Typer(
    cls=Sections,
    help="Create, list and change projects, and trust CI jobs.",
    no_args_is_help=True,
)

PolicyOption = Annotated[
    Policy | None,
    typer.Option(
        help="When images expire: pr_close = when the pull request closes, retain_days = --retain-days after "
        "the upload, manual = never; you delete them."
    ),
]
RetainDaysOption = Annotated[
    int | None,
    typer.Option(metavar="N", help="Expire images N days after the upload, under every policy."),
]

UploadsPerMinuteOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="The project's own limit of uploads per minute, instead of PRSHOTS_UPLOADS_PER_MINUTE.",
    ),
]


@app.command()
def create(
    name: NameArgument,
    policy: PolicyOption = Policy.PR_CLOSE,
    retain_days: RetainDaysOption = None,
    uploads_per_minute: UploadsPerMinuteOption = None,
    config: ConfigOption = None,
) -> None:
    """Create a project."""
    project = with_accounts(
        settings_from(config),
        lambda accounts, _: accounts.create_project(
            name, policy or Policy.PR_CLOSE, retain_days, uploads_per_minute=uploads_per_minute
        ),
    )
    say(f"Created project {project.name!r}: {_describe_retention(project)}.")


@app.command("list")
def list_projects(*, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List the projects."""
    projects = with_accounts(settings_from(config), lambda accounts, _: accounts.projects())
    if as_json:
        print_json([asdict(project) for project in projects])
        return
    print_table(
        ["NAME", "POLICY", "RETAIN DAYS", "CREATED"],
        [
            [project.name, project.policy, str(project.retain_days or "-"), when(project.created_at)]
            for project in projects
        ],
    )
    if not projects:
        say("No projects yet. Create one: prshots project create NAME")


@app.command("set")
def set_project(
    name: NameArgument,
    *,
    policy: PolicyOption = None,
    retain_days: RetainDaysOption = None,
    no_retain_days: Annotated[
        bool, typer.Option("--no-retain-days", help="Remove the limit of --retain-days.")
    ] = False,
    keep_baselines: Annotated[
        int | None,
        typer.Option(metavar="N", help="Keep the baselines of the newest N commits of each branch."),
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The web address of the repository, for links to pull requests."),
    ] = None,
    uploads_per_minute: UploadsPerMinuteOption = None,
    no_uploads_per_minute: Annotated[
        bool, typer.Option("--no-uploads-per-minute", help="Use the service's limit again.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Change a project's retention, repository or upload limit."""
    if retain_days is not None and no_retain_days:
        raise typer.BadParameter("use either --retain-days or --no-retain-days, not both")
    if uploads_per_minute is not None and no_uploads_per_minute:
        raise typer.BadParameter("use either --uploads-per-minute or --no-uploads-per-minute, not both")
    changes: ProjectChanges = {}
    if policy is not None:
        changes["policy"] = policy
    if retain_days is not None or no_retain_days:
        changes["retain_days"] = retain_days
    if keep_baselines is not None:
        changes["keep_baselines"] = keep_baselines
    if repository is not None:
        changes["repository"] = repository.rstrip("/")
    if uploads_per_minute is not None or no_uploads_per_minute:
        changes["uploads_per_minute"] = uploads_per_minute
    if not changes:
        raise typer.BadParameter(
            "nothing to change: give --policy, --retain-days, --no-retain-days, --keep-baselines, "
            "--repository, --uploads-per-minute or --no-uploads-per-minute"
        )

    async def change(accounts: "Projects", _: "Trusts") -> Project:
        return await accounts.change_project(await accounts.project(name), **changes)

    project = with_accounts(settings_from(config), change)
    say(f"Project {project.name!r}: {_describe_retention(project)}.")


@app.command()
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

    async def add(accounts: "Projects", trusts: "Trusts") -> Trust:
        return await trusts.add(await accounts.project(name), issuer, wanted)

    made = with_accounts(settings, add)
    print(made.id)
    say(f"CI jobs can now upload to {name!r} with an ID token from {made.issuer}")
    say(f"that has {_format_claims(made.claims)} and the audience {settings.base_url}.")


@app.command("trusts")
def list_trusts(name: NameArgument, *, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List a project's trusts."""

    async def find(accounts: "Projects", trusts: "Trusts") -> list[Trust]:
        return await trusts.of(await accounts.project(name))

    found = with_accounts(settings_from(config), find)
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


@app.command()
def distrust(trust_id: TrustArgument, config: ConfigOption = None) -> None:
    """Remove a trust. Tokens issued through it stop working immediately."""
    with_accounts(settings_from(config), lambda _, trusts: trusts.remove(trust_id))
    say(f"Removed trust {trust_id} and the tokens issued through it.")


@app.command()
def unpin(trust_id: TrustArgument, config: ConfigOption = None) -> None:
    """Forget the repository that a trust is pinned to. The next job pins its own."""
    with_accounts(settings_from(config), lambda _, trusts: trusts.unpin(trust_id))
    say(f"Reset the pin of trust {trust_id}.")


@app.command()
def connect(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project's name or id.")],
    *,
    repository: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="A repository on which the App is installed.")
    ],
    config: ConfigOption = None,
) -> None:
    """Connect a project to a GitHub repository through your GitHub App."""
    from prshots.server.adapters.sql.outbox.connections import SqlConnections
    from prshots.server.domain.outbox.models import Connection
    from prshots.server.wiring import existing_keys, projects_in, use_database
    from prshots.server.wiring.forges import open_forges

    settings = settings_from(config)
    if validate.repository(repository).count("/") != 1:
        raise typer.BadParameter(f"--repository takes OWNER/NAME; got {repository!r}")

    async def store(database: "Database") -> None:
        projects, forges = projects_in(database), open_forges(settings, existing_keys(settings))
        by_id = {project.id: project for project in await projects.projects()}
        project = by_id.get(name) or await projects.project(name)
        wanted = Connection(project.id, ForgeKind.GITHUB, "", repository, "", int(time.time()))
        await SqlConnections(database).put(await forges.connect(wanted, settings.github_url, token=""))

    run_with(use_database(settings), store)
    say(f"Connected project {name!r} to {repository} through the GitHub App.")


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


def _describe_retention(project: Project) -> str:
    after = f"{project.retain_days} days after the upload" if project.retain_days else ""
    match project.policy:
        case Policy.PR_CLOSE:
            causes = ["when the pull request closes", after]
        case Policy.RETAIN_DAYS:
            causes = [after]
        case Policy.MANUAL:
            causes = ["when you delete them", after]
    parts = ["images expire " + " or ".join(cause for cause in causes if cause)]
    if project.keep_baselines != DEFAULT_KEEP_BASELINES:
        parts.append(f"each branch keeps the baselines of {project.keep_baselines} commits")
    if project.uploads_per_minute:
        parts.append(f"at most {project.uploads_per_minute:,} uploads per minute")
    return "; ".join(parts)
