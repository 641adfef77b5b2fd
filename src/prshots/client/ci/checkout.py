"""Facts from git's checkout when CI doesn't provide them: the commit and the default branch."""

from prshots.client.ci.git import commit_at, git
from prshots.client.ci.job import Job
from prshots.contract import validate

USUAL_BRANCHES = ("main", "master")


def commit_of(job: Job, given: str = "") -> str:
    """Return the given commit, else the one from CI, else git's HEAD, or "" if there is none."""
    return given or job.commit_sha or head_commit()


def head_commit() -> str:
    """Return the HEAD of the working folder, or "" if it isn't in a repository."""
    return commit_at("HEAD")


def full_commit(sha: str) -> str:
    """Return a commit's SHA of 40 characters, from git if it is abbreviated, or "" if git doesn't know it."""
    return validate.full_commit(sha) or (commit_at(sha) if validate.commit(sha) else "")


def default_branch(job: Job) -> str:
    """Return the repository's default branch: from CI, else from git's remote, else by its usual names."""
    if job.default_branch:
        return job.default_branch
    prefix = "refs/remotes/origin/"
    head = git("symbolic-ref", "--quiet", f"{prefix}HEAD").output.strip()
    if found := validate.branch(head.removeprefix(prefix)):
        return found
    if job.branch in USUAL_BRANCHES:
        return job.branch
    is_here = (
        name for name in USUAL_BRANCHES if commit_at(f"{prefix}{name}") or commit_at(f"refs/heads/{name}")
    )
    return next(is_here, USUAL_BRANCHES[0])


def branch_for_baselines(job: Job) -> str:
    """Return the job's branch. Without CI, return the default branch if it's checked out, or "" otherwise."""
    if job.ci or job.branch:
        return job.branch
    here = validate.branch(git("symbolic-ref", "--quiet", "HEAD").output)
    return here if here == default_branch(job) else ""


def builds_baselines(job: Job, branch: str = "") -> bool:
    """Return whether the job builds the branch with the baselines: the given branch, else the default."""
    return job.branch != "" and not job.from_fork and job.branch == (branch or default_branch(job))
