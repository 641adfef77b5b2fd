"""A browser on the dashboard, signed in with a one-time link, on one keep-alive connection."""

import http.client
import json
from typing import Any

from bench.fill_sqlite import FIRST_FILLER_PR
from bench.run import BenchError
from bench.service import Service


class Browser:
    """A signed-in browser.

    `lists` are the paths of the dashboard's lists, by name. The gallery belongs to a filled project.
    """

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.web_port, timeout=30)
        self.headers = {"Origin": service.web_address, "Host": f"127.0.0.1:{service.web_port}"}
        code = service.run("login-link").strip().partition("#")[2]
        _, cookie = self._ask("POST", "/auth/link", json.dumps({"code": code}))
        self.headers["Cookie"] = cookie.partition(";")[0]
        projects = self.get("/v1/dashboard/projects")
        at = f"/v1/dashboard/projects/{projects['projects'][0]['id']}"
        self.lists = {
            "projects": "/v1/dashboard/projects",
            "pull requests": f"{at}/pulls",
            "gallery": f"{at}/pulls/{FIRST_FILLER_PR}/shots",
        }

    def get(self, path: str) -> dict[str, Any]:
        return self._ask("GET", path)[0]

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[dict[str, Any], str]:
        self._connection.request(method, path, body, self.headers)
        reply = self._connection.getresponse()
        content = reply.read()
        if reply.status != http.client.OK:
            raise BenchError(f"{method} {path}: {reply.status} {content.decode(errors='replace')}")
        return json.loads(content), reply.headers.get("Set-Cookie", "")
