"""The limits of an upload. The service enforces them; the client checks them before it sends anything."""

import re
from enum import StrEnum

MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""The default limit: images must be smaller than this. PRSHOTS_MAX_IMAGE_BYTES changes it."""
MAX_NAME_CHARACTERS = 200
MAX_PR_NUMBER = 2_147_483_647
COMMIT_SHA = re.compile(r"[0-9a-fA-F]{7,40}")
FULL_COMMIT_SHA = re.compile(r"[0-9a-fA-F]{40}")
SHA256 = re.compile(r"[0-9a-f]{64}")
IMAGE_ID = re.compile(r"[0-9a-f]{32}")
VIEWPORT = re.compile(r"[1-9][0-9]{0,4}x[1-9][0-9]{0,4}")
THEMES = ("light", "dark")
"""A shot's theme is one of these, or empty."""
MAX_BRANCH_CHARACTERS = 255
MAX_REPOSITORY_CHARACTERS = 255
REPOSITORY = re.compile(r"[A-Za-z0-9._~+{}-]+(/[A-Za-z0-9._~+{}-]+)+")
"""`owner/name`. GitLab's groups can be nested, and Bitbucket's workspaces can be UUIDs in braces."""
MAX_KNOWN_SHOTS = 1000
"""How many shots one request to `POST /v1/baseline/known` can list."""
MAX_BASE_COMMITS = 200
MAX_QUEUED_PULLS = 50
UPLOAD_TOKEN = re.compile(r"msr_[0-9a-f]{64}")


class Policy(StrEnum):
    """When a project's images expire. `retain_days`, if set, applies under every policy."""

    PR_CLOSE = "pr_close"
    RETAIN_DAYS = "retain_days"
    MANUAL = "manual"


MAX_DECIDED_PAIRS = 1000
MAX_NOTE = 2000
