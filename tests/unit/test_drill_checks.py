"""The checks of the drills find what they are for."""

from dataclasses import replace

from drills.truth import Truth, wrong_records, wrong_store, wrong_totals

TRUTH = Truth(
    images=[
        ("aa1", "png", "web", 7, 10, "pull_request"),
        ("bb2", "png", "web", 7, 20, "pull_request"),
        ("cc3", "jpg", "app", 8, 5, "pull_request"),
    ],
    totals=[("web", 2, 30, 1), ("app", 1, 5, 0), ("empty", 0, 0, 0)],
    pulls=[("web", 7, 2, 30, None), ("app", 8, 1, 5, 1000), ("empty", 1, 0, 0, 1000)],
)
STORED = {"aa/aa1.png": 10, "bb/bb2.png": 20, "cc/cc3.jpg": 5}


def test_a_consistent_state_is_right() -> None:
    assert wrong_totals(TRUTH) == []
    assert wrong_records(TRUTH, {"aa1", "bb2"}, {"dd4"}) == []
    assert wrong_store(TRUTH, STORED) == []


def test_wrong_totals_are_found() -> None:
    for totals in (
        [("web", 3, 30, 1), *TRUTH.totals[1:]],
        [("web", 2, 31, 1), *TRUTH.totals[1:]],
        [("web", 2, 30, 2), *TRUTH.totals[1:]],
        TRUTH.totals[1:],
    ):
        assert [line.partition(":")[0] for line in wrong_totals(replace(TRUTH, totals=totals))] == [
            "project web"
        ]
    pulls = [("web", 7, 1, 30, None), *TRUTH.pulls[1:]]
    assert len(wrong_totals(replace(TRUTH, pulls=pulls))) == 1


def test_lost_and_resurrected_records_are_found() -> None:
    assert wrong_records(TRUTH, {"aa1", "dd4"}, {"bb2"}) == [
        "dd4 was acknowledged, but has no record",
        "bb2 was deleted, but has a record",
    ]


def test_a_store_that_differs_is_found() -> None:
    assert wrong_store(TRUTH, {"aa/aa1.png": 9, "bb/bb2.png": 20, "dd/dd4.png": 1}) == [
        "cc/cc3.jpg has a record, but no bytes",
        "dd/dd4.png has bytes, but no record",
        "aa/aa1.png has 9 bytes, but its record says 10",
    ]
