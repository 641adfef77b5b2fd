"""The client, which runs in CI. It uses only the public API and needs nothing from the server.

The names listed here are public: see docs/use/python.md. Each module is imported on first use, to keep a
command from loading modules it doesn't need.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from prshots.contract.statements import statements

if TYPE_CHECKING:
    from prshots.client.ci import Job, detect_job
    from prshots.client.compare import compare_with_base
    from prshots.client.job_forge import forge_of
    from prshots.client.post_comment import Composer, post
    from prshots.client.service import Client
    from prshots.client.shots import Found, Problem, ShotFile, find_shots
    from prshots.client.upload import UploadOutcome, upload_all, upload_baselines
    from prshots.contract.comments import Marker, View
    from prshots.contract.forge_kinds import ForgeKind
    from prshots.contract.replies import Comparison, Expired, ServiceLimits, SizedComment, Uploaded

DEFAULT_CONCURRENCY: int = statements()["options"]["jobs"]["default"]
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
    "detect_job",
    "find_shots",
    "forge_of",
    "post",
    "upload_all",
    "upload_baselines",
]

_MODULES = {
    "prshots.client.compare": ("compare_with_base",),
    "prshots.client.ci": ("Job", "detect_job"),
    "prshots.client.job_forge": ("forge_of",),
    "prshots.client.post_comment": ("Composer", "post"),
    "prshots.client.service": ("Client",),
    "prshots.client.shots": ("Found", "Problem", "ShotFile", "find_shots"),
    "prshots.client.upload": ("UploadOutcome", "upload_all", "upload_baselines"),
    "prshots.contract.comments": ("Marker", "View"),
    "prshots.contract.forge_kinds": ("ForgeKind",),
    "prshots.contract.replies": ("Comparison", "Expired", "ServiceLimits", "SizedComment", "Uploaded"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
