"""Keeps packages out of memory that a library imports only in case they are used."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def not_installed(*packages: str) -> Iterator[None]:
    """Make packages look as if they were not installed, for the imports of this block."""
    loaded = {name: sys.modules[name] for name in packages if name in sys.modules}
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None is what makes an import fail
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(loaded)
