"""What git says in a local checkout: the target repository, the repository of the branch, and the branch."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prshots.client.ci import with_forge
from prshots.client.heads import Head, current_head, find_local_checkout
from prshots.contract.errors import ClosedPullRequestError, InvalidInputError
from prshots.contract.forge_kinds import ForgeKind
from support.forges.forge_fixtures import short_pauses  # noqa: F401 - a fixture of every test here
from support.forges.gitea_look_alike import GiteaLookAlike
from support.git_repositories import Repository, alone_with_git  # noqa: F401 - a fixture of every test here

pytestmark = pytest.mark.usefixtures("alone_with_git")

BASE = ("https://github.com", "acme/shop")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """Return a repository with one commit, on the branch cart, in which the test works."""
    made = Repository.new(tmp_path / "shop")
    made.commit()
    made.branch("cart")
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize(
    ("remote", "found"),
    [
        ("https://ann:secret@github.com/acme/shop", (ForgeKind.GITHUB, *BASE)),
        ("https://code.example.com/acme/shop", (None, "https://code.example.com", "acme/shop")),
        ("/srv/git/shop.git", (None, "", "")),
    ],
)
def test_remote_names_the_repository_and_its_forge(
    shop: Repository, remote: str, found: tuple[object, ...]
) -> None:
    shop.git("remote", "add", "origin", remote)
    desk = find_local_checkout({"PRSHOTS_FORGE_TOKEN": "secret"})
    job = desk.job
    assert (job.forge, job.forge_url, job.repository) == found
    assert job.repository_url == (f"{found[1]}/{found[2]}" if found[2] else "")
    assert (job.ci, job.branch, job.pr_number, job.from_fork) == ("", "", None, False)
    assert (desk.branch, desk.repository, desk.from_fork, desk.unknown) == ("cart", found[2], False, "")
    assert "secret" not in job.repository_url


@pytest.mark.slow  # runs git many times
def test_a_fork_as_origin_has_the_branch_and_upstream_gets_the_pull_request(shop: Repository) -> None:
    shop.git("remote", "add", "origin", "git@github.com:Acme/Shop.git")
    shop.git("remote", "add", "upstream", "https://github.com/acme/shop")
    assert not find_local_checkout({}).from_fork  # SSH and HTTPS of one repository
    shop.git("remote", "set-url", "origin", "git@github.com:Ann/shop.git")
    desk = find_local_checkout({})
    assert (desk.job.repository, desk.repository, desk.from_fork) == ("acme/shop", "Ann/shop", True)
    # A branch that tracks upstream's main is still in the fork.
    shop.git("config", "branch.cart.remote", "upstream")
    shop.git("config", "branch.cart.merge", "refs/heads/main")
    assert find_local_checkout({}).repository == "Ann/shop"
    shop.git("config", "branch.cart.merge", "refs/heads/cart")
    assert (find_local_checkout({}).repository, find_local_checkout({}).from_fork) == ("acme/shop", False)
    shop.git("config", "branch.cart.pushRemote", "https://github.com/bob/shop.git")
    assert (find_local_checkout({}).repository, find_local_checkout({}).from_fork) == ("bob/shop", True)


def test_a_remote_named_like_a_forge_gets_no_token(shop: Repository) -> None:
    for url, reason in (
        ("http://gitlab.attacker.example/acme/shop", "gets no forge token, because http isn't encrypted"),
        (
            "git@gitlab.attacker.example:acme/shop",
            "set --forge-url (PRSHOTS_FORGE_URL) to https://gitlab.att",
        ),
    ):
        shop.git("config", "remote.origin.url", url)
        for variable in ("GITLAB_TOKEN", "PRSHOTS_FORGE_TOKEN"):
            assert reason in current_head({variable: "secret"}, None).unknown


@pytest.mark.slow  # runs git many times
def test_several_remotes_without_a_usual_name_require_repository_option(shop: Repository) -> None:
    for name in ("one", "two"):
        shop.git("remote", "add", name, f"https://github.com/{name}/shop")
    desk = find_local_checkout({})
    assert (desk.job.repository, desk.branch, desk.unknown) == ("", "cart", "")
    assert "use --repository" in current_head({}, None).unknown


def test_without_a_branch_the_problem_says_what_to_do(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.git("remote", "add", "origin", "https://github.com/acme/shop")
    shop.git("checkout", "--quiet", "--detach")
    assert "HEAD is detached" in find_local_checkout({}).unknown
    with pytest.raises(InvalidInputError, match=r"git switch -c NAME\. Or use --pr"):
        current_head({}, None)
    shop.git("checkout", "--quiet", "main")
    assert "main is the default branch" in find_local_checkout({}).unknown
    shop.git("remote", "set-url", "origin", "https://github.com/ann/shop")
    shop.git("remote", "add", "upstream", "https://github.com/acme/shop")
    assert find_local_checkout({}).unknown == ""  # a fork's main may be the head of a pull request
    monkeypatch.chdir(tmp_path)
    assert "not in a git repository" in find_local_checkout({}).unknown
    with pytest.raises(InvalidInputError, match="change to your checkout") as caught:
        current_head({}, None)
    assert "\n" not in str(caught.value)


@pytest.mark.slow  # runs git many times
def test_worktrees_and_submodules_have_their_own_branch_and_remote(
    shop: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.git("remote", "add", "origin", "https://github.com/acme/shop")
    shop.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))
    monkeypatch.chdir(tmp_path / "other")
    assert (find_local_checkout({}).branch, find_local_checkout({}).repository) == ("other", "acme/shop")
    part = Repository.new(tmp_path / "part")
    part.commit()
    shop.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part.folder), "part")
    inside = Repository(shop.folder / "part")
    inside.git("remote", "set-url", "origin", "https://github.com/acme/part")
    inside.branch("paint")
    monkeypatch.chdir(inside.folder)
    assert (find_local_checkout({}).branch, find_local_checkout({}).repository) == ("paint", "acme/part")


class TestPullRequestOfBranch:
    @pytest.fixture
    def gitea(self, shop: Repository) -> Iterator[GiteaLookAlike]:
        with GiteaLookAlike() as made:
            shop.git("remote", "add", "origin", f"{made.public_url}/{made.repository}.git")
            yield made

    def head(self, gitea: GiteaLookAlike, pr: int | None = None, token: str | None = None) -> Head:
        environ = {"PRSHOTS_FORGE_TOKEN": gitea.token if token is None else token}
        return current_head(
            environ, pr, lambda job: with_forge(job, environ, kind=ForgeKind.GITEA, api=gitea.url)
        )

    def test_open_pull_request_of_the_branch_is_found_and_several_require_pr_option(
        self, gitea: GiteaLookAlike
    ) -> None:
        found = self.head(gitea)
        assert (found.job.pr_number, found.job.title, found.job.author) == (11, "A new cart", "ann")
        assert (found.branch, found.repository, found.from_fork) == ("cart", "acme/shop", False)
        assert (found.job.target_branch, found.unknown, found.unsure) == ("main", "", "")
        number = gitea.propose("cart")
        with pytest.raises(InvalidInputError, match=rf"several pull requests: 11, {number}\. Use --pr"):
            self.head(gitea)
        assert self.head(gitea, pr=number).job.pr_number == number

    def test_closed_and_foreign_pull_requests_are_ignored_unless_given(
        self, shop: Repository, gitea: GiteaLookAlike
    ) -> None:
        foreign = gitea.propose("basket", "stranger/shop")
        given = self.head(gitea, pr=foreign)
        assert (given.branch, given.repository, given.from_fork) == ("basket", "stranger/shop", True)
        shop.branch("basket")
        closed = gitea.propose("basket", is_open=False)
        with pytest.raises(ClosedPullRequestError, match=f"Pull request {closed} is closed"):
            self.head(gitea, pr=closed).job.refuse_closed(closed)
        found = self.head(gitea)
        assert found.job.pr_number is None
        assert found.unknown == "acme/shop has no open pull request from basket"

    def test_without_a_token_or_an_answer_the_reason_is_given(self, gitea: GiteaLookAlike) -> None:
        assert "no token for gitea: set PRSHOTS_FORGE_TOKEN" in self.head(gitea, token="").unknown
        wrong = self.head(gitea, token="wrong")
        assert "the forge cannot be asked: Gitea refused the token" in wrong.unknown
        given = self.head(gitea, pr=11, token="")
        assert (given.job.pr_number, given.unknown) == (11, "")
        assert "no token" in given.unsure
        assert given.job.source_branch == ""
