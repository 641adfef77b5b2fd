"""Keeps packages that a library imports only for optional features out of memory."""

import contextlib
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def not_installed(*packages: str) -> Iterator[None]:
    """Make packages appear not to be installed for imports in this block."""
    loaded = {name: sys.modules[name] for name in packages if name in sys.modules}
    sys.modules.update(dict.fromkeys(packages))  # type: ignore[arg-type]  # None makes an import fail
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(loaded)
