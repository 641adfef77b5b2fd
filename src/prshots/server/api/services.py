"""What the public routes work with."""

from dataclasses import dataclass

from prshots.server.domain.baselines import Baselines
from prshots.server.domain.comments import Comments
from prshots.server.domain.comparing import Comparisons
from prshots.server.domain.images import Images
from prshots.server.domain.keyless import Exchange
from prshots.server.domain.projects import Projects
from prshots.server.domain.pull_requests import PullRequests
from prshots.server.domain.put_urls import PutUrls
from prshots.server.domain.staging import Staging


@dataclass(frozen=True, slots=True)
class PublicServices:
    accounts: Projects
    images: Images
    baselines: Baselines
    comparisons: Comparisons
    comments: Comments
    pull_requests: PullRequests
    staging: Staging
    put_urls: PutUrls
    exchange: Exchange
