"""`prshots check`: compare the records with the stored images, and repair differences."""

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prshots.cli.common import ConfigOption, print_json, print_json_failure, say, settings_from
from prshots.contract.errors import PrshotsError
from prshots.contract.sizes import pluralize
from prshots.contract.statements import error_code

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings
    from prshots.server.domain.upkeep.reconciliation import CheckReport, Discrepancy

LISTED = 1000
"""How many findings `--json` lists. It counts all of them."""

FOUND, NOT_CHECKED = 1, 2


def check(
    *,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the findings.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Repair even if that removes more than half of all images.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    config: ConfigOption = None,
) -> None:
    """Compare records with stored images, and totals with records. The service can keep running.

    Finds records without bytes, files without a record that are over an hour old, and wrong totals. The exit
    code is 0 if there are none or all were repaired, 1 if some are left, and 2 if the check failed.
    """
    import asyncio

    listed: list[dict[str, Any]] = []

    def found(finding: "Discrepancy") -> None:
        described = _describe(finding)
        if not as_json:
            print(f"{described.pop('kind'):<20} {'  '.join(map(str, described.values()))}")
        elif len(listed) < LISTED:
            listed.append(described)

    try:
        report = asyncio.run(_check(settings_from(config), found, repair=repair, force=force))
    except PrshotsError as error:
        say(f"prshots: could not check: {error}")
        print_json_failure(f"could not check: {error}", error_code(error))
        raise typer.Exit(NOT_CHECKED) from error
    left = report.found > 0 and (not repair or bool(report.failed or report.refused))
    if as_json:
        print_json({"ok": not left, **asdict(report), "findings": listed})
    else:
        print(_summary(report, repair=repair))
    for words in report.refused:
        say(f"prshots: not repaired: {words}; if that is right, run `prshots check --repair --force`")
    if report.failed:
        say(f"{report.failed:,} could not be deleted; run `prshots check --repair` again.")
    if left and not repair:
        say("To repair this, run `prshots check --repair`.")
    raise typer.Exit(FOUND if left else 0)


async def _check(
    settings: "Settings", found: "Callable[[Discrepancy], None]", *, repair: bool, force: bool
) -> "CheckReport":
    from rich.console import Console

    from prshots.server.domain.upkeep import reconciliation
    from prshots.server.wiring import open_for_sweep

    async with open_for_sweep(settings) as engines:
        with Console(stderr=True).status("Checking …") as status:

            def progress(so_far: "CheckReport") -> None:
                done = f"{so_far.records:,} records, {so_far.files:,} files, {so_far.found:,} findings"
                status.update(f"Repairing … {so_far.repaired:,}" if so_far.repaired else f"Checking … {done}")

            report = await reconciliation.check(engines, found, progress)
            if repair and report.found:
                await reconciliation.repair(engines, report, force=force, progress=progress)
    return report


def _describe(finding: "Discrepancy") -> dict[str, Any]:
    from prshots.server.domain.images.models import Image

    if isinstance(finding, str):
        return {"kind": "file without record", "key": finding}
    if isinstance(finding, Image):
        return {
            "kind": "record without bytes",
            "id": finding.id,
            "project_id": finding.project_id,
            "pr_number": finding.pr_number,
            "name": finding.name,
        }
    return {"kind": f"wrong total of {finding.of}"} | asdict(finding)


def _summary(report: "CheckReport", *, repair: bool) -> str:
    found = (
        f"Checked {pluralize(report.records, 'record')} and {pluralize(report.files, 'file')} over an hour "
        "old: "
        f"{pluralize(report.records_without_bytes, 'record')} without bytes, "
        f"{pluralize(report.files_without_record, 'file')} without a record, "
        f"{pluralize(report.wrong_totals, 'wrong total')}."
    )
    return f"{found} Repaired {report.repaired:,}." if repair else found
