"""Which names of a long comment are folded together."""

from collections import Counter
from collections.abc import Iterable
from itertools import takewhile


def folders_of(names: Iterable[str], folded_above: int) -> dict[str, str]:
    """Return the folder of each name; it is empty for a name that is not folded.

    Folders that all names have in common tell nothing apart, so the folder below them counts. A name directly
    in them has the last of them.
    """
    paths = {name: [part.strip() for part in name.split("/")][:-1] for name in names}
    if len(paths) <= folded_above:
        return dict.fromkeys(paths, "")
    in_common = takewhile(lambda parts: len(set(parts)) == 1, zip(*paths.values(), strict=False))
    depth = len(list(in_common))
    folders = {name: (["", *path][: depth + 2])[-1] for name, path in paths.items()}
    together = Counter(folders.values())
    return {name: folder if together[folder] > 1 else "" for name, folder in folders.items()}
