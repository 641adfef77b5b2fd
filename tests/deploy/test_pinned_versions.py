"""Everything that we tell people to install has a fixed version: this one. Their CI jobs hold secrets."""

import json
import re
import tomllib
from collections.abc import Iterator

import pytest
import yaml

from prshots import __version__
from support.deploy_checkers import ROOT

PAGES = sorted(
    path
    for place in ("README.md", "docs/use", "docs/run", "templates", "deploy", "action", "action.yml", "clients/node/README.md")
    for path in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
    if path.is_file() and path.suffix in {".md", ".yml", ".yaml", ".sh", ".py", ".service", ".txt", ".tpl", ".env"}
)  # fmt: skip

PYTHON_PACKAGE = re.compile(
    r"(?<![\w/.@-])prshots(?:\[[a-z,]+\])?(?P<pin>(?:==|@)[0-9][\w.]*)?(?=['\"`\s]|$)"
)
INSTALLS_IT = re.compile(
    r"pip install (?P<what>[^`|;&\n]*)|uvx (?:--from )?(?P<from>\S+)|package:? to (?P<input>\S+)"
)
NPM_PACKAGE = re.compile(
    r"(?:npm (?:install|i|add|exec|x)|npx)\b[^`|;&\n]*?(?<![\w/.-])prshots(?P<pin>@[\w.<>-]+)?(?![\w/])"
)
ACTION = re.compile(r"prshots/prshots@(?P<pin>[\w.<>-]+)")
TEMPLATE = re.compile(r"prshots/prshots/(?P<pin>[\w.]+)/templates/")


def pins(text: str) -> Iterator[tuple[str, str]]:
    """Return each place where our package, action or template is installed, with the version it names."""
    for installs in INSTALLS_IT.finditer(text):
        what = installs["what"] or installs["from"] or installs["input"]
        yield from (
            (installs[0], (found["pin"] or "").lstrip("=@")) for found in PYTHON_PACKAGE.finditer(what)
        )
    for pattern in (NPM_PACKAGE, ACTION, TEMPLATE):
        for found in pattern.finditer(text):
            if not (found["pin"] or "").startswith("<"):  # "…@<version>" leaves it to the reader
                yield found[0], (found["pin"] or "").lstrip("@v")


def test_every_install_has_this_version() -> None:
    found = [(page, *pin) for page in PAGES for pin in pins(page.read_text())]
    assert len(found) > 40
    assert [pin for pin in found if pin[2] != __version__] == []


def test_recipes_pin_the_tools_that_they_download() -> None:
    ours = json.loads((ROOT / "clients/node/package.json").read_text())["devDependencies"]["@playwright/test"]
    recipes = "\n".join(page.read_text() for page in (ROOT / "docs/use/recipes").glob("*.md"))
    assert set(re.findall(r"mcr\.microsoft\.com/playwright:v([\d.]+)", recipes)) == {ours}
    assert all(re.search(r"@\d+\.\d+\.\d+$", tool) for tool in re.findall(r"npx --yes (\S+)", recipes))
    assert re.search(r"npx storycap|\| (ba)?sh\b|/latest/", recipes) is None


def test_the_check_sees_what_is_not_pinned() -> None:
    for unpinned in (
        "pip install prshots",
        "pip install --quiet 'prshots[server]'",
        ".prshots/bin/pip install --quiet prshots",
        "uvx --from 'prshots[server]' prshots serve",
        "npm install --save-dev prshots",
        "npm install --prefix .prshots --silent prshots@latest",
        "npm exec --yes prshots -- upload screenshots",
        "npx prshots upload screenshots",
        "npx --yes prshots upload screenshots",
        "- npx --yes prshots@0 comment --post",
        "- uses: prshots/prshots@v0",
        "remote: https://example.org/prshots/prshots/v0/templates/prshots.yml",
    ):
        assert [version for _, version in pins(unpinned)] != [__version__], unpinned
        assert len(list(pins(unpinned))) == 1, unpinned


def test_the_gitlab_template_installs_this_version_without_the_tokens() -> None:
    spec, jobs = yaml.safe_load_all((ROOT / "templates/prshots.yml").read_text())
    assert spec["spec"]["inputs"]["package"]["default"] == f"prshots@{__version__}"
    [install] = [line for line in jobs[".prshots"]["before_script"] if "npm install" in line]
    hidden = set(re.findall(r"-u (\w+)", install.partition("npm install")[0]))
    assert {"GITLAB_TOKEN", "PRSHOTS_TOKEN", "PRSHOTS_ID_TOKEN", "PRSHOTS_FORGE_TOKEN"} <= hidden
    assert "--ignore-scripts" in install
    assert install.startswith("(cd ")  # npm reads no .npmrc of the checkout


def test_every_package_has_this_version() -> None:
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    node = json.loads((ROOT / "clients/node/package.json").read_text())["version"]
    chart = yaml.safe_load((ROOT / "deploy/helm/prshots/Chart.yaml").read_text())
    assert {python, node, chart["version"], chart["appVersion"]} == {__version__}
    dashboard = (ROOT / "web/src/lib/version.ts").read_text()
    assert f'export const VERSION = "{__version__}";' in dashboard  # the version in its snippets


def test_the_readme_says_how_to_verify_a_release() -> None:
    readme = (ROOT / "README.md").read_text()
    section = readme.partition("## Verify a release")[2].partition("\n## ")[0]
    said = " ".join(section.split())
    for needed in ("not claimed", "--require-hashes", "gh attestation verify", "npm audit signatures"):
        assert needed in said
    assert f"prshots-{__version__}-py3-none-any.whl" in section
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    attests = [step for step in workflow["jobs"]["github"]["steps"] if "attest" in step.get("uses", "")]
    assert [step["with"]["subject-path"] for step in attests] == ["dist/*"]


@pytest.mark.parametrize("folder", ["tests/support/node_clients", "tests/support/providers", "web"])
def test_npm_packages_are_pinned_by_hash_without_a_registry_url(folder: str) -> None:
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages.values())
