"""The audit logs of organizations, for their owners, and of the installation, for the operator."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, date, datetime, timedelta

from starlette.responses import Response, StreamingResponse

from prshots.contract.errors import InvalidInputError
from prshots.contract.safe_text import safe_json
from prshots.server.api.dashboard import fields, view_types, views
from prshots.server.api.dashboard.fields import next_cursor
from prshots.server.api.dashboard.routing import (
    Answer,
    Call,
    DashboardRoute,
    operator_route,
    organization_route,
)
from prshots.server.api.request_body import refuse_body
from prshots.server.domain.audit.models import AuditEntry, AuditFilter
from prshots.server.domain.audit.ports import AuditRecords

PAGE = 60
EXPORTED_AT_ONCE = 10  # a decision about 1,000 shots takes up to 1 MB
FIRST_YEAR = 1970

Log = Callable[[Call, str], Awaitable[Answer]]
"""Answers a call about the log of this organization, or of the installation ("")."""


async def list_entries(call: Call, organization_id: str) -> view_types.AuditLogView:
    after = call.after(int)
    found = await call.services.audit.entries(
        organization_id, _filter(call), after[0] if after else None, PAGE
    )
    return {
        "entries": [views.audit_entry_view(entry) for entry in found],
        "next": next_cursor(found, PAGE, lambda entry: (entry.seq,)),
    }


async def export(call: Call, organization_id: str) -> Response:
    """Return the entries as JSON lines, newest first."""
    await refuse_body(call.request)
    which = _filter(call)._replace(with_shots=True)
    headers = {
        "Cache-Control": "no-store",
        "Content-Disposition": 'attachment; filename="audit.jsonl"',
        "Content-Type": "application/jsonl",
    }
    if call.request.method == "HEAD":
        return Response(headers=headers)
    first = await call.services.audit.entries(organization_id, which, None, EXPORTED_AT_ONCE)
    return StreamingResponse(_lines(call.services.audit, organization_id, which, first), headers=headers)


async def _lines(
    audit: AuditRecords, organization_id: str, which: AuditFilter, page: list[AuditEntry]
) -> AsyncIterator[str]:
    while page:
        for entry in page:
            yield safe_json(json.dumps(entry.as_exported(), ensure_ascii=False)) + "\n"
        page = await audit.entries(organization_id, which, page[-1].seq, EXPORTED_AT_ONCE)


def _filter(call: Call) -> AuditFilter:
    given = call.query
    until = _day(given.get("until", ""), "until")
    return AuditFilter(
        actor=fields.search(given.get("actor", "")),
        action=fields.search(given.get("action", "")),
        target=fields.search(given.get("target", "")),
        pr_number=fields.number_from_text(given["pr_number"], "pr_number")
        if given.get("pr_number")
        else None,
        project_id=given.get("project_id", ""),
        since=_midnight(_day(given.get("since", ""), "since")),
        until=_midnight(until and until + timedelta(days=1)),  # to the end of that day
    )


def _day(text: str, name: str) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = date.min
    if not FIRST_YEAR <= day.year < date.max.year:
        raise InvalidInputError(f"{name} must be a date such as 2026-01-31")
    return day


def _midnight(day: date | None) -> int | None:
    return None if day is None else int(datetime.combine(day, datetime.min.time(), UTC).timestamp())


def _routes(path: str, answer: Log) -> tuple[DashboardRoute, ...]:
    return (
        organization_route("GET", path, lambda call, organization: answer(call, organization.id)),
        operator_route("GET", path, lambda call: answer(call, "")),
    )


ROUTES = (*_routes("/audit", list_entries), *_routes("/audit/export", export))
