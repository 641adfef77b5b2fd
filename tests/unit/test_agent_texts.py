"""What agents read is true: every command, option, link, field and message in it exists."""

import json
import re
import secrets
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from prshots.cli import app
from prshots.client.ci import Job
from prshots.client.heads import Head
from prshots.client.show import Shown, ShownShot
from prshots.contract.replies import Staged, Uploaded

ROOT = Path(__file__).parents[2]
SKILL = ROOT / "skills" / "prshots" / "SKILL.md"
PAGE = ROOT / "docs" / "use" / "agents.md"
TEXTS = [SKILL, PAGE, ROOT / "docs" / "llms.txt", ROOT / "src/prshots/server/http/llms.py"]
COMMANDS: dict[str, Any] = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def named_commands(text: str) -> list[tuple[str, set[str]]]:
    """Return each command in code, with its options: `prshots show PATH --json`, including lines of examples."""
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"^ *\$? ?(prshots .+)$", text, re.MULTILINE)
    found = [re.match(r"prshots ([a-z]+(?:-[a-z]+)*)(?= |$)(.*)", span.strip()) for span in code]
    return [(one[1], set(re.findall(r"--[a-z-]+", one[2]))) for one in found if one]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_every_command_and_option_exists(path: Path) -> None:
    named = named_commands(path.read_text())
    assert len(named) >= 2
    for name, options in named:
        assert name in COMMANDS, name
        command = COMMANDS[name]
        if not hasattr(command, "commands"):
            assert options <= {option for param in command.params for option in param.opts}, (name, options)


def test_the_skill_has_the_front_matter_that_agents_look_for() -> None:
    _, front, body = SKILL.read_text().split("---\n", 2)
    about = yaml.safe_load(front)
    assert set(about) == {"name", "description"}
    assert about["name"] == SKILL.parent.name
    assert re.fullmatch("[a-z0-9-]{1,64}", about["name"])
    assert "Use it when" in about["description"]
    assert len(about["description"]) <= 1024
    assert len(body.splitlines()) < 120


def test_the_configurations_are_valid() -> None:
    text = PAGE.read_text()
    for block in re.findall(r"```json\n(.+?)```", text, re.DOTALL):
        server = json.loads(block)["mcpServers"]["prshots"]
        assert (server["command"], server["args"]) == ("prshots", ["mcp"])
        assert set(server["env"]) == {"PRSHOTS_URL", "PRSHOTS_TOKEN", "PRSHOTS_FORGE_TOKEN"}
    (toml,) = re.findall(r"```toml\n(.+?)```", text, re.DOTALL)
    server = tomllib.loads(toml)["mcp_servers"]["prshots"]
    assert (server["command"], server["args"]) == ("prshots", ["mcp"])
    assert "skills/prshots/SKILL.md" in text


def shown(**changes: Any) -> Shown:
    reply = Staged(
        id="0" * 32,
        view_url="https://img/i/1.png?exp=1&token=k1.a",
        markdown=r"![a \[b\] | c](https://img/i/1.png?exp=1&token=k1.a)",
        before_url="https://img/i/2.png?exp=1&token=k1.b",
        expires_at=1_800_000_000,
        dashboard_url="https://web/staged",
    )
    shot = ShownShot("a [b] | c", "1280x800", "dark", reply, "a.png")
    given: dict[str, Any] = {"head": Head(Job(), "cart"), "commit_sha": "1" * 40, "shots": [shot]}
    return Shown(**{"failed": [], "problems": [], "is_staged": True, **given, **changes})


def test_the_page_lists_exactly_the_fields_of_the_reply() -> None:
    table = PAGE.read_text().partition("With `--json`, the command")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", table, re.MULTILINE)
    fields = {name for first, _ in rows for name in re.findall(r"`(\w+)`", first)}
    reply = shown().json()
    assert fields == set(reply)
    of_shots = next(rest for first, rest in rows if "shots" in first)
    assert set(re.findall(r"`(\w+)`", of_shots)) == set(reply["shots"][0])


def test_a_pair_is_a_table_with_both_images_and_an_escaped_name() -> None:
    assert shown().markdown == (
        r"**a \[b\] | c** (1280x800, dark)"
        "\n\n| before | after |\n|---|---|\n"
        r"| ![a \[b\] \| c, before](https://img/i/2.png?exp=1&token=k1.b) "
        r"| ![a \[b\] \| c](https://img/i/1.png?exp=1&token=k1.a) |"
    )
    assert "expire on 2027-01-15" in shown().next
    assert shown(shots=[]).next.startswith("Nothing is staged for cart")


# Hexadecimal digits cost the most: a model reads about two characters of a signed URL per token.
CHARACTERS_PER_TOKEN = 2


@pytest.mark.parametrize("before_url", [None, "https://img.prshots.example.com/i/{}.png"])
def test_fifty_shots_cost_fewer_than_5000_tokens(before_url: str | None) -> None:
    shots = []
    for number in range(50):
        image_id, signature = secrets.token_hex(16), f"?exp=1826531596&token=k1.{secrets.token_hex(32)}"
        url = f"https://img.prshots.example.com/i/{image_id}.png{signature}"
        name = f"checkout/cart-with-coupon-{number}"
        before = before_url and before_url.format(secrets.token_hex(16)) + signature
        reply = Uploaded(image_id, url, f"![{name}]({url})", before)
        shots.append(ShownShot(name, "1280x800", "dark", reply, f"/tmp/screenshots/{name}@1280x800.dark.png"))
    told = shown(shots=shots, is_staged=False)
    reply = told.json()
    assert len(json.dumps(reply, separators=(",", ":"))) / CHARACTERS_PER_TOKEN < 5000
    file = Path(str(reply["markdown_file"]))
    assert file.read_text() == told.markdown
    assert file.read_text().count("https://") == (100 if before_url else 50)  # each URL once
    file.unlink()
