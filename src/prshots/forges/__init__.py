"""The forges' APIs: comments, commit statuses, reviews. The client and the server both use them."""

from prshots.contract.forge_kinds import ForgeKind
from prshots.forges.bitbucket import Bitbucket
from prshots.forges.forge import Comment, Forge, ForgePullRequest, Merge
from prshots.forges.gitea import Gitea
from prshots.forges.github import GitHub
from prshots.forges.gitlab import GitLab

__all__ = ["FORGES", "Comment", "Forge", "ForgePullRequest", "Merge"]

FORGES: dict[ForgeKind, type[Forge]] = {
    ForgeKind.GITHUB: GitHub,
    ForgeKind.GITLAB: GitLab,
    ForgeKind.GITEA: Gitea,
    ForgeKind.BITBUCKET: Bitbucket,
}
