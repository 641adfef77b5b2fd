"""Which claims a trust may require, and which tokens have them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.contract.errors import InvalidInputError
from prshots.server.domain.projects.claims import (
    MAX_CLAIMS,
    MAX_NAME,
    MAX_VALUE,
    NAMING,
    anchor_of,
    anchors_of,
    check_claims,
    find_unmet,
)

PARTS = st.text(st.sampled_from("ab*/:"), min_size=1, max_size=8)


@pytest.mark.parametrize(
    "claims",
    [
        {"repository": "octo/app"},
        {"repository": "octo/*"},
        {"repository": "octo/*-web"},
        {"repository_owner_id": "583231", "ref": "*"},
        {"project_path": "group/sub/*", "ref": "release-*", "environment": "*"},
        {"sub": "organization:acme:*"},
        {"sub": "repo:octo/app:environment:größer"},
        {"sub": "x" * MAX_VALUE},
        {"sub": "x", "n" * MAX_NAME: "x"},
        {"sub": "x", "https://claims.example/team": "web"},
    ],
)
def test_valid_claims_are_accepted(claims: dict[str, str]) -> None:
    check_claims(claims)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({}, "1 to 10 claims; got 0"),
        ({f"c{number}": "x" for number in range(MAX_CLAIMS + 1)}, "got 11"),
        ({"ref": "refs/heads/main"}, "must name the repository"),
        ({"repository_visibility": "public"}, "must name the repository"),
        ({"job_workflow_ref": "octo/app/.github/workflows/ci.yml@main"}, "must name the repository"),
        ({"repository": ""}, "the claim repository takes 1 to 400"),
        ({"repository": "x" * (MAX_VALUE + 1)}, "the claim repository takes 1 to 400"),
        ({"repository": "octo/\x00"}, "printable"),
        ({"repository": "octo/\udc80"}, "printable"),
        ({"": "x"}, "a claim's name takes"),
        ({"a claim": "x"}, "a claim's name takes"),
        ({"n" * (MAX_NAME + 1): "x"}, "a claim's name takes"),
        *(
            ({"repository": value}, "after a whole name")
            for value in ("*", "octo*", "*/app", "oct*/app", "/*")
        ),
        ({"repository": "octo/app*"}, "after a whole name"),
        ({"repository_id": "47*"}, "after a whole name"),
        ({"repository_owner": "*"}, "after a whole name"),
        *(
            ({"sub": value}, "after a whole name")
            for value in ("*", "repo:*", "repo/*", "repo:octo*", "::/*")
        ),
        ({"repository": "octo/app", "sub": "*"}, "after a whole name"),
    ],
)
def test_invalid_claims_are_refused(claims: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        check_claims(claims)


@pytest.mark.parametrize(
    ("wanted", "carried", "is_met"),
    [
        ("octo/app", "octo/app", True),
        ("octo/app", "Octo/app", False),
        ("octo/app", "octo/app2", False),
        ("octo/*", "octo/", True),
        ("octo/*", "octo-evil/app", False),
        ("octo/*", "octo/app/evil\n", True),
        ("refs/*/main", "refs/heads/main", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*b*b*", "ab", False),
        ("*b*b*", "abab", True),
        ("a*bc*c", "abc", False),
        ("**", "", True),
        (".*", "x", False),
        ("[ab]", "a", False),
        ("true", True, True),
        ("1", True, False),
        ("4711", 4711, True),
        ("1.5", 1.5, True),
        ("b", ["a", "b"], True),
        ("7", ["a", 7], True),
        ("c", ["a", "b"], False),
        ("*", [], False),
        ("*", None, False),
        ("null", None, False),
        ("*", {"a": "b"}, False),
        ("*", [["a"]], False),
    ],
)
def test_a_required_value_is_compared_with_the_tokens_claim(
    wanted: str, carried: object, is_met: bool
) -> None:
    assert (find_unmet({"c": wanted}, {"c": carried}) is None) == is_met


@pytest.mark.parametrize(
    ("wanted", "carried", "is_met"),
    [
        ("repo:octo/app:*", "repo:octo@123/app@456:ref:refs/heads/main", True),
        ("repo:octo/*", "repo:octo@123/app@456:pull_request", True),
        ("repo:octo@123/app@456:*", "repo:octo@123/app@456:pull_request", True),
        ("repo:octo@123/*", "repo:octo@123/app@456:pull_request", True),
        ("repo:octo@123/app@456:*", "repo:octo/app:pull_request", False),
        ("repo:octo@999/app@456:*", "repo:octo@123/app@456:pull_request", False),
        ("repo:octo/app:*", "repo:octo-evil@123/app@456:pull_request", False),
        ("repo:octo/app:*", "repo:octo/x@1:app:pull_request", False),
        ("repo:octo/app:*", "x:repo:octo@1/app@2:pull_request", False),
    ],
)
def test_a_subject_with_ids_also_matches_a_trust_without_them(
    wanted: str, carried: str, is_met: bool
) -> None:
    required, token = {"sub": wanted}, {"sub": carried}
    check_claims(required)
    assert (find_unmet(required, token) is None) == is_met
    assert not is_met or anchor_of(required) in anchors_of(token)


def test_the_first_unmet_claim_is_returned() -> None:
    wanted = {"repository": "octo/app", "ref": "main", "environment": "review"}
    assert find_unmet(wanted, wanted) is None
    assert find_unmet(wanted, {"repository": "octo/app", "environment": "other"}) == "ref"


def test_matching_many_wildcards_does_not_backtrack() -> None:
    """A trust must not be able to keep the service busy. With backtracking, this match would never end."""
    assert find_unmet({"ref": "*a" * (MAX_VALUE // 2) + "b"}, {"ref": "a" * 16_000}) == "ref"


@given(st.sampled_from(NAMING), PARTS, PARTS, st.booleans())
def test_a_token_that_matches_a_trust_has_its_anchor(
    name: str, wanted: str, carried: str, in_list: bool
) -> None:
    try:
        check_claims({name: wanted})
    except InvalidInputError:
        return
    for text in (carried, wanted.replace("*", carried)):
        token: dict[str, Any] = {name: ["other", text] if in_list else text}
        if find_unmet({name: wanted}, token) is None:
            assert anchor_of({name: wanted}) in anchors_of(token)


def test_anchors_are_printable_and_limited_in_number() -> None:
    token = {"sub": "a/" * 8000, "repository": "octo/\udc80", "repository_id": 7, "ref": "x/y"}
    anchors = anchors_of(token)
    assert {"repository=octo/", "repository_id=7", "sub=a/"} <= anchors
    assert len(anchors) <= MAX_VALUE
    assert all(anchor.isprintable() for anchor in anchors)
