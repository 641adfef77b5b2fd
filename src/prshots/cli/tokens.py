"""`prshots token`: create, list and revoke upload tokens."""

from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import (
    ConfigOption,
    JsonOption,
    Sections,
    print_json,
    print_table,
    say,
    settings_from,
    when,
    with_accounts,
)

if TYPE_CHECKING:
    from prshots.server.domain.projects.keyless import Trusts
    from prshots.server.domain.projects.models import UploadToken
    from prshots.server.domain.projects.service import Projects

app = typer.Typer(cls=Sections, help="Create, list and revoke upload tokens.", no_args_is_help=True)

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]


@app.command()
def create(
    project: ProjectArgument,
    label: Annotated[
        str, typer.Option(metavar="L", help="What the token is for, such as the CI system that uses it.")
    ] = "",
    config: ConfigOption = None,
) -> None:
    """Create a token and print it to standard output. It is shown only once: only its hash is stored."""

    async def issue(accounts: "Projects", _: "Trusts") -> tuple["UploadToken", str]:
        return await accounts.create_token(await accounts.project(project), label)

    token, secret = with_accounts(settings_from(config), issue)
    print(secret)
    say(f"Created token {token.id} for project {project!r}. Save it now: it is not shown again.")


@app.command("list")
def list_tokens(
    project: ProjectArgument, *, as_json: JsonOption = False, config: ConfigOption = None
) -> None:
    """List a project's tokens, without their secrets."""

    async def find(accounts: "Projects", _: "Trusts") -> list["UploadToken"]:
        return await accounts.tokens(await accounts.project(project))

    tokens = with_accounts(settings_from(config), find)
    if as_json:
        shown = ("id", "label", "hint", "created_at", "created_by", "last_used_at", "revoked_at")
        print_json([{field: getattr(token, field) for field in shown} for token in tokens])
        return
    print_table(
        ["ID", "LABEL", "HINT", "CREATED", "LAST USED", "REVOKED"],
        [
            [
                token.id,
                token.label or "-",
                token.hint,
                when(token.created_at),
                when(token.last_used_at),
                when(token.revoked_at),
            ]
            for token in tokens
        ],
    )


@app.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, from `prshots token list`.")],
    config: ConfigOption = None,
) -> None:
    """Revoke a token. It stops working immediately, even in a running service."""
    with_accounts(settings_from(config), lambda accounts, _: accounts.revoke_token(token_id))
    say(f"Revoked token {token_id}.")
