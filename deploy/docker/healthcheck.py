"""Checks that the components in this container answer: exit code 0 if all do, else 1 and the reason.

The supervisor holds the ports of its components as long as it runs. So a port that refuses connections
belongs to a component in another container.
"""

import http.client
import os
import sys

PORTS = {
    "PRSHOTS_WEB_PORT": 8080,
    "PRSHOTS_API_PORT": 8081,
    "PRSHOTS_IMG_PORT": 8082,
    "PRSHOTS_SWEEP_PORT": 8083,
}
SECONDS = 3


def problem_at(port: int) -> str | None:
    """Return what is wrong with the component at a port; "" if it is fine, None if there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
    except ConnectionRefusedError:
        return None
    except (OSError, http.client.HTTPException) as error:
        return f"port {port}: {str(error) or type(error).__name__}"
    finally:
        connection.close()
    return "" if status == http.client.OK else f"port {port}: status {status}"


def main() -> None:
    found = [problem_at(int(os.environ.get(name) or port)) for name, port in PORTS.items()]
    if set(found) == {None}:
        sys.exit("no component listens in this container")
    if any(found):
        sys.exit("; ".join(filter(None, found)))


if __name__ == "__main__":
    main()
