"""The workers of one component, and the sockets that they listen on."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prshots.server.adapters.counters.upload_log import create_memory
from prshots.server.processes.listeners import listen

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings


@dataclass(frozen=True)
class WorkerGroup:
    component: str
    workers: int
    listeners: Sequence[socket.socket]
    inherits: tuple[int, ...] = ()
    """Additional descriptors that the workers inherit."""

    @property
    def slots(self) -> list[str]:
        """The workers' names. A restarted worker keeps its predecessor's slot."""
        return [f"{self.component}-{number}" for number in range(self.workers)]

    def listener(self, slot: str) -> socket.socket:
        return self.listeners[self.slots.index(slot) % len(self.listeners)]


def open_worker_groups(settings: "Settings", components: list[str]) -> list[WorkerGroup]:
    """Open the ports of these components. Raises SettingsError."""
    known = {
        "web": (settings.web_port, "PRSHOTS_WEB_PORT", 1),
        "api": (settings.api_port, "PRSHOTS_API_PORT", settings.api_workers),
        "delivery": (settings.img_port, "PRSHOTS_IMG_PORT", settings.img_workers),
    }
    if components == ["sweep"]:  # otherwise another component's port serves the sweep's metrics
        known = {"sweep": (settings.sweep_port, "PRSHOTS_SWEEP_PORT", 1)}
    return [
        WorkerGroup(
            component,
            workers,
            listen(component, settings.host, port, variable, workers),
            (create_memory(),) if component == "api" and settings.counts_in_memory else (),
        )
        for component, (port, variable, workers) in known.items()
        if component in components
    ]
