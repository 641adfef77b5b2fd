"""The client: what runs in CI. It uses only the public API, and needs nothing of the server.

What is listed here is for other people's programs too: see docs/use/client.md. Each part is imported when
it is first asked for, so that a command waits only for what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prshots.client.ci import ForgeKind, Job, detected
    from prshots.client.forges import forge_of
    from prshots.client.posting import Composer, post
    from prshots.client.service import Client, Expired, Uploaded
    from prshots.client.shots import Found, Problem, Shot, find_shots
    from prshots.client.uploading import Outcome, upload_all

AT_ONCE = 8
"""How many uploads run at once, unless somebody says otherwise."""

__all__ = [
    "AT_ONCE",
    "Client",
    "Composer",
    "Expired",
    "ForgeKind",
    "Found",
    "Job",
    "Outcome",
    "Problem",
    "Shot",
    "Uploaded",
    "detected",
    "find_shots",
    "forge_of",
    "post",
    "upload_all",
]

_MODULES = {
    "forges": ("forge_of",),
    "ci": ("ForgeKind", "Job", "detected"),
    "posting": ("Composer", "post"),
    "service": ("Client", "Expired", "Uploaded"),
    "shots": ("Found", "Problem", "Shot", "find_shots"),
    "uploading": ("Outcome", "upload_all"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
