"""Webhooks on a running service: what owners set up, and what receivers get."""

import asyncio
import ipaddress
import json
import re
import secrets
import ssl
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from prshots.contract.errors import ForgeError, UnreachableError
from prshots.forges import deadline
from prshots.server.adapters.forges import public_addresses
from prshots.server.adapters.keys import FixedKeys
from prshots.server.adapters.webhooks.receivers import Receivers
from prshots.server.domain.webhooks.models import Format, Webhook
from support.drawn_pages import drawn_page, sha
from support.http_server import answering, dripping
from support.project_client import Project
from support.service import Service, upload
from support.signed_in_people import Person, sign_in
from support.stores_and_records import ONE_KEY
from support.waiting import wait_for, wait_until
from support.webhook_receiver import Receiver, receiving

ALL = ["compared", "decided", "gate", "expired", "quota"]
PAIR = ("name", "viewport", "theme", "pixels_before", "pixels_after")
EXAMPLES = Path(__file__).parents[2] / "docs/use/webhooks.md"


@pytest.fixture(scope="module")
def owner(shared_service: Service) -> Iterator[Person]:
    with sign_in(shared_service) as person:
        yield person


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


class Shop(NamedTuple):
    """An organization with a project, whose owner sets up webhooks."""

    owner: Person
    service: Service
    organization: str
    project: str

    @property
    def path(self) -> str:
        return f"/organizations/{self.organization}/webhooks"

    def create(self, url: str, **changes: Any) -> httpx.Response:
        asked = {"url": url, "format": "standard", "events": ALL} | changes
        return self.owner.ask("POST", self.path, **asked)

    def webhook(self, url: str, **changes: Any) -> tuple[str, str]:
        """Create a webhook, and return its path and secret."""
        made = self.create(url, **changes)
        assert made.status_code == 201, made.text
        return f"{self.path}/{made.json()['webhook']['id']}", made.json()["secret"]

    def shown(self, webhook: str) -> dict[str, Any]:
        (found,) = [
            each for each in self.owner.get_json(self.path)["webhooks"] if webhook.endswith(each["id"])
        ]
        return dict(found)

    def deliveries(self, webhook: str) -> list[dict[str, Any]]:
        return list(self.owner.get_json(f"{webhook}/deliveries")["deliveries"])

    def compare(self) -> dict[str, Any]:
        """Push a change, and return its shot."""
        with self.service.client(self.owner.token(self.project)) as client:
            jobs = Project(client)
            jobs.build("1", cart=drawn_page())
            page = {"name": "cart", "viewport": "320x240", "commit_sha": sha("2")}
            upload(client, drawn_page(button="#d70022"), **page).raise_for_status()
            (shot,) = jobs.compare("2", "1")["shots"]
        return dict(shot)

    def decide(self, shot: dict[str, Any], decision: str) -> None:
        asked = {"decision": decision, "pairs": [{key: shot[key] for key in PAIR}], "note": "too red"}
        reply = self.owner.ask("POST", f"/projects/{self.project}/pulls/7/decisions", **asked)
        assert reply.status_code == 200, reply.text


@pytest.fixture
def shop(shared_service: Service, owner: Person) -> Shop:
    organization = owner.organization()
    made = owner.ask("POST", "/projects", name=f"shop-{secrets.token_hex(4)}", organization_id=organization)
    return Shop(owner, shared_service, organization, made.json()["id"])


def error_of(reply: httpx.Response) -> str:
    assert reply.status_code == 400, reply.text
    return str(reply.json()["error"])


def test_signed_messages_follow_a_comparison_a_decision_and_the_end_of_a_pull_request(
    shop: Shop, receiver: Receiver
) -> None:
    webhook, secret = shop.webhook(receiver.url)
    shot = shop.compare()
    compared = receiver.wait_for("compared")
    data = compared.message["data"]
    assert data["pull_request"]["url"] == f"{shop.service.web_url}/projects/{shop.project}/prs/7"
    assert (data["commit_sha"], data["state"]) == (sha("2"), "compared")
    assert (data["screenshots"]["changed"], data["screenshots"]["unchanged"]) == (1, 0)
    assert receiver.wait_for("gate").message["data"]["gate"] == {"state": "waiting", "open": 1, "reason": ""}

    shop.decide(shot, "rejected")
    decided = receiver.wait_for("decided").message["data"]
    assert (decided["decision"], decided["note"], decided["shots"][0]["name"]) == (
        *("rejected", "too red"),
        "cart",
    )
    assert receiver.wait_for("gate", 2).message["data"]["gate"]["state"] == "rejected"
    shop.decide(shot, "rejected")  # again: the gate stays
    receiver.wait_for("decided", 2)
    with shop.service.client(shop.owner.token(shop.project)) as client:
        client.post("/v1/expire", json={"pr_number": 7}).raise_for_status()
    expired = receiver.wait_for("expired").message["data"]
    assert (expired["reason"], expired["images"]) == ("closed", 1)

    assert all(each.is_signed_with(secret) for each in receiver.received)
    assert not any(each.is_signed_with(f"whsec_{'A' * 43}=") for each in receiver.received)
    kinds = [each.message["type"] for each in receiver.received]
    assert kinds == ["compared", "gate", "decided", "gate", "decided", "expired"]
    assert len({each.id for each in receiver.received}) == len(kinds)
    wait_until(lambda: shop.shown(webhook)["sent_at"], "the webhook to work")
    listed = shop.deliveries(webhook)
    assert [each["event"] for each in listed] == kinds[::-1]
    assert {(each["status"], each["error"], each["next_at"]) for each in listed} == {(204, "", None)}


def test_examples_in_the_docs_have_the_fields_of_real_messages(shop: Shop, receiver: Receiver) -> None:
    shop.webhook(receiver.url)
    webhook, _ = shop.webhook(receiver.url, events=["quota"])
    shop.decide(shop.compare(), "approved")
    shop.owner.ask("POST", f"{webhook}/test")
    receiver.wait_for("decided")  # the images are still there, so it has the gate
    with shop.service.client(shop.owner.token(shop.project)) as client:
        client.post("/v1/expire", json={"pr_number": 7}).raise_for_status()
    blocks = re.findall(r"```json\n(.*?)```", EXAMPLES.read_text(), re.DOTALL)
    examples = {example["type"]: example for example in map(json.loads, blocks)}
    assert examples.keys() == {*ALL, "test"}
    for event in ("compared", "decided", "gate", "expired", "test"):
        assert _shape(receiver.wait_for(event).message) == _shape(examples[event]), event


def test_code_in_the_docs_accepts_only_signed_messages(shop: Shop, receiver: Receiver) -> None:
    webhook, secret = shop.webhook(receiver.url)
    shop.owner.ask("POST", f"{webhook}/test")
    message = receiver.wait_for("test")
    body, old = message.body.decode(), message.headers | {"webhook-timestamp": "1"}
    cases = [(secret, message.headers, body), (secret, message.headers, f"{body} "), (secret, old, body)]
    cases.append((f"whsec_{'A' * 43}=", message.headers, body))
    python: dict[str, Any] = {}
    exec(_code("python"), python)
    accepted = [python["is_valid"](key, headers, text.encode()) for key, headers, text in cases]
    assert accepted == [True, False, False, False]
    script = (
        f"{_code('js')}console.log(JSON.stringify(JSON.parse(process.argv[1]).map((c) => isValid(...c))))"
    )
    node = ["node", "--input-type=module", "-e", script, json.dumps(cases)]
    assert json.loads(subprocess.run(node, capture_output=True, check=True, timeout=60).stdout) == accepted


def _code(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", EXAMPLES.read_text(), re.DOTALL)
    return str(block)


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items()}
    return [_shape(value[0])] if isinstance(value, list) and value else type(value)


def test_sends_the_same_bytes_again_and_shows_replies(shop: Shop, receiver: Receiver) -> None:
    token = "ghp_" + "x" * 36
    receiver.reply = lambda _: (500, {}, f"broken\x00\x1b[2J {token} {'y' * 90_000}".encode())
    webhook, _ = shop.webhook(receiver.url)
    shop.owner.ask("POST", f"{webhook}/test")
    (failed,) = wait_for(lambda: shop.deliveries(webhook), lambda found: found[0]["error"])
    assert failed["error"] == "the receiver answered 500"
    assert receiver.received[0].headers["accept-encoding"] == "identity"
    assert failed["status"] == 500
    assert failed["next_at"]
    assert failed["reply"].startswith(r"broken\x00\x1b[2J ghp_[hidden] yyy")
    assert len(failed["reply"]) == 1000
    assert shop.shown(webhook)["failing_since"]
    payload = shop.owner.get_json(f"{webhook}/deliveries/{failed['id']}")["payload"]
    assert payload.encode() == receiver.received[0].body

    receiver.reply = lambda _: (200, {}, b"thanks")
    again = f"{webhook}/deliveries/{failed['id']}"
    assert shop.owner.ask("POST", again).json() == {"ok": True}
    (sent,) = wait_for(lambda: shop.deliveries(webhook), lambda found: found[0]["sent_at"])
    assert (sent["reply"], sent["error"], sent["next_at"]) == ("thanks", "", None)
    assert shop.shown(webhook)["failing_since"] is None
    count = len(receiver.received)
    shop.owner.ask("POST", again)
    wait_until(lambda: len(receiver.received) > count, "the message again")
    assert {(each.id, each.body) for each in receiver.received} == {(failed["id"], payload.encode())}


def test_both_secrets_sign_after_a_rotation(shop: Shop, receiver: Receiver) -> None:
    webhook, first = shop.webhook(receiver.url)
    rotated = shop.owner.ask("POST", f"{webhook}/secret").json()
    assert rotated["secret"] != first
    assert rotated["webhook"]["old_secret_until"]
    shop.owner.ask("POST", f"{webhook}/test")
    got = receiver.wait_for("test")
    assert got.is_signed_with(first)
    assert got.is_signed_with(rotated["secret"])
    everything = shop.owner.ask("GET", shop.path).text
    files = [*shop.service.data_dir.glob("prshots.db*"), shop.service.folder / "serve.log"]
    stored = b"".join(file.read_bytes() for file in files)
    for secret in (first, rotated["secret"]):
        assert secret not in everything
        assert secret.encode() not in stored


def test_a_receiver_that_answers_410_gets_nothing_more_until_a_change(shop: Shop, receiver: Receiver) -> None:
    receiver.reply = lambda _: (410, {}, b"")
    webhook, _ = shop.webhook(receiver.url)
    shop.owner.ask("POST", f"{webhook}/test")
    wait_until(lambda: shop.shown(webhook)["disabled_at"], "the webhook to be disabled")
    shop.compare()
    assert [each["event"] for each in shop.deliveries(webhook)] == ["test"]
    receiver.reply = lambda _: (204, {}, b"")
    asked = {"url": receiver.url, "format": "slack", "events": ["decided"]}
    changed = shop.owner.ask("PUT", webhook, **asked).json()
    assert (changed["disabled_at"], changed["format"], changed["events"]) == (None, "slack", ["decided"])


def test_a_redirect_is_a_failure_and_is_not_followed(shop: Shop, receiver: Receiver) -> None:
    with receiving() as inside:
        receiver.reply = lambda _: (302, {"Location": inside.url}, b"")
        webhook, _ = shop.webhook(receiver.url)
        shop.owner.ask("POST", f"{webhook}/test")
        (failed,) = wait_for(lambda: shop.deliveries(webhook), lambda found: found[0]["error"])
        assert "a redirect: enter the final address" in failed["error"]
        assert inside.received == []


def test_hostile_names_stay_text_in_chats(shop: Shop, receiver: Receiver) -> None:
    name = "<!channel> & [x](https://evil.example) @here"
    renamed = shop.owner.ask(
        "PATCH", f"/projects/{shop.project}", name="<!channel> [x](https://evil.example)"
    )
    assert renamed.status_code in {200, 400}, renamed.text
    shop.webhook(receiver.url, format="teams", events=["decided"])
    with receiving() as slack:
        shop.webhook(slack.url, format="slack", events=["decided"])
        shot = shop.compare()
        reply = shop.owner.ask(
            "POST",
            f"/projects/{shop.project}/pulls/7/decisions",
            decision="rejected",
            pairs=[{key: shot[key] for key in PAIR}],
            note=name,
        )
        assert reply.status_code == 200, reply.text
        wait_until(lambda: slack.received and receiver.received, "the messages")
        (block,) = slack.received[0].message["blocks"]
        text = slack.received[0].message["text"]
    assert [part["type"] for part in block["elements"][0]["elements"]] == ["text", "text", "link"]
    assert name in block["elements"][0]["elements"][1]["text"]
    assert "&lt;!channel&gt; &amp;" in text
    assert "<" not in text
    (attachment,) = receiver.received[0].message["attachments"]
    lines = attachment["content"]["body"]
    assert [line["type"] for line in lines] == ["RichTextBlock"] * 2
    assert name in lines[1]["inlines"][0]["text"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "xml"}, "format must be one of standard, slack, teams"),
        ({"events": []}, "events must be a list of at least one of compared, decided, gate, expired, quota"),
        ({"events": ["test"]}, "events must be a list of at least one of"),
        ({"events": "gate"}, "events must be a list of strings"),
        ({"url": ""}, "url is invalid: enter an address"),
        ({"url": "ftp://example.org"}, "url is invalid: enter an address"),
        ({"url": "http://[::1"}, "url is invalid: enter an address"),
        ({"url": "http://127.0.0.1:99999/"}, "url is invalid: enter an address"),
        ({"url": "https://user:secret@example.org/"}, "url contains a user or password"),
        ({"url": "https://exa mple.org/"}, "url is invalid: enter an address"),
        ({"url": f"https://example.org/{'x' * 2000}"}, "url is invalid: enter an address"),
        ({"url": "https://nowhere.invalid/"}, "has no address, check its spelling"),
        ({"url": "http://1.1.1.1/"}, "use https://1.1.1.1"),
        ({"project_id": 7}, "project_id is required and must be a string"),
    ],
)
def test_bad_input_is_refused_with_a_reason(shop: Shop, changes: dict[str, Any], words: str) -> None:
    url = changes.pop("url", "http://127.0.0.1:9/")
    assert words in error_of(shop.create(url, **changes))
    assert shop.owner.get_json(shop.path) == {"webhooks": []}


@pytest.mark.parametrize(
    "host",
    [
        *("10.0.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "169.254.169.254", "224.0.0.1", "0"),
        *("[::ffff:10.0.0.1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::a00:1]"),
        *("[2002:a00:1::]", "[2001:0:4136:e378:8000:63bf:3fff:fdd2]", "0xa.1", "167772161"),
    ],
)
def test_an_address_on_a_private_network_is_refused(shop: Shop, host: str) -> None:
    said = error_of(shop.create(f"https://{host}/"))
    assert said.endswith("is on a private network: the operator can allow it with PRSHOTS_WEBHOOK_NETWORKS")


def test_webhooks_of_a_project_send_its_events_only(shop: Shop, receiver: Receiver) -> None:
    organization_id = shop.organization
    made = shop.owner.ask("POST", "/projects", name="other", organization_id=organization_id).json()["id"]
    webhook, _ = shop.webhook(receiver.url, project_id=made)
    assert shop.shown(webhook)["project_id"] == made
    every, _ = shop.webhook(receiver.url, events=["compared"])
    shop.compare()
    wait_until(lambda: shop.deliveries(every), "the event of the project")
    assert shop.deliveries(webhook) == []
    elsewhere = shop.owner.project()
    assert shop.create(receiver.url, project_id=elsewhere).json() == {"error": "not found"}
    shop.owner.ask("POST", f"/projects/{made}/delete", name="other")
    assert [each["id"] for each in shop.owner.get_json(shop.path)["webhooks"]] == [every.rpartition("/")[2]]


def test_a_deleted_webhook_is_gone_and_another_organizations_is_not_found(shop: Shop) -> None:
    webhook, _ = shop.webhook("http://127.0.0.1:9/")
    elsewhere = shop.owner.organization()
    webhook_id = webhook.rpartition("/")[2]
    for method, path in [("GET", "/deliveries"), ("POST", "/test"), ("POST", "/secret"), ("DELETE", "")]:
        reply = shop.owner.ask(method, f"/organizations/{elsewhere}/webhooks/{webhook_id}{path}")
        assert (reply.status_code, reply.json()) == (404, {"error": "not found"})
    other, _ = shop.webhook("http://127.0.0.1:9/")
    shop.owner.ask("POST", f"{other}/test")
    (delivery,) = shop.deliveries(other)
    assert shop.owner.ask("GET", f"{webhook}/deliveries/{delivery['id']}").status_code == 404
    assert shop.owner.ask("POST", f"{webhook}/deliveries/{delivery['id']}").status_code == 404
    assert shop.owner.ask("DELETE", webhook).json() == {"ok": True}
    assert shop.owner.ask("DELETE", webhook).status_code == 404
    assert len(shop.owner.get_json(shop.path)["webhooks"]) == 1


def test_a_reply_without_an_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Timeouts are for single reads, and each line of a header is one."""
    monkeypatch.setattr(deadline, "GRACE_SECONDS", 0.1)
    receivers = Receivers(FixedKeys(ONE_KEY), [ipaddress.ip_network("127.0.0.0/8")])
    secret, _ = receivers.new_secret("w1")
    with dripping() as url:
        webhook = Webhook("w1", "o1", "", url, Format.STANDARD, (), (secret,), "ann", 0)
        with pytest.raises(UnreachableError, match="did not answer in time"):
            asyncio.run(receivers.send(webhook, "msg_1", "{}", 0.3))
    receivers.close()


def test_interim_responses_without_an_end_are_cut_off() -> None:
    """The HTTP library skips them, which would keep a processor busy until the deadline."""
    sent: list[int] = []

    def flood(asked: BaseHTTPRequestHandler, _: bytes) -> None:
        for _ in range(400):
            asked.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
            sent.append(25_000)

    receivers = Receivers(FixedKeys(ONE_KEY), [ipaddress.ip_network("127.0.0.0/8")])
    secret, _ = receivers.new_secret("w1")
    with answering(flood) as url:
        webhook = Webhook("w1", "o1", "", url, Format.STANDARD, (), (secret,), "ann", 0)
        with pytest.raises(UnreachableError, match="takes too much work to read"):
            asyncio.run(receivers.send(webhook, "msg_1", "{}", 15))
    assert sum(sent) < 10_000_000
    receivers.close()


def test_a_failed_connection_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x "
        f"-addext subjectAltName=DNS:hooks.test -keyout {file} -out {file}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    receivers = Receivers(FixedKeys(ONE_KEY), [ipaddress.ip_network("127.0.0.0/8")])
    secret, _ = receivers.new_secret("w1")

    def why(url: str) -> str:
        webhook = Webhook("w1", "o1", "", url, Format.STANDARD, (), (secret,), "ann", 0)
        with pytest.raises(UnreachableError) as told:
            asyncio.run(receivers.send(webhook, "msg_1", "{}", 5))
        return str(told.value).replace(url.partition("//")[2], "HOST")

    with answering(lambda *_: (204, {}, b""), context) as url:
        said = why(url.replace("http:", "https:"))
        assert said.startswith("the certificate of https://HOST is not trusted: self-signed certificate. ")
        trusting = ssl.create_default_context(cafile=str(file))
        monkeypatch.setattr("prshots.server.adapters.forges.public_addresses.tls_context", lambda: trusting)
        said = why(url.replace("http:", "https:"))
        assert "not trusted: IP address mismatch, certificate is not valid for '127.0.0.1'. If you " in said
    with answering(lambda *_: (204, {}, b"")) as url:
        said = why(url.replace("http:", "https:"))
        assert said == "https://HOST does not speak TLS: does its address begin with http://?"
    assert why(url) == "cannot connect to HOST (connection refused)"
    receivers.close()


def test_an_address_that_becomes_private_later_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile name server answers with a public address first."""
    answers = iter([["93.184.215.14"], ["127.0.0.1"]])
    monkeypatch.setattr(public_addresses, "_resolve", lambda _: next(answers))
    receivers = Receivers(FixedKeys(ONE_KEY), [])
    secret, _ = receivers.new_secret("w1")

    async def check_and_send() -> None:
        await receivers.check("https://rebinding.test/")
        webhook = Webhook(
            *("w1", "o1", "", "https://rebinding.test/"), Format.STANDARD, (), (secret,), "ann", 0
        )
        await receivers.send(webhook, "msg_1", "{}", 5)

    with pytest.raises(ForgeError, match="is on a private network"):
        asyncio.run(check_and_send())
    receivers.close()
