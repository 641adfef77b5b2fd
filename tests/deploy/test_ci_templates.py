"""Files that users copy into their CI: action.yml, the GitLab template, and every file in docs/use/recipes."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from PIL import Image

from prshots import __version__
from support.deploy_checkers import NODE_PROGRAMS, ROOT, TOOLS, lint_workflows, walk
from support.forges.gitlab_look_alike import GitLabLookAlike
from support.git_repositories import Repository, commit_all
from support.processes import completed
from support.service import SHA, Service

DOCS = ROOT / "docs" / "use"
PAGES = [DOCS / "ci.md", *sorted(DOCS.glob("recipes/*.md"))]
BUNDLE = ROOT / "action" / "index.mjs"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
OURS = re.compile(rf"(https://github\.com/)?prshots/prshots@v{re.escape(__version__)}")


@dataclass(frozen=True)
class Block:
    """A block of code in the documentation."""

    page: Path
    language: str
    text: str

    @property
    def file(self) -> str:
        """Return the file name on the block's first line, or ""."""
        said = re.match(r"(?:#|//) (\S+\.\w+)", self.text)
        return said[1] if said else ""

    @property
    def is_workflow(self) -> bool:
        return self.language == "yaml" and "workflows/" in self.file

    def __str__(self) -> str:
        return f"{self.page.name}: {self.file or self.text.splitlines()[0]}"


BLOCKS = [
    Block(page, language, text)
    for page in PAGES
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
]
WORKFLOWS = [block for block in BLOCKS if block.is_workflow]


class TestAction:
    def test_node_runs_one_file_that_imports_only_nodes_own_modules(self) -> None:
        """Otherwise Node would look for the others in folders that a stranger may write to."""
        assert ACTION["runs"] == {"using": "node24", "main": "action/index.mjs"}
        bundle = BUNDLE.read_text()
        imported = re.findall(r"""^(?:import|export)\b[^;]*?\bfrom "([^"]+)";""", bundle, re.MULTILINE)
        assert len(imported) > 5
        assert [name for name in imported if not name.startswith("node:")] == []
        assert (
            re.findall(r"""\brequire\(|\bimport\(|^import ["']|createRequire""", bundle, re.MULTILINE) == []
        )
        assert list(BUNDLE.parent.iterdir()) == [BUNDLE]

    def test_the_file_is_what_its_source_builds(self) -> None:
        # The bytes do not depend on where they are built.
        done = completed(["node", ROOT / "clients" / "node" / "bundle.js", "--check"], cwd="/")
        assert done.returncode == 0, done.stderr
        assert str(ROOT) not in BUNDLE.read_text()

    def test_inputs_and_outputs_are_documented(self) -> None:
        page = (DOCS / "ci.md").read_text().partition("## Forks")[0]
        rows = set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE))
        assert rows == {*ACTION["inputs"], *ACTION["outputs"]}
        for about in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
            assert about["description"].strip()

    @pytest.mark.parametrize(
        ("inputs", "said"),
        [
            ({"PATHS": ""}, "The input `paths` is missing"),
            (
                {"FAIL_ON": "chnged"},
                "the input `fail-on` is invalid: got 'chnged'; use one or more of changed",
            ),
            ({"FAIL_ON": "changed", "COMPARE": "false"}, "exclude each other: remove one of them"),
            ({"COMPLETE": "true"}, "The inputs `paths` and `complete` exclude each other"),
            ({"BRANCH": "a b", "PR_NUMBER": ""}, "the input `branch` is invalid: got 'a b'; use"),
            ({"SHRINK": "maybe"}, "The input `shrink` must be true or false; got 'maybe'."),
            ({"WORKING_DIRECTORY": "nowhere"}, "The input `working-directory` is not usable: 'nowhere'"),
        ],
    )
    def test_invalid_inputs_are_named_and_the_token_is_masked(
        self, inputs: dict[str, str], said: str, tmp_path: Path
    ) -> None:
        given = {"PATHS": "shots", "TOKEN": f"msr_{'0f' * 32}", "PR_NUMBER": "7"} | inputs
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PRSHOTS_", "GITHUB_"))
        }
        variables = {f"INPUT_{name.replace('_', '-')}": value for name, value in given.items()}
        done = completed(["node", BUNDLE], env=clean | variables, cwd=tmp_path)
        assert done.returncode == 1
        assert said in done.stdout
        masked, *rest = done.stdout.splitlines()
        assert masked == f"::add-mask::{given['TOKEN']}"
        assert given["TOKEN"] not in "\n".join(rest) + done.stderr

    def test_a_run_for_another_repositorys_pull_request_asks_for_the_number(self, tmp_path: Path) -> None:
        pull = {"number": 3, "head": {"sha": "1" * 40}, "base": {"repo": {"id": 9}}}
        run = {"head_sha": "1" * 40, "event": "pull_request", "pull_requests": [pull]}
        (tmp_path / "event.json").write_text(json.dumps({"workflow_run": run, "repository": {"id": 7}}))
        variables = {
            "PATH": os.environ["PATH"],
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_REPOSITORY": "octo/app",
            "GITHUB_SERVER_URL": "https://github.com",
        }
        done = completed(["node", BUNDLE], env=variables, cwd=tmp_path)
        assert done.returncode == 1
        assert done.stdout.startswith(
            "::error title=prshots::the event names no pull request for commit 1111111"
        )
        assert "`pr-number`" in done.stdout


class TestRecipes:
    def test_every_tool_has_a_recipe_and_the_ci_page_links_to_it(self) -> None:
        names = {page.stem for page in DOCS.glob("recipes/*.md")}
        asked_for = {
            "playwright",
            "cypress",
            "storybook",
            "pytest",
            "maestro",
            "paparazzi",
            "gitlab",
            "gitea",
        }
        assert asked_for <= names
        assert len(WORKFLOWS) >= 9
        linked = set(re.findall(r"\(recipes/(\w+)\.md\)", (DOCS / "ci.md").read_text()))
        assert linked == names

    @pytest.mark.slow
    def test_actionlint_accepts_every_workflow(self, tmp_path: Path) -> None:
        texts = [block.text for block in WORKFLOWS]
        texts.append((ROOT / "tests/support/workflow/screenshots.yml").read_text())
        texts += re.findall(
            r"^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
        )
        for number, text in enumerate(texts):
            # Gitea takes a full address here, GitHub does not.
            (tmp_path / f"{number}.yml").write_text(text.replace("uses: https://github.com/", "uses: "))
        assert f"Checking {len(texts)} workflow" in lint_workflows(tmp_path)

    @pytest.mark.parametrize("block", WORKFLOWS, ids=str)
    def test_a_workflow_uses_only_existing_inputs_and_expires_on_close(self, block: Block) -> None:
        workflow = yaml.safe_load(block.text)
        uses = [
            part
            for part in walk(workflow)
            if isinstance(part, dict) and OURS.fullmatch(str(part.get("uses")))
        ]
        for part in uses:
            assert set(part.get("with", {})) <= set(ACTION["inputs"])
        if "recipes" in block.page.parts:  # a recipe also has baselines, and deletes the screenshots
            assert workflow[True]["push"] == {"branches": ["main"]}
            assert "closed" in workflow[True]["pull_request"]["types"]
            assert "github.event.action == 'closed'" in block.text
            assert uses

    @pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "yaml"], ids=str)
    def test_yaml_blocks_are_valid(self, block: Block) -> None:
        assert [part for part in yaml.safe_load_all(block.text) if part]


@pytest.fixture(scope="module")
def gitlab() -> Iterator[GitLabLookAlike]:
    with GitLabLookAlike() as made:
        yield made


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack the npm package as it is published."""
    folder = tmp_path_factory.mktemp("package")
    subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", folder],
        cwd=ROOT / "clients" / "node",
        stdout=subprocess.DEVNULL,
        timeout=120,
        check=True,
    )
    [packed] = folder.glob("*.tgz")
    return packed


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, shared_service: Service, package: Path) -> Path:
    """Create a repository with the recipe's file, and with screenshots as if another job had taken them."""
    folder = tmp_path_factory.mktemp("gitlab")
    [recipe] = [block.text for block in BLOCKS if block.file == ".gitlab-ci.yml"]
    included = re.sub(r"remote: \S+/templates/", "local: templates/", recipe)
    assert included != recipe
    given = f"url: {shared_service.base_url}\n      package: {package}"
    (folder / ".gitlab-ci.yml").write_text(included.replace("url: https://prshots.example.com", given))
    (folder / ".npmrc").write_text("registry=http://127.0.0.1:9/\nprefix=/nowhere\n")  # of the merge request
    (folder / "templates").mkdir()
    (folder / "templates" / "prshots.yml").write_text((ROOT / "templates" / "prshots.yml").read_text())
    for name in ("screenshots/check out/cart@1280x800", "test-results/cart/test-failed-1"):
        (folder / name).parent.mkdir(parents=True)
        Image.new("RGB", (64, 40), "teal").save(folder / f"{name}.png")
    commit_all(folder, remote="https://gitlab.example/acme/shop.git")
    return folder


@pytest.fixture
def variables(gitlab: GitLabLookAlike, token: str) -> dict[str, str]:
    """Return what GitLab and the project's settings give every job."""
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": gitlab.url,
        "CI_SERVER_URL": gitlab.url.removesuffix(gitlab.root),
        "CI_PROJECT_ID": str(gitlab.project_id),
        "GITLAB_TOKEN": gitlab.token,
        "PRSHOTS_TOKEN": token,
    }


class TestGitLab:
    """The template as the recipe includes it, run by gitlab-ci-local, which first validates GitLab's schema."""

    def run(self, repository: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        given = {"CI_PIPELINE_SOURCE": "merge_request_event"} | variables
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("PRSHOTS_", "GIT"))
        }
        return completed(
            [
                NODE_PROGRAMS / "gitlab-ci-local",
                "--force-shell-executor",
                *(word for name, value in given.items() for word in ("--variable", f"{name}={value}")),
                *("--ignore-predefined-vars", ",".join(given)),
                *arguments,
            ],
            cwd=repository,
            env=clean | {"PATH": f"{TOOLS}:{os.environ['PATH']}"},
        )

    @pytest.mark.slow
    def test_the_jobs_post_screenshots_and_delete_them_on_close(
        self, repository: Path, variables: dict[str, str], token: str, gitlab: GitLabLookAlike
    ) -> None:
        variables |= {
            "CI_MERGE_REQUEST_PROJECT_ID": str(gitlab.project_id),
            "CI_MERGE_REQUEST_IID": str(gitlab.pr_number),
            "CI_COMMIT_SHA": SHA,
        }
        (repository / "screenshots" / "broken.png").write_text("no image")
        shown = self.run(repository, "prshots-upload", **variables)
        assert "broken.png: is not a PNG, JPEG or WebP image" in shown.stderr
        assert shown.returncode != 0  # one file is invalid, but the note is written first
        [note] = gitlab.comments()
        urls = re.findall(r'<img [^>]*src="([^"]+)"', unescape(note.body))
        assert all(name in note.body for name in ("check out/cart", "test-results/cart/test-failed-1"))
        assert [httpx.get(url, trust_env=False).status_code for url in urls] == [200, 200]
        assert token not in shown.stdout + shown.stderr

        gone = self.run(repository, "prshots-expire", "--no-json-schema-validation", **variables)
        assert gone.returncode == 0, gone.stdout + gone.stderr
        [note] = gitlab.comments()
        assert "<img" not in note.body
        assert [httpx.get(url, trust_env=False).status_code for url in urls] == [410, 410]

    @pytest.mark.slow
    def test_the_default_branch_has_the_baselines_of_a_merge_request(
        self, repository: Path, variables: dict[str, str], gitlab: GitLabLookAlike
    ) -> None:
        main = Repository(repository).head
        everywhere = variables | {"CI_DEFAULT_BRANCH": "main"}
        everywhere["GIT_ALLOW_PROTOCOL"] = "file"  # the remote does not exist
        (repository / "screenshots" / "broken.png").unlink(missing_ok=True)
        pushed = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main", "CI_COMMIT_SHA": main}
        built = self.run(
            repository, "prshots-baselines", "--no-json-schema-validation", **everywhere, **pushed
        )
        assert built.returncode == 0, built.stdout + built.stderr
        assert "2 of 2 screenshots to the baselines of main." in built.stderr
        assert "Nothing to comment on" in built.stderr

        cart = repository / "screenshots/check out/cart@1280x800.png"
        before = cart.read_bytes()
        Image.new("RGB", (64, 40), "red").save(cart)
        merge_request = {
            "CI_MERGE_REQUEST_PROJECT_ID": str(gitlab.project_id),
            "CI_MERGE_REQUEST_IID": str(gitlab.pr_number),
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": main,
            "CI_COMMIT_SHA": SHA,
            "PRSHOTS_FAIL_ON": "changed",  # overrides the input, and so does the next one
            "PRSHOTS_GATE": "true",
        }
        compared = self.run(
            repository, "prshots-upload", "--no-json-schema-validation", **everywhere, **merge_request
        )
        cart.write_bytes(before)
        assert "waiting: 1 screenshot to review" in compared.stdout
        assert f"Set the status prshots of commit {SHA[:7]} at GitLab to pending." in compared.stderr
        assert "1 shot matched --fail-on changed." in compared.stderr
        assert compared.returncode != 0
        [note] = gitlab.comments()
        assert "### 2 screenshots: 1 changed, 1 unchanged" in note.body
        assert main[:7] in note.body

        gitlab.merged_as = "c" * 40
        merged = self.run(
            repository, "prshots-expire", "--no-json-schema-validation", **everywhere, **merge_request
        )
        gitlab.merged_as = ""
        assert merged.returncode == 0, merged.stdout + merged.stderr
        assert "Kept 1 screenshot of the merged pull request as baselines." in merged.stderr

    def test_the_stop_job_has_the_same_rules_as_the_upload_job(self) -> None:
        """Otherwise GitLab has no job to run when the merge request closes."""
        _, jobs = yaml.safe_load_all((ROOT / "templates" / "prshots.yml").read_text())
        upload, expire = jobs["prshots-upload"], jobs["prshots-expire"]
        assert upload["environment"]["on_stop"] == "prshots-expire"
        assert upload["environment"]["name"] == expire["environment"]["name"]
        assert expire["environment"]["action"] == "stop"
        assert [rule["if"] for rule in upload["rules"]] == [rule["if"] for rule in expire["rules"]]
        assert "stage" not in {*upload, *expire}  # both inherit it from .prshots
        assert expire["rules"][0] | {"if": ""} == {"if": "", "when": "manual", "allow_failure": True}

    def test_inputs_and_defaults_are_documented(self) -> None:
        header, _ = yaml.safe_load_all((ROOT / "templates" / "prshots.yml").read_text())
        section = (DOCS / "ci.md").read_text().partition("\n## GitLab\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `([a-z-]+)` \| (?:`(.+?)`)?", section, re.MULTILINE)
        inputs = header["spec"]["inputs"]
        assert dict(rows) == {
            name: str(about.get("default", "")).replace("True", "true").replace("False", "false")
            for name, about in inputs.items()
        }
