"""Prints the dashboard's TypeScript types, generated from the Python types of the API's replies.

`make format` writes them to web/src/lib/types.ts, and `make lint` fails if that file is out of date. The
TypeScript names omit "View": `ProjectView` becomes `Project`. Some replies are those of the public API.
"""

import ast
import inspect
import json
import sys
from collections.abc import Sequence
from enum import Enum
from itertools import chain, pairwise
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from prshots.contract import replies
from prshots.contract.forge_kinds import ForgeKind
from prshots.contract.limits import Policy
from prshots.contract.replies import (
    CommitState,
    ComparisonState,
    GateState,
    GroupKind,
    ReviewState,
    Verdict,
)
from prshots.server.api import login
from prshots.server.api.dashboard import view_types
from prshots.server.domain.audit.models import Action, ActorKind
from prshots.server.domain.outbox.models import Check, DeliveryKind
from prshots.server.domain.projects.models import Role
from prshots.server.domain.storage.models import QuotaHolder, QuotaUse
from prshots.server.domain.webhooks.models import Event, Format

HEAD = """/**
 * The replies of the dashboard API. Times are Unix seconds; sizes are bytes.
 *
 * Generated from src/prshots/server/api: change the types there and run `make format`.
 */
"""
_ENUMS = (
    Action,
    ActorKind,
    Role,
    Policy,
    Verdict,
    ComparisonState,
    GroupKind,
    ReviewState,
    GateState,
    CommitState,
    ForgeKind,
    DeliveryKind,
    Event,
    Format,
)
_REPLIES = (
    replies.ShotGroup,
    replies.Pin,
    replies.Review,
    replies.OutdatedNote,
    replies.GateStatus,
    replies.Gate,
    replies.Decided,
    replies.CloseUp,
    replies.ShotPart,
    Check,
    QuotaUse,
    QuotaHolder,
)
LINE_WIDTH = 110
_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}


def generate() -> str:
    """Return the whole file: the enums, and an interface for each TypedDict and reply."""
    enums = map(_enum, _ENUMS)
    found = chain.from_iterable(vars(module).values() for module in (replies, view_types, login))
    interfaces = map(_interface, dict.fromkeys(filter(_is_interface, found)))
    return "\n".join([HEAD, "".join(enums), *interfaces])


def _enum(enum: type[Enum]) -> str:
    """Return one type. A long one has a line for each value, as the formatter writes it."""
    line = f"export type {enum.__name__} = {_literals(enum)};\n"
    if len(line) <= LINE_WIDTH:
        return line
    return line.replace("= ", "=\n  | ").replace('" | ', '"\n  | ')


def _is_interface(hint: Any) -> bool:  # noqa: ANN401 - any type
    return is_typeddict(hint) or hint in _REPLIES


def _interface(view: type) -> str:
    """Return one interface. Types come from the class. Comments and the base class come from its source."""
    node, types = cast("ast.ClassDef", ast.parse(inspect.getsource(view)).body[0]), get_type_hints(view)
    base = next((base.id for base in node.bases if isinstance(base, ast.Name)), "TypedDict")
    extends = "" if base == "TypedDict" else f" extends {_name(base)}"
    lines = [f"export interface {_name(view.__name__)}{extends} {{"]
    for statement, following in pairwise([*node.body, None]):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match following:
                case ast.Expr(ast.Constant(str(text))):
                    lines.append(f"  /** {inspect.cleandoc(text)} */")
            field = statement.target.id
            # A field with a plain default is only in the JSON if its value differs: see contract/replies.py.
            has_default = statement.value is not None and not isinstance(statement.value, ast.Call)
            lines.append(f"  {field}{'?' if has_default else ''}: {_typescript(types[field])};")
    if about := ast.get_docstring(node):
        lines.insert(0, f"/** {about} */")
    return "\n".join([*lines, "}\n"])


def _typescript(hint: Any) -> str:  # noqa: ANN401 - any type
    """Return a Python type as TypeScript. Raises TypeError for a type that JSON can't represent."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if _is_interface(hint) or hint in _ENUMS:
        return _name(hint.__name__)
    if origin is Literal:
        return _literals(inner)
    if origin in (Union, UnionType):
        return " | ".join(map(_typescript, inner))
    if origin in (list, tuple, Sequence):
        types = ", ".join(map(_typescript, inner))
        return f"[{types}]" if origin is tuple else f"{types}[]"
    if origin is dict and inner[0] is str:
        return f"Record<string, {_typescript(inner[1])}>"
    raise TypeError(f"{hint} has no TypeScript type: add it to web/make_types.py")


def _literals(values: Any) -> str:  # noqa: ANN401 - an enum class or a tuple
    return " | ".join(json.dumps(value.value if isinstance(value, Enum) else value) for value in values)


def _name(name: str) -> str:
    return name.removesuffix("View")


if __name__ == "__main__":
    sys.stdout.write(generate())
