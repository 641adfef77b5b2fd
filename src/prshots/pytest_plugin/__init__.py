"""The pytest plugin: a `shot` fixture, and screenshots of failed tests.

Uploads run in the background. They never delay or fail a test: errors are reported at the end. If prshots is
installed, every pytest run imports this module, so it imports everything else on demand.
"""

from collections.abc import Generator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from prshots.pytest_plugin.camera import Camera
    from prshots.pytest_plugin.run import PytestRun
    from prshots.pytest_plugin.shot_names import ShotNames

_RUN: "pytest.StashKey[PytestRun]" = pytest.StashKey()

_SWITCHES = {
    "post": (False, "post the pull request's comment at the end"),
    "strict": (False, "fail the run if a screenshot or the comment could not be uploaded"),
    "failures": (True, "take and upload a screenshot if a test with a browser fails"),
    "compare": (True, "compare the screenshots with the pull request's base"),
    "baseline": (False, "upload baselines of the branch, not only if the job builds the default branch"),
    "partial": (False, "upload some of the commit's screenshots, so that no other counts as removed"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("prshots", "screenshots for the pull request")
    group.addoption(
        "--prshots",
        choices=("auto", "on", "off"),
        help="upload screenshots: auto (if PRSHOTS_URL is set, for a pull request or the default branch), "
        "on, off",
    )
    parser.addini("prshots", "same as --prshots", default="auto")
    for name, (default, words) in _SWITCHES.items():
        group.addoption(f"--prshots-{name}", action="store_true", default=None, help=words)
        group.addoption(
            f"--no-prshots-{name}",
            dest=f"prshots_{name}",
            action="store_false",
            default=None,
            help=f"do not {words}",
        )
        parser.addini(f"prshots_{name}", words, type="bool", default=default)
    group.addoption("--prshots-dir", metavar="DIR", help="also keep the screenshots in this folder")
    parser.addini("prshots_dir", "same as --prshots-dir", default="")
    group.addoption(
        "--prshots-name", metavar="TEMPLATE", help="how screenshots without a name are named, such as {test}"
    )
    parser.addini("prshots_name", "same as --prshots-name", default="")


def _setting(config: pytest.Config, name: str) -> Any:  # noqa: ANN401 - a switch or text
    given = config.getoption(name)
    return config.getini(name) if given is None else given


def pytest_configure(config: pytest.Config) -> None:
    """Start the run. Raises UsageError if uploads are on and a setting is missing or invalid."""
    from prshots.pytest_plugin.run import PytestRun
    from prshots.pytest_plugin.shot_names import check_template

    check_template(_setting(config, "prshots_name"))
    config.stash[_RUN] = run = PytestRun.begin(
        lambda name: _setting(config, name),
        base=config.invocation_params.dir,
        is_worker=hasattr(config, "workerinput"),
    )
    config.add_cleanup(run.close)


@pytest.fixture
def shot(request: pytest.FixtureRequest) -> "Camera":
    """Take screenshots for the pull request: `shot(page)` or `shot(png_bytes, "checkout/cart")`."""
    from prshots.pytest_plugin.camera import Camera

    return Camera(_names_of(request.node), request.node.funcargs, request.config.stash[_RUN].take)


def _names_of(item: pytest.Item) -> "ShotNames":
    from prshots.pytest_plugin.shot_names import DEFAULT_TEMPLATE, ShotNames

    return ShotNames.of(item, _setting(item.config, "prshots_name") or DEFAULT_TEMPLATE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Upload a test's screenshots when it is over. If the test is rerun, only the last run counts."""
    try:
        return (yield)
    finally:
        item.config.stash[_RUN].finish_test()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.config.stash[_RUN].forget_test()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    del call
    report = yield
    if report.when == "call" and report.failed:
        item.config.stash[_RUN].take_failure(_names_of(item), getattr(item, "funcargs", {}))
    return report


def pytest_deselected(items: "Sequence[pytest.Item]") -> None:
    for item in items[:1]:
        item.config.stash[_RUN].report.is_partial = True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    run = session.config.stash[_RUN]
    run.report.is_partial |= exitstatus != pytest.ExitCode.OK  # a failed test may have stopped before a shot
    run.finish(interrupted=exitstatus == pytest.ExitCode.INTERRUPTED)
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["prshots"] = asdict(run.report)
    elif (
        run.report.problems
        and exitstatus == pytest.ExitCode.OK
        and _setting(session.config, "prshots_strict")
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ANN401 - a pytest-xdist worker
    """Add a worker's report. A crashed worker has none."""
    report = node.config.stash[_RUN].report
    said = getattr(node, "workeroutput", {}).get("prshots")
    if said is not None:
        report.add(said)
    elif error:
        report.problems.append("a worker crashed: some of its screenshots may be missing")


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    from prshots.contract.safe_text import printable

    for line in config.stash[_RUN].report.lines():
        terminalreporter.write_line(printable(f"prshots: {line}"))
