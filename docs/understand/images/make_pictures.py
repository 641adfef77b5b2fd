"""Draw the pictures of docs/understand/architecture.md: `python docs/understand/images/make_pictures.py [FOLDER]`.

The picture of the folders is drawn from the import rules in pyproject.toml. A test fails when a picture is old.
"""

import sys
import tomllib
from pathlib import Path

from svg import Box, Picture, Theme, write_both

HERE = Path(__file__).parent
PYPROJECT = HERE.parents[2] / "pyproject.toml"
WIDTH = 860


def architecture(theme: Theme) -> Picture:
    picture = Picture(
        WIDTH, 520, theme, "The components of prshots, the engines they use, and who calls them"
    )
    picture.group(Box(258, 12, 188, 462), "components")
    picture.group(Box(546, 12, 196, 462), "engines")

    browser = picture.box(Box(12, 44, 160, 80), "outside", "Browser", ["shows the dashboard"])
    job = picture.box(
        Box(12, 172, 160, 96), "outside", "CI job", ["client, Action, pytest,", "Playwright reporter"]
    )
    forge = picture.box(Box(12, 372, 160, 88), "outside", "Forge", ["reviewers,", "image proxy"])
    web = picture.box(
        Box(270, 44, 164, 80), "component", "Web :8080", ["dashboard files,", "relay to the API"]
    )
    api = picture.box(
        Box(270, 172, 164, 96), "component", "API :8081", ["uploads, comments,", "expiry, sign-in"]
    )
    keys = picture.box(Box(270, 304, 164, 36), "secret", "Signing keys")
    delivery = picture.box(
        Box(270, 372, 164, 88), "component", "Delivery :8082", ["checks signatures,", "sends images"]
    )
    counter = picture.box(Box(558, 44, 172, 80), "engine", "Counter", ["memory or Valkey"])
    database = picture.box(Box(558, 172, 172, 96), "engine", "Database", ["SQLite or PostgreSQL"])
    store = picture.box(Box(558, 372, 172, 88), "engine", "Origin store", ["a folder, or", "S3, GCS, Azure"])
    sweep = picture.box(Box(770, 284, 78, 72), "component", "Sweep", ["hourly"])

    picture.arrow((browser.right, 84), (web.x - 2, 84), label="pages", at=(215, 77))
    picture.arrow((job.right, 220), (api.x - 2, 220), label="uploads", at=(215, 213))
    picture.arrow(
        (forge.right, 416), (delivery.x - 2, 416), label="signed URL", at=(215, 409), read_only=True
    )
    picture.arrow(
        (job.center, job.bottom),
        (job.center, forge.y - 2),
        label="comment, status",
        at=(100, 325),
        anchor="start",
    )
    picture.arrow(
        (web.center, web.bottom), (web.center, api.y - 2), label="relays", at=(360, 153), anchor="start"
    )
    picture.arrow(
        (352, api.bottom), (352, keys.y - 2), label="signs", at=(360, 291), anchor="start", read_only=True
    )
    picture.arrow(
        (352, delivery.y),
        (352, keys.bottom + 2),
        label="verifies",
        at=(360, 361),
        anchor="start",
        read_only=True,
    )

    channel = 478
    picture.arrow(
        (api.right, 190), (channel, 190), (channel, 84), (counter.x - 2, 84), label="counts", at=(510, 77)
    )
    picture.arrow((api.right, 220), (database.x - 2, 220), label="records", at=(502, 213))
    picture.arrow(
        (api.right, 250), (channel, 250), (channel, 396), (store.x - 2, 396), label="bytes", at=(510, 389)
    )
    picture.arrow((delivery.right, 436), (store.x - 2, 436), label="bytes", at=(502, 454), read_only=True)
    picture.arrow(
        (sweep.center, sweep.y),
        (sweep.center, 220),
        (database.right + 2, 220),
        label="expires",
        at=(776, 213),
    )
    picture.arrow(
        (sweep.center, sweep.bottom),
        (sweep.center, 416),
        (store.right + 2, 416),
        label="deletes",
        at=(776, 435),
    )

    picture.arrow((28, 500), (72, 500))
    picture.text(80, 505, "calls, reads and writes", size=13, muted=True, anchor="start")
    picture.arrow((270, 500), (314, 500), read_only=True)
    picture.text(322, 505, "only reads", size=13, muted=True, anchor="start")
    return picture


PURPOSES = {
    "cli": "a file per command",
    "pytest_plugin": "the shot fixture",
    "mcp_server": "the tools for coding agents",
    "client": "what runs in CI:\nthe job, shots, uploads,\nthe gate",
    "processes": "supervisor, workers",
    "doctor": "checks a setup",
    "backup": "backup, restore",
    "move": "to other engines",
    "wiring": "settings in, components out: the only place that picks an adapter",
    "api": "routes",
    "delivery": "images",
    "web": "files, relay",
    "adapters": "engines",
    "http": "what the components share: errors, readiness, telemetry",
    "config": "settings",
    "observability": "metrics, logs",
    "domain": "the rules and the ports; no framework, no driver",
    "links.py": "signed URLs, and what delivery reads; no service",
    "forges": "what client and server ask a forge: sticky comment, commit status, reviews",
    "contract": "what client and server agree on; needs nothing installed",
}
ROW, GAP, MARGIN = 54, 10, 12


def folders(theme: Theme) -> Picture:
    """Draw a row per layer of the import rules: a folder may import those below it."""
    *tops, [client, _], forges, contract = _layers("prshots")
    layers = _layers("prshots.server")
    server = Box(252, MARGIN + len(tops) * (ROW + GAP), WIDTH - MARGIN - 252, len(layers) * (ROW + GAP) + 32)
    height = server.bottom + 2 * (GAP + ROW) + 44
    picture = Picture(WIDTH, height, theme, "The folders of src/prshots, and which may import which")
    for number, top in enumerate(tops):
        _row(picture, top, Box(MARGIN, MARGIN + number * (ROW + GAP), WIDTH - 2 * MARGIN, ROW), "outside")
    _row(picture, [client], Box(MARGIN, server.y, server.x - GAP - MARGIN, server.height), "component")
    picture.group(server, "server/")
    for number, layer in enumerate(layers):
        y = server.y + 30 + number * (ROW + GAP)
        _row(picture, layer, Box(server.x + MARGIN, y, server.width - 2 * MARGIN, ROW), "engine")
    for number, (bottom, kind) in enumerate([(forges, "outside"), (contract, "secret")]):
        y = server.bottom + GAP + number * (ROW + GAP)
        _row(picture, bottom, Box(MARGIN, y, WIDTH - 2 * MARGIN, ROW), kind)
    rule = "A folder may import from the rows below it, never from above or beside it."
    picture.text(WIDTH // 2, height - 16, rule, size=13, muted=True)
    return picture


def _row(picture: Picture, names: list[str], row: Box, kind: str) -> None:
    edges = [row.x + number * (row.width + GAP) // len(names) for number in range(len(names) + 1)]
    for name, left, right in zip(names, edges, edges[1:], strict=False):
        label = name if name.endswith(".py") else f"{name}/"
        picture.box(Box(left, row.y, right - GAP - left, row.height), kind, label, PURPOSES[name].split("\n"))


def _layers(container: str) -> list[list[str]]:
    """Return the parts of a package by layer, the top one first, as import-linter enforces them."""
    source = PYPROJECT.with_name("src").joinpath(*container.split("."))
    rules = tomllib.loads(PYPROJECT.read_text())["tool"]["importlinter"]["contracts"]
    [rule] = [rule for rule in rules if rule.get("containers") == [container]]
    layers = [
        [f"{name}.py" if (source / f"{name}.py").is_file() else name for name in layer.split(" | ")]
        for layer in rule["layers"]
    ]
    return [layer for layer in layers if not PURPOSES.keys().isdisjoint(layer)]


def main(folder: Path) -> None:
    write_both("architecture", architecture, folder)
    write_both("folders", folders, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else HERE)
