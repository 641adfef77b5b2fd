"""`prshots project`: create projects and set their retention."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli import trusts
from prshots.cli.common import ConfigOption, JsonOption, print_json, print_table, say, when, with_accounts
from prshots.cli.help_sections import Sections
from prshots.contract.limits import Policy
from prshots.server.domain.projects.models import DEFAULT_KEEP_BASELINES, Project

if TYPE_CHECKING:
    from prshots.server.domain.projects.service import ProjectChanges, Projects

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
    name: trusts.NameArgument,
    policy: PolicyOption = Policy.PR_CLOSE,
    retain_days: RetainDaysOption = None,
    uploads_per_minute: UploadsPerMinuteOption = None,
    config: ConfigOption = None,
) -> None:
    """Create a project."""
    project = with_accounts(
        config,
        lambda accounts: accounts.create_project(
            name, policy or Policy.PR_CLOSE, retain_days, uploads_per_minute=uploads_per_minute
        ),
    )
    say(f"Created project {project.name!r}: {_describe_retention(project)}.")


@app.command("list")
def list_projects(*, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List the projects."""
    projects = with_accounts(config, lambda accounts: accounts.projects())
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
    name: trusts.NameArgument,
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

    async def change(accounts: "Projects") -> Project:
        return await accounts.change_project(await accounts.project(name), **changes)

    project = with_accounts(config, change)
    say(f"Project {project.name!r}: {_describe_retention(project)}.")


app.command()(trusts.trust)
app.command("trusts")(trusts.list_trusts)
app.command()(trusts.distrust)
app.command()(trusts.unpin)


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
