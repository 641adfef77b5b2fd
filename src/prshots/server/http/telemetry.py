"""Telemetry of the API and the web component: metrics, readiness, and a log line per request."""

import functools
from collections.abc import Callable, Iterable

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from prshots.server.http.error_boundary import HEADERS, Message, Observe, path_for_log
from prshots.server.http.json_response import JSONResponse
from prshots.server.http.readiness import BrieflyCached, Readiness
from prshots.server.observability import metrics

OTHER = "other"
"""The route label for all unknown paths, so scanners can't create new metrics."""

NO_STORE = {"Cache-Control": "no-store"}

_log = structlog.get_logger()


def service_routes(readiness: Readiness) -> list[Route]:
    rendered = BrieflyCached(readiness.render_metrics)

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers=NO_STORE)

    async def readyz(_: Request) -> JSONResponse:
        status, content = await readiness.report()
        return JSONResponse(content, status, NO_STORE | HEADERS.get(status, {}))

    async def show_metrics(_: Request) -> Response:
        return Response(await rendered.get(), headers={"Content-Type": metrics.CONTENT_TYPE, **NO_STORE})

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", show_metrics)]


def names_of(routes: Iterable[Route]) -> Callable[[Message], str]:
    """Return a function that returns a request's route label for metrics: the template, never the path."""
    by_endpoint: dict[object, Route] = {route.endpoint: route for route in routes}

    def name_of(scope: Message) -> str:
        route = by_endpoint.get(scope.get("endpoint"))
        if route is None or scope["method"] not in (route.methods or ()):
            return OTHER
        return f"{'GET' if scope['method'] == 'HEAD' else scope['method']} {route.path}"

    return name_of


def observer(component: str, name_of: Callable[[Message], str], *, logs: bool) -> Observe:
    """Return a function that counts and times a component's requests, and logs them if `logs` is set."""
    in_progress = metrics.IN_PROGRESS.labels(component)
    in_progress.set(0)  # the worker that had this slot before may have died with some

    def begin(scope: Message) -> Callable[[int, float], None]:
        in_progress.inc()
        return functools.partial(end, scope)

    def end(scope: Message, status: int, seconds: float) -> None:
        in_progress.dec()
        route = name_of(scope)
        metrics.with_labels(metrics.REQUESTS, component, route, str(status)).inc()
        metrics.with_labels(metrics.REQUEST_SECONDS, component, route).observe(seconds)
        if logs:
            _log.info(
                "request",
                method=scope["method"],
                path=path_for_log(scope),
                status=status,
                milliseconds=round(seconds * 1000, 1),
            )

    return begin
