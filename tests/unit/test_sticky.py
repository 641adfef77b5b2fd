"""The one comment, whatever the order in which several jobs' calls arrive at the forge.

The calls of all jobs are interleaved as Hypothesis says, one at a time, which no HTTP server would let us do; how
it goes over HTTP with each forge is in `http/test_forges.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest
from greenlet import getcurrent, greenlet
from hypothesis import given
from hypothesis import strategies as st

from prshots.client.forges import Comment
from prshots.client.sticky_comment import ROUNDS, Posted, PostOutcome, keep_current
from prshots.contract.errors import ForgeError, ForgeRefusedError, NotFoundError

MARKER = "<!-- svc:pr-7 -->"
BOT = "prshots-bot"


@dataclass
class Conversation:
    """The comments of pull request 7, on a forge that forgets nothing and loses nothing but replies."""

    comments: list[Comment] = field(default_factory=list)
    made: int = 0

    def write(self, author: str, body: str) -> Comment:
        self.made += 1
        comment = Comment(str(self.made), body, author, f"https://forge.example/7#{self.made}")
        self.comments.append(comment)
        return comment

    def bodies(self, author: str = BOT) -> list[str]:
        return [comment.body for comment in self.comments if comment.author == author]


@dataclass
class MemoryForge:
    """One job's way to it. `before_each` is called when a call arrives: the others' may be answered first.

    As at GitHub, whoever may write may change what others wrote, unless the forge does not say who we are (None).
    """

    conversation: Conversation
    before_each: Callable[[], object] = lambda: None
    identity: str | None = BOT
    lost_replies: int = 0
    asked_who: int = 0
    label = "A forge"
    max_characters = 65_536

    def __post_init__(self) -> None:
        self.anybodys = self.identity is not None

    def marker(self, pr_number: int) -> str:
        return f"<!-- svc:pr-{pr_number} -->"

    def me(self) -> str | None:
        self.before_each()
        self.asked_who += 1
        return self.identity

    def comments(self, pr_number: int) -> Iterator[Comment]:
        assert pr_number == 7
        self.before_each()
        yield from list(self.conversation.comments)

    def create(self, pr_number: int, body: str) -> Comment:
        assert pr_number == 7
        for _ in range(self.lost_replies):  # it arrived; as no reply came, it is sent again
            self.before_each()
            self.conversation.write(BOT, body)
        self.before_each()
        return self.conversation.write(BOT, body)

    def update(self, pr_number: int, comment_id: str, body: str) -> None:
        assert pr_number == 7
        self.before_each()
        for index, comment in enumerate(self.conversation.comments):
            if comment.id == comment_id and (self.anybodys or comment.author == BOT):
                self.conversation.comments[index] = replace(comment, body=body)
                self.identity = BOT if self.identity is None else self.identity  # now it is known
                return
        raise NotFoundError("gone, or not ours")

    def delete(self, pr_number: int, comment_id: str) -> None:
        assert pr_number == 7
        self.before_each()
        for comment in self.conversation.comments:
            if comment.id == comment_id:
                if not self.anybodys and comment.author != BOT:
                    raise ForgeRefusedError("not ours")
                self.conversation.comments.remove(comment)
                return

    def proxied_images(self, comment_id: str) -> list[str]:
        del comment_id
        return []

    def purge(self, url: str) -> bool:
        del url
        return False

    def close(self) -> None: ...


def says(text: str) -> Callable[[], str]:
    return lambda: f"{MARKER}\n{text}\n"


def interleaved(jobs: list[Callable[[], object]], choices: list[int]) -> None:
    """Run the jobs, each up to its next call; whose turn it is, the choices say, and after them the first's."""
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


@given(
    choices=st.lists(st.integers(0, 2), max_size=60),
    jobs=st.integers(2, 3),
    lost_replies=st.integers(0, 1),
    before=st.integers(0, 2),
    foreign_at=st.integers(0, 2),
    identity=st.sampled_from([BOT, None, ""]),
    other=st.sampled_from(["mallory", ""]),  # empty: of an account that was deleted
)
def test_jobs_at_once_end_with_one_comment_that_is_current(
    *,
    choices: list[int],
    jobs: int,
    lost_replies: int,
    before: int,
    foreign_at: int,
    identity: str | None,
    other: str,
) -> None:
    conversation = Conversation()
    authors = [BOT] * before
    authors.insert(foreign_at, other)
    for author in authors:
        conversation.write(author, f"{MARKER}\n0 screenshots")
    uploaded: list[int] = []

    def job(number: int) -> Callable[[], object]:
        forge = MemoryForge(conversation, wait_for_turn, identity, lost_replies)

        def render() -> str:
            wait_for_turn()
            return f"{MARKER}\n{len(uploaded)} screenshots"

        def run() -> None:
            wait_for_turn()
            uploaded.append(number)
            keep_current(forge, 7, render)

        return run

    interleaved([job(number) for number in range(jobs)], choices)
    assert conversation.bodies() == [f"{MARKER}\n{jobs} screenshots"]
    assert conversation.bodies(other) == [f"{MARKER}\n0 screenshots"]


@pytest.mark.parametrize(
    ("body", "is_ours"),
    [
        (f"{MARKER}\nold", True),
        (f"\ufeff \r\n{MARKER}\r\nold", True),
        (MARKER, True),
        (f"> {MARKER}\nquoted", False),
        (f"See below\n{MARKER}", False),
        ("<!-- svc:pr-70 -->\nold", False),
        ("<!-- svc:pr-7-->\nold", False),
        ("", False),
    ],
)
def test_it_is_found_by_the_marker_at_its_start(body: str, is_ours: bool) -> None:
    conversation = Conversation()
    conversation.write(BOT, body)
    posted = keep_current(MemoryForge(conversation), 7, says("new"))
    assert posted.outcome is (PostOutcome.UPDATED if is_ours else PostOutcome.CREATED)
    assert conversation.bodies() == [*([] if is_ours else [body]), f"{MARKER}\nnew\n"]


def test_who_we_are_is_asked_only_when_something_may_be_ours() -> None:
    conversation = Conversation()
    conversation.write("ann", "Looks good to me")
    forge = MemoryForge(conversation)
    assert keep_current(forge, 7, says("new")).outcome is PostOutcome.CREATED
    assert forge.asked_who == 0
    assert keep_current(forge, 7, says("new")).outcome is PostOutcome.UNCHANGED
    assert forge.asked_who == 1


def test_without_creating_only_what_is_there_is_changed() -> None:
    conversation = Conversation()
    assert keep_current(MemoryForge(conversation), 7, says("x"), creating=False) == Posted(PostOutcome.NONE)
    assert conversation.comments == []
    conversation.write(BOT, f"{MARKER}\nold")
    assert (
        keep_current(MemoryForge(conversation), 7, says("x"), creating=False).outcome is PostOutcome.UPDATED
    )
    assert conversation.bodies() == [f"{MARKER}\nx\n"]


def test_a_list_that_is_a_moment_behind() -> None:
    class Behind(MemoryForge):
        def comments(self, pr_number: int) -> Iterator[Comment]:
            yield from [comment for comment in super().comments(pr_number) if comment.id not in hidden]

    hidden = {"1"}
    conversation = Conversation()
    posted = keep_current(Behind(conversation), 7, says("new"))
    assert posted == Posted(PostOutcome.CREATED, conversation.comments[0].url)
    assert conversation.bodies() == [f"{MARKER}\nnew\n"]


def test_a_forge_that_changes_what_it_is_sent_is_not_written_to_again_and_again() -> None:
    class Tidy(MemoryForge):
        def update(self, pr_number: int, comment_id: str, body: str) -> None:
            writes.append(body)
            super().update(pr_number, comment_id, body.replace("~", "-"))

    writes: list[str] = []
    conversation = Conversation()
    conversation.write(BOT, f"{MARKER}\nold")
    keep_current(Tidy(conversation), 7, says("a ~ b"))
    assert writes == [f"{MARKER}\na ~ b\n"]


def test_a_text_that_is_new_each_time_is_written_a_bounded_number_of_times() -> None:
    conversation = Conversation()
    texts = (f"{MARKER}\n{number}" for number in range(1000))
    assert keep_current(MemoryForge(conversation), 7, lambda: next(texts)).outcome is PostOutcome.CREATED
    assert conversation.bodies() == [f"{MARKER}\n{ROUNDS - 1}"]


def test_a_comment_that_is_listed_but_cannot_be_changed() -> None:
    class Confused(MemoryForge):
        def comments(self, pr_number: int) -> Iterator[Comment]:
            del pr_number
            yield self.conversation.write(BOT, f"{MARKER}\nold")
            self.conversation.comments.clear()

    with pytest.raises(ForgeError, match="has gone"):
        keep_current(Confused(Conversation()), 7, says("new"))
