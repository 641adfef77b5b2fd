"""Every setting, command and route is in the documentation, or the build fails."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import typer

from prshots.cli import app
from prshots.server.api.app import create_api
from prshots.server.api.dashboard.routes import ROUTES
from prshots.server.api.dashboard.routing import PREFIX
from prshots.server.api.login import login_routes
from prshots.server.config.settings import SETTINGS
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.http.telemetry import service_routes

DOCS = Path(__file__).parents[2] / "docs"
COMMON_OPTIONS = {"--help", "-h", "--config"}  # said once for all commands


def commands(group: Any = None, path: str = "prshots") -> Iterator[tuple[str, Any]]:
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(commands())


def rows(page: str) -> dict[str, str]:
    """Return the tables' rows by what stands in code at their beginning."""
    lines = re.findall(r"^\| `(.+?)` \|(.*)\|$", (DOCS / page).read_text(), re.MULTILINE)
    return {first.replace("\\|", "|"): rest for first, rest in lines}


@pytest.mark.parametrize("name", [f"PRSHOTS_{name.upper()}" for name in SETTINGS])
def test_settings(name: str) -> None:
    default, what_it_does = rows("settings.md")[name].split("|", 1)
    assert default.strip()
    assert what_it_does.strip()


def test_no_setting_that_is_gone() -> None:
    documented = {name for name in rows("settings.md") if name.startswith("PRSHOTS_")}
    assert documented == {f"PRSHOTS_{name.upper()}" for name in SETTINGS}


@pytest.mark.parametrize(("path", "command"), COMMANDS.items(), ids=COMMANDS)
def test_commands(path: str, command: Any) -> None:
    usage, what_it_does = next(
        row for row in rows("commands.md").items() if row[0] == path or row[0].startswith(f"{path} ")
    )
    assert what_it_does.strip()
    options = {option for param in command.params for option in param.opts if option.startswith("-")}
    assert {option for option in options - COMMON_OPTIONS if option not in usage} == set()


def test_no_command_that_is_gone() -> None:
    documented = {
        re.split(r" [\[A-Z]", usage)[0] for usage in rows("commands.md") if usage.startswith("prshots ")
    }
    assert documented == set(COMMANDS)


def test_variables_of_the_client() -> None:
    """Every variable that stands for an option of a command that calls a service, and none that is gone."""
    calling = [
        command for command in COMMANDS.values() if any(param.name == "url" for param in command.params)
    ]
    assert len(calling) >= 4
    variables = {param.envvar for command in calling for param in command.params if param.envvar}
    documented = {name for name in rows("client.md") if name.startswith("PRSHOTS_")}
    assert documented - {"PRSHOTS_ID_TOKEN"} == variables  # a secret, and so no option


async def test_routes() -> None:
    nothing: Any = cast("Any", None)  # no request gets as far as a service
    api = create_api(
        images=nothing,
        accounts=nothing,
        exchange=nothing,
        max_image_bytes=1,
        uploads_per_minute=1,
        base_url="",
        for_people=[],
        readiness=nothing,
        close=nothing,
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://api") as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {"POST /v1/upload", "GET /healthz"} <= routes
    # For operators: on every part, and not in the document, which is for who uses the API.
    service = {f"GET {route.path}" for route in service_routes(nothing)}
    assert {"GET /readyz", "GET /metrics"} <= service
    delivery = {"GET /i/", "GET /healthz", *DeliveryTelemetry.ROUTES}
    page = (DOCS / "api.md").read_text()
    assert {route for route in routes | service | delivery if f"`{route}" not in page} == set()


def test_routes_for_people() -> None:
    nothing: Any = cast("Any", None)
    dashboard = {f"{route.method} {PREFIX}{route.path}" for route in ROUTES}
    sign_in = {
        f"{next(iter((route.methods or set()) - {'HEAD'}))} {route.path}"
        for route in login_routes(nothing, web_url="http://web")
    }
    assert {"GET /auth/providers", "POST /auth/link"} <= sign_in
    documented = {route for route in rows("api.md") if "/auth/" in route or "/dashboard/" in route}
    assert documented == dashboard | sign_in
