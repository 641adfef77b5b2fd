"""A CI job without an upload token: the command exchanges the job's ID token, with both clients."""

import json
import os
import re
from pathlib import Path

import pytest

from support.ci_issuer import CiIssuer
from support.clients import CLIENTS, runner_of
from support.compared_shop import draw
from support.service import SHA, Service

pytestmark = pytest.mark.slow

REPOSITORY = "octo/keyless"


@pytest.mark.parametrize("client_name", CLIENTS)
def test_a_trusted_job_uploads_and_another_does_not(
    client_name: str, shared_service: Service, ci_issuer: CiIssuer, tmp_path: Path
) -> None:
    draw(tmp_path / "shots" / "cart.png", 1)
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 8, "head": {"sha": SHA}, "base": {}}}))
    job = {
        "PATH": os.environ["PATH"],
        "PRSHOTS_URL": f"{shared_service.base_url}/",
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "ACTIONS_ID_TOKEN_REQUEST_URL": ci_issuer.job_url(repository=REPOSITORY, ref="refs/pull/8/merge"),
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "of-the-runner",
    }
    name = f"keyless {client_name}"
    token = shared_service.new_token(name)
    trust = ("--issuer", ci_issuer.url, "--claim", f"repository={REPOSITORY}")
    shared_service.run("project", "trust", name, *trust)
    run = runner_of(client_name)
    shots, project = str(tmp_path / "shots"), {"PRSHOTS_PROJECT": f"local/{name}"}
    done = run("upload", shots, env=job | project)
    assert done.returncode == 0, done.stderr
    with shared_service.client(token) as client:
        comment = client.get("/v1/comment?pr_number=8").json()["markdown"]
        assert SHA[:7] in comment
        other = {"ACTIONS_ID_TOKEN_REQUEST_URL": ci_issuer.job_url(repository="octo/other")}
        refused = run("upload", shots, env=job | project | other)
        assert refused.returncode == 1
        assert re.search("trusts? this", refused.stderr), refused.stderr
        assert client.get("/v1/comment?pr_number=8").json()["markdown"] == comment
    without = run("upload", shots, env=job | {"ACTIONS_ID_TOKEN_REQUEST_URL": ""})
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr.startswith("prshots: no upload token: ")
    for said in (done, refused, without):
        assert not re.search(r"msr_[0-9a-f]|eyJ|of-the-runner", said.stdout + said.stderr), said
