"""Read the parameters in a request's query."""

from starlette.datastructures import QueryParams


def only_value(query: QueryParams, name: str) -> str | None:
    """Return the parameter's value; None if it is missing or repeated."""
    values = query.getlist(name)
    return values[0] if len(values) == 1 else None
