"""JSON schemas of fields by name, and of replies from the classes in contract/replies.py."""

import ast
import inspect
import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from prshots.contract import limits
from prshots.contract.replies import MANUAL, Verdict

Schema = dict[str, Any]

COUNT: Schema = {"type": "integer", "minimum": 0}
FULL_COMMIT: Schema = {"type": "string", "pattern": f"^{limits.FULL_COMMIT_SHA.pattern}$"}

SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}

_PLAIN: Mapping[type[Any], Schema] = {
    str: {"type": "string"},
    int: COUNT,
    float: SHARE,
    bool: {"type": "boolean"},
}

FIELDS: Mapping[str, Schema] = {
    "branch": {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.MAX_BRANCH_CHARACTERS,
        "example": "main",
    },
    "commit_sha": {
        "type": "string",
        "pattern": f"^{limits.COMMIT_SHA.pattern}$",
        "description": "7 to 40 hexadecimal characters.",
    },
    "counts": {
        "type": "object",
        "required": [verdict for verdict in Verdict if verdict is not Verdict.FAILED],
        "properties": dict.fromkeys(Verdict, COUNT),
    },
    "id": {"type": "string", "pattern": "^[0-9a-f]+$"},  # of an image or a group
    "max_name_characters": {"const": limits.MAX_NAME_CHARACTERS},
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.MAX_NAME_CHARACTERS,
        "description": "What the screenshot shows. Any text without NUL characters.",
        "example": "checkout/cart",
    },
    "ok": {"const": True},
    "pair": {"const": MANUAL},
    "policy": {"type": "string", "enum": list(limits.Policy)},
    "pr_number": {"type": "integer", "minimum": 1, "maximum": limits.MAX_PR_NUMBER},
    "repository": {
        "type": "string",
        "pattern": f"^({limits.REPOSITORY.pattern})?$",
        "maxLength": limits.MAX_REPOSITORY_CHARACTERS,
        "description": "Optional: the branch's repository as `owner/name`, if it isn't the project's own.",
        "example": "acme/shop",
    },
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "shift": {"type": "integer"},
    "theme": {
        "type": "string",
        "enum": ["", *limits.THEMES],
        "description": "Optional. Shots with different themes are different shots.",
    },
    "token": {"type": "string", "pattern": "^msr_[0-9a-f]{64}$"},
    "viewport": {
        "type": "string",
        "pattern": f"^{limits.VIEWPORT.pattern}$",
        "description": "`<width>x<height>`, such as `1280x800`.",
        "example": "1280x800",
    },
}
"""Fields with the same meaning in every request and reply. Other reply fields follow their Python type."""


def named(*names: str) -> Schema:
    return {name: FIELDS[name] for name in names}


def object_of(required: Schema, optional: Schema | None = None) -> Schema:
    return {"type": "object", "required": list(required), "properties": required | (optional or {})}


def or_null(schema: Schema) -> Schema:
    allowed = {"enum": [None, *schema["enum"]]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | allowed


def schema_of(reply: type[Any], optional: Collection[str] = ()) -> Schema:
    """Return the schema of a reply. A field is optional if it has a default or is in `optional`."""
    hints, comments = get_type_hints(reply), _comments(reply)
    required, others = Schema(), Schema()
    for field in fields(reply):
        has_default = field.default is not MISSING
        schema = _field_schema(field.name, hints[field.name], is_optional=has_default)
        if isinstance(field.default, bool):
            schema = {"const": not field.default}
        if comment := comments.get(field.name):
            schema = schema | {"description": comment}
        (others if has_default or field.name in optional else required)[field.name] = schema
    return object_of(required, others)


def _field_schema(name: str, hint: Any, *, is_optional: bool) -> Schema:  # noqa: ANN401 - any type
    if get_origin(hint) is UnionType:  # a union with None
        kind = next(kind for kind in get_args(hint) if kind is not NoneType)
        schema = _field_schema(name, kind, is_optional=is_optional)
        return schema if is_optional else or_null(schema)
    if name.endswith("_url"):
        return {"type": "string", "format": "uri"}
    return FIELDS[name] if name in FIELDS else _type_schema(hint)


def _type_schema(hint: Any) -> Schema:  # noqa: ANN401 - any type
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        return schema_of(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": list(hint)}
    if origin is tuple:
        return {
            "type": "array",
            "items": _type_schema(inner[0]),
            "minItems": len(inner),
            "maxItems": len(inner),
        }
    if origin is Sequence:
        return {"type": "array", "items": _type_schema(inner[0])}
    raise TypeError(f"{hint} has no schema: add it to schemas.py")


def _comments(reply: type[Any]) -> dict[str, str]:
    """Return the strings below the fields, including those in base classes."""
    found: dict[str, str] = {}
    for kind in reversed(reply.__mro__[:-1]):
        (definition,) = ast.parse(inspect.getsource(kind)).body
        body = definition.body if isinstance(definition, ast.ClassDef) else []
        for statement, following in itertools.pairwise(body):
            match statement, following:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(text))):
                    found[name] = inspect.cleandoc(text)
    return found
