"""PRSHOTS_ variables: a misspelled one is noticed."""

from pathlib import Path
from typing import Any

import pytest

from prshots.contract.errors import SettingsError
from prshots.contract.variables import (
    CLIENT,
    OTHERS,
    PREFIX,
    client_warnings,
    nearest_name,
    unknown_variables,
)
from prshots.server.config.settings import SETTINGS, ignored_variables, load_settings
from support.command_in_process import run_here
from support.vectors import cases, vectors


@pytest.mark.parametrize(
    ("misspelled", "meant"),
    [
        ("API_PROT", "API_PORT"),
        ("SIGNING_KEY", "SIGNING_KEYS"),
        ("STORAGE_URL", "STORE_URL"),
        ("TOKN", "TOKEN"),
        ("CONFG", "CONFIG"),
    ],
)
def test_a_misspelled_variable_stops_the_start_and_names_the_right_one(
    monkeypatch: pytest.MonkeyPatch, misspelled: str, meant: str
) -> None:
    monkeypatch.setenv(f"{PREFIX}{misspelled}", "very-secret")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert str(refused.value) == f"unknown variable {PREFIX}{misspelled}: did you mean {PREFIX}{meant}?"


@pytest.mark.parametrize(
    "name",
    [
        "PRSHOTS_OUR_TEAM",
        # Kubernetes sets these for Services named prshots-api and prshots-web.
        "PRSHOTS_API_SERVICE_HOST",
        "PRSHOTS_API_SERVICE_PORT",
        "PRSHOTS_API_SERVICE_PORT_HTTP",
        "PRSHOTS_API_PORT_8081_TCP",
        "PRSHOTS_WEB_PORT_8080_TCP_ADDR",
        "PRSHOTS_DELIVERY_PORT",
    ],
)
def test_a_variable_that_resembles_no_setting_is_ignored_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "x")
    load_settings()
    assert ignored_variables() == [name]


def test_the_warning_is_in_the_log(tmp_path: Path) -> None:
    name = "PRSHOTS_OUR_TEAM"
    env = {name: "x", "PRSHOTS_DATA_DIR": str(tmp_path / "data")}
    done = run_here("project", "list", env=env)
    assert done.returncode == 0
    assert "unknown variable, ignored: see docs/run/settings.md" in done.stderr
    assert name in done.stderr
    quiet = run_here("project", "list", env=env | {"PRSHOTS_LOG_LEVEL": "error"})
    assert name not in quiet.stderr


def test_empty_variables_and_those_of_other_programs_are_fine() -> None:
    fine = {
        "PRSHOTS_API_PROT": "",
        "PRSHOTS_TOKEN": "x",
        "MY_PRSHOTS_API_PROT": "x",
    }
    assert unknown_variables(fine, SETTINGS) == {}


def test_a_client_command_warns_and_goes_on(tmp_path: Path) -> None:
    env = {
        "PRSHOTS_TOKN": "very-secret",
        "PRSHOTS_OUR_TEAM": "x",
        "PRSHOTS_DATA_DIR": "x",
        "GITLAB_CI": "true",
    }
    done = run_here("upload", "--allow-empty", str(tmp_path), "--pr", "1", env=env)
    assert done.stderr.splitlines()[:2] == [
        "Warning: unknown variable PRSHOTS_OUR_TEAM is ignored.",
        "Warning: unknown variable PRSHOTS_TOKN is ignored: did you mean PRSHOTS_TOKEN?",
    ]
    assert "very-secret" not in done.stderr


@pytest.mark.parametrize("vector", cases("misspelled_variables", "misspelled"))
def test_the_clients_warn_about_misspelled_variables_of_theirs(vector: dict[str, Any]) -> None:
    assert client_warnings(vector["environ"]) == vector["warnings"]


def test_the_vectors_have_every_variable_of_the_clients() -> None:
    """So a new one must also be added to the reporter."""
    found = {case["case"]: set(case["environ"]) for case in vectors("misspelled_variables")["misspelled"]}
    assert found["right ones"] == {f"{PREFIX}{name}" for name in CLIENT}
    assert found["all of them in the plural"] == {f"{PREFIX}{name}S" for name in CLIENT}


def test_no_other_variable_of_ours_looks_like_one_of_the_clients() -> None:
    others = [*(name.upper() for name in SETTINGS), *OTHERS]
    assert {name: near for name in others if (near := nearest_name(name, CLIENT))} == {}
