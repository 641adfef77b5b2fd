"""What an image is compared with if some came with a before image."""

from collections.abc import Mapping

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.domain.comparison.models import Bases, ShotBase
from prshots.server.domain.comparison.plan import ComparisonPlan, plan_comparison
from prshots.server.domain.images.models import Image, ShotKey
from support.stores_and_records import a_pair, a_project, an_image

PROJECT = a_project()
NO_BASELINES = Bases(None, is_complete=False, shots={}, by_shot={}, branch_has_any=False)
PAIR, BEFORE = a_pair(PROJECT, name="pair", sha256="1" * 64)
ALONE = an_image(PROJECT, name="alone", sha256="2" * 64)


def baselines(*images: Image, is_complete: bool = True) -> Bases:
    by_shot = {image.shot: ShotBase(image, "c" * 40, is_listed=True) for image in images}
    return Bases("c" * 40, is_complete, by_shot, by_shot, branch_has_any=True)


def baseline(name: str) -> Image:
    return an_image(PROJECT, name=name, kind="baseline", sha256="3" * 64)


def bases_of(plan: ComparisonPlan) -> Mapping[str, str]:
    return {shot.shot.name: shot.base.image.id if shot.base else "" for shot in plan.shots}


def verdicts(plan: ComparisonPlan) -> dict[ShotKey, Verdict | None]:
    return {shot.shot: shot.result.verdict for shot in plan.shots}


def plan_pair(bases: Bases, *others: Image, is_complete: bool = False) -> ComparisonPlan:
    return plan_comparison([PAIR, *others], bases, is_complete=is_complete, before_images={PAIR.id: BEFORE})


def test_a_before_image_replaces_the_baseline() -> None:
    plan = plan_pair(baselines(baseline("pair")), is_complete=True)
    assert bases_of(plan) == {"pair": BEFORE.id}
    assert plan.final_state is ComparisonState.COMPARED


def test_a_pair_is_compared_on_a_branch_without_baselines() -> None:
    plan = plan_pair(NO_BASELINES)
    assert bases_of(plan) == {"pair": BEFORE.id}
    assert verdicts(plan) == {PAIR.shot: Verdict.UNCHANGED}  # the same bytes
    assert (plan.final_state, plan.base_commit, plan.missing) == (ComparisonState.COMPARED, None, 0)


def test_without_baselines_other_shots_make_it_incomplete_and_are_not_new() -> None:
    plan = plan_pair(NO_BASELINES, ALONE, is_complete=True)
    assert bases_of(plan) == {"pair": BEFORE.id}
    assert (plan.final_state, plan.missing) == (ComparisonState.INCOMPLETE, 1)


def test_with_baselines_other_shots_are_new() -> None:
    plan = plan_pair(baselines(), ALONE)
    assert verdicts(plan)[ALONE.shot] is Verdict.NEW
    assert plan.final_state is ComparisonState.COMPARED


def test_without_a_before_image_there_is_no_baseline() -> None:
    for image in (ALONE, PAIR):  # the before image of a pair may be deleted
        plan = plan_comparison([image], NO_BASELINES, is_complete=False)
        assert (plan.final_state, plan.missing, plan.shots) == (ComparisonState.NO_BASELINE, 0, [])


def test_a_pair_is_never_removed() -> None:
    plan = plan_pair(baselines(baseline("pair"), baseline("gone")), is_complete=True)
    assert {shot.name for shot, verdict in verdicts(plan).items() if verdict is Verdict.REMOVED} == {"gone"}
