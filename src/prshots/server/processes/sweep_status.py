"""`/healthz`, `/readyz` and `/metrics` of `prshots serve sweep`, which runs no component that has them."""

from starlette.routing import Router

from prshots.server.http.error_boundary import ErrorBoundary
from prshots.server.http.readiness import Readiness
from prshots.server.http.telemetry import service_routes


def sweep_status() -> ErrorBoundary:
    """Build the app. It is ready while it runs: whether sweeps succeed is in the metrics, and has alerts."""
    readiness = Readiness({})
    return ErrorBoundary(Router(service_routes(readiness), redirect_slashes=False), readiness)
