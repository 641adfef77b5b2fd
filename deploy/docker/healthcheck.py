"""Check the components in this container: exit with 0 if all answer, else with 1 and the ones that do not.

The supervisor keeps the ports of its components open as long as it lives. So a port that refuses connections
belongs to a component in another container.
"""

import http.client
import os
import sys

PORTS = {"PRSHOTS_WEB_PORT": 8080, "PRSHOTS_API_PORT": 8081, "PRSHOTS_IMG_PORT": 8082}
SECONDS = 3


def trouble(port: int) -> str | None:
    """Return what is wrong with the component at a port: "" if nothing is, None if there is no component."""
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
    found = [trouble(int(os.environ.get(name) or port)) for name, port in PORTS.items()]
    if set(found) == {None}:
        sys.exit("no component listens here")
    if any(found):
        sys.exit("; ".join(filter(None, found)))


if __name__ == "__main__":
    main()
