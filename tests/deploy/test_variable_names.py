"""Every PRSHOTS_ variable in code, deploy files, templates and docs is one that something reads."""

import re
import subprocess

from prshots.contract.variables import unknown_variables
from prshots.server.config.settings import NAMES
from support.deploy_checkers import ROOT

PLACES = ("src", "clients/node/src", "action", "action.yml", "templates", "deploy", "docs", "README.md",
          "Dockerfile", "Makefile", "hatch_build.py", "web/src")  # fmt: skip
EXAMPLES = {"PRSHOTS_API_PROT", "PRSHOTS_ALOWED_USERS", "PRSHOTS_API_SERVICE_HOST"}
"""Unknown names that the docs use as examples."""


def test_every_variable_is_known() -> None:
    listing = subprocess.run(
        ["git", "ls-files", *PLACES], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found: dict[str, set[str]] = {}
    for path in listing.stdout.splitlines():
        text = (ROOT / path).read_text(errors="replace")
        for name in re.findall(r"\bPRSHOTS_[A-Z][A-Z0-9_]*[A-Z0-9]\b", text):
            found.setdefault(name, set()).add(path)
    assert "PRSHOTS_TOKEN" in found
    unknown = unknown_variables(dict.fromkeys(found, "x"), NAMES)
    assert {name: found[name] for name in unknown.keys() - EXAMPLES} == {}
