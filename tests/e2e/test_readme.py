"""The commands of the README, exactly as printed."""

import re
import secrets
import shlex

import pytest

from support.command_in_process import run_here
from support.deploy_checkers import ROOT
from support.service import Service

pytestmark = pytest.mark.slow


def test_the_commands_to_try_it_work(shared_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    section = (ROOT / "README.md").read_text().partition("## Try it\n")[2].partition("\n## ")[0]
    _, *blocks = re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)  # not `make run`
    commands = re.findall(r"^(?:export (\w+)=\$\()?prshots (.+?)\)?$", "".join(blocks), re.MULTILINE)
    assert len(commands) == 5
    monkeypatch.chdir(ROOT)
    env, project = shared_service.env | {"PRSHOTS_URL": shared_service.base_url}, secrets.token_hex(4)
    for variable, words in commands:
        done = run_here(*shlex.split(words.replace("demo", project)), env=env)
        assert done.returncode == 0, done.stderr
        if variable:
            env[variable] = done.stdout.strip()
    assert re.search(r"Deleted \d+ screenshots of pull request 1", done.stderr)
