"""The dashboard's views copy fields from records by name, which mypy can't check."""

from typing import get_type_hints

import pytest

from prshots.server.api.dashboard import view_types, views
from prshots.server.domain.audit.models import Action, Actor, AuditEntry
from prshots.server.domain.comparison.models import BaselineCommit
from prshots.server.domain.images.models import Image, PullRequestRecord
from prshots.server.domain.outbox.models import Connection
from prshots.server.domain.people.models import User
from prshots.server.domain.projects.models import Organization, Project, Trust, UploadToken

# A mapping in a record is an object in JSON, and joined names are a list.
CONVERTED = {"organization", "claims", "pins", "refused_ids", "review_verdicts"}


@pytest.mark.parametrize(
    ("view", "record"),
    [
        (view_types.UserView, User),
        (view_types.OrganizationView, Organization),
        (view_types.ProjectView, Project),
        (view_types.ImageView, Image),
        (view_types.BaselineCommitView, BaselineCommit),
        (view_types.PullRequestView, PullRequestRecord),
        (view_types.TokenView, UploadToken),
        (view_types.TrustView, Trust),
        (view_types.ConnectionView, Connection),
    ],
)
def test_copied_fields_have_the_types_of_the_record(view: type, record: type) -> None:
    promised, given = get_type_hints(view), get_type_hints(record)
    copied = promised.keys() & given.keys() - CONVERTED
    assert {name: promised[name] for name in copied} == {name: given[name] for name in copied}


@pytest.mark.parametrize(
    ("action", "details", "shown"),
    [
        (Action.PROJECT_CHANGED, {"retain_days": [None, 7]}, {"retain_days": "none → 7"}),
        (Action.MEMBER_ROLE_CHANGED, {"role": ["viewer", "owner"]}, {"role": "viewer → owner"}),
        (Action.WEBHOOK_CHANGED, {"events": ["compared", "gate"]}, {"events": "compared, gate"}),
        (Action.DECIDED, {"names": ["a", "b"], "pairs": 2}, {"names": "a, b", "pairs": "2"}),
    ],
)
def test_an_arrow_is_only_between_the_values_before_and_after(
    action: Action, details: dict[str, object], shown: dict[str, str]
) -> None:
    entry = AuditEntry(1, 0, "", "", "", Actor(), action.value, "", details)
    assert views.audit_entry_view(entry)["details"] == shown
