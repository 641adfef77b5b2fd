"""Images as the comment lists them. Their id is their URL, so tests need no signer."""

from operator import attrgetter

from prshots.server.domain.images.models import ListedImage

url_of = attrgetter("id")


def listed_image(name: str, viewport: str, commit_sha: str, url: str) -> ListedImage:
    return ListedImage(url, "png", 0, "k1", name, viewport, commit_sha)
