"""Reads decisions from requests, takes rejections from tokens, and reports the gate."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.routing import Route

from prshots.contract import validate
from prshots.contract.errors import InvalidInputError
from prshots.contract.gates import NoBaseline
from prshots.contract.limits import COMMIT_SHA, MAX_DECIDED_PAIRS, MAX_NOTE, SHA256
from prshots.contract.rate_limits import LimitPolicy
from prshots.contract.replies import Pin, Region
from prshots.server.api import fields
from prshots.server.api.request_body import BodySlots, bearer, only_value, read_authorized_json
from prshots.server.api.services import PublicServices
from prshots.server.api.upload import count_against_limit, get_or_post
from prshots.server.domain.comparison.models import PairKey
from prshots.server.domain.images import checks
from prshots.server.domain.review.models import Decision, NewDecision
from prshots.server.domain.review.parts import Boxes, boxes_of
from prshots.server.http.json_response import JSONResponse

MAX_DECISION_BYTES = 4 * 1024**2
"""Room for a thousand pairs with the longest names."""

BAD_PAIRS = f"pairs must be a list of 1 to {MAX_DECIDED_PAIRS:,} objects"
BAD_BOXES = "regions and gone must each be a list of boxes: [x, y, width, height]"
BAD_PIXELS = "pixels_before and pixels_after must each be 64 lower-case hexadecimal characters, or empty"
NO_PIXELS = "pixels_before or pixels_after is required: a pair without either cannot be decided"
BAD_NO_BASELINE = "no_baseline must be block or pass"
NO_REASON = "skip must be a string: why this run takes no screenshots"
HAS_DECISION = "decision is not allowed here: this call always rejects"
BAD_NOTE = f"note must be a string of at most {MAX_NOTE:,} characters"
BAD_PIN = "pin must be an object with x and y from 0 to 1"


def reject_route(services: PublicServices, slots: BodySlots) -> Route:
    async def reject(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(
            request, services.accounts, slots, max_bytes=MAX_DECISION_BYTES
        )
        pr_number = fields.pr_number_from_json(body.get("pr_number"))
        access.require_pr(pr_number)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.REJECT)
        if "decision" in body:
            raise InvalidInputError(HAS_DECISION)
        decision = read_decision(body, Decision.REJECTED, by=f"token {access.token_label}".strip())
        return JSONResponse(await services.reviews.reject(access.project, pr_number, decision))

    return Route("/v1/reject", reject, methods=["POST"])


def gate_route(services: PublicServices, slots: BodySlots) -> Route:
    async def read(request: Request) -> JSONResponse:
        access, query = await services.accounts.authenticate(bearer(request)), request.query_params
        pr_number = fields.pr_number_from_text(only_value(query, "pr_number"))
        given = only_value(query, "no_baseline") if "no_baseline" in query else NoBaseline.BLOCK
        no_baseline = fields.choice_from_text(NoBaseline, given, BAD_NO_BASELINE)
        access.require_pr(pr_number)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.POLL)
        needs_baseline = no_baseline is NoBaseline.BLOCK
        return JSONResponse(
            await services.reviews.gate(access.project, pr_number, needs_baseline=needs_baseline)
        )

    async def skip(request: Request) -> JSONResponse:
        access, body = await read_authorized_json(request, services.accounts, slots)
        pr_number = fields.pr_number_from_json(body.get("pr_number"))
        commit_sha = checks.check_commit(fields.text_of(body, "commit_sha"), COMMIT_SHA)
        reason = validate.words(body.get("skip"))
        if not reason:
            raise InvalidInputError(NO_REASON)
        access.require_pr(pr_number)
        await count_against_limit(request, services.counter, access.project, LimitPolicy.REJECT)
        return JSONResponse(await services.reviews.skip(access.project, pr_number, commit_sha, reason))

    return get_or_post("/v1/gate", read, skip)


def read_decision(
    body: Mapping[str, object], decision: Decision, *, by: str, user_id: str = ""
) -> NewDecision:
    """Read what is decided about which pairs. Raises InvalidInputError."""
    pairs, note = body.get("pairs"), body.get("note", "")
    if not isinstance(pairs, list) or not 1 <= len(pairs) <= MAX_DECIDED_PAIRS:
        raise InvalidInputError(BAD_PAIRS)
    read = [(_read_pair(pair), _read_boxes(pair)) for pair in pairs]
    if not isinstance(note, str) or len(note) > MAX_NOTE:
        raise InvalidInputError(BAD_NOTE)
    whole = {pair for pair, boxes in read if boxes is None}
    parts: dict[PairKey, Boxes] = {}
    for pair, boxes in read:
        if boxes is not None and pair not in whole:
            parts[pair] = parts.get(pair, frozenset()) | boxes
    keys = frozenset(pair for pair, _ in read)
    return NewDecision(decision, keys, by, user_id, note, _read_pin(body.get("pin")), parts)


def _read_pair(pair: object) -> PairKey:
    if not isinstance(pair, dict):
        raise InvalidInputError(BAD_PAIRS)
    shot = fields.shot_of(pair)
    before, after = (_read_pixels(pair, side) for side in ("pixels_before", "pixels_after"))
    if not before + after:
        raise InvalidInputError(NO_PIXELS)
    return PairKey(*shot, before, after)


def _read_boxes(pair: Mapping[str, object]) -> Boxes | None:
    """Return the boxes of a part, or None if the entry is about the whole pair."""
    if "regions" not in pair and "gone" not in pair:
        return None
    return boxes_of(*(_read_regions(pair.get(side, [])) for side in ("regions", "gone")))


def _read_regions(regions: object) -> list[Region]:
    if not isinstance(regions, list):
        raise InvalidInputError(BAD_BOXES)
    return list(map(_read_region, regions))


def _read_region(region: object) -> Region:
    if not isinstance(region, list) or len(region) != len("xywh"):
        raise InvalidInputError(BAD_BOXES)
    for length in region:
        if not isinstance(length, int) or isinstance(length, bool):
            raise InvalidInputError(BAD_BOXES)
    x, y, width, height = region
    return x, y, width, height


def _read_pixels(pair: Mapping[str, object], side: str) -> str:
    pixels = fields.text_of(pair, side)
    return checks.check_form(SHA256, pixels, BAD_PIXELS) if pixels else ""


def _read_pin(pin: object) -> Pin | None:
    if pin is None:
        return None
    if not isinstance(pin, dict):
        raise InvalidInputError(BAD_PIN)
    return Pin(_read_share(pin.get("x")), _read_share(pin.get("y")))


def _read_share(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InvalidInputError(BAD_PIN)
    return float(value)
