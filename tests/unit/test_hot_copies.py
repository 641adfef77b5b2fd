"""The copies of hot images never take more memory than their limit, and the least recently used go first."""

from hypothesis import given
from hypothesis import strategies as st

from prshots.server.adapters.objects.hot_copies import MIN_COPIES, Copy, HotCopies

LIMIT = 80


def keep(copies: HotCopies, key: str, size: int) -> None:
    assert copies.reserve(size)
    copies.keep(key, Copy(f'"{key}"', bytes(size)))


def test_the_least_recently_used_copies_go_first() -> None:
    copies = HotCopies(LIMIT)
    for key in "abcdefgh":
        keep(copies, key, 10)
    assert copies.get("a") is not None
    keep(copies, "i", 5)
    assert [key for key in "abcdefghi" if copies.get(key)] == ["a", *"cdefghi"]


def test_an_object_larger_than_its_part_of_the_limit_is_not_kept() -> None:
    copies = HotCopies(LIMIT)
    assert copies.takes(LIMIT // MIN_COPIES)
    assert not copies.takes(LIMIT // MIN_COPIES + 1)


def test_objects_that_are_still_arriving_count() -> None:
    copies = HotCopies(LIMIT)
    keep(copies, "a", 10)
    assert all(copies.reserve(10) for _ in range(8))
    assert copies.get("a") is None
    assert not copies.reserve(1)
    copies.release(10)
    assert copies.reserve(10)


def test_a_new_copy_replaces_the_old_one() -> None:
    copies = HotCopies(LIMIT)
    for size in (10, 3):
        keep(copies, "a", size)
    assert copies.bytes == 3
    copies.drop("a")
    copies.drop("a")
    assert (copies.bytes, copies.get("a")) == (0, None)


@given(st.lists(st.tuples(st.sampled_from("abcdefghijklmnop"), st.integers(0, 12), st.booleans())))
def test_the_limit_holds_in_any_order_of_events(steps: list[tuple[str, int, bool]]) -> None:
    copies, kept = HotCopies(LIMIT), 0
    for key, size, arrives in steps:
        if copies.takes(size) and copies.reserve(size):
            if arrives:
                copies.keep(key, Copy("", bytes(size)))
            else:
                copies.release(size)
        kept = sum(len(copy.content) for copy in copies._copies.values())
        assert kept == copies.bytes <= LIMIT
