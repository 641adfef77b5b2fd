"""The sticky comment: the cases that both clients share, and concurrent jobs.

Hypothesis chooses the order in which the jobs' calls arrive, which no HTTP server lets a test do. The tests over HTTP
with each forge are in `http/test_forges.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from greenlet import getcurrent, greenlet
from hypothesis import example, given
from hypothesis import strategies as st

from prshots.contract.comments import Marker
from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError
from prshots.contract.replies import SizedComment
from prshots.forges import Comment
from prshots.forges.sticky_comment import ROUNDS, Posted, PostOutcome, keep_current, notice_in
from prshots.server.adapters.forges.delivery import _update_comment_of_job
from support.vectors import cases

MARKER = "<!-- svc:pr-7 -->"
BOT = "bot"
ERRORS: dict[str, type[Exception]] = {"failed": ForgeError, "refused": ForgeRefusedError}


@dataclass
class Conversation:
    """The comments of pull request 7."""

    comments: list[Comment] = field(default_factory=list)
    made: int = 0
    edits: list[tuple[str, str]] = field(default_factory=list)

    def write(self, author: str, body: str, *, by_stranger: bool = False) -> Comment:
        self.made += 1
        url = f"https://forge.example/7#{self.made}"
        comment = Comment(str(self.made), body, author, url, by_stranger=by_stranger)
        self.comments.append(comment)
        return comment

    def delete(self, comment_id: str) -> Comment | None:
        found = next((comment for comment in self.comments if comment.id == comment_id), None)
        if found is not None:
            self.comments.remove(found)
        return found

    def bodies(self, author: str = BOT) -> list[str]:
        return [comment.body for comment in self.comments if comment.author == author]


@dataclass
class MemoryForge:
    """One job's access to the conversation. Each call runs `before_each` when it arrives, so other jobs can go first.

    `behavior` is how a vector describes the forge. As on GitHub, accounts with write access can change other people's
    comments, unless the forge does not say who we are (`me` is None).
    """

    conversation: Conversation
    before_each: Callable[[], object] = lambda: None
    behavior: dict[str, Any] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    asked_who: int = 0
    label = "A forge"

    def __post_init__(self) -> None:
        self.behavior = {"me": BOT, "authors_known": True, "lost_replies": 0} | self.behavior
        self.only_authors_change = self.behavior["me"] is None
        self.marker_style = Marker(self.behavior.get("marker", "html"))

    def marker(self, pr_number: int) -> str:
        return self.marker_style.line(pr_number)

    def me(self) -> str | None:
        self.before_each()
        self.asked_who += 1
        me: str | None = self.behavior["me"]
        return me

    def comments(self, pr_number: int) -> Iterator[Comment]:
        assert pr_number == 7
        self.before_each()
        if "ghost" in self.behavior:
            yield self.conversation.write(BOT, self.behavior["ghost"])
            self.conversation.comments.clear()
        hidden = self.behavior.get("hidden", ())
        yield from [comment for comment in self.conversation.comments if comment.id not in hidden]

    def create(self, pr_number: int, body: str) -> Comment:
        assert pr_number == 7
        for _ in range(1 + self.behavior["lost_replies"]):  # a lost reply makes the client retry
            self._arrives("create", str(self.conversation.made + 1))
            made = self.conversation.write(self.behavior.get("writes_as", BOT), self._stored(body))
        return made if self.behavior["authors_known"] else replace(made, author="")

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        assert pr_number == 7
        self._arrives("update", comment_id)
        for deleted in self.behavior.get("deleted_before_update", ()):
            self.conversation.delete(deleted)
        for index, comment in enumerate(self.conversation.comments):
            is_ours = not self.only_authors_change or comment.author == BOT
            if comment.id == comment_id and is_ours and comment_id not in self.behavior.get("missing", ()):
                self.conversation.comments[index] = replace(comment, body=self._stored(body))
                self.conversation.edits.append((comment.body, body))
                if self.behavior["me"] is None:
                    self.behavior["me"] = BOT  # now we know who we are
                return
        raise NotFoundError("gone, or not ours")

    def delete(self, pr_number: int, comment_id: str) -> None:
        assert pr_number == 7
        self._arrives("delete", comment_id)
        deleted = self.conversation.delete(comment_id)
        assert deleted is None or not self.only_authors_change or deleted.author == BOT
        assert deleted is None or self._is_shown(deleted), "readers always need one"

    def _is_shown(self, deleted: Comment) -> bool:
        """Return whether another comment is about the same project: ours, or a copy of ours if none is named."""
        line = "<!-- prshots:web -->" if "<!-- prshots:web -->" in deleted.body else ""
        return any(
            line in each.body and (line != "" or each.author == deleted.author)
            for each in self.conversation.comments
        )

    def _arrives(self, what: str, comment_id: str) -> None:
        self.before_each()
        self.writes.append(f"{what} {comment_id}")
        if what in self.behavior.get("refuses", ()):
            raise ForgeRefusedError("the token may not do that")

    def _stored(self, body: str) -> str:
        for before, after in self.behavior.get("replaces", {}).items():
            body = body.replace(before, after)
        ends = self.behavior.get("line_ends")
        return body.strip().replace("\n", ends) if ends else body


def interleaved(jobs: list[Callable[[], object]], choices: list[int]) -> None:
    """Run the jobs, each up to its next call. `choices` says whose turn it is; after that, the first job goes."""
    running = [greenlet(job) for job in jobs]
    order = iter(choices)
    for _ in range(10_000):
        if not running:
            return
        chosen = running[next(order, 0) % len(running)]
        chosen.switch()
        running = [job for job in running if not job.dead]
    pytest.fail("the jobs do not come to an end")


def wait_for_turn() -> None:
    getcurrent().parent.switch()


def text_of(count: int, notice: int = 0) -> str:
    return f"{MARKER}{Marker.HTML.notice_line(notice)}\n{count} screenshots"


@given(
    choices=st.lists(st.integers(0, 2), max_size=60),
    jobs=st.integers(2, 3),
    lost_replies=st.integers(0, 1),
    before=st.lists(st.integers(0, 1), max_size=2),
    news=st.lists(st.integers(0, 2), min_size=3, max_size=3),
    foreign_at=st.integers(0, 2),
    identity=st.sampled_from([BOT, None, ""]),
    other=st.sampled_from(["mallory", ""]),  # empty: the account was deleted
)
@example(  # a text from before the news must not be written after it
    choices=[2, 2, 2],
    jobs=3,
    lost_replies=0,
    before=[],
    news=[0, 1, 0],
    foreign_at=0,
    identity=BOT,
    other="mallory",
)
def test_concurrent_jobs_leave_one_current_comment(
    *,
    choices: list[int],
    jobs: int,
    lost_replies: int,
    before: list[int],
    news: list[int],
    foreign_at: int,
    identity: str | None,
    other: str,
) -> None:
    """`before` has the notices of our earlier comments, and `news` by how much each job raises the notice."""
    conversation = Conversation()
    written = [(BOT, text_of(0, notice)) for notice in before]
    written.insert(foreign_at, (other, text_of(0)))
    for author, text in written:
        conversation.write(author, text)
    uploaded: list[int] = []

    def current() -> str:
        return text_of(len(uploaded), max(before, default=0) + sum(news[number] for number in uploaded))

    def job(number: int) -> Callable[[], object]:
        forge = MemoryForge(conversation, wait_for_turn, {"me": identity, "lost_replies": lost_replies})

        def render() -> str:
            wait_for_turn()
            return current()

        def run() -> None:
            wait_for_turn()
            uploaded.append(number)
            keep_current(forge, 7, render)

        return run

    interleaved([job(number) for number in range(jobs)], choices)
    assert len(uploaded) == jobs
    # Otherwise the next job would post a comment for news that people already got.
    assert all(notice_in(old) <= notice_in(new) for old, new in conversation.edits)
    assert conversation.bodies() == [current()]
    assert conversation.bodies(other) == [text_of(0)]


@given(
    choices=st.lists(st.integers(0, 2), max_size=60),
    accounts=st.lists(st.sampled_from([BOT, "ann"]), min_size=3, max_size=3),
    before=st.lists(st.tuples(st.sampled_from([BOT, "ann"]), st.integers(0, 1)), max_size=3),
    news=st.integers(0, 1),
)
def test_concurrent_jobs_of_two_accounts_leave_one_comment_for_the_project(
    *, choices: list[int], accounts: list[str], before: list[tuple[str, int]], news: int
) -> None:
    conversation = Conversation()
    notice = max((earlier for _, earlier in before), default=0) + news  # the service's notices never fall
    for author, earlier in before:
        conversation.write(author, f"{of_web(earlier)}\nold")
    conversation.write(BOT, other := f"{MARKER}\n<!-- prshots:mobile -->\nold")

    def job(account: str) -> Callable[[], object]:
        forge = MemoryForge(conversation, wait_for_turn, {"me": account, "writes_as": account})

        def run() -> None:
            wait_for_turn()
            keep_current(forge, 7, lambda: f"{of_web(notice)}\nnew")

        return run

    interleaved([job(account) for account in accounts], choices)
    for account in (BOT, "ann"):  # an account that no longer runs leaves its comment
        interleaved([job(account)], [])
    left = [comment.body for comment in conversation.comments]
    assert other in left
    assert len(left) == 2


def of_web(notice: int) -> str:
    return f"{MARKER}\n<!-- prshots:web -->{Marker.HTML.notice_line(notice)}"


@pytest.mark.parametrize("case", cases("sticky_comment", "cases"))
def test_posting_makes_the_expected_changes(case: dict[str, Any]) -> None:
    conversation = Conversation()
    for comment in case["comments"]:
        conversation.write(**comment)
    forge = MemoryForge(conversation, behavior=case.get("forge", {}))
    texts = iter([*case["texts"], *[case["texts"][-1]] * ROUNDS])

    def post() -> Posted:
        return keep_current(
            forge,
            7,
            lambda: next(texts),
            creating=lambda: case.get("creating", True),
            is_alone=lambda: not case.get("siblings"),
        )

    if "error" in case:
        with pytest.raises(ERRORS[case["error"]]):
            post()
    else:
        url = f"https://forge.example/7#{case['kept']}" if "kept" in case else ""
        assert post() == Posted(PostOutcome(case["outcome"]), url, case.get("is_older", False))
    assert forge.writes == case["writes"]
    left = [{"author": comment.author, "body": comment.body} for comment in conversation.comments]
    assert left == case["left"]
    assert forge.asked_who == case.get("asks_who_we_are", forge.asked_who)


def test_the_service_leaves_news_to_the_job_that_owns_the_comment() -> None:
    """Otherwise the job would find its news in the comment, and reviewers would get no notice."""
    conversation, job = Conversation(), "github-actions[bot]"
    conversation.write(job, text_of(1))
    forge: Any = MemoryForge(conversation)
    for count, notice, shown in ((2, 0, text_of(2)), (3, 1, text_of(2))):
        assert _update_comment_of_job(forge, 7, sized(text_of(count, notice)))
        assert conversation.bodies(job) == [shown]


def test_the_service_updates_only_its_projects_comment_of_a_job() -> None:
    conversation, job = Conversation(), "github-actions[bot]"
    web, mobile = (f"{MARKER}\n<!-- prshots:{name} -->\n" for name in ("web", "mobile"))
    for text in (f"{mobile}old", f"{MARKER}\nold"):
        conversation.write(job, text)
    forge: Any = MemoryForge(conversation)
    assert not _update_comment_of_job(forge, 7, sized(f"{web}new", siblings=1))
    assert conversation.bodies(job) == [f"{mobile}old", f"{MARKER}\nold"]
    assert _update_comment_of_job(forge, 7, sized(f"{web}new"))
    assert conversation.bodies(job) == [f"{mobile}old", f"{web}new"]


def sized(text: str, siblings: int = 0) -> SizedComment:
    return SizedComment(7, text, "", count=1, shown=1, listed=0, omitted=0, siblings=siblings)
