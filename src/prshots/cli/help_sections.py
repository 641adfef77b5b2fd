"""The help of a command group, in sections with full summaries, and the class of client commands."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

from prshots.cli.common import warn_about_unknown_variables

CLIENT = "Client commands"
SERVER = "Server commands"

_WHOLE = 1000
"""Longer than every summary, to keep Typer from cutting one off."""


class Sections(TyperGroup):
    """Lists each command under its `rich_help_panel`. By default, Typer only does so in boxes."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - Typer's types are private
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        width = max(map(len, commands), default=0)
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in commands.items():
            if command is not None and not command.hidden:
                title = getattr(command, "rich_help_panel", None) or "Commands"
                row = (name.ljust(width), command.get_short_help_str(_WHOLE))
                sections.setdefault(title, []).append(row)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


class ClientCommand(TyperCommand):
    """A command that calls a service. Other commands load the settings, which rejects unknown variables."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as above
        warn_about_unknown_variables()
        return super().invoke(ctx)
