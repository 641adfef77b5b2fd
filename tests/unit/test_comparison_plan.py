"""What an image is compared with if some came with a before image."""

from collections.abc import Sequence

from prshots.contract.replies import ComparisonState, Verdict
from prshots.server.domain.comparison.models import Bases, ShotBase
from prshots.server.domain.comparison.plan import ComparisonPlan, plan_comparison
from prshots.server.domain.images.models import Image
from support.stores_and_records import a_pair, a_project, an_image

PROJECT = a_project()
NO_BASELINES = Bases(None, is_complete=False, shots={}, by_shot={}, branch_has_any=False)
PAIR, BEFORE = a_pair(PROJECT, name="pair", sha256="1" * 64)
ALONE = an_image(PROJECT, name="alone", sha256="2" * 64)


def baselines(*names: str) -> Bases:
    images = [an_image(PROJECT, name=name, kind="baseline", sha256="3" * 64) for name in names]
    by_shot = {image.shot: ShotBase(image, "c" * 40, is_listed=True) for image in images}
    return Bases("c" * 40, is_complete=True, shots=by_shot, by_shot=by_shot, branch_has_any=True)


def plan_pair(bases: Bases, others: Sequence[Image] = (), *, is_complete: bool = False) -> ComparisonPlan:
    return plan_comparison([PAIR, *others], bases, is_complete=is_complete, before_images={PAIR.id: BEFORE})


def verdicts(plan: ComparisonPlan) -> dict[str, Verdict | None]:
    return {shot.shot.name: shot.result.verdict for shot in plan.shots}


def test_a_before_image_replaces_the_baseline_of_its_shot_only() -> None:
    plan = plan_pair(baselines("pair", "gone"), [ALONE], is_complete=True)
    assert [shot.base.image for shot in plan.shots if shot.image is PAIR and shot.base] == [BEFORE]
    assert verdicts(plan) == {"pair": Verdict.UNCHANGED, "alone": Verdict.NEW, "gone": Verdict.REMOVED}
    assert plan.final_state is ComparisonState.COMPARED


def test_without_baselines_only_pairs_are_compared() -> None:
    plan = plan_pair(NO_BASELINES)
    assert verdicts(plan) == {"pair": Verdict.UNCHANGED}  # the same bytes
    assert (plan.final_state, plan.base_commit, plan.missing) == (ComparisonState.COMPARED, None, 0)
    plan = plan_pair(NO_BASELINES, [ALONE], is_complete=True)
    assert verdicts(plan) == {"pair": Verdict.UNCHANGED}
    assert (plan.final_state, plan.missing) == (ComparisonState.INCOMPLETE, 1)


def test_without_a_before_image_there_is_no_baseline() -> None:
    for image in (ALONE, PAIR):  # the before image of a pair may be deleted
        plan = plan_comparison([image], NO_BASELINES, is_complete=False)
        assert (plan.final_state, plan.missing, plan.shots) == (ComparisonState.NO_BASELINE, 0, [])
