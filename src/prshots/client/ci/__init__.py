"""Detect the CI, and what it knows about the pull request."""

from prshots.client.ci.detection import detected
from prshots.client.ci.job import ForgeKind, Job
from prshots.client.ci.overrides import with_forge

__all__ = ["ForgeKind", "Job", "detected", "with_forge"]
