"""The real commands and service with a look-alike of each forge, from the upload to the closed pull request."""

import os
import re
import subprocess
from collections.abc import Callable
from html import unescape

import httpx
import pytest

from support.clients import CLIENTS, command_of
from support.forges.bitbucket_look_alike import bitbucket_look_alike
from support.forges.forge_server import ForgeServer
from support.forges.gitea_look_alike import gitea_look_alike
from support.forges.gitlab_look_alike import gitlab_look_alike
from support.service import Service, upload

pytestmark = pytest.mark.slow

KINDS = {"gitlab": gitlab_look_alike, "gitea": gitea_look_alike, "bitbucket": bitbucket_look_alike}

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=CLIENTS)
def command(request: pytest.FixtureRequest) -> list[str]:
    return command_of(request.param)


def _commands(command: list[str], service: Service, token: str, forge: ForgeServer) -> Command:
    env = {
        "PATH": os.environ["PATH"],
        "PRSHOTS_URL": service.base_url,
        "PRSHOTS_TOKEN": token,
        "PRSHOTS_PR": str(forge.pr_number),
        "PRSHOTS_FORGE": forge.name,
        "PRSHOTS_FORGE_URL": forge.url,
        "PRSHOTS_REPOSITORY": forge.repository,
        "PRSHOTS_FORGE_TOKEN": forge.token,
    }

    def run(*args: str, **changed: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*command, *args], env=env | changed, capture_output=True, text=True, timeout=60, check=False
        )
        for secret in (token, forge.token, forge.read_only_token):
            assert secret not in done.stdout + done.stderr
        return done

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_the_comment_is_posted_and_reports_deleted_screenshots(
    command: list[str], shared_service: Service, kind: str
) -> None:
    token = shared_service.new_token()
    with KINDS[kind]() as forge, shared_service.client(token) as client:
        prshots = _commands(command, shared_service, token, forge)
        forge.write_as("ann", "Looks good to me")
        shown = upload(client, pr_number=forge.pr_number).json()["view_url"]

        posted = prshots("comment", "--post")
        assert posted.returncode == 0, posted.stderr
        _, comment = forge.comments()
        assert (comment.author, shown in unescape(comment.body)) == (forge.login, True)
        assert posted.stdout.strip().endswith(str(comment.id))

        _every_image_is_there(comment.body)
        expired = prshots("expire", "--post")
        assert expired.returncode == 0, expired.stderr
        first, comment = forge.comments()
        assert first.body == "Looks good to me"
        assert "deleted" in comment.body
        assert not _addresses(comment.body)
        assert httpx.get(shown).status_code == 410


def _addresses(body: str) -> list[tuple[str, str]]:
    """Return the addresses of the images, in Markdown or HTML."""
    return re.findall(r'!\[.*?\]\((\S+?)\)|<img [^>]*src="([^"]+)"', unescape(body))


def _every_image_is_there(body: str) -> None:
    addresses = ["".join(found) for found in _addresses(body)]
    assert addresses
    for address in addresses:
        assert httpx.get(address).status_code == 200


def test_a_read_only_token_fails_with_advice(command: list[str], shared_service: Service, token: str) -> None:
    with gitlab_look_alike() as gitlab, shared_service.client(token) as client:
        upload(client, pr_number=gitlab.pr_number)
        prshots = _commands(command, shared_service, token, gitlab)
        refused = prshots("comment", "--post", PRSHOTS_FORGE_TOKEN=gitlab.read_only_token)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert refused.stderr.startswith("prshots: GitLab does not allow it with this token")
        assert "scope api" in refused.stderr
        assert gitlab.comments() == []
