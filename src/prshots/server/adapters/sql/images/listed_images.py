"""The images that a comment lists. Their listed facts never change, so each image is read only once."""

from sqlalchemy import Connection, bindparam, select

from prshots.server.adapters.sql.columns import ACTIVE_OF_PR, LISTED_IMAGE
from prshots.server.adapters.sql.database.prepared import Prepared
from prshots.server.adapters.sql.database.schema import images
from prshots.server.bounded_cache import BoundedCache
from prshots.server.domain.images.models import ListedImage

REMEMBERED_IMAGES = 8192
"""A comment mostly lists the same images as the previous one. All of them take 6 MB."""

_KEYS = Prepared(
    select(images.c.id, images.c.seq)
    .where(*ACTIVE_OF_PR)
    .order_by(images.c.seq.desc())
    .limit(bindparam("newest"))
)
_SINCE = Prepared(select(*LISTED_IMAGE).where(*ACTIVE_OF_PR, images.c.seq >= bindparam("since")))


class ListedImages:
    """Reads which images exist, and their details only from the oldest unknown image on.

    That is usually one of the latest uploads. Several threads may read at the same time.
    """

    def __init__(self) -> None:
        self._known: BoundedCache[str, ListedImage] = BoundedCache(REMEMBERED_IMAGES)

    def newest_of_pr(
        self, connection: Connection, project_id: str, pr_number: int, newest: int
    ) -> list[ListedImage]:
        """Return the newest images of a pull request, newest first."""
        of_pr = {"project_id": project_id, "pr_number": pr_number}
        keys = _KEYS.rows(connection, of_pr | {"newest": newest})
        found = {image_id: self._known.get(image_id) for image_id, _ in keys}
        unknown = [seq for image_id, seq in keys if found[image_id] is None]
        if unknown:
            rows = _SINCE.rows(connection, of_pr | {"since": unknown[-1]})
            read = {image.id: image for image in map(ListedImage._make, rows)}
            for one in read.values():
                self._known.put(one.id, one)
            found.update(read)
        listed = [image for image_id, _ in keys if (image := found[image_id])]
        if len(listed) < len(keys):  # an image was deleted after its key was read
            return self.newest_of_pr(connection, project_id, pr_number, newest)
        return listed
