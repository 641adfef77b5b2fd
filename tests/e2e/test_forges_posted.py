"""The real commands and service with a look-alike of each forge, from the upload to the closed pull request."""

import json
import os
import re
from collections.abc import Callable
from html import unescape

import httpx
import pytest

from support.clients import CLIENTS, runner_of
from support.forges.bitbucket_look_alike import BitbucketLookAlike
from support.forges.forge_server import ForgeServer
from support.forges.gitea_look_alike import GiteaLookAlike
from support.forges.gitlab_look_alike import GitLabLookAlike
from support.service import Service, upload

pytestmark = pytest.mark.slow

KINDS: dict[str, Callable[[], ForgeServer]] = {
    "gitlab": GitLabLookAlike,
    "gitea": GiteaLookAlike,
    "bitbucket": BitbucketLookAlike,
}


@pytest.mark.parametrize("client_name", CLIENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_comment_is_posted_and_reports_deleted_screenshots(
    client_name: str, shared_service: Service, kind: str
) -> None:
    token = shared_service.new_token()
    with KINDS[kind]() as forge, shared_service.client(token) as client:
        env = {
            "PATH": os.environ["PATH"],
            "PRSHOTS_URL": shared_service.base_url,
            "PRSHOTS_TOKEN": token,
            "PRSHOTS_PR": str(forge.pr_number),
            "PRSHOTS_FORGE": forge.name,
            "PRSHOTS_FORGE_URL": forge.url,
            "PRSHOTS_REPOSITORY": forge.repository,
            "PRSHOTS_FORGE_TOKEN": forge.token,
        }
        run = runner_of(client_name)
        forge.write_as("ann", "Looks good to me")
        shown = upload(client, pr_number=forge.pr_number).json()["view_url"]

        forge.description = f"Look:\n\n[![cart]({shown})]({shown})\n"
        posted = run("comment", "--post", env=env)
        assert posted.returncode == 0, posted.stderr
        _, comment = forge.comments()
        assert (comment.author, shown in unescape(comment.body)) == (forge.login, True)
        assert posted.stdout.strip().endswith(str(comment.id))
        assert {httpx.get(address).status_code for address in image_addresses(comment.body)} == {200}

        expired = run("expire", "--post", env=env)
        assert expired.returncode == 0, expired.stderr
        first, comment = forge.comments()
        assert first.body == "Looks good to me"
        assert "deleted" in comment.body
        assert not image_addresses(comment.body)
        assert httpx.get(shown).status_code == 410
        assert forge.description == "Look:\n\n_(screenshot deleted)_\n"
        again = run("expire", "--post", "--json", env=env | {"PRSHOTS_FORGE_TOKEN": forge.read_only_token})
        assert (again.returncode, json.loads(again.stdout)["comment"]) == (0, "unchanged")
    for said in (posted, expired):
        assert token not in said.stdout + said.stderr
        assert forge.token not in said.stdout + said.stderr


def image_addresses(body: str) -> list[str]:
    """Return the addresses of the images, in Markdown or HTML."""
    found = re.findall(r'!\[.*?\]\((\S+?)\)|<img [^>]*src="([^"]+)"', unescape(body))
    return ["".join(either) for either in found]
