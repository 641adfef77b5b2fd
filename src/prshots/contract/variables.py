"""The names of PRSHOTS_ variables, and how to recognize a misspelled name.

The service's settings are in `server/config/settings.py`. This module has all other variables.
"""

from collections.abc import Collection, Mapping

from prshots.contract.statements import message, statements

PREFIX = "PRSHOTS_"

CLIENT: tuple[str, ...] = tuple(statements()["variables"])
"""Variables of the client commands, the pytest plugin and the Playwright reporter."""

OTHERS = (
    *("CONFIG", "WITHOUT_DASHBOARD"),
    *("METRICS_FOLDER", "METRICS_SLOT", "WORKER_RESTARTED"),  # from the supervisor to its children
    # templates/prshots.yml
    *("PATHS", "TEMPLATE", "SHRINK", "ALLOW_EMPTY", "COMPARE", "PARTIAL", "FAIL_ON", "GATE"),
    "VERSION",  # deploy/compose.yaml
    *("TO_DATABASE_URL", "TO_STORE_URL"),  # prshots move
)

SIMILAR = 0.8
"""How similar a misspelled name must be to a known name, on difflib's scale. PRSHOTS_STORE_URL, a setting of
the service, and PRSHOTS_FORGE_URL are 0.78."""


def unknown_variables(environ: Mapping[str, str], settings: Collection[str]) -> dict[str, str]:
    """Return the PRSHOTS_ variables that nothing reads, each with the known name that it resembles, or "".

    `settings` are the service's own, without the prefix. An empty variable counts as not set.
    """
    known = {*CLIENT, *OTHERS, *(name.upper() for name in settings)}
    return {
        f"{PREFIX}{name}": nearest_name(name, known, PREFIX) for name in _given(environ) if name not in known
    }


def client_warnings(environ: Mapping[str, str]) -> list[str]:
    """Return a warning for each variable that looks like a misspelled client variable.

    Other unknown variables get no warning, because they may belong to other tools.
    """
    return [
        unknown_variable_message(f"{PREFIX}{name}", nearest)
        for name in _given(environ)
        if name not in CLIENT and (nearest := nearest_name(name, CLIENT, PREFIX))
    ]


def _given(environ: Mapping[str, str]) -> list[str]:
    return sorted(name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX) and environ[name])


def unknown_variable_message(name: str, nearest: str) -> str:
    if nearest:
        return message("misspelled_variable", name=name, meant=nearest)
    return f"unknown variable {name} is ignored."


def nearest_name(name: str, known: Collection[str], prefix: str = "") -> str:
    """Return the known name that this one resembles, with the prefix, or "" if there is none."""
    from difflib import get_close_matches  # few processes need it, and it takes 200 KB

    swapped = [each for each in known if sorted(each) == sorted(name)]
    near = swapped or get_close_matches(name, known, n=1, cutoff=SIMILAR)
    return f"{prefix}{near[0]}" if near else ""
