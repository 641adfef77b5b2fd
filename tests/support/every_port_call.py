"""One call of every method of the database ports, for rules that all of them must follow."""

from collections.abc import Awaitable, Callable

from prshots.contract.limits import Policy
from prshots.contract.replies import ComparisonState
from prshots.server.adapters.sql.comparison.baselines import SqlBaselines
from prshots.server.adapters.sql.comparison.comparisons import SqlComparisons
from prshots.server.adapters.sql.database.database import Database
from prshots.server.adapters.sql.images.put_urls import SqlPutUrls
from prshots.server.adapters.sql.images.staging import SqlStaged
from prshots.server.adapters.sql.overview import SqlOverview
from prshots.server.adapters.sql.people import SqlPeople
from prshots.server.adapters.sql.projects.trusts import SqlTrusts
from prshots.server.adapters.sql.upkeep.upkeep import SqlUpkeep
from prshots.server.domain.comparison.models import ComparisonRequest
from prshots.server.domain.images.models import BranchPlace, PutUrl, ShotKey, StagedImage
from prshots.server.domain.people.models import LoginState, Session, User
from prshots.server.domain.projects.models import LOCAL_ORGANIZATION, Organization, Role, Trust
from prshots.server.domain.projects.names import ProjectReference
from prshots.server.domain.upkeep.ports import WrongTotal
from support.stores_and_records import NOW, SqlRecords, a_project, a_token, an_image

PROJECT = a_project()
IMAGE_ID = "0" * 32
USER = User("u", "github", "1", "ann", "Ann", "", NOW)
ORGANIZATION = Organization("o", "acme", personal=False, created_at=NOW)
SHA256 = "0" * 64
COMMIT = "0" * 40
SHOT = ShotKey("cart", "1280x800", "")
PLACE = BranchPlace("fix", "acme/shop")
PUT_URL = PutUrl(SHA256, PROJECT.id, "0", 7, PLACE, *SHOT[:1], COMMIT, *SHOT[1:], "image/png", NOW)
REQUEST = ComparisonRequest(PROJECT.id, 7, COMMIT, "main")

RECORDS: dict[str, Callable[[SqlRecords], Awaitable[object]]] = {
    "add_image": lambda records: records.add_image(an_image(PROJECT)),
    "image": lambda records: records.image(PROJECT.id, IMAGE_ID),
    "before_images": lambda records: records.before_images([IMAGE_ID]),
    "images_of_pr": lambda records: records.images_of_pr(PROJECT.id, 7, 10),
    "comment_entries": lambda records: records.comment_entries(PROJECT.id, 7, 10),
    "newest_of_shots": lambda records: records.newest_of_shots(PROJECT.id, 7, 10),
    "schedule": lambda records: records.schedule([IMAGE_ID], NOW),
    "close_pr": lambda records: records.close_pr(PROJECT.id, 7, NOW, schedule=True),
    "is_closed": lambda records: records.is_closed(PROJECT.id, 7),
    "next_scheduled": lambda records: records.next_scheduled("", 10),
    "schedule_due": lambda records: records.schedule_due(NOW, 10),
    "remove_images": lambda records: records.remove_images([IMAGE_ID]),
    "known_ids": lambda records: records.known_ids([IMAGE_ID]),
    "count_signed_with": lambda records: records.count_signed_with("k1"),
    "add_project": lambda records: records.add_project(PROJECT),
    "project": lambda records: records.project(PROJECT.name, LOCAL_ORGANIZATION),
    "projects": lambda records: records.projects(),
    "change_project": lambda records: records.change_project(PROJECT),
    "retire_project": lambda records: records.retire_project(PROJECT.id, NOW, 10),
    "remove_project": lambda records: records.remove_project(PROJECT.id),
    "set_thumbnail": lambda records: records.set_thumbnail(IMAGE_ID, "made"),
    "add_token": lambda records: records.add_token(a_token(PROJECT)),
    "project_of_token": lambda records: records.project_of_token(SHA256),
    "tokens": lambda records: records.tokens(PROJECT.id),
    "revoke_token": lambda records: records.revoke_token("0", NOW),
    "touch_token": lambda records: records.touch_token("0", NOW),
    "discard_expired_tokens": lambda records: records.discard_expired_tokens(NOW, 10),
    "describe_pull": lambda records: records.describe_pull(
        PROJECT.id, 7, title="", source_branch="", author="", path=""
    ),
    "set_repository": lambda records: records.set_repository(PROJECT.id, "https://forge.example/acme/shop"),
    "check": lambda records: records.check(),
}
PEOPLE: dict[str, Callable[[SqlPeople], Awaitable[object]]] = {
    "add_login_state": lambda people: people.add_login_state(LoginState(SHA256, "github", NOW)),
    "take_login_state": lambda people: people.take_login_state(SHA256),
    "user_of_subject": lambda people: people.user_of_subject("github", "1"),
    "users_of_login": lambda people: people.users_of_login("ann"),
    "add_user": lambda people: people.add_user(USER, ORGANIZATION),
    "update_user": lambda people: people.update_user(USER),
    "add_session": lambda people: people.add_session(Session(SHA256, USER.id, NOW, NOW)),
    "session": lambda people: people.session(SHA256),
    "touch_session": lambda people: people.touch_session(SHA256, NOW),
    "end_session": lambda people: people.end_session(SHA256),
    "end_sessions_of": lambda people: people.end_sessions_of(USER.id),
    "discard_old_logins": lambda people: people.discard_old_logins(NOW, NOW, NOW),
    "add_organization": lambda people: people.add_organization(ORGANIZATION, USER.id),
    "organizations_of": lambda people: people.organizations_of(USER.id),
    "organization_of": lambda people: people.organization_of(USER.id, ORGANIZATION.id),
    "members": lambda people: people.members(ORGANIZATION.id, ("a", "b"), 10),
    "set_member": lambda people: people.set_member(ORGANIZATION.id, USER.id, Role.MEMBER),
    "remove_member": lambda people: people.remove_member(ORGANIZATION.id, USER.id),
}
OVERVIEW: dict[str, Callable[[SqlOverview], Awaitable[object]]] = {
    "project_of": lambda overview: overview.project_of(USER.id, PROJECT.id),
    "projects_of": lambda overview: overview.projects_of(USER.id, ("a", "b"), 10),
    "summary_of": lambda overview: overview.summary_of(USER.id, PROJECT.id),
    "days": lambda overview: overview.days([PROJECT.id], 1),
    "pulls": lambda overview: overview.pulls(
        PROJECT.id, closed=True, search="cart", before=(NOW, 7), limit=10
    ),
    "pull": lambda overview: overview.pull(PROJECT.id, 7),
    "biggest_pulls": lambda overview: overview.biggest_pulls(PROJECT.id, 10),
    "newest_images": lambda overview: overview.newest_images(PROJECT.id, [7], 10),
    "shots": lambda overview: overview.shots(PROJECT.id, 7, SHOT, 10),
    "images_of_shot": lambda overview: overview.images_of_shot(PROJECT.id, 7, SHOT, 9, 10),
    "images": lambda overview: overview.images(PROJECT.id, [IMAGE_ID]),
    "tokens": lambda overview: overview.tokens(PROJECT.id, (NOW, "t"), 10),
    "would_expire": lambda overview: overview.would_expire(PROJECT.id, Policy.PR_CLOSE, 3, NOW),
}
TRUSTS: dict[str, Callable[[SqlTrusts], Awaitable[object]]] = {
    "add_trust": lambda trusts: trusts.add_trust(
        Trust("0", PROJECT.id, "https://ci.example", {"sub": "x"}, NOW), "sub=x", 50
    ),
    "trusts": lambda trusts: trusts.trusts(PROJECT.id),
    "is_trusted": lambda trusts: trusts.is_trusted("https://ci.example"),
    "trusts_by_anchor": lambda trusts: trusts.trusts_by_anchor(
        "https://ci.example", ["sub=x"], ProjectReference("octo", "web")
    ),
    "remove_trust": lambda trusts: trusts.remove_trust("0"),
    "pin_trust": lambda trusts: trusts.pin_trust("0", {"repository_id": "7"}),
    "unpin_trust": lambda trusts: trusts.unpin_trust("0"),
    "note_refused_ids": lambda trusts: trusts.note_refused_ids("0", {"repository_id": "8"}, NOW),
    "touch_trust": lambda trusts: trusts.touch_trust("0", NOW),
    "add_token_of_trust": lambda trusts: trusts.add_token_of_trust(a_token(PROJECT)),
}
UPKEEP: dict[str, Callable[[SqlUpkeep], Awaitable[object]]] = {
    "installation_id": lambda upkeep: upkeep.installation_id(),
    "time": lambda upkeep: upkeep.time(),
    "stored": lambda upkeep: upkeep.stored(),
    "count_overdue": lambda upkeep: upkeep.count_overdue(NOW, 10),
    "images_by_id": lambda upkeep: upkeep.images_by_id("", "g", 10),
    "active_ids": lambda upkeep: upkeep.active_ids([IMAGE_ID]),
    "wrong_pulls": lambda upkeep: upkeep.wrong_pulls(PROJECT.id, -1),
    "wrong_days": lambda upkeep: upkeep.wrong_days(PROJECT.id, -1),
    "wrong_projects": lambda upkeep: upkeep.wrong_projects(),
    "recompute": lambda upkeep: upkeep.recompute(WrongTotal("pull request", PROJECT.id, 7, {}, {})),
    "reclaim_space": lambda upkeep: upkeep.reclaim_space(1),
}
BASELINES: dict[str, Callable[[SqlBaselines], Awaitable[object]]] = {
    "reuse": lambda baselines: baselines.reuse(PROJECT.id, "main", COMMIT, [(SHOT, SHA256)], NOW),
    "adopt": lambda baselines: baselines.adopt(an_image(PROJECT), "main"),
    "complete": lambda baselines: baselines.complete(PROJECT.id, "main", COMMIT, NOW),
    "bases": lambda baselines: baselines.bases(PROJECT.id, "main", [COMMIT], [SHOT]),
    "branches": lambda baselines: baselines.branches(PROJECT.id),
    "commits": lambda baselines: baselines.commits(PROJECT.id, "main", None, 10),
    "of_commit": lambda baselines: baselines.of_commit(PROJECT.id, "main", COMMIT, SHOT, 10),
    "release": lambda baselines: baselines.release(NOW, 10),
}
COMPARISONS: dict[str, Callable[[SqlComparisons], Awaitable[object]]] = {
    "images_at": lambda comparisons: comparisons.images_at(PROJECT.id, 7, COMMIT),
    "begin": lambda comparisons: comparisons.begin(
        REQUEST, "run", [], state=ComparisonState.COMPARED, base_commit=None, missing=0, now=NOW
    ),
    "pairs_at": lambda comparisons: comparisons.pairs_at(PROJECT.id, 7, COMMIT),
    "was_complete": lambda comparisons: comparisons.was_complete(PROJECT.id, 7, COMMIT),
    "known_pairs": lambda comparisons: comparisons.known_pairs(PROJECT.id, [(SHA256, SHA256)], 1),
    "record": lambda comparisons: comparisons.record(REQUEST, "run", {}, {}, engine=1, state=None, now=NOW),
    "set_diff": lambda comparisons: comparisons.set_diff(IMAGE_ID, IMAGE_ID),
    "diff_twin": lambda comparisons: comparisons.diff_twin(an_image(PROJECT), an_image(PROJECT)),
    "of_newest_commit": lambda comparisons: comparisons.of_newest_commit(PROJECT.id, 7),
    "version": lambda comparisons: comparisons.version(PROJECT.id, 7),
    "of_commit": lambda comparisons: comparisons.of_commit(PROJECT.id, 7, COMMIT),
    "discard_old_pairs": lambda comparisons: comparisons.discard_old_pairs(NOW, 10),
}
STAGED: dict[str, Callable[[SqlStaged], Awaitable[object]]] = {
    "add": lambda staged: staged.add(StagedImage(an_image(PROJECT, kind="staged"), PLACE, NOW)),
    "find": lambda staged: staged.find(PROJECT.id, NOW, branch="fix", repository="", before=9, limit=10),
    "count": lambda staged: staged.count(PROJECT.id, "fix", NOW),
    "move": lambda staged: staged.move(PROJECT.id, PLACE, 7, NOW, 10),
    "schedule_expired": lambda staged: staged.schedule_expired(NOW, 10),
}
PUT_URLS: dict[str, Callable[[SqlPutUrls], Awaitable[object]]] = {
    "add": lambda put_urls: put_urls.add(PUT_URL),
    "find": lambda put_urls: put_urls.find(SHA256, NOW),
    "use": lambda put_urls: put_urls.use(PUT_URL, an_image(PROJECT), None),
    "use_before": lambda put_urls: put_urls.use_before(PUT_URL, an_image(PROJECT, kind="before")),
    "discard_expired": lambda put_urls: put_urls.discard_expired(NOW, 10),
}
STORES = {
    SqlRecords: RECORDS,
    SqlPeople: PEOPLE,
    SqlOverview: OVERVIEW,
    SqlTrusts: TRUSTS,
    SqlUpkeep: UPKEEP,
    SqlBaselines: BASELINES,
    SqlComparisons: COMPARISONS,
    SqlStaged: STAGED,
    SqlPutUrls: PUT_URLS,
}
EVERY_CALL: dict[str, Callable[[Database], Awaitable[object]]] = {
    f"{store.__name__}.{name}": lambda database, store=store, call=call: call(store(database))  # type: ignore[misc]
    for store, calls in STORES.items()
    for name, call in calls.items()  # type: ignore[attr-defined]
}
