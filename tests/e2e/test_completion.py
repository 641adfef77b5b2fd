"""Shell completion, as docs/use/commands.md describes it."""

import os
import shutil
from pathlib import Path

import pytest

from support.processes import completed
from support.service import PRSHOTS

pytestmark = pytest.mark.slow

ENV = {"PATH": f"{PRSHOTS.parent}:{os.environ['PATH']}"}
COMPLETED = {
    "prshots up": ["upload"],
    "prshots project tr": ["trust", "trusts"],
    "prshots upload --qu": ["--quiet"],
    "prshots upload --format j": ["json"],
}


def run(command: list[str], **environ: str) -> str:
    done = completed(command, env=ENV | environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("line", COMPLETED)
def test_bash_completes(line: str) -> None:
    words = line.split()
    script = f"""
eval "$(_PRSHOTS_COMPLETE=source_bash prshots)"
complete -p prshots > /dev/null
COMP_WORDS=({line}) COMP_CWORD={len(words) - 1}
_prshots_completion prshots
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    assert run(["bash", "--norc", "-c", script]).split() == COMPLETED[line]


def test_zsh_completes(tmp_path: Path) -> None:
    said = run(["prshots"], _PRSHOTS_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="prshots project tr")
    assert said.startswith("_arguments '*: :((")
    assert all(f'"{word}"' in said for word in COMPLETED["prshots project tr"])
    if shutil.which("zsh") is None:
        pytest.skip("no zsh here: install it to run the rest of this test")
    (tmp_path / "_prshots").write_text(run(["prshots"], _PRSHOTS_COMPLETE="source_zsh"))
    script = 'fpath=("$1" $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[prshots]'
    assert run(["zsh", "-f", "-c", script, "zsh", str(tmp_path)], HOME=str(tmp_path)).strip() == "_prshots"


def test_install_completion_writes_to_the_startup_file(tmp_path: Path) -> None:
    run(["bash", "--norc", "-c", "prshots --install-completion; exit $?"], HOME=str(tmp_path))
    script = "source ~/.bashrc; complete -p prshots"
    assert "_prshots_completion" in run(["bash", "--norc", "-c", script], HOME=str(tmp_path))
