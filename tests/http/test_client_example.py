"""The Python example in the docs runs."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from support.service import Service, png

DOCS = Path(__file__).parents[2] / "docs"


def test_the_python_client_example_in_the_docs_runs(
    shared_service: Service, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [example] = re.findall(r"```python\n(.*?)```", (DOCS / "use/python.md").read_text(), re.DOTALL)
    (tmp_path / "screenshots").mkdir()
    (tmp_path / "screenshots" / "cart@1280x800.png").write_bytes(png())
    (tmp_path / "screenshots" / "broken.png").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRSHOTS_URL", shared_service.base_url)
    monkeypatch.setenv("PRSHOTS_TOKEN", token)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, "python.md", "exec"), {})
    assert "![cart](" in printed.getvalue()
    assert printed.getvalue().endswith("screenshots/broken.png: is empty\n")
