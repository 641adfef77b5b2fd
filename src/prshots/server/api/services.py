"""The services behind the public routes."""

from dataclasses import dataclass

from prshots.server.domain.comments.service import Comments
from prshots.server.domain.comparison.baselines import Baselines
from prshots.server.domain.comparison.service import Comparisons
from prshots.server.domain.images.ports import RateCounter
from prshots.server.domain.images.put_urls import PutUrls
from prshots.server.domain.images.service import Images
from prshots.server.domain.images.staging import Staging
from prshots.server.domain.outbox.service import Outbox
from prshots.server.domain.projects.keyless import TokenExchange
from prshots.server.domain.projects.service import Projects
from prshots.server.domain.review.service import Reviews
from prshots.server.domain.webhooks.service import WebhookSender


@dataclass(frozen=True, slots=True)
class PublicServices:
    accounts: Projects
    images: Images
    baselines: Baselines
    comparisons: Comparisons
    reviews: Reviews
    comments: Comments
    outbox: Outbox
    webhooks: WebhookSender
    staging: Staging
    put_urls: PutUrls
    exchange: TokenExchange
    counter: RateCounter
