"""`prshots doctor`: check the installation and report how to fix problems."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from prshots.cli.common import ConfigOption, print_json, say
from prshots.contract.sizes import pluralize

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings
    from prshots.server.doctor import DoctorFinding

_COLORS = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED}


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Check settings, engines, keys, clocks and URLs.

    Says what to fix. Stores a test image, fetches it the way GitHub's image proxy does, and deletes it. The
    exit code is 1 if there is a problem; warnings leave it at 0.
    """
    import asyncio

    from prshots.server.doctor import State
    from prshots.server.doctor.examination import examine_settings

    settings, findings = examine_settings(config)
    show: Callable[[DoctorFinding], None] = (lambda _: None) if as_json else _print
    for finding in findings:
        show(finding)
    if settings is not None:
        findings += asyncio.run(_run_checks(settings, show))
    counts = Counter(finding.state for finding in findings)
    problems, warnings = counts[State.PROBLEM], counts[State.WARNING]
    if as_json:
        print_json({"ok": not problems, "checks": [asdict(finding) for finding in findings]})
    else:
        say("")
        say(f"{pluralize(problems, 'problem')}, {pluralize(warnings, 'warning')}.")
    raise typer.Exit(1 if problems else 0)


async def _run_checks(settings: "Settings", show: "Callable[[DoctorFinding], None]") -> "list[DoctorFinding]":
    from rich.console import Console

    from prshots.server.doctor.examination import examine

    findings = []
    with Console(stderr=True).status("Checking …") as status:
        async for finding in examine(settings, lambda about: status.update(f"Checking: {about} …")):
            show(finding)
            findings.append(finding)
    return findings


def _print(finding: "DoctorFinding") -> None:
    state = typer.style(f"{finding.state:<8}", fg=_COLORS[finding.state])
    typer.echo(f"{state} {finding.about:<13} {finding.words}")
