"""Moves an installation to another database or store while the service runs.

    plan.py       what moves where, and the checks before anything is written
    source.py     the database that the data comes from: the log of changes, snapshots, the stop of writes
    target.py     the database that the data goes to
    objects.py    the images: what a store lacks, copied with many requests at a time
    moving.py     the order of it all: copy, check, stop, switch
    estimate.py   the dry run

Every transaction on the target makes it equal to one snapshot of the source, as far as it was copied. So a
move that is killed continues with the next page, and nothing ever has to be undone.
`docs/understand/decisions/0032-move.md` has the reasons.
"""
