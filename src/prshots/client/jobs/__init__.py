"""Which CI runs us, and what it says of the pull request."""

from prshots.client.jobs.by_hand import with_forge
from prshots.client.jobs.detection import detected
from prshots.client.jobs.job import ForgeKind, Job

__all__ = ["ForgeKind", "Job", "detected", "with_forge"]
