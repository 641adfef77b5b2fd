"""What each CI says of the pull request: its documented variables, with their traps."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prshots.cli import service_options
from prshots.client.ci import ForgeKind, Job, detected, with_forge
from prshots.client.ci.actions_event import MAX_BYTES
from prshots.client.ci.forge_addresses import api_root, place_of_remote
from prshots.contract.errors import InvalidInputError
from support.ci_variables import (
    AZURE,
    BITBUCKET,
    BUILDKITE,
    CASES,
    CIRCLECI,
    GHPRB,
    GITEA,
    GITHUB,
    GITLAB,
    JENKINS,
    WOODPECKER,
)


@pytest.mark.parametrize(("environ", "event", "expected"), CASES)
def test_detected(
    environ: dict[str, str], event: object, expected: dict[str, object], tmp_path: Path
) -> None:
    if event is not None:
        path = tmp_path / "event.json"
        path.write_text(json.dumps(event))
        environ = environ | {"GITHUB_EVENT_PATH": str(path)}
    job = detected(environ)
    known = asdict(job)
    assert {name: known[name] for name in expected} == expected
    token = known["forge_token"]
    assert not token or token not in repr(job)


def test_event_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text('{"pull_request": {"number": 99')
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x80")
    (tmp_path / "deep").write_text("[" * 200_000)
    with (tmp_path / "huge").open("wb") as huge:
        huge.write(b'{"pull_request": {"number": 99}}')
        huge.truncate(MAX_BYTES + 1)
    os.mkfifo(tmp_path / "pipe")  # which nobody will ever write to
    for path in (*tmp_path.iterdir(), tmp_path, tmp_path / "missing", "no\0path", "\udcff"):
        assert detected(GITHUB | {"GITHUB_EVENT_PATH": str(path)}).pr_number == 12, path


NAMES = sorted(
    {
        name
        for known in (GITEA, GITLAB, BITBUCKET, CIRCLECI, BUILDKITE, AZURE, WOODPECKER, JENKINS, GHPRB)
        for name in known
    }
    | {"GITHUB_EVENT_PATH", "PRSHOTS_FORGE_TOKEN", "CI_OPEN_MERGE_REQUESTS"}
)
VALUES = st.one_of(
    st.text(st.characters(codec=None), max_size=30),  # lone surrogates too: bytes that are no UTF-8 come so
    st.sampled_from(
        [
            "true",
            "0",
            "-1",
            "woodpecker",
            "!",
            "/",
            "//",
            "http://[",
            "http://h:x/o/r",
            "git@h:o/r",
            "refs/pull/",
        ]
    ),
    st.from_regex(r"https?://[a-z\[\]:@.%-]{0,20}(/[^\s]{0,8}){0,4}", fullmatch=True),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    st.sampled_from([GITHUB, GITLAB, CIRCLECI, AZURE, JENKINS, {}]),
)
def test_whatever_the_variables_hold(environ: dict[str, str], beside: dict[str, str]) -> None:
    job = detected(beside | environ)
    assert job.pr_number is None or 1 <= job.pr_number < 2**31
    assert "@" not in job.forge_api + job.forge_url
    assert not set(job.repository.split("/")) & {".", ".."}


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "pull_request",
                        "workflow_run",
                        "pull_requests",
                        "number",
                        "head",
                        "base",
                        "repo",
                        "sha",
                        "issue",
                        "action",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_whatever_the_event_holds(tmp_path_factory: pytest.TempPathFactory, event: object) -> None:
    path = tmp_path_factory.getbasetemp() / "event.json"
    path.write_text(json.dumps(event))
    assert detected(GITHUB | {"GITHUB_EVENT_PATH": str(path)}).ci == "GitHub Actions"


@pytest.mark.parametrize(
    ("remote", "url", "repository"),
    [
        ("https://x:tok@gitlab.example:8443/g/s/app.git", "https://gitlab.example:8443", "g/s/app"),
        ("https://u:p@ss@github.com/o/r", "https://github.com", "o/r"),
        ("git@github.com:o/r.git", "https://github.com", "o/r"),
        ("ssh://git@gitea.example:2222/o/r.git/", "https://gitea.example", "o/r"),
        ("http://127.0.0.1:3000/o/r.git", "http://127.0.0.1:3000", "o/r"),
        ("file:///srv/git/app", "", ""),
        ("../app", "", ""),
        ("https://github.com/o/..", "", ""),
    ],
)
def test_remotes(remote: str, url: str, repository: str) -> None:
    place = place_of_remote(remote)
    assert (place.url, place.repository) == (url, repository)


def test_api_roots() -> None:
    assert api_root(ForgeKind.GITHUB, "https://acme.ghe.com") == "https://api.acme.ghe.com"
    assert api_root(ForgeKind.GITLAB) == "https://gitlab.com/api/v4"
    assert api_root(ForgeKind.GITEA) == ""


class TestByHand:
    AT_GITLAB = Job(
        ci="GitLab CI",
        pr_number=12,
        forge=ForgeKind.GITLAB,
        forge_url="https://gitlab.example",
        forge_api="https://gitlab.example/api/v4",
        repository="34",
        forge_token="glpat-1",
    )

    def test_nothing_given_changes_nothing(self) -> None:
        assert with_forge(self.AT_GITLAB, {"GITHUB_TOKEN": "x"}) == self.AT_GITLAB

    def test_another_forge_takes_nothing_of_the_first(self) -> None:
        job = with_forge(
            self.AT_GITLAB, {"GITHUB_TOKEN": "ghp_1"}, kind=ForgeKind.GITHUB, repository="octo/app"
        )
        assert (job.forge_api, job.repository, job.forge_token, job.pr_number) == (
            "https://api.github.com",
            "octo/app",
            "ghp_1",
            12,
        )
        assert with_forge(self.AT_GITLAB, {}, kind=ForgeKind.GITHUB).repository == ""
        assert with_forge(self.AT_GITLAB, {}, kind=ForgeKind.GITHUB).forge_token == ""

    def test_giteas_own_token_is_not_githubs(self) -> None:
        job = with_forge(detected(GITEA), GITEA, kind=ForgeKind.GITHUB)
        assert (job.forge_api, job.forge_token) == ("https://api.github.com", "")

    def test_kind_of_a_forge_whose_address_is_known(self) -> None:
        known = Job(ci="Jenkins", forge_url="https://git.example", repository="octo/app")
        job = with_forge(known, {"GITEA_TOKEN": "t"}, kind=ForgeKind.GITEA)
        assert (job.forge_api, job.repository, job.forge_token) == (
            "https://git.example/api/v1",
            "octo/app",
            "t",
        )

    @pytest.mark.parametrize(
        ("api", "kind"),
        [
            ("https://git.example/api/v4/", ForgeKind.GITLAB),
            ("https://git.example/api/v1", ForgeKind.GITEA),
            ("https://git.example/api/v3", ForgeKind.GITHUB),
            ("https://api.github.com", ForgeKind.GITHUB),
            ("https://api.bitbucket.org/2.0", ForgeKind.BITBUCKET),
        ],
    )
    def test_api_tells_the_kind(self, api: str, kind: ForgeKind) -> None:
        job = with_forge(Job(), {}, api=api)
        assert (job.forge, job.forge_api) == (kind, api.rstrip("/"))

    def test_same_forge_elsewhere_keeps_its_token(self) -> None:
        job = with_forge(
            self.AT_GITLAB, {}, kind=ForgeKind.GITLAB, api="http://127.0.0.1:1/api/v4", token=" t\n"
        )
        assert (job.forge_api, job.repository, job.forge_token) == ("http://127.0.0.1:1/api/v4", "34", "t")

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"kind": ForgeKind.GITEA}, "--forge-url"),
            ({"api": "http://127.0.0.1:1"}, "--forge github, gitlab"),
            ({"api": "gitlab.example/api/v4"}, "root of the forge's API"),
            ({"api": "https://u:hunter2@gitlab.example"}, "without a user"),
            ({"api": "https://gitlab.example/api/v4?private_token=hunter2"}, "root of the forge's API"),
            ({"repository": "app"}, "owner/name"),
            ({"repository": "octo/../app"}, "owner/name"),
            ({"kind": ForgeKind.GITHUB, "repository": "group/sub/app"}, "owner/name"),
            ({"token": "hunter2\nhunter2"}, "line break"),
        ],
    )
    def test_refused(self, given: dict[str, Any], words: str) -> None:
        with pytest.raises(InvalidInputError, match=words) as caught:
            with_forge(Job(), {}, **given)
        assert "hunter2" not in str(caught.value)


class TestCommand:
    """What the commands make of it (`cli/service_options.py`)."""

    def test_pull_request(self) -> None:
        assert service_options.pull_request(7, Job(pr_number=12)) == 7
        assert service_options.pull_request(None, Job(pr_number=12)) == 12
        with pytest.raises(InvalidInputError, match=r"Buildkite runs this for no pull request: give --pr"):
            service_options.pull_request(None, Job(ci="Buildkite"))

    @pytest.mark.parametrize("given", ["HEAD", "abc", "g" * 40, "0" * 41])
    def test_commit_option_is_checked(self, given: str) -> None:
        with pytest.raises(typer.BadParameter, match="7 to 40"):
            service_options._checked_commit(given)

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("", "which service"),
            (" ", "which service"),
            ("prshots.example.com", "did you mean https://prshots.example.com"),
            ("ftp://prshots.example.com", "takes an address such as"),
            ("https://", "takes an address such as"),
            ("https://ann:hunter2@prshots.example.com", "without a user"),
            ("https://prshots.example.com/?x=1", "takes an address such as"),
        ],
    )
    def test_address(self, url: str, words: str) -> None:
        with pytest.raises(InvalidInputError, match=words) as caught:
            service_options.connected(url, "", "")
        assert "hunter2" not in str(caught.value)
