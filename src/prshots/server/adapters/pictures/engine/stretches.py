"""The result of aligning two images: stretches of rows, from the top to the bottom."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Kind = Literal["equal", "paired", "inserted", "removed"]
"""Paired rows belong together but differ. Only they have to be compared pixel by pixel."""


class Stretch(NamedTuple):
    """Consecutive rows of the same kind. Equal and paired stretches have as many rows before as after."""

    kind: Kind
    before: int
    """Its first row in the before image. For inserted rows, the row that they were inserted above."""
    after: int
    rows: int


Sketch = npt.NDArray[np.float32]
"""A few brightness values per row, similar for rows that look alike: see `Canvas.row_sketches`."""


class Sketches(NamedTuple):
    """Called with a first row and an end row, each returns the sketches of these rows of one image."""

    before: Callable[[int, int], Sketch]
    after: Callable[[int, int], Sketch]
