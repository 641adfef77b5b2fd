"""`python -m prshots`: the command, for a Python whose `bin` is not on the path."""

from prshots.cli import main

main()
