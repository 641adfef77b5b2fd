"""`python -m prshots`: the command, for a Python whose `bin` is not on the path."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the working directory, which may hold a file with the name of a package we import

from prshots.cli import main

main()
