"""Templates around the screenshots: the rules that both clients share."""

import base64
from pathlib import Path
from typing import Any

import pytest

from prshots.client.templates import Template
from prshots.contract.errors import InvalidInputError
from prshots.contract.replies import SizedComment
from support.vectors import cases

JOB_VALUES = {"pr_number": "7", "commit": "abc1234", "run_url": "https://ci.example/1", "dashboard_url": ""}


@pytest.mark.parametrize("case", cases("templates", "filled"))
def test_a_template_is_filled(case: dict[str, Any]) -> None:
    comment = SizedComment(pr_number=7, shown=0, listed=0, omitted=0, **case["comment"])
    assert Template.of(case["template"], "t").fill(comment, JOB_VALUES) == case["text"]


@pytest.mark.parametrize("case", cases("templates", "rooms"))
def test_a_template_leaves_room(case: dict[str, Any]) -> None:
    template = Template.of(case["template"], "t")
    assert template.room(case["limit"], "<!-- svc:pr-7 -->", JOB_VALUES) == case["room"]


@pytest.mark.parametrize("case", cases("templates", "refused"))
def test_an_invalid_template_is_refused(case: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "template.md"
    file.write_bytes(base64.b64decode(case["file"]))
    with pytest.raises(InvalidInputError) as refused:
        Template.read(file)
    assert str(refused.value).startswith(f"the template {file} {case['error']}")
