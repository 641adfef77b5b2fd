"""Detecting the CI job, its pull request and its forge from the CI's documented variables."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from prshots.cli import service_options
from prshots.client.ci import Job, detect_job, with_forge
from prshots.client.ci.actions_event import MAX_BYTES
from prshots.client.job_forge import forge_of
from prshots.contract.errors import InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.forges.forge_addresses import api_root, repository_of_remote
from support.vectors import cases, vectors

VARIABLES: dict[str, dict[str, str]] = vectors("ci_detection")["variables"]
GITHUB = VARIABLES["github"]


def variables_of(case: dict[str, Any], event: Path) -> dict[str, str]:
    """Return a case's variables. Write its GitHub Actions event, if any, to a file."""
    text = json.dumps(case["event"]) if "event" in case else case.get("event_text")
    if "event_text_repeated" in case:
        part, times = case["event_text_repeated"]
        text = part * times
    environ = VARIABLES[case["variables_of"]] | case.get("changed", {})
    if text is not None:
        event.write_text(text, encoding="utf-8")
        environ |= {"GITHUB_EVENT_PATH": str(event)}
    return {name: value for name, value in environ.items() if value is not None}


@pytest.mark.parametrize("case", cases("ci_detection", "detected"))
def test_a_ci_job_is_detected_from_its_variables(case: dict[str, Any], tmp_path: Path) -> None:
    job = detect_job(variables_of(case, tmp_path / "event.json"))
    known = asdict(job)
    assert {name: known[name] for name in case["job"]} == case["job"]
    token = known["forge_token"]
    assert not token or token not in repr(job)


def test_an_invalid_event_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text('{"pull_request": {"number": 99')
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x80")
    (tmp_path / "deep").write_text("[" * 200_000)
    with (tmp_path / "huge").open("wb") as huge:
        huge.write(b'{"pull_request": {"number": 99}}')
        huge.truncate(MAX_BYTES + 1)
    os.mkfifo(tmp_path / "pipe")  # reading it would block forever
    for path in (*tmp_path.iterdir(), tmp_path, tmp_path / "missing", "no\0path", "\udcff"):
        assert detect_job(GITHUB | {"GITHUB_EVENT_PATH": str(path)}).pr_number == 12, path


NAMES = sorted(
    {name for known in VARIABLES.values() for name in known}
    | {"GITHUB_EVENT_PATH", "PRSHOTS_FORGE_TOKEN", "CI_OPEN_MERGE_REQUESTS"}
)
ODD_VALUES = [
    *("true", "0", "-1", "woodpecker", "!", "/", "//", "http://[", "http://h:x/o/r", "git@h:o/r"),
    "refs/pull/",
]
VALUES = st.one_of(
    # Lone surrogates too: Python decodes invalid UTF-8 to them.
    st.text(st.characters(codec=None), max_size=30),
    st.sampled_from(ODD_VALUES),
    st.from_regex(r"https?://[a-z\[\]:@.%-]{0,20}(/[^\s]{0,8}){0,4}", fullmatch=True),
)


@given(
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    st.sampled_from(
        [VARIABLES[name] for name in ("github", "gitlab", "circleci", "azure", "jenkins", "none")]
    ),
)
def test_any_variable_values_give_a_valid_job(environ: dict[str, str], beside: dict[str, str]) -> None:
    job = detect_job(beside | environ)
    assert job.pr_number is None or 1 <= job.pr_number < 2**31
    assert "@" not in job.forge_api + job.forge_url
    assert not set(job.repository.split("/")) & {".", ".."}
    for branch in (job.branch, job.target_branch, job.source_branch, job.default_branch):
        assert not branch.startswith("-")
        assert not set(branch) & set(" :*~^?[\\\0\n")
    assert not (job.branch and (job.pr_number or job.lookup))


EVENT_FIELDS = [
    *("pull_request", "workflow_run", "pull_requests", "number", "head", "base", "repo", "sha", "issue"),
    *("action", "check_suite", "deployment", "repository", "head_sha", "event", "id", "ref"),
]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(EVENT_FIELDS), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_no_event_content_breaks_detection(tmp_path_factory: pytest.TempPathFactory, event: object) -> None:
    path = tmp_path_factory.getbasetemp() / "event.json"
    path.write_text(json.dumps(event))
    assert detect_job(GITHUB | {"GITHUB_EVENT_PATH": str(path)}).ci == "GitHub Actions"


@pytest.mark.parametrize("case", cases("ci_detection", "remotes"))
def test_a_git_remote_gives_the_forge_url_and_repository(case: dict[str, Any]) -> None:
    place = repository_of_remote(case["remote"])
    assert (place.kind, place.url, place.repository) == (case["forge"], case["url"], case["repository"])


@pytest.mark.parametrize("case", cases("ci_detection", "api_roots"))
def test_a_forge_url_gives_the_api_root(case: dict[str, Any]) -> None:
    assert api_root(case["forge"] and ForgeKind(case["forge"]), case["url"]) == case["api"]


@pytest.mark.parametrize("case", cases("ci_detection", "overrides"))
def test_forge_options_override_the_detected_forge(case: dict[str, Any]) -> None:
    """An invalid option is refused, and the message hides its password."""
    job, given = dict(case["job"]), dict(case["given"])
    for fields, name in ((job, "forge"), (given, "kind")):
        if name in fields:
            fields[name] = ForgeKind(fields[name])
    if "refused" in case:
        option = f"--{case['refused'].replace(' ', '-')}"
        with pytest.raises(InvalidInputError, match=option) as caught:
            with_forge(Job(**job), case.get("variables", {}), **given)
        assert "hunter2" not in str(caught.value)
    else:
        known = asdict(with_forge(Job(**job), case.get("variables", {}), **given))
        assert {name: known[name] for name in case["expected"]} == case["expected"]


@pytest.mark.parametrize("case", cases("ci_detection", "forge_tokens"))
def test_a_token_goes_only_to_its_own_forge(case: dict[str, Any], tmp_path: Path) -> None:
    environ = variables_of(case, tmp_path / "event.json")
    given = dict(case["given"])
    if "kind" in given:
        given["kind"] = ForgeKind(given["kind"])
    job = with_forge(detect_job(environ), environ, **given)
    assert job.forge_token
    if case["refused"]:
        with pytest.raises(InvalidInputError, match=case["refused"].replace(" ", "-")):
            forge_of(job)
    else:
        forge_of(job).close()


class TestCommandOptions:
    """How the commands combine their options with the detected job (`cli/service_options.py`)."""

    def test_the_pr_option_overrides_the_job_and_one_of_them_is_required(self) -> None:
        assert service_options.pull_request(7, Job(pr_number=12)) == 7
        assert service_options.pull_request(None, Job(pr_number=12)) == 12
        with pytest.raises(InvalidInputError, match=r"this Buildkite job doesn't run for one. Set --pr"):
            service_options.pull_request(None, Job(ci="Buildkite"))

    @pytest.mark.parametrize("given", ["HEAD", "abc", "g" * 40, "0" * 41])
    def test_an_invalid_commit_is_refused(self, given: str) -> None:
        with pytest.raises(typer.BadParameter, match="7 to 40"):
            service_options._check_commit(given)

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("", "no service URL"),
            (" ", "no service URL"),
            ("prshots.example.com", r"did you mean https://prshots.example.com\?$"),
            ("prshots.example.com/shots", r"did you mean https://prshots.example.com/shots\?$"),
            ("127.0.0.1:8081/", r"got '127.0.0.1:8081/'; did you mean http://127.0.0.1:8081\?$"),
            ("[::1]:8081", r"did you mean http://\[::1\]:8081\?$"),
            ("ftp://prshots.example.com", "use an address such as"),
            ("https://", "use an address such as"),
            ("https://ann:hunter2@prshots.example.com", "must not contain a user"),
            ("https://prshots.example.com/?x=1", "use an address such as"),
        ],
    )
    def test_an_invalid_service_url_is_refused(self, url: str, words: str) -> None:
        with pytest.raises(InvalidInputError, match=words) as caught:
            service_options.connect(url, "", "")
        assert "hunter2" not in str(caught.value)
