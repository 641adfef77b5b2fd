"""Compares what adapters return with what their port declares.

Python compares `Decimal(20) == 20` as true, but JSON cannot encode a Decimal. So a suite that only compares values does
not see an adapter that returns the wrong type.
"""

import dataclasses
import inspect
import types
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Adapter = TypeVar("Adapter")
NOTHING_TO_RETURN = {None, type(None), bool}


def methods_of(port: type) -> dict[str, Any]:
    """Return a port's methods and properties by name, each with the type that it declares to return."""
    functions = {
        name: member.fget if isinstance(member, property) else member
        for base in port.__mro__
        if getattr(base, "_is_protocol", False)
        for name, member in vars(base).items()
        if name == "__call__" or not name.startswith("_")
    }
    return {
        name: get_type_hints(function)["return"]
        for name, function in functions.items()
        if inspect.isfunction(function)
    }


class PortWatch:
    """Notes which methods of which ports were called, and fails a call whose result has another type."""

    def __init__(self) -> None:
        self._unseen: dict[type, set[str]] = {}

    def over(self, adapter: Adapter, port: type) -> Adapter:
        """Watch an adapter from now on. It stays the same object."""
        unseen = self._unseen.setdefault(port, set(methods_of(port)))
        for name, declared in methods_of(port).items():
            if isinstance(inspect.getattr_static(port, name), property):
                self._note(getattr(adapter, name), declared, unseen, name)
            else:
                setattr(adapter, name, self._watched(getattr(adapter, name), declared, unseen))
        return adapter

    @property
    def unseen(self) -> list[str]:
        """The methods that were not called, or never returned anything."""
        return sorted(f"{port.__name__}.{name}" for port, names in self._unseen.items() for name in names)

    def _watched(self, method: Callable[..., Any], declared: Any, unseen: set[str]) -> Callable[..., Any]:
        name = method.__name__

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            self._note(result, declared, unseen, name)
            return result

        async def wait(*args: Any, **kwargs: Any) -> Any:
            result = await method(*args, **kwargs)
            self._note(result, declared, unseen, name)
            return result

        return wait if inspect.iscoroutinefunction(method) else call

    def _note(self, result: Any, declared: Any, unseen: set[str], name: str) -> None:
        assert_is(result, declared, name)
        # An empty list shows nothing about the types of its entries.
        if declared in NOTHING_TO_RETURN or result not in (None, 0, "", [], {}, set(), (0, 0), (0, [])):
            unseen.discard(name)


def assert_is(value: Any, declared: Any, where: str) -> None:
    """Fail unless the value, with everything inside it, has exactly the declared type."""
    origin, arguments = get_origin(declared), get_args(declared)
    if declared in (Any, object) or origin in (AsyncIterator, AsyncGenerator):
        return
    if origin in (Union, types.UnionType):
        assert any(_is(value, one, where) for one in arguments), _differs(value, declared, where)
    elif origin is Literal:
        assert value in arguments, _differs(value, declared, where)
    elif origin is tuple:
        assert isinstance(value, tuple), _differs(value, declared, where)
        assert len(value) == len(arguments), _differs(value, declared, where)
        for index, (entry, one) in enumerate(zip(value, arguments, strict=True)):
            assert_is(entry, one, f"{where}[{index}]")
    elif origin in (list, set, frozenset, Sequence):
        kinds = {list, tuple} if origin is Sequence else {origin}
        assert type(value) in kinds, _differs(value, declared, where)
        for entry in value:
            assert_is(entry, arguments[0], f"{where}[]")
    elif origin in (dict, Mapping):
        assert isinstance(value, dict), _differs(value, declared, where)
        for key, entry in value.items():
            assert_is(key, arguments[0], f"{where} key")
            assert_is(entry, arguments[1], f"{where}[{key!r}]")
    else:
        kind = type(None) if declared is None else declared
        assert type(value) is kind, _differs(value, declared, where)
        _assert_fields(value, where)


def _assert_fields(value: Any, where: str) -> None:
    kind = type(value)
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        for name, declared in get_type_hints(kind).items():
            assert_is(getattr(value, name), declared, f"{where}.{name}")


def _is(value: Any, declared: Any, where: str) -> bool:
    try:
        assert_is(value, declared, where)
    except AssertionError:
        return False
    return True


def _differs(value: Any, declared: Any, where: str) -> str:
    return f"{where} is {value!r} ({type(value).__name__}), declared as {declared}"
