"""Moves an installation to another database or store while the service runs.

    plan.py       where the data goes, and the checks before the first write
    source.py     the database that the data comes from: the log of changes, snapshots, the stop of writes
    target.py     the database that the data goes to
    objects.py    the images: copies those that a store lacks, with many requests at a time
    ends.py       opens both ends of a move, and begins or continues it
    steps.py      the steps: copy, check, stop, switch
    estimate.py   the dry run

Every transaction on the target makes it equal to one snapshot of the source, as far as it is copied. So a
move that is killed continues with the next page, and nothing ever has to be undone.
`docs/understand/decisions/0032-move.md` has the reasons.
"""
