"""`prshots serve`: how it starts, stops, and recovers when its processes die."""

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime

import httpx
import pytest

from prshots.contract.errors import SettingsError
from prshots.server.config.settings import Settings
from prshots.server.observability.metrics_folder import JUST_MADE_SECONDS, PREFIX, metrics_folder
from prshots.server.processes import worker_group
from support.free_ports import free_port
from support.raw_requests import MULTIPART, body_of, image_part, read_reply, request_head, text_parts
from support.service import PNG, Service, png, upload
from support.service_processes import (
    WORKERS,
    change_database,
    children,
    component_pids,
    descriptors,
    fetch,
    image_files,
    is_alive,
    is_ready,
    key_of,
    kill,
    kill_supervisor,
    records,
    serve,
    supervisor_pid,
    wait_for_first_sweep,
    wait_until,
)

DAY = 86_400


def health(url: str) -> int:
    return httpx.get(f"{url}/healthz", timeout=90, trust_env=False).status_code


def printed_commands(service: Service) -> list[str]:
    wait_until(lambda: "export PRSHOTS_TOKEN" in service.log, "the greeting")
    return [line.strip() for line in service.log.splitlines() if " create demo" in line]


def paste(commands: list[str]) -> str:
    """Run commands in a shell without our variables, and return the token that they set."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PRSHOTS_")}
    script = "\n".join(["set -e", *commands, 'printf %s "$PRSHOTS_TOKEN"'])
    done = subprocess.run(
        ["sh"], input=script, env=clean, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def deaths(service: Service) -> list[datetime]:
    """Return when workers died, according to the log."""
    times = re.findall(r"^(\S+ \S+) \[error.*worker died", service.log, re.MULTILINE)
    return [datetime.fromisoformat(time) for time in times]


# Starting


def test_a_first_start_creates_what_it_needs_and_prints_the_next_steps(service: Service) -> None:
    service.folder /= "somebody's folder"
    service.folder.mkdir()
    service.start()
    assert stat.S_IMODE((service.data_dir / "signing-keys").stat().st_mode) == 0o600
    assert records(service) == []
    for address in (service.web_url, service.base_url, service.img_url):
        wait_until(lambda address=address: address in service.log, "the table of addresses")
    assert f"Open {service.web_url}" in service.log

    commands = printed_commands(service)
    assert len(commands) == 2
    (uploading,) = [line.strip() for line in service.log.splitlines() if " upload screenshots/ " in line]
    screenshot = service.folder / "cart@1280x800.png"
    screenshot.write_bytes(png())
    paste([*commands, uploading.replace("screenshots/", shlex.quote(str(screenshot)))])
    assert len(records(service)) == 1

    started = children(supervisor_pid(service))
    assert service.stop() == 0
    assert len(started) >= len(WORKERS)
    assert not [pid for pid in started if is_alive(pid)]
    assert "Traceback" not in service.log
    assert "died" not in service.log


@pytest.mark.slow
def test_a_config_file_is_named_in_the_printed_commands_and_read_by_each_new_worker(service: Service) -> None:
    """A worker that keeps dying, because the file is broken, restarts after longer pauses. Ctrl-C stops everything."""
    config = service.folder / "my settings.toml"
    config.write_text(f'data_dir = "{service.data_dir}"\n')
    settings = config.read_text()
    environment = {name: value for name, value in service.env.items() if name != "PRSHOTS_DATA_DIR"}
    process = serve(service, "--config", str(config), env=environment, own_group=True)
    service.wait_until_up()
    with service.client(paste(printed_commands(service))) as client:
        assert upload(client).status_code == 200

    wait_for_first_sweep(service)
    config.write_text("not TOML")
    kill(component_pids(service)["api"])
    wait_until(lambda: service.log.count("worker died") >= 7, "the seventh death")
    sixth, seventh = deaths(service)[5:7]
    assert (seventh - sixth).total_seconds() >= 1  # the pause is now 1.6 s; the log has whole seconds
    assert health(service.img_url) == 200
    config.write_text(settings)
    assert health(service.base_url) == 200

    started = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # Ctrl-C reaches the workers too
    assert process.wait(timeout=60) == 0
    assert not [pid for pid in started if is_alive(pid)]
    assert "Traceback" not in service.log


@pytest.mark.slow
def test_each_component_can_run_alone(service: Service) -> None:
    """Delivery waits for the keys that the API creates: a key that it made itself would verify nothing."""
    alone = {}
    for part in WORKERS:
        (service.folder / part).mkdir()
        alone[part] = replace(
            service, folder=service.folder / part, settings={"DATA_DIR": str(service.data_dir)}
        )
    delivery, web, api = alone["delivery"], alone["web"], alone["api"]
    with contextlib.ExitStack() as stack:
        for part in alone.values():
            stack.callback(lambda part=part: part.process and part.stop())

        serve(delivery, "delivery", "delivery")  # a duplicate has no effect
        wait_until(lambda: service.img_url in delivery.log, "the table of addresses")
        assert health(service.img_url) == 200
        assert list(component_pids(delivery)) == ["delivery"]
        assert "create demo" not in delivery.log
        with pytest.raises(httpx.ConnectError):
            health(service.base_url)
        assert httpx.get(f"{service.img_url}/readyz").json()["error"] == "not ready: keys"
        image = fetch(f"{service.img_url}/i/{'0a' * 16}.png?exp=2000000000&token=k1.{'0' * 64}")
        assert (image.status_code, image.headers["retry-after"]) == (503, "5")
        assert image.json() == {"error": "signing keys unavailable, retry later"}
        assert fetch(f"{service.img_url}/elsewhere").status_code == 404

        serve(web, "web")
        wait_until(lambda: service.web_url in web.log, "the greeting")
        assert health(service.web_url) == 200
        assert list(component_pids(web)) == ["web"]
        assert fetch(f"{service.web_url}/v1/comment").status_code == 502
        assert not service.data_dir.exists()

        serve(api, "api")
        wait_until(lambda: service.base_url in api.log, "the table of addresses")
        assert health(service.base_url) == 200
        assert list(component_pids(api)) == ["api"]
        assert service.img_url not in api.log
        assert fetch(f"{service.web_url}/v1/comment").status_code == 401
        assert fetch(str(image.url)).status_code == 403
        assert not [part for part in alone if "Traceback" in alone[part].log]


@pytest.mark.slow
def test_a_start_after_a_killed_supervisor_cleans_up_and_sweeps(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = service.folder / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    service.start()
    wait_for_first_sweep(service)  # an interrupted sweep would leave something behind
    with (
        service.client(service.new_token()) as client,
        service.client(service.new_token(policy="retain_days", retain_days="1")) as expiring,
    ):
        kept, due = upload(client).json(), upload(expiring).json()
    orphans = children(supervisor_pid(service))
    kill_supervisor(service)
    change_database(service, "UPDATE images SET uploaded_at = uploaded_at - ?", 2 * DAY)
    (metrics,) = temporary.glob(f"{PREFIX}*")
    with metrics_folder(["other"]) as others:  # of another running supervisor
        beside = others.rename(temporary / f"{PREFIX}other")
        for folder in (metrics, beside):
            os.utime(folder, (0, time.time() - 2 * JUST_MADE_SECONDS))
        service.start()  # on the same ports, which it waits for
        assert (metrics.exists(), beside.exists()) == (False, True)
    wait_until(lambda: not any(map(is_alive, orphans)), "the end of its children")
    wait_until(lambda: records(service) == [(kept["id"],)], "the sweep")
    assert image_files(service) == {key_of(kept["view_url"])}
    assert [fetch(shot["view_url"]).status_code for shot in (kept, due)] == [200, 410]


# Failed starts


@pytest.mark.slow
def test_a_second_serve_says_that_it_waits_for_the_port_and_gives_up(shared_service: Service) -> None:
    service = shared_service
    second = service.run_as_process("serve")
    assert (second.returncode, second.stdout) == (1, "")
    waiting, gave_up = second.stderr.splitlines()
    assert f"port {service.web_port} on 127.0.0.1 is in use, waiting up to 10 s" in waiting
    assert "in use: stop the program that uses it, or set PRSHOTS_WEB_PORT" in gave_up
    assert health(service.web_url) == health(service.base_url) == health(service.img_url) == 200


@pytest.mark.parametrize("part", ["web", "api", "img", "sweep"])
def test_a_port_that_stays_in_use_is_reported(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setattr(worker_group, "PORT_SECONDS", 0.0)
    names = {"img": "delivery"}
    port = free_port()
    with contextlib.ExitStack() as stack:
        for listener in worker_group.listen("api", "127.0.0.1", port, "PRSHOTS_API_PORT", workers=3):
            stack.enter_context(listener)
        settings = Settings(host="127.0.0.1", workers=3, **{f"{part}_port": port})
        message = rf"port {port} on 127.0.0.1 is in use: .* PRSHOTS_{part.upper()}_PORT"
        with pytest.raises(SettingsError, match=message):
            worker_group.open_worker_groups(settings, [names.get(part, part)])


@pytest.mark.slow
def test_a_broken_database_is_reported_in_one_line(service: Service) -> None:
    service.data_dir.mkdir()
    (service.data_dir / "prshots.db").write_bytes(b"not a database " * 1000)
    done = service.run_as_process("serve")
    assert (done.returncode, done.stdout) == (1, "")
    [said] = done.stderr.splitlines()
    assert "not a database" in said


# Stopping


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, len(WORKERS)])
def test_ctrl_c_during_startup_prints_no_traceback(service: Service, workers: int) -> None:
    """During startup, some workers have not reached our code yet."""
    process = serve(service, own_group=True)
    wait_until(lambda: len(children(process.pid)) >= workers, "the workers to be started")
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) in {0, 130}
    assert "Traceback" not in service.log


@pytest.mark.slow
def test_a_draining_component_is_not_ready_answers_and_closes_the_connection(service: Service) -> None:
    """The server sends `Connection: close` and then closes the connection itself."""
    service.settings |= {"DRAIN_SECONDS": "300"}  # longer than the test, which ends with a kill
    service.start()
    addresses = (service.web_url, service.base_url, service.img_url)
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with service.client(service.new_token()) as client, contextlib.ExitStack() as stack:
        view_url = upload(client).json()["view_url"]
        ports = (service.web_port, service.api_port, service.img_port)
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for port in ports
        ]
        for connection in connections:
            connection.sendall(ask)
            assert b"200 OK" in connection.recv(65536)
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not any(map(is_ready, addresses)), "readiness to go red")
        for connection in connections:
            connection.sendall(ask)
            received = b"".join(iter(lambda connection=connection: connection.recv(65536), b""))
            assert b"200 OK" in received
            assert b"connection: close" in received.lower()
        for address in addresses:
            reply = httpx.get(f"{address}/readyz", timeout=60, trust_env=False)
            assert (reply.status_code, reply.json()["error"]) == (503, "not ready: stopping")
        replies = [upload(client), fetch(view_url), client.get(f"{service.web_url}/v1/comment?pr_number=7")]
        assert [reply.status_code for reply in replies] == [200] * 3
        assert [reply.headers.get_list("connection") for reply in replies] == [["close"]] * 3
    kill_supervisor(service)
    assert "Traceback" not in service.log


def refuses(port: int) -> bool:
    """Tell whether the port is closed. A load balancer then tries the next replica."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


def half_upload(
    stack: contextlib.ExitStack, port: int, token: str, image: bytes
) -> tuple[socket.socket, bytes]:
    """Send half an upload. Return its connection and the other half."""
    body = body_of([*text_parts(), image_part(image)])
    head = request_head(token, f"Content-Type: {MULTIPART}", f"Content-Length: {len(body)}")
    connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    connection.sendall(head + body[:150_000])
    return connection, body[150_000:]


@pytest.mark.slow
def test_shutdown_waits_for_uploads_in_progress_up_to_the_grace_period(service: Service) -> None:
    service.settings |= {"DRAIN_SECONDS": "1", "GRACE_SECONDS": "120"}
    service.start()
    ports, addresses = (service.web_port, service.api_port), (service.web_url, service.base_url)
    token, images = service.new_token(), [png(300_000), png(300_000)]
    with contextlib.ExitStack() as stack:
        slow = [half_upload(stack, port, token, image) for port, image in zip(ports, images, strict=True)]
        # The halves may still be in socket buffers. Once a later request is answered, the service reads them.
        for address in addresses:
            with service.client(token, address) as client:
                client.get("/v1/comment?pr_number=1").raise_for_status()
        service.process.send_signal(signal.SIGTERM)
        for port in ports:
            wait_until(lambda port=port: refuses(port), "the port to be closed during the uploads")
        time.sleep(5)  # longer than the default of 4 s
        for connection, rest in slow:
            connection.sendall(rest)
        replies = [read_reply(connection) for connection, _ in slow]
    assert [reply.status for reply in replies] == [200, 200]
    assert service.process.wait(timeout=60) == 0
    stored = [service.images_dir / key_of(json.loads(reply.body)["view_url"]) for reply in replies]
    assert [path.read_bytes() for path in stored] == images


@pytest.mark.slow
def test_clients_that_never_finish_do_not_block_the_shutdown(service: Service) -> None:
    service.start()
    token = service.new_token()
    with service.client(token) as client:
        large = upload(client, png(5_000_000)).json()["view_url"]
    head = f"POST /v1/upload HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    form = "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 9000\r\n\r\n--x\r\n"
    asks = {
        service.web_port: ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", head + form, head, ""],
        service.api_port: ["GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", head + form, head, ""],
        service.img_port: [
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            f"GET {httpx.URL(large).raw_path.decode()} HTTP/1.1\r\nHost: localhost\r\n\r\n",  # never reads the reply
            "GET /i/",
            "",
        ],
    }
    connections = []
    for port, requests in asks.items():
        for request in requests:
            connections.append(socket.create_connection(("127.0.0.1", port)))
            connections[-1].sendall(request.encode())
    for address in (service.web_url, service.base_url, service.img_url):
        assert health(address) == 200  # so the workers have the earlier requests too
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(timeout=60) == 0
    assert "Traceback" not in service.log
    for connection in connections:
        connection.close()


# When processes die


@pytest.mark.slow
def test_a_worker_that_dies_is_restarted_and_leaves_no_open_files_or_zombies(service: Service) -> None:
    """On a broken database, the restarted worker answers 503 until the database is repaired."""
    service.start()
    pid, token = supervisor_pid(service), service.new_token()
    wait_for_first_sweep(service)
    before, open_files = component_pids(service), descriptors(pid)
    urls = {"web": service.web_url, "api": service.base_url, "delivery": service.img_url}
    for part, url in urls.items():
        kill(before[part])
        # No connection is refused: it waits in the listening socket for the next worker.
        assert health(url) == 200
        assert component_pids(service)[part] != before[part]
    with service.client(token) as client:
        assert fetch(upload(client).json()["view_url"]).content.startswith(PNG)
    for worker in component_pids(service).values():
        kill(worker)
    service.wait_until_up()
    wait_until(lambda: descriptors(pid) == open_files, "the supervisor to close what belonged to the dead")
    assert service.log.count("worker died, starting it again") == 2 * len(WORKERS)
    assert len(children(pid)) == len(WORKERS)  # no zombies
    assert all(map(is_alive, children(pid)))

    aside = service.folder / "aside"
    aside.mkdir()
    for file in service.data_dir.glob("prshots.db*"):
        shutil.move(file, aside)
    (service.data_dir / "prshots.db").write_bytes(b"not a database " * 1000)
    kill(component_pids(service)["api"])
    with service.client(token) as client:
        assert upload(client).status_code == 503
        for file in service.data_dir.glob("prshots.db*"):
            file.unlink()
        for file in aside.iterdir():
            shutil.move(file, service.data_dir)
        wait_until(lambda: upload(client).status_code == 200, "the database to be back")
    assert service.log.count("the database is not available") == 1
    assert "Traceback" not in service.log
    assert service.stop() == 0


def test_a_process_ends_with_its_supervisor_even_while_it_is_busy() -> None:
    """The event loop may be blocked, or not run yet."""
    lifeline, held_open = os.pipe()
    busy = f"import time; from prshots.server.processes import hold; hold({lifeline}); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", busy], pass_fds=[lifeline])
    os.close(lifeline)
    os.close(held_open)
    assert process.wait(timeout=60) == 1


@pytest.mark.slow
def test_a_worker_that_is_killed_before_it_is_ready_is_named_and_started_again(service: Service) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # the API waits for it 3 s before it is ready
        silent.settimeout(60)
        service.settings["DATABASE_URL"] = f"postgresql://shots@127.0.0.1:{silent.getsockname()[1]}/shots"
        serve(service, "api")
        connection, _ = silent.accept()
        kill(component_pids(service)["api"])
        connection.close()
    wait_until(lambda: "worker died before it was ready, starting it again" in service.log, "the log line")
    assert re.search("before it was ready.*signal=SIGKILL worker=api-0", service.log)
    assert health(service.base_url) == 200
    assert service.stop() == 0


def test_startup_waits_for_a_port_that_is_released_a_moment_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a supervisor is killed, its workers hold the port until they notice."""
    holding = socket.create_server(("127.0.0.1", 0))
    port = holding.getsockname()[1]
    monkeypatch.setattr(time, "sleep", lambda _: holding.close())
    with worker_group.listen("api", "127.0.0.1", port, "PRSHOTS_API_PORT")[0] as listener:
        assert listener.getsockname()[1] == port
