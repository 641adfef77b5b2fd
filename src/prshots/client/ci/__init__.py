"""Detect the CI and its pull request."""

from prshots.client.ci.detection import detect_job
from prshots.client.ci.job import Job, Lookup
from prshots.client.ci.overrides import with_forge

__all__ = ["Job", "Lookup", "detect_job", "with_forge"]
