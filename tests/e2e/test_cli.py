"""The `prshots` command as people and scripts run it."""

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import httpx
import pytest
import typer
from typer.testing import CliRunner

from prshots.cli import app
from prshots.server.adapters.keys import KeyFile
from prshots.server.adapters.sql.database.schema import SCHEMA_VERSION
from prshots.server.domain.projects.service import Projects
from support.processes import completed
from support.service import PRSHOTS, Service, upload
from support.service_processes import change_database
from support.stores_and_records import open_records, read_only
from support.waiting import wait_for


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Service:
    """Create a data folder with a project, shared by several tests. No service runs."""
    made = Service(tmp_path_factory.mktemp("cli"))
    asyncio.run(with_project(made, "größer"))
    return made


async def with_project(service: Service, name: str) -> None:
    records = open_records(service.data_dir)
    await Projects(records, records).create_project(name)
    await records.close()


def failure(service: Service, *args: str, code: int = 1, **settings: str) -> str:
    """Run a command that must fail, and return its one line of output."""
    service = replace(service, settings=service.settings | settings)
    done = service.run_as_process(*args) if args == ("serve",) else service.run(*args, check=False)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    if not lines[0].startswith("Usage: "):
        assert len(lines) == 1, done.stderr
        assert lines[0].startswith("prshots: ") or ("[error" in lines[0] and "cannot start: " in lines[0])
    return lines[-1]


def table(printed: str) -> list[list[str]]:
    return [re.split(r" {2,}", line) for line in printed.splitlines()]


def listed(service: Service, *args: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(service.run(*args, "--json").stdout)
    return rows


class TestProjects:
    def test_create_list_set(self, service: Service) -> None:
        created = service.run("project", "create", "web app")
        assert created.stdout == ""
        assert created.stderr == "Created project 'web app': images expire when the pull request closes.\n"
        service.run("project", "create", "docs", "--policy", "retain_days", "--retain-days", "30")

        header, docs, web = table(service.run("project", "list").stdout)
        assert header == ["NAME", "POLICY", "RETAIN DAYS", "CREATED"]
        assert docs[:3] == ["docs", "retain_days", "30"]
        assert web[:3] == ["web app", "pr_close", "-"]

        service.run("project", "set", "docs", "--policy", "manual", "--no-retain-days")
        docs, web = listed(service, "project", "list")
        assert (docs["name"], docs["policy"], docs["retain_days"]) == ("docs", "manual", None)
        repository = "https://forge.example/acme/docs"
        said = service.run(
            "project", "set", "docs", "--keep-baselines", "7", "--repository", f"{repository}/"
        )
        assert said.stderr.endswith("; each branch keeps the baselines of 7 commits.\n")
        docs = listed(service, "project", "list")[0]
        assert (docs["keep_baselines"], docs["repository"]) == (7, repository)
        assert abs(time.time() - web["created_at"]) < 60

    def test_a_project_can_have_its_own_upload_limit(self, service: Service) -> None:
        created = service.run("project", "create", "many shots", "--uploads-per-minute", "1000")
        assert created.stderr.endswith("; at most 1,000 uploads per minute.\n")
        assert listed(service, "project", "list")[0]["uploads_per_minute"] == 1000
        service.run("project", "set", "many shots", "--no-uploads-per-minute")
        assert listed(service, "project", "list")[0]["uploads_per_minute"] is None
        for given in ("0", "10001"):
            said = failure(service, "project", "set", "many shots", "--uploads-per-minute", given, code=2)
            assert f"uploads_per_minute takes 1 to 10,000 uploads per minute; got {given}" in said
        both = ("--uploads-per-minute", "5", "--no-uploads-per-minute")
        assert "not both" in failure(service, "project", "set", "many shots", *both, code=2)

    def test_a_duplicate_unknown_or_invalid_project_is_refused(self, cli: Service) -> None:
        assert "'größer'" in failure(cli, "project", "create", "größer")
        assert "--retain-days N" in failure(cli, "project", "create", "x", "--policy", "retain_days", code=2)
        assert "'nope'" in failure(cli, "project", "set", "nope", "--policy", "manual", code=2)
        assert "takes 1 to 1000 commits; got 0" in failure(
            cli, "project", "set", "größer", "--keep-baselines", "0", code=2
        )
        assert "takes a web address" in failure(
            cli, "project", "set", "größer", "--repository", "acme/shop", code=2
        )
        assert "valid Unicode" in failure(cli, "project", "set", os.fsdecode(b"\xff"), "--policy", "manual")

    def test_invalid_arguments_exit_with_2(self, cli: Service) -> None:
        said = failure(cli, "project", "create", "x", "--policy", "never", code=2)
        assert all(word in said for word in ("--policy", "'never'", "pr_close", "retain_days", "manual"))
        assert "nothing to change" in failure(cli, "project", "set", "web", code=2)
        assert "not both" in failure(
            cli, "project", "set", "web", "--retain-days", "1", "--no-retain-days", code=2
        )
        assert "'nonsense'" in failure(cli, "nonsense", code=2)


class TestTokens:
    def test_create_list_revoke(self, cli: Service) -> None:
        created = cli.run("token", "create", "größer", "--label", "nightly build")
        assert re.fullmatch(r"msr_[0-9a-f]{64}\n", created.stdout)
        secret = created.stdout.strip()
        assert secret[4:] not in created.stderr
        dated = cli.run("token", "create", "größer", "--expires-days", "30").stderr
        assert re.search(r"valid until \d{4}-\d\d-\d\d", dated)
        assert "1 to 3,650" in failure(cli, "token", "create", "größer", "--expires-days", "0", code=2)

        printed = cli.run("token", "list", "größer").stdout
        header, *rows = table(printed)
        first, second = sorted(rows, key=lambda row: row[1] == "-")  # same second, so in any order
        assert header == [
            "ID",
            "LABEL",
            "HINT",
            "CREATED",
            "CREATED BY",
            "LAST USED",
            "EXPIRES",
            "REVOKED",
            "REVOKED BY",
        ]
        assert first[1:3] == ["nightly build", f"msr_…{secret[-4:]}"]
        assert second[1] == "-"
        assert f"Created token {first[0]} " in created.stderr

        cli.run("token", "revoke", first[0])
        revoked, kept = sorted(listed(cli, "token", "list", "größer"), key=lambda token: not token["label"])
        assert (revoked["id"], revoked["label"]) == (first[0], "nightly build")
        assert abs(time.time() - revoked["revoked_at"]) < 60
        assert (revoked["revoked_by"], revoked["expires_at"]) == ("", None)
        assert (kept["revoked_at"], kept["revoked_by"]) == (None, None)
        assert kept["expires_at"] == kept["created_at"] + 30 * 86_400
        times = {"created_at", "last_used_at", "expires_at", "revoked_at"}
        assert set(kept) == {"id", "label", "hint", "created_by", "revoked_by"} | times
        assert secret[4:-4] not in printed + json.dumps([revoked, kept])

    def test_an_unknown_project_or_token_is_refused(self, cli: Service) -> None:
        assert "'nope'" in failure(cli, "token", "create", "nope", code=2)
        assert "'nope'" in failure(cli, "token", "revoke", "nope", code=2)


class TestKeys:
    def test_create_list_rotate_retire(self, service: Service) -> None:
        assert "with key k1" in service.run("keys", "create").stderr
        assert table(service.run("keys", "list").stdout) == [["KID", "USE"], ["k1", "signs and verifies"]]
        assert "k2" in service.run("keys", "rotate").stderr
        assert listed(service, "keys", "list") == [
            {"kid": "k2", "signs": True},
            {"kid": "k1", "signs": False},
        ]
        assert "keys rotate" in failure(service, "keys", "retire", "k2")
        assert "URLs of 0 images" in service.run("keys", "retire", "k1").stderr
        assert "'k1'" in failure(service, "keys", "retire", "k1", code=2)

    def test_keys_from_a_setting_cannot_be_rotated_and_are_not_shown(self, cli: Service) -> None:
        keys = f"fixed:{'5e' * 32}"
        assert "PRSHOTS_SIGNING_KEYS" in failure(cli, "keys", "rotate", SIGNING_KEYS=keys)
        assert "5e5e" not in failure(cli, "keys", "list", SIGNING_KEYS="5e" * 32, code=2)

    def test_create_registers_keys_from_a_setting_but_no_other_key_under_a_known_kid(
        self, service: Service
    ) -> None:
        for keys in (f"a:{'5e' * 32}", f"b:{'6f' * 32}"):  # the second shares no key with the first
            service.settings["SIGNING_KEYS"] = keys
            assert "Registered the keys in PRSHOTS_SIGNING_KEYS" in service.run("keys", "create").stderr
        assert "key a differs" in failure(service, "keys", "create", SIGNING_KEYS=f"a:{'6f' * 32}")


class TestQuota:
    def test_set_and_list(self, service: Service) -> None:
        service.run("project", "create", "shop")
        assert service.run("quota", "set", "--organization", "local", "20GB").stderr == (
            "Set the quota of 'local' to 20 GB.\n"
        )
        for project, size in (("shop", "512"), ("local/shop", "none"), ("shop", "1.5 KB")):
            service.run("quota", "set", "--project", project, size)
        rows = table(service.run("quota", "list").stdout)
        assert ["local", "0", "0 B", "20 GB", "0 %"] in rows
        assert ["local/shop", "0", "0 B", "1.5 KB", "0 %"] in rows
        assert service.run("quota", "set", "--project", "shop", "default").stderr.endswith(
            " to the default.\n"
        )
        listed = json.loads(service.run("quota", "list", "--json").stdout)
        (shop,) = [row for row in listed if row["project"] == "shop"]
        assert shop == {
            "organization": "local",
            "project": "shop",
            "images": 0,
            "bytes": 0,
            "quota_bytes": None,
            "limit": 0,
        }
        assert "quota.changed" in service.run("audit", "--since", "2026-01-31").stdout
        expected = "prshots: --since takes a date such as 2026-01-31; got '31.1.2026'"
        assert failure(service, "audit", "--since", "31.1.2026", code=2) == expected
        expected = expected.replace("--since", "--until")
        assert failure(service, "audit", "--until", "31.1.2026", code=2) == expected

    def test_an_invalid_quota_is_refused(self, cli: Service) -> None:
        for size in ("20 apples", "0.1", "", "2000000TB"):
            failure(cli, "quota", "set", "--project", "größer", size, code=2)
        either = ("prshots: give either --organization or --project",)
        assert failure(cli, "quota", "set", "1GB", code=2) in either
        assert failure(cli, "quota", "set", "--organization", "a", "--project", "b", "1GB", code=2) in either
        assert "`prshots quota list` lists them" in failure(
            cli, "quota", "set", "--project", "unknown", "1GB", code=2
        )


def test_sweep_removes_files_without_a_record_and_reports_failures(cli: Service) -> None:
    orphan = cli.images_dir / "ab" / f"{'ab' * 16}.png"
    orphan.parent.mkdir(parents=True, exist_ok=True)
    orphan.write_bytes(b"x")
    os.utime(orphan, (0, 0))
    assert re.fullmatch(
        r"Expired 0 images \(0 B\) in [0-9.]+ s; removed 1 file without a record\.\n",
        cli.run("sweep").stdout,
    )
    assert not orphan.exists()
    orphan.mkdir()
    os.utime(orphan, (0, 0))
    stuck = cli.run("sweep", "--json", check=False)
    assert stuck.returncode == 1
    assert json.loads(stuck.stdout)["failed"] == 1
    assert "the next sweep tries again" in stuck.stderr
    orphan.rmdir()


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every group and command with its path."""
    group = group or typer.main.get_command(app)
    yield path, group
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*path, name))


@pytest.mark.parametrize(
    ("path", "command"), list(commands()), ids=[" ".join(("prshots", *path)) for path, _ in commands()]
)
def test_help_describes_the_command_its_options_and_subcommands(
    path: tuple[str, ...], command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = CliRunner().invoke(app, [*path, "--help"], prog_name="prshots").output
    assert printed.startswith(" ".join(("Usage: prshots", *path)))
    assert max(map(len, printed.splitlines())) <= 80
    assert command.help
    assert command.help.split()[0] in printed
    assert [param.name for param in command.params if not getattr(param, "help", "")] == []
    for name in getattr(command, "commands", ()):  # each with a summary: one line, a whole sentence
        assert re.search(rf"^  {name} +\w.*(?<!\.\.)\.$", printed, re.MULTILINE), name


def test_help_lists_client_and_server_commands_apart() -> None:
    printed = CliRunner().invoke(app, ["--help"], prog_name="prshots").output
    client, server = re.split(
        "^Server commands:$", printed.partition("\nClient commands:\n")[2], flags=re.MULTILINE
    )
    assert re.findall(r"^  ([a-z-]+) ", client, re.MULTILINE)[:2] == ["upload", "show"]
    assert {"serve", "doctor", "project"} <= set(re.findall(r"^  ([a-z-]+) ", server, re.MULTILINE))


def test_the_installed_program_prints_its_help_and_version(cli: Service) -> None:
    assert cli.run_as_process("--help").stdout.startswith("Usage: prshots")
    assert re.fullmatch(r"prshots \d+\.\d+\.\d+\n", cli.run_as_process("--version").stdout)


class TestErrors:
    """Every command reports the problem in one line."""

    def test_an_invalid_setting_is_named(self, cli: Service) -> None:
        for command in (("project", "list"), ("serve",)):
            said = failure(cli, *command, API_PORT="70000", code=2)
            assert said == "prshots: PRSHOTS_API_PORT: got '70000', takes a port number from 1 to 65535"

    def test_a_missing_config_file_is_named(self, cli: Service, tmp_path: Path) -> None:
        missing = tmp_path / "missing.toml"
        said = f"prshots: cannot read the settings in {missing}: No such file or directory"
        assert failure(cli, "project", "list", "--config", str(missing), code=2) == said
        assert failure(cli, "sweep", CONFIG=str(missing), code=2) == said

    def test_a_newer_database_is_used_if_it_takes_this_program_and_refused_otherwise(
        self, service: Service
    ) -> None:
        asyncio.run(with_project(service, "web"))
        change_database(service, "UPDATE alembic_version SET version_num = '9999'")
        assert "web" in service.run("project", "list").stdout
        assert "This version still works with it: nothing to do." in service.run("migrate").stderr
        for command in ("sweep", "check"):
            service.run(command)
        change_database(service, "UPDATE installation SET oldest_schema = '9998'")
        for code, *words in ((1, "project", "list"), (1, "migrate"), (1, "sweep"), (2, "check")):
            said = failure(service, *words, code=code)
            assert "the database has schema 9999, from a newer version of prshots: install that" in said
            assert f"the database takes 9998 and newer, this version has {SCHEMA_VERSION}" in said

    def test_a_file_in_place_of_the_data_folder_is_named(self, cli: Service, tmp_path: Path) -> None:
        in_the_way = tmp_path / "data"
        in_the_way.write_text("")
        for command in (("project", "list"), ("serve",)):
            assert str(in_the_way) in failure(cli, *command, DATA_DIR=str(in_the_way))

    def test_a_read_only_data_folder_fails_in_one_line(self, service: Service) -> None:
        asyncio.run(with_project(service, "web"))
        KeyFile(service.data_dir / "signing-keys").create_if_missing()
        with read_only(service.data_dir):
            for command in (("project", "create", "x"), ("keys", "rotate")):
                failure(service, *command)
        empty = service.folder / "empty"
        with read_only(empty):
            assert str(empty) in failure(service, "serve", DATA_DIR=str(empty))

    def test_an_invalid_key_file_is_named_but_not_shown(self, service: Service) -> None:
        service.data_dir.mkdir()
        for content in (b"\xff\xfe", b"5e5e5e5e5e"):
            (service.data_dir / "signing-keys").write_bytes(content)
            said = failure(service, "keys", "rotate")
            assert "signing-keys" in said
            assert "5e5e" not in said


class TestOutput:
    def list_keys_into(self, stdout: int | IO[bytes], cli: Service) -> tuple[int, bytes]:
        """Return the exit code and the standard error."""
        KeyFile(cli.data_dir / "signing-keys").create_if_missing()
        with subprocess.Popen(
            [PRSHOTS, "keys", "list"], env=cli.env, stdout=stdout, stderr=subprocess.PIPE
        ) as process:
            said = process.communicate(timeout=60)[1]
        return process.returncode, said

    def test_to_a_closed_pipe_or_a_full_disk_fails_in_at_most_one_line(self, cli: Service) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        assert self.list_keys_into(writing, cli) == (1, b"")
        os.close(writing)
        with Path("/dev/full").open("wb") as full:
            no_space = b"prshots: [Errno 28] No space left on device\n"
            assert self.list_keys_into(full, cli) == (1, no_space)

    def test_escapes_characters_that_the_terminal_cannot_show(self, cli: Service) -> None:
        ascii_only = cli.env | {"PYTHONIOENCODING": "ascii"}
        assert r"gr\xf6\xdfer" in completed([PRSHOTS, "project", "list"], env=ascii_only).stdout


def comment(client: httpx.Client) -> str:
    return str(client.get("/v1/comment", params={"pr_number": 7}).json()["markdown"])


def test_commands_take_effect_in_a_running_service(service: Service) -> None:
    token = service.start().new_token("web")
    with service.client(token) as client, httpx.Client(trust_env=False) as reader:
        old_url = upload(client).json()["view_url"]
        service.run("keys", "rotate")
        new_url = wait_for(lambda: upload(client).json()["view_url"], lambda url: "token=k2." in url)
        assert [reader.get(url).status_code for url in (old_url, new_url)] == [200, 200]
        assert old_url in comment(client)  # unchanged, because GitHub's proxy caches by URL

        assert "URLs of 0 images" not in service.run("keys", "retire", "k1").stderr
        wait_for(lambda: reader.get(old_url).status_code, lambda status: status == 403)
        assert reader.get(new_url).status_code == 200
        signed_anew = wait_for(lambda: comment(client), lambda markdown: "token=k1." not in markdown)
        [again] = re.findall(rf"{re.escape(old_url.partition('?')[0])}[^)\"]+", signed_anew)
        assert reader.get(again).status_code == 200

        assert service.run("sweep").stdout.startswith("Expired 0 images")
        (used,) = listed(service, "token", "list", "web")
        assert used["last_used_at"]
        service.run("token", "revoke", used["id"])
        assert upload(client).status_code == 401
