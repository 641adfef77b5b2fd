"""Options and helps of the client commands, as contract/client.json states them for both clients."""

from typing import Any

import typer

from prshots.contract.statements import statements


def stated_option(key: str, **more: Any) -> Any:  # noqa: ANN401 - what typer.Option takes and returns
    """Return an option. Typer shows the choices and the default itself."""
    option = statements()["options"][key]
    flags = [f"--{option.get('name', key)}", *(f"-{letter}" for letter in option.get("short", ""))]
    takes = None if "choices" in option else option.get("takes")
    return typer.Option(*flags, envvar=option.get("variable"), metavar=takes, help=option["help"], **more)


def stated_argument(command: str) -> Any:  # noqa: ANN401 - as above
    argument = statements()["commands"][command]["argument"]
    return typer.Argument(metavar=argument["name"], help=argument["help"])


def stated_help(command: str) -> str:
    stated = statements()["commands"][command]
    return "\n\n".join([stated["summary"], *stated["details"]])
