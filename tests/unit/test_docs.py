"""Every setting, command and route is documented, and the docs name none that was removed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import typer

import prshots
from prshots import client
from prshots.cli import app
from prshots.server.api.dashboard.routes import ROUTES
from prshots.server.api.dashboard.routing import PREFIX
from prshots.server.api.login import login_routes
from prshots.server.config.settings import SETTINGS
from prshots.server.delivery.telemetry import DeliveryTelemetry
from prshots.server.domain.audit.models import Action
from prshots.server.http.readiness import Readiness
from prshots.server.http.telemetry import service_routes
from support.bare_api import NOTHING, bare_api

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(prshots.__file__).parent
COMMON_OPTIONS = {"--help", "-h", "--config"}  # documented once for all commands


def commands(group: Any = None, path: str = "prshots") -> Iterator[tuple[str, Any]]:
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMANDS = dict(commands())


def rows(page: str) -> dict[str, str]:
    """Return a page's table rows, keyed by the code in their first cell."""
    lines = re.findall(r"^\| `(.+?)` \|(.*)\|$", (DOCS / page).read_text(), re.MULTILINE)
    return {first.replace("\\|", "|"): rest for first, rest in lines}


def test_exactly_the_settings_are_documented() -> None:
    documented = {name: row for name, row in rows("run/settings.md").items() if name.startswith("PRSHOTS_")}
    assert set(documented) == {f"PRSHOTS_{name.upper()}" for name in SETTINGS}
    for name, row in documented.items():
        default, what_it_does = row.split("|", 1)
        assert default.strip(), name
        assert what_it_does.strip(), name


def sections(page: str) -> dict[str, str]:
    """Return the text under each third-level heading of a page, keyed by the heading."""
    parts = re.split(r"^#{2,3} (.+)\n", (DOCS / page).read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def listed_options(text: str) -> set[str]:
    """Return the options that a section lists, and those of the shared lists that it links to."""
    items = re.findall(r"^- (`--.+?): ", text, re.MULTILINE)
    own = {option for item in items for option in re.findall(r"`(--?[a-z-]+)", item)}
    shared = {"#service-options": "Service options", "#forge-options": "Forge options"}
    linked = [
        listed_options(sections("use/commands.md")[heading])
        for anchor, heading in shared.items()
        if anchor in text
    ]
    return own.union(*linked)


@pytest.mark.parametrize(("path", "command"), COMMANDS.items(), ids=COMMANDS)
def test_every_command_is_documented_with_exactly_its_options(path: str, command: Any) -> None:
    section = sections("use/commands.md")[path]
    _, usage, what_it_does = section.split("```\n", 2)
    assert usage.strip() == path or usage.startswith(f"{path} ")
    assert what_it_does.strip()
    options = {option for param in command.params for option in param.opts if option.startswith("-")}
    assert listed_options(section) == options - COMMON_OPTIONS


def test_exactly_the_recorded_actions_are_documented() -> None:
    found = re.findall(r"^\| `(\w+)` \| (.+) \|$", sections("run/audit.md")["What it records"], re.MULTILINE)
    documented = [f"{subject}.{verb}" for subject, verbs in found for verb in re.findall(r"`(\w+)`", verbs)]
    assert sorted(documented) == sorted(Action)


def test_no_removed_command_is_documented() -> None:
    documented = {heading for heading in sections("use/commands.md") if heading.startswith("prshots ")}
    assert documented == set(COMMANDS)


def test_exactly_the_client_variables_are_documented() -> None:
    """The page lists exactly the variables that set an option of a command that calls a service."""
    calling = [
        command for command in COMMANDS.values() if any(param.name == "url" for param in command.params)
    ]
    assert len(calling) >= 4
    variables = {param.envvar for command in calling for param in command.params if param.envvar}
    documented = {name for name in rows("use/client.md") if name.startswith("PRSHOTS_")}
    assert documented - {"PRSHOTS_ID_TOKEN"} == variables  # a secret, so there is no option for it


async def test_every_api_and_service_route_is_documented() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(bare_api()), base_url="http://api") as client:
        paths = (await client.get("/openapi.json")).json()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert {"POST /v1/upload", "GET /healthz"} <= routes
    # Every component has these routes for operators. The OpenAPI document is for API users and omits them.
    service = {f"GET {route.path}" for route in service_routes(Readiness({}))}
    assert {"GET /readyz", "GET /metrics"} <= service
    delivery = {"GET /i/", "GET /healthz", *DeliveryTelemetry.ROUTES}
    page = (DOCS / "use/api.md").read_text()
    assert {route for route in routes | service | delivery if f"`{route}" not in page} == set()


def test_exactly_the_dashboard_and_sign_in_routes_are_documented() -> None:
    dashboard = {f"{route.method} {PREFIX}{route.path}" for route in ROUTES}
    sign_in = {
        f"{next(iter((route.methods or set()) - {'HEAD'}))} {route.path}"
        for route in login_routes(NOTHING, web_url="http://web")
    }
    assert {"GET /auth/providers", "POST /auth/link"} <= sign_in
    documented = {route for route in rows("use/api.md") if "/auth/" in route or "/dashboard/" in route}
    assert documented == dashboard | sign_in


EXPLAINED = {
    DOCS / "use/keyless.md": "When an exchange is refused",
    DOCS / "use/forges.md": "Troubleshooting",
    DOCS.parent / "skills/prshots/SKILL.md": "When it fails",
}
QUOTED = [
    (page.name, message)
    for page, heading in EXPLAINED.items()
    for cell in re.findall(
        r"^\| (`.+?`) \|",
        page.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
    for message in re.findall(r"`(.+?)`", cell)
]


def test_messages_quoted_in_the_docs_exist_in_the_source() -> None:
    """Every message that a page explains is one that the program writes."""
    files = [*SOURCE.rglob("*.py"), *SOURCE.rglob("contract/*.json")]
    source = "".join(file.read_text() for file in files)
    joined = re.sub(r'"\s*f?"', "", source)  # a long message is written as several adjacent strings
    assert {page for page, _ in QUOTED} == {page.name for page in EXPLAINED}
    parts = [(page, part) for page, message in QUOTED for part in message.split("…")]
    assert [(page, part) for page, part in parts if part.strip() not in joined] == []


def test_documented_python_names_are_public_and_importable() -> None:
    """The imports are lazy, so a wrong one fails only on first use."""
    table = (DOCS / "use/python.md").read_text()
    documented = {
        name
        for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)\(", row)
    }
    assert {"Client", "upload_all"} <= documented <= set(client.__all__)
    for name in client.__all__:
        assert getattr(client, name)
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        client.Nonsense  # noqa: B018 - only the attempt matters
