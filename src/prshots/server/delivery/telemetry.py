"""The metrics of delivery, and its `/readyz` and `/metrics`.

Answering a request takes about 30 µs, and updating one Prometheus metric takes 1 to 2 µs. This module
therefore counts in plain numbers, and adds them to the metrics once a second.
"""

from bisect import bisect_left
from functools import partial
from time import perf_counter

import structlog

from prshots.server.delivery.decision import RETRY_LATER, Delivery
from prshots.server.delivery.replies import Pending, Reply, Request, error_reply, json_reply, uncached_reply
from prshots.server.http.readiness import BrieflyCached, Readiness
from prshots.server.observability import metrics
from prshots.server.observability.metrics import BUCKETS

QUICK = BUCKETS[0]

_log = structlog.get_logger()


class DeliveryTelemetry:
    """Wraps Delivery: counts its replies, and answers requests to the operators' paths."""

    ROUTES = ("GET /readyz", "GET /metrics")

    def __init__(self, delivery: Delivery, readiness: Readiness) -> None:
        self._respond, self._send_plainly = delivery.respond, delivery.send_plainly
        self._readiness = readiness
        self._rendered = BrieflyCached(readiness.render_metrics)
        answers: list[Pending] = [self._readyz, self._metrics]
        self._for_operators = dict(zip(self.ROUTES, answers, strict=True))
        self.bytes_sent = 0
        self._results = dict.fromkeys(metrics.DELIVERY_RESULTS, 0)
        self._slower = [0] * (len(BUCKETS) + 1)  # by bucket; all other requests were fast
        self._seconds = 0.0

    def respond(self, request: Request) -> Reply | Pending:
        began = perf_counter()
        reply = self._respond(request)
        if not isinstance(reply, Reply):
            return partial(self._await_and_count, reply, began)
        result = reply.result
        if not result:
            return self._operators_reply(request) or reply
        self._count(result, began)
        return reply

    def respond_plainly(self, target: str) -> Reply | Pending:
        """Answer a GET without conditions."""
        began = perf_counter()
        reply = self._send_plainly(target)
        if reply is None:
            return self.respond(Request("GET", target, {}))
        self._count(reply.result, began)
        return reply

    def hand_over(self) -> None:
        """Add the counts since the last call to the Prometheus metrics."""
        total = sum(self._results.values())
        for result, count in self._results.items():
            if count:
                metrics.DELIVERIES.labels(result).inc(count)
                self._results[result] = 0
        if total:
            quick = total - sum(self._slower)
            metrics.add_observations(metrics.DELIVERY_SECONDS, [quick, *self._slower[1:]], self._seconds)
        if self.bytes_sent:
            metrics.DELIVERY_BYTES.inc(self.bytes_sent)
        self._slower = [0] * len(self._slower)
        self._seconds, self.bytes_sent = 0.0, 0

    def _count(self, result: str, began: float) -> None:
        self._results[result] += 1
        seconds = perf_counter() - began
        self._seconds += seconds
        if seconds > QUICK:
            self._slower[bisect_left(BUCKETS, seconds)] += 1

    async def _await_and_count(self, pending: Pending, began: float) -> Reply:
        reply = await pending()
        self._count(reply.result, began)
        return reply

    def _operators_reply(self, request: Request) -> Pending | None:
        path = request.target.partition("?")[0]
        answer = self._for_operators.get(f"{request.method.replace('HEAD', 'GET')} {path}")
        if answer is None:
            return None

        async def answer_safely() -> Reply:
            try:
                reply = await answer()
            except Exception:  # noqa: BLE001 - the client must get a reply
                _log.exception("internal error", path=path)
                reply = error_reply(500, "internal error")
            return reply._replace(body=b"") if request.method == "HEAD" else reply

        return answer_safely

    async def _readyz(self) -> Reply:
        status, content = await self._readiness.report()
        return json_reply(status, content, RETRY_LATER if "error" in content else "")

    async def _metrics(self) -> Reply:
        return uncached_reply(200, metrics.CONTENT_TYPE, await self._rendered.get())
