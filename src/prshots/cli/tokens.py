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

_SHOWN = (
    "id",
    "label",
    "hint",
    "created_at",
    "created_by",
    "last_used_at",
    "expires_at",
    "revoked_at",
    "revoked_by",
)

ProjectArgument = Annotated[str, typer.Argument(metavar="PROJECT", help="The project's name.")]


@app.command()
def create(
    project: ProjectArgument,
    label: Annotated[
        str, typer.Option(metavar="L", help="What the token is for, such as the CI system that uses it.")
    ] = "",
    expires_days: Annotated[
        int | None,
        typer.Option(metavar="N", help="Days until the token expires, 1 to 3,650. Never by default."),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Create a token and print it to standard output. It is shown only once: only its hash is stored."""

    async def issue(accounts: "Projects", _: "Trusts") -> tuple["UploadToken", str]:
        return await accounts.create_token(await accounts.project(project), label, expires_days=expires_days)

    token, secret = with_accounts(settings_from(config), issue)
    print(secret)
    until = f", valid until {when(token.expires_at)}" if token.expires_at else ""
    say(f"Created token {token.id} for project {project!r}{until}. Save it now: it is not shown again.")


@app.command("list")
def list_tokens(
    project: ProjectArgument, *, as_json: JsonOption = False, config: ConfigOption = None
) -> None:
    """List a project's tokens, without their secrets."""

    async def find(accounts: "Projects", _: "Trusts") -> list["UploadToken"]:
        return await accounts.tokens(await accounts.project(project))

    tokens = with_accounts(settings_from(config), find)
    if as_json:
        print_json([{field: getattr(token, field) for field in _SHOWN} for token in tokens])
        return
    print_table(
        ["ID", "LABEL", "HINT", "CREATED", "CREATED BY", "LAST USED", "EXPIRES", "REVOKED", "REVOKED BY"],
        [
            [
                token.id,
                token.label or "-",
                token.hint,
                when(token.created_at),
                _person(token.created_by),
                when(token.last_used_at),
                when(token.expires_at),
                when(token.revoked_at),
                _person(token.revoked_by) if token.revoked_at else "-",
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


def _person(login: str | None) -> str:
    return "-" if login is None else login or "CLI"
