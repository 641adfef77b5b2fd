"""The client: what runs in CI. It uses only the public API and needs nothing from the server.

The names listed here are public: see docs/use/python.md. Each module is imported on first use, so that a
command loads only what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prshots.client.baselines import upload_baselines
    from prshots.client.ci import ForgeKind, Job, detected
    from prshots.client.comparing import compare_with_base
    from prshots.client.forges import forge_of
    from prshots.client.posting import Composer, post
    from prshots.client.service import Client
    from prshots.client.shots import Found, Problem, ShotFile, find_shots
    from prshots.client.uploading import UploadOutcome, upload_all
    from prshots.contract.comments import Marker, View
    from prshots.contract.replies import Comparison, Expired, ServiceLimits, SizedComment, Uploaded

DEFAULT_CONCURRENCY = 8
"""How many uploads run at a time by default."""

__all__ = [
    "DEFAULT_CONCURRENCY",
    "Client",
    "Comparison",
    "Composer",
    "Expired",
    "ForgeKind",
    "Found",
    "Job",
    "Marker",
    "Problem",
    "ServiceLimits",
    "ShotFile",
    "SizedComment",
    "UploadOutcome",
    "Uploaded",
    "View",
    "compare_with_base",
    "detected",
    "find_shots",
    "forge_of",
    "post",
    "upload_all",
    "upload_baselines",
]

_MODULES = {
    "prshots.client.baselines": ("upload_baselines",),
    "prshots.client.comparing": ("compare_with_base",),
    "prshots.client.ci": ("ForgeKind", "Job", "detected"),
    "prshots.client.forges": ("forge_of",),
    "prshots.client.posting": ("Composer", "post"),
    "prshots.client.service": ("Client",),
    "prshots.client.shots": ("Found", "Problem", "ShotFile", "find_shots"),
    "prshots.client.uploading": ("UploadOutcome", "upload_all"),
    "prshots.contract.comments": ("Marker", "View"),
    "prshots.contract.replies": ("Comparison", "Expired", "ServiceLimits", "SizedComment", "Uploaded"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
