"""contract/client.json: what both clients state."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from prshots.cli import app
from prshots.contract import errors
from prshots.contract.replies import NOT_COMPARED, ComparisonState, GateState, Verdict
from prshots.contract.statements import error_code, message, statements
from prshots.forges.sticky_comment import PostOutcome

ROOT = Path(__file__).parents[2]
COMMANDS = ("upload", "compare", "comment", "gate", "expire", "delete")


def sources() -> tuple[str, str]:
    """Return the code of the Python client and of the Node client."""
    python = (path for path in (ROOT / "src/prshots").rglob("*.py") if "server" not in path.parts)
    node = (path for path in (ROOT / "clients/node/src").rglob("*.ts") if path.name != "contract.ts")
    return "\n".join(path.read_text() for path in python), "\n".join(path.read_text() for path in node)


@pytest.mark.parametrize("name", COMMANDS)
def test_python_command_has_exactly_the_stated_options(name: str) -> None:
    group: Any = typer.main.get_command(app)
    options = statements()["options"]
    stated = [
        (f"--{options[key].get('name', key)}", options[key].get("variable"), "takes" not in options[key])
        for key in statements()["commands"][name]["options"]
    ]
    found = [
        (option.opts[0], option.envvar, option.is_flag)
        for option in group.commands[name].params
        if option.param_type_name == "option"
    ]
    assert found == stated


def test_both_clients_use_every_message() -> None:
    composed = {f"comment_{outcome}" for outcome in PostOutcome} | {f"gate_{state}" for state in GateState}
    composed |= {f"gate_blocked_{reason}" for reason in (*ComparisonState, NOT_COMPARED.reason)}
    unused = [
        name
        for code in sources()
        for name in statements()["messages"]
        if f'"{name}"' not in code and f"'{name}'" not in code and name not in composed
    ]
    assert not unused


def test_every_named_message_exists() -> None:
    named = set(re.findall(r"\bmessage\(\s*[\"']([a-z_]+)[\"']", "".join(sources())))
    assert named <= set(statements()["messages"])


def test_message_names_the_option_and_its_variable() -> None:
    assert message("no_baseline_branch") == "no branch for the baselines: set --branch (PRSHOTS_BRANCH)"


def test_every_error_code_is_documented_and_belongs_to_an_error() -> None:
    codes = statements()["error_codes"]
    page = (ROOT / "docs/use/commands.md").read_text().partition("## Errors as JSON")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == sorted(set(codes.values()))
    assert all(issubclass(getattr(errors, name), errors.PrshotsError) for name in codes)
    assert error_code(errors.ForgeRefusedError()) == "forge_failed"
    assert error_code(errors.StoreFullError()) == "failed"


def test_fail_on_lists_every_verdict_but_unchanged() -> None:
    listed = ", ".join(verdict for verdict in Verdict if verdict is not Verdict.UNCHANGED)
    assert statements()["options"]["fail-on"]["help"].endswith(f": {listed}.")


def test_node_client_bundles_the_same_file() -> None:
    bundle = (ROOT / "action/index.mjs").read_text()
    assert json.dumps(statements()["messages"]["no_service_url"]) in bundle
