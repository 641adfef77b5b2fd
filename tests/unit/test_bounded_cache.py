"""The cache never grows past its size, and never returns a wrong value."""

from prshots.server.bounded_cache import BoundedCache


def test_returns_what_was_put_until_it_is_cleared() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("b", 0)  # a value that is replaced needs no more room
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, 0, None)
    cache.clear()
    assert (len(cache), cache.get("a")) == (0, None)


def test_never_grows_past_its_size() -> None:
    cache: BoundedCache[int, int] = BoundedCache(3)
    for number in range(100):
        cache.put(number, -number)
        assert 0 < len(cache) <= 3
        assert cache.get(number) == -number
