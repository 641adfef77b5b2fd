"""Move an installation to another database or store while the service runs.

    plan.py       the destination, and the checks before the first write
    source.py     the source database: the log of changes, snapshots, the stop of writes
    target.py     the target database
    objects.py    copies the images that a store lacks, with many concurrent requests
    ends.py       opens both ends of a move, and begins or continues it
    steps.py      the steps: copy, check, stop, switch
    estimate.py   the dry run

Every transaction on the target makes the copied part equal to one snapshot of the source. A killed move
therefore continues with the next page, and nothing ever has to be undone.
`docs/understand/decisions/0032-move.md` has the reasons.
"""
