"""Upload screenshots as the baselines of a branch. Bytes that the service has already are not sent again."""

import hashlib
from collections.abc import Callable, Sequence

from prshots.client import DEFAULT_CONCURRENCY
from prshots.client.service import Client, Image
from prshots.client.shots import ShotFile
from prshots.client.upload import UploadOutcome, ignore_outcome, send_all, shot_fields
from prshots.contract.limits import MAX_IMAGE_BYTES, MAX_KNOWN_SHOTS
from prshots.contract.replies import ServiceLimits, Uploaded

Key = tuple[str, str, str]


def upload_baselines(
    client: Client,
    shots: Sequence[ShotFile],
    *,
    branch: str,
    commit_sha: str,
    concurrency: int = DEFAULT_CONCURRENCY,
    shrink: bool = False,
    on_done: Callable[[UploadOutcome], None] = ignore_outcome,
) -> list[UploadOutcome]:
    """Upload a commit's baselines, and return the outcomes in the same order, as `upload_all` does.

    `commit_sha` has 40 characters. Raises the errors of the service's client.
    """

    def send(shot: ShotFile, image: Image, content_type: str) -> Uploaded:
        return client.baseline(image, branch=branch, **shot_fields(shot, content_type, commit_sha))

    limits = client.limits() if shots else None
    known = _find_known(client, branch, commit_sha, _files_sent_unchanged(shots, limits, shrink=shrink))
    outcomes = {key: UploadOutcome(shot, note=shot.note, is_known=True) for key, shot in known.items()}
    for outcome in outcomes.values():
        on_done(outcome)
    missing = [shot for shot in shots if shot.key not in known]
    sent = send_all(send, missing, limits, concurrency=concurrency, shrink=shrink, on_done=on_done)
    outcomes |= {outcome.shot.key: outcome for outcome in sent}
    return [outcomes[shot.key] for shot in shots]


def _files_sent_unchanged(
    shots: Sequence[ShotFile], limits: ServiceLimits | None, *, shrink: bool
) -> list[ShotFile]:
    """Return the shots whose file is sent unchanged, so that its hash identifies it."""
    max_bytes = limits.max_image_bytes if limits else MAX_IMAGE_BYTES
    return [shot for shot in shots if not shrink or shot.size < max_bytes]


def _find_known(
    client: Client, branch: str, commit_sha: str, shots: Sequence[ShotFile]
) -> dict[Key, ShotFile]:
    """Return the shots whose bytes the service has. It has recorded them for this commit."""
    hashes = {shot.key: found for shot in shots if (found := _sha256(shot))}
    by_key = {shot.key: shot for shot in shots if shot.key in hashes}
    keys = [*by_key]
    for start in range(0, len(keys), MAX_KNOWN_SHOTS):
        asked = [
            {"name": name, "viewport": viewport, "theme": theme, "sha256": hashes[name, viewport, theme]}
            for name, viewport, theme in keys[start : start + MAX_KNOWN_SHOTS]
        ]
        for shot in client.missing_baselines(branch, commit_sha, asked):
            by_key.pop((str(shot.get("name")), str(shot.get("viewport")), str(shot.get("theme"))), None)
    return by_key


def _sha256(shot: ShotFile) -> str:
    try:
        with shot.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # sending it reports the error
        return ""
