"""Behavior specific to GitHub. The contract of all forges is in `test_forges.py`."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from prshots.client.ci import Job
from prshots.client.job_forge import forge_of, with_fork_advice
from prshots.contract.errors import ForgeError, ForgeRefusedError, InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from prshots.forges.github import GitHub
from prshots.forges.sticky_comment import PostOutcome, keep_current
from support.forges.forge_fixtures import short_pauses  # noqa: F401 - a fixture of every test here
from support.forges.look_alikes import GitHubLookAlike
from support.unreliable_proxy import UnreliableProxy, refuse


@dataclass
class Place:
    github: GitHubLookAlike
    front: UnreliableProxy
    pr_number: int

    def forge(self, token: str = "", root: str = "") -> GitHub:
        return GitHub(
            api_url=self.front.url + root,
            repository=self.github.repository,
            token=token or self.github.token,
        )

    def body(self, text: str) -> str:
        return f"<!-- svc:pr-{self.pr_number} -->\n{text}"

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.github.comments(self.pr_number)]


@pytest.fixture
def place(github: GitHubLookAlike) -> Iterator[Place]:
    with UnreliableProxy(github.url) as front:
        yield Place(github, front, github.new_pr())


@pytest.fixture
def forge(place: Place) -> Iterator[GitHub]:
    with closing(place.forge()) as made:
        yield made


def test_me_returns_the_login_for_workflow_and_personal_tokens(place: Place, forge: GitHub) -> None:
    assert forge.me() == "github-actions[bot]"
    with closing(place.forge(place.github.person_token)) as persons:
        assert persons.me() == "octocat"
        place.front.will(refuse(404, body={"message": "Not Found"}), when="POST /graphql")
        assert persons.me() == "octocat"  # from the REST API
    assert {headers["x-github-api-version"] for headers in place.front.seen_headers} == {"2022-11-28"}


def test_on_github_enterprise_all_requests_go_below_the_api_path(place: Place) -> None:
    with closing(place.forge(root="/api/v3")) as forge:
        assert keep_current(forge, place.pr_number, lambda: place.body("a")).outcome is PostOutcome.CREATED
        assert keep_current(forge, place.pr_number, lambda: place.body("b")).outcome is PostOutcome.UPDATED
    assert place.bodies() == [place.body("b")]
    assert place.front.count("POST /api/graphql") == 1
    assert all(request.split()[1].startswith("/api/") for request in place.front.seen)


def test_our_comment_is_updated_when_github_hides_our_login(place: Place, forge: GitHub) -> None:
    foreign = place.body("of somebody else")
    place.github.write(foreign, place.pr_number)
    ours = place.github.write(place.body("old"), place.pr_number, token=place.github.token)
    place.front.will(refuse(403, body={"message": "Forbidden"}), when="POST /graphql")
    posted = keep_current(forge, place.pr_number, lambda: place.body("new"))
    assert place.bodies() == [foreign, place.body("new")]
    assert posted.url == ours["html_url"]


TOO_LONG = {
    "message": "Validation Failed",
    "errors": [
        {
            "resource": "IssueComment",
            "field": "data",
            "message": "Body is too long (maximum is 65536 characters)",
        }
    ],
}


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (
            403,
            "Resource not accessible by integration",
            ForgeRefusedError,
            "permissions: pull-requests: write",
        ),
        (
            403,
            "Resource not accessible by personal access token",
            ForgeRefusedError,
            "a token that may write",
        ),
        (403, "Unable to create comment because issue is locked.", ForgeError, "Unlock the conversation"),
        (422, TOO_LONG, ForgeError, "Body is too long (maximum is 65536 characters)"),
        (422, {"message": "Validation Failed", "errors": [7, {}]}, ForgeError, "Validation Failed"),
        (401, "Bad credentials", ForgeError, "wrong, expired or revoked"),
        (404, "Not Found", ForgeError, "private and the token may not read it"),
        (410, "This issue was deleted", ForgeError, "no pull request"),
    ],
)
def test_an_error_from_github_tells_how_to_fix_it(
    place: Place, forge: GitHub, *, status: int, body: object, kind: type[Exception], words: str
) -> None:
    reply = {"message": body} if isinstance(body, str) else body
    place.front.will(refuse(status, body=reply), when="POST /repos")
    with pytest.raises(kind) as raised:
        keep_current(forge, place.pr_number, lambda: place.body("a"))
    assert words in str(raised.value)
    assert type(raised.value) is kind
    assert place.github.token not in str(raised.value)
    assert place.bodies() == []


def test_redirects_of_a_renamed_repository_are_followed(place: Place, forge: GitHub) -> None:
    moved = f"{place.front.url}/repositories/1/issues/{place.pr_number}/comments"
    place.front.will(refuse(301, {"Location": moved}), when="GET /repos")
    place.front.will(refuse(307, {"Location": moved}), when="POST /repos")
    assert keep_current(forge, place.pr_number, lambda: place.body("a")).outcome is PostOutcome.CREATED
    assert place.bodies() == [place.body("a")]


def test_the_next_page_is_never_fetched_from_another_address(place: Place, forge: GitHub) -> None:
    with UnreliableProxy(place.github.url) as elsewhere:
        link = f'<{elsewhere.url}/repositories/1/comments?page=2>; rel="next"'
        listed = [place.github.write("a", place.pr_number)]
        place.front.will(refuse(200, {"Link": link}, listed), when="GET")
        assert [comment.body for comment in forge.comments(place.pr_number)] == ["a"]
        assert elsewhere.seen == []
        assert place.front.seen[-1].endswith("/comments?page=2")


def test_proxied_image_urls_are_found_and_purged(place: Place, forge: GitHub) -> None:
    made = place.github.write("![a](https://a.example/1.png?x=1&y=2)\n\n![b](https://b.example/2.png)")
    first, second = forge.proxied_images(str(made["id"]))
    assert first.startswith(f"{place.github.url}/camo/")
    assert first != second
    html = '<img src="https://x.example/1.png"><img data-canonical-src="y"><img src="ftp://z" data-canonical-src="z">'
    place.front.will(refuse(200, body={"body_html": html}), when="GET")
    assert forge.proxied_images(str(made["id"])) == []

    before = len(place.front.seen)
    assert forge.purge(f"{place.front.url}/camo/1/2")
    assert place.front.seen[before:] == ["PURGE /camo/1/2"]
    assert "authorization" not in place.front.seen_headers[-1]
    place.front.will(refuse(403), when="PURGE")
    assert not forge.purge(f"{place.front.url}/camo/1/2")
    assert not forge.purge("http://127.0.0.1:1/camo/1/2")
    assert not forge.purge("https://[")


def test_a_refusal_on_a_fork_pull_request_explains_the_fork() -> None:
    error = ForgeRefusedError("GitHub does not let this token do it: Resource not accessible by integration")
    assert with_fork_advice(error, Job(forge=ForgeKind.GITHUB)) is error
    for kind in ForgeKind:
        words = str(with_fork_advice(error, Job(forge=kind, from_fork=True)))
        assert "comes from a fork" in words
        assert "Resource not accessible" in words
    words = str(with_fork_advice(error, Job(forge=ForgeKind.GITHUB, from_fork=True)))
    assert all(
        word in words for word in ("workflow_run", "pull_request_target", "dangerous", "PRSHOTS_FORGE_TOKEN")
    )


def test_a_missing_option_is_named_in_the_error() -> None:
    known = {
        "forge": ForgeKind.GITHUB,
        "repository": "octocat/shop",
        "forge_api": "https://api.github.com",
        "forge_token": "ghs_secret",
    }
    with closing(forge_of(Job(**known))) as forge:
        assert isinstance(forge, GitHub)
    for name, words in {
        "forge": "--forge (PRSHOTS_FORGE), one of github, gitlab, gitea, bitbucket",
        "repository": "--repository",
        "forge_api": "--forge-url",
        "forge_token": "GITHUB_TOKEN: ${{ github.token }}",
    }.items():
        with pytest.raises(InvalidInputError) as raised:
            forge_of(Job(**{**known, name: None if name == "forge" else ""}))
        assert words in str(raised.value)
        assert "ghs_secret" not in str(raised.value)
    with pytest.raises(InvalidInputError, match="workflow_run"):
        forge_of(Job(**{**known, "forge_token": "", "from_fork": True}))
