"""The mutants of a source file: each differs from it in one place."""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DROPPED = "condition dropped"

OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
BORDERS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


@dataclass(frozen=True)
class Mutant:
    path: Path
    kind: str
    first_line: int
    last_line: int
    before: str
    """The part of the source that is replaced."""
    text: str
    """The whole source with the replacement."""

    def diff(self) -> str:
        before, after = self.path.read_text().splitlines(), self.text.splitlines()
        changes = list(difflib.unified_diff(before, after, n=0, lineterm=""))[3:]
        return "\n".join(f"    {line}" for line in changes)


def mutants_of(path: Path) -> Iterator[Mutant]:
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _nodes(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        for kind, replacement in _replacements(node, before):
            text = (source[:start] + replacement.encode() + source[end:]).decode()
            yield Mutant(path, kind, node.lineno, node.end_lineno or node.lineno, before, text)


def _nodes(tree: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Walk through it. Not into f-strings, where Python 3.11 does not know positions, and not into annotations."""
    for field, value in ast.iter_fields(tree):
        for node in value if isinstance(value, list) else [value]:
            if (
                not isinstance(node, ast.AST)
                or isinstance(node, ast.JoinedStr)
                or field in ("annotation", "returns")
            ):
                continue
            if isinstance(node, ast.expr | ast.stmt):
                yield node
            yield from _nodes(node)


def _replacements(node: ast.expr | ast.stmt, before: str) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Compare() | ast.Call(func=ast.Attribute(attr="in_" | "is_" | "is_not")) if ".c." in before:
            # It stays as one side of an OR, so that the statement still takes the same parameters.
            yield DROPPED, f'(({before}) | __import__("sqlalchemy").text("1 = 1"))'
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            for kind, others in (("comparison negated", OPPOSITES), ("border moved", BORDERS)):
                if type(operator) in others:
                    yield kind, f"({ast.unparse(ast.Compare(left, [others[type(operator)]()], [right]))})"
        case ast.BoolOp(op=operator, values=values):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield "and/or swapped", f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not dropped", f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() as value):
            yield "constant changed", str(not value)
        case ast.Constant(value=int() as value):
            yield "constant changed", str(value + 1)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield "return changed", "return None"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Raise() if "log." not in before:
            yield "statement dropped", "pass"
