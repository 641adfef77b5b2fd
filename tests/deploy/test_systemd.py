"""deploy/systemd: the units are valid, sandboxed, and share the same directives."""

import os
import re
import shutil
from pathlib import Path

import pytest

from prshots.server.config.settings import PREFIX, SETTINGS, load_settings
from support.deploy_checkers import DEPLOY, ROOT, passes, run

UNITS = DEPLOY / "systemd"
PROGRAM = "/opt/prshots/bin/prshots"
NAMES = ["prshots.service", "prshots@.service"]
SOCKET = "prshots.socket"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the units with a program that exists: systemd checks for it."""
    made = tmp_path_factory.mktemp("units")
    for name in NAMES:
        text = (UNITS / name).read_text()
        assert PROGRAM in text
        (made / name).write_text(text.replace(PROGRAM, shutil.which("true") or "/bin/true"))
    shutil.copy(UNITS / SOCKET, made)
    return made


def verify(*units: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "SYSTEMD_LOG_LEVEL": "warning"}
    done = run("systemd-analyze", "verify", "--man=no", *units, env=environment)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.slow
def test_systemd_accepts_the_units(folder: Path) -> None:
    verify(*(folder / name for name in (*NAMES, SOCKET)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_systemd_rates_the_unit_as_well_sandboxed(folder: Path, name: str) -> None:
    """0 is the best score, 10 the worst. Most Debian services score more than 9."""
    said = passes("systemd-analyze", "security", "--offline=yes", "--threshold=15", folder / name)
    assert re.search(r"Overall exposure level for .*: (0|1)\.\d OK", said)


def test_the_socket_unit_opens_the_default_ports() -> None:
    settings = load_settings(None)
    opened = re.findall(r"^ListenStream=(.+)$", (UNITS / SOCKET).read_text(), re.MULTILINE)
    ports = (settings.web_port, settings.api_port, settings.img_port)
    assert opened == [f"{settings.host}:{port}" for port in ports]


def directives(name: str) -> list[str]:
    """Return the [Service] directives, except those that differ between the two units."""
    service = (UNITS / name).read_text().partition("[Service]\n")[2].partition("[Install]")[0]
    return [
        line
        for line in service.splitlines()
        if line and not line.startswith(("#", "ExecStart=", "EnvironmentFile=-"))
    ]


def test_both_units_start_prshots_serve_with_the_same_directives() -> None:
    whole, part = map(directives, NAMES)
    assert whole == part
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "User=prshots", "KillMode=mixed"} <= set(whole)
    assert "Environment=PYTHONSAFEPATH=1" in whole  # import no code from the working directory
    assert {"Type=notify", "TimeoutStartSec=infinity", "WatchdogSec=30"} <= set(
        whole
    )  # restart it if it hangs
    calls = [re.findall(r"^ExecStart=(.+)$", (UNITS / name).read_text(), re.MULTILINE) for name in NAMES]
    assert calls == [[f"{PROGRAM} serve"], [f"{PROGRAM} serve %i"]]


def test_only_the_service_reads_its_data_and_only_root_its_settings() -> None:
    """Nginx, as a member of the group, may pass through the data folder. It may not list it."""
    assert {"UMask=0027", "StateDirectoryMode=0710", "Group=prshots"} <= set(directives("prshots.service"))
    for page in (*(UNITS / name for name in NAMES), ROOT / "docs/run/install.md"):
        [install] = re.findall(r"install -D .*prshots\.env /etc/prshots/prshots\.env", page.read_text())
        assert install == "install -D -m 0600 prshots.env /etc/prshots/prshots.env", page


@pytest.mark.slow
def test_the_documented_second_api_is_a_valid_service(folder: Path) -> None:
    commands = (ROOT / "docs/run/install.md").read_text().partition("### Two APIs on one machine")[2]
    [(written, file)] = re.findall(r"printf '([^']+)' \\\n +> (\S+)", commands)
    [variables] = re.findall(r"echo (\S+) > /etc/prshots/api2\.env", commands)
    assert variables.partition("=")[0].removeprefix(PREFIX).lower() in SETTINGS
    drop_in = folder / Path(file).relative_to("/etc/systemd/system")
    drop_in.parent.mkdir(exist_ok=True)
    drop_in.write_text(written.replace("\\n", "\n").replace(PROGRAM, shutil.which("true") or "/bin/true"))
    shutil.copy(folder / "prshots@.service", folder / "prshots@api2.service")
    verify(folder / "prshots@api2.service")  # without `ExecStart=` there would be two
    assert f"ExecStart={PROGRAM} serve api\\n" in written


def test_the_example_settings_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Includes every commented-out line that has a value."""
    lines = re.findall(r"^#?([A-Z_]+)=(.*)$", (UNITS / "prshots.env").read_text(), re.MULTILINE)
    for name, value in lines:
        if name.startswith(PREFIX):
            assert name.removeprefix(PREFIX).lower() in SETTINGS, name
        if value:
            monkeypatch.setenv(name, value)
    settings = load_settings()
    assert str(settings.data_dir) == "/var/lib/prshots"
    assert not settings.on_sqlite
    [stop] = [line for line in directives("prshots.service") if line.startswith("TimeoutStopSec=")]
    assert int(stop.partition("=")[2]) > settings.drain_seconds + settings.grace_seconds
