"""`/healthz`, `/readyz` and `/metrics` of `prshots serve sweep`, which runs no other component."""

from starlette.routing import Router

from prshots.server.http.error_boundary import ErrorBoundary
from prshots.server.http.readiness import Readiness
from prshots.server.http.telemetry import service_routes


def create_sweep_status() -> ErrorBoundary:
    """Build the app. It is ready while it runs. Metrics and alerts report whether sweeps succeed."""
    readiness = Readiness({})
    return ErrorBoundary(Router(service_routes(readiness), redirect_slashes=False), readiness)
