"""Converts usage and quotas to the JSON of the dashboard's API."""

from collections.abc import Sequence
from typing import cast

from prshots.server.api.dashboard import view_types
from prshots.server.api.dashboard.views import date_of
from prshots.server.domain.storage.models import FileKind, QuotaUse, UsageDay


def measured_view(days: Sequence[UsageDay]) -> view_types.MeasuredView:
    kinds: list[view_types.FilesView] = [
        {"kind": cast("FileKind", kind), "files": files, "bytes": size}
        for kind, (files, size) in (days[-1].kinds.items() if days else ())
    ]
    return {
        "day": date_of(days[-1].day) if days else None,
        "estimated": bool(days) and days[-1].is_estimated,
        "kinds": sorted(kinds, key=lambda each: -each["bytes"]),
        "days": [{"day": date_of(day.day), "bytes": day.bytes} for day in days],
    }


def quotas_view(uses: Sequence[QuotaUse]) -> view_types.QuotasView:
    return {"quotas": [{"of": use.of, "bytes": use.bytes, "limit": use.limit} for use in uses]}
