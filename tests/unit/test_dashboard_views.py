"""The dashboard's views copy fields from records by name, which mypy can't check."""

from typing import get_type_hints

import pytest

from prshots.server.api.dashboard import view_types
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
