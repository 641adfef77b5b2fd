"""A coding agent's desk: a real checkout, a forge look-alike behind its remote, a service, and the commands."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.clients import run_process
from support.command_in_process import run_here
from support.drawn_pages import drawn_page
from support.forges.forge_server import Proposed
from support.forges.gitea_look_alike import GiteaLookAlike
from support.git_repositories import ALONE, Repository
from support.service import Service

KEPT = ("PATH", "HOME", "TMPDIR", "LANG")


@dataclass
class AgentDesk:
    """`shop` is the checkout, on the branch cart. `env` has all that the commands know."""

    shop: Repository
    forge: GiteaLookAlike
    service: Service
    token: str
    env: dict[str, str] = field(default_factory=dict)

    def prshots(self, *args: str, code: int = 0, **settings: str) -> tuple[str, str]:
        """Run a command in the checkout, and return its standard output and error. Neither has a secret."""
        with contextlib.chdir(self.shop.folder):
            return self._checked(run_here(*args, env=self.env | settings), code)

    def prshots_process(self, *args: str) -> tuple[str, str]:
        """Do the same as `prshots`, but in a new process."""
        return self._checked(run_process("python", *args, env=self.env, cwd=self.shop.folder), 0)

    def _checked(self, done: subprocess.CompletedProcess[str], code: int) -> tuple[str, str]:
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        for secret in (self.token, self.forge.token):
            assert secret not in done.stdout + done.stderr
        return done.stdout, done.stderr

    def reject(self, name: str, **more: object) -> None:
        """Reject a shot, as a program with the token does."""
        with self.service.client(self.token) as client:
            found = client.get("/v1/compare", params={"pr_number": self.forge.pr_number}).json()
            pairs = [shot for shot in found["shots"] if shot["name"] == name]
            body = {"pr_number": self.forge.pr_number, "pairs": pairs, **more}
            client.post("/v1/reject", json=body).raise_for_status()

    def screenshot(self, name: str, label: str = "", button: str = "#0060df") -> str:
        """Draw a page into a folder outside the checkout, and return its path."""
        folder = self.shop.folder.parent / "screenshots"
        folder.mkdir(exist_ok=True)
        (folder / name).write_bytes(drawn_page(label, button=button))
        return str(folder / name)

    def open_pull_request(self, repository: str = "") -> int:
        """Open the pull request from the branch cart, of this repository or of a fork."""
        where = repository or self.forge.repository
        self.forge.proposed.append(Proposed(self.forge.pr_number, "cart", where))
        return self.forge.pr_number


@contextlib.contextmanager
def agent_desk(folder: Path, service: Service) -> Iterator[AgentDesk]:
    token = service.new_token()
    with GiteaLookAlike() as forge:
        forge.proposed.clear()
        shop = Repository.new(folder / "shop")
        shop.git("remote", "add", "origin", f"{forge.public_url}/{forge.repository}.git")
        shop.commit()
        shop.branch("cart")
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        settings = {
            "PRSHOTS_URL": service.base_url,
            "PRSHOTS_TOKEN": token,
            "PRSHOTS_FORGE": "gitea",
            "PRSHOTS_FORGE_URL": forge.url,
            "PRSHOTS_FORGE_TOKEN": forge.token,
        }
        yield AgentDesk(shop, forge, service, token, env | ALONE | settings)
