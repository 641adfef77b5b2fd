"""What `prshots review` says about a comparison, in few tokens."""

import json
from typing import Any

from prshots.client.replies import comparison_from
from prshots.client.review import describe_comparison

URL = f"https://shots.example.com/i/{'a' * 32}.png?exp=1812345678&token=k1.{'5e' * 32}"
NOT_DECIDED = {"by": "", "at": None, "note": "", "pin": None}


def shot(name: str, state: str, **more: Any) -> dict[str, Any]:
    found = {
        "name": name,
        "viewport": "1280x800",
        "theme": "",
        "verdict": "changed",
        "pixels": 7,
        "regions": [],
    }
    found |= {"shift": 0, "view_url": URL, "before_url": URL, "diff_url": URL, "base_commit": "b" * 40}
    found |= {"closeups": [{"url": f"{URL}#{number}", "region": [0, 0, 9, 9]} for number in range(3)]}
    return found | {"group": "56b914300b6f", "review": {"state": state, **NOT_DECIDED, **more}}


def described(*shots: dict[str, Any], notes: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    reply = {
        "pr_number": 7,
        "commit_sha": "a" * 40,
        "branch": "main",
        "base_commit": None,
        "state": "compared",
    }
    reply |= {
        "counts": {"changed": len(shots)},
        "shots": list(shots),
        "dashboard_url": "https://shots.example.com",
    }
    gate = {"state": "waiting", "open": 1, "reason": ""}
    return describe_comparison(comparison_from(reply | {"gate": gate, "outdated_notes": notes or []}))


def test_lists_50_shots_rejected_ones_first_and_counts_the_rest() -> None:
    found = described(
        *(shot(f"page-{number}", "open") for number in range(60)),
        *(shot(state, state) for state in ("approved", "not_needed", "quarantined", "seen_before")),
        shot("cart", "rejected", by="ann", at=1794000000, note="Too red", pin={"x": 0.41, "y": 0.2}),
    )
    first, *others = found["shots"]
    assert first == {
        "name": "cart",
        "viewport": "1280x800",
        "verdict": "changed",
        "group": "56b914300b6f",
        "untrusted_note": "Too red",
        "state": "rejected",
        "by": "ann",
        "at": 1794000000,
        "pin": {"x": 0.41, "y": 0.2},
        "url": f"{URL}#0",
    }
    assert [each["name"] for each in others] == [f"page-{number}" for number in range(49)]
    assert found["shots_left_out"] == 11
    assert found["reviews"] == dict.fromkeys(("approved", "not_needed", "quarantined", "seen_before"), 1) | {
        "open": 60,
        "rejected": 1,
    }


def test_a_note_about_a_group_costs_its_tokens_once() -> None:
    note = {"by": "ann", "at": 1794000000, "note": "n" * 2000}
    first, second, other = described(
        shot("cart", "rejected", **note),
        shot("home", "rejected", **note),
        shot("menu", "rejected", **note | {"at": 1794000001}),
    )["shots"]
    assert first["untrusted_note"] == other["untrusted_note"] == "n" * 2000
    assert "untrusted_note" not in second
    assert (second["by"], second["at"]) == (first["by"], first["at"])
    assert len(json.dumps(second, separators=(",", ":"))) / 4 <= 120


def test_notes_about_earlier_images_are_marked_outdated() -> None:
    note = {
        "name": "cart",
        "viewport": "1280x800",
        "theme": "dark",
        "state": "rejected",
        "by": "ann",
        "at": 1,
    }
    (found,) = described(notes=[note | {"note": "Too red", "pin": None}])["outdated_notes"]
    assert found == note | {"outdated": True, "untrusted_note": "Too red"}
