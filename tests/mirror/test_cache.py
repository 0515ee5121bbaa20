"""The mirror: what it takes for granted, what it says of changes, what a snapshot shows and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.mirrors import Fields, World
from tests.support.plans import DEFAULT_POLICY
from tests.support.views import view
from vsched.framework.cycle import run_cycle
from vsched.mirror.mirror import Mirror
from vsched.mirror.state.resource_versions import SeenVersions
from vsched.mirror.stores import MirrorSettings
from vsched.model.jobs.spec import Condition
from vsched.model.plan import Bind, CycleReport, Evict, JobOutcome, Nominate
from vsched.model.pods.shape import Requirement, Selector
from vsched.model.pods.status import Status
from vsched.plugins.words import jobs as jobs_words
from vsched.settings.built_in import REGISTRY

PENDING = make.pod("a", group="pg")
RUNNING = make.pod("a", group="pg", node="n1")
BOUND = make.pod("a", group="pg", node="n1", status=make.BOUND)
NOMINATED = make.merged(PENDING, {"status": {"nominatedNodeName": "n1"}})
DELETING = {"metadata": {"deletionTimestamp": "2026-08-01T10:00:00Z"}}
ONE_POD = {"cpu": 1000, "pods": 1}


def world(*more: Fields, **options: Any) -> World:
    return World(make.node("n1"), make.node("n2"), make.queue("q"), make.pod_group("pg"), *more, **options)


def shown(*more: Fields) -> World:
    """The same, in a snapshot: decisions are about what that shows."""
    found = world(*more)
    found.job()
    return found


# Assumed placements


def test_an_assumed_pod_takes_its_node_at_once() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    assert here.used() == ONE_POD
    assert here.job().tasks["uid-a"].status is Status.BINDING
    assert here.job().allocated[0] == 1000


def test_an_assumption_survives_events_that_do_not_know_of_it_yet() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    here.add(make.merged(PENDING, {"metadata": {"labels": {"new": "label"}}}))
    task = here.job().tasks["uid-a"]
    assert (task.status, task.node, task.labels.pairs) == (Status.BINDING, "n1", (("new", "label"),))


def test_the_watch_confirms_an_assumption_and_then_decides_alone() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    here.add(BOUND)
    assert here.job().tasks["uid-a"].status is Status.BOUND
    assert here.cache.describe()["assumed_tasks"] == 0
    here.cache.assumptions.forget("uid-a")
    assert here.used() == ONE_POD


def test_a_failed_binding_is_undone_to_what_the_watch_last_said() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    here.add(make.merged(PENDING, {"spec": {"priority": 9}}))
    wakes = here.wakes
    here.cache.assumptions.forget("uid-a")
    task = here.job().tasks["uid-a"]
    assert (task.status, task.node, task.priority) == (Status.PENDING, "", 9)
    assert here.used() == {}
    assert here.wakes == wakes + 1


GANG_OF_TWO = make.pod_group("pg", spec={"minMember": 2})
OTHER = make.pod("b", group="pg", spec={"priority": 1})


@pytest.mark.parametrize(
    ("gang", "first", "kept"),
    [
        pytest.param(GANG_OF_TWO, BOUND, "n1", id="one is bound, and the gang needs both"),
        pytest.param(GANG_OF_TWO, PENDING, "", id="none is bound: it starts as a whole or not at all"),
        pytest.param(make.pod_group("pg"), BOUND, "", id="the gang has its minimum"),
    ],
)
def test_what_a_gang_lacks_that_has_begun_to_start_keeps_its_node_where_a_binding_fails(
    gang: Fields, first: Fields, kept: str
) -> None:
    here = shown(gang, first, OTHER)
    here.bind(OTHER)
    here.cache.assumptions.forget("uid-b")
    assert here.job().tasks["uid-b"].nominated == kept


@pytest.mark.parametrize("fits", [True, False], ids=["it fits there", "the node has gone"])
def test_nobody_takes_that_node_as_long_as_it_can_be_had(fits: bool) -> None:
    urgent = make.pod("urgent", group="urgent", spec={"priority": 9, "containers": [make.container("7")]})
    here = shown(GANG_OF_TWO, BOUND, OTHER, make.pod_group("urgent"), urgent)
    here.delete(make.node("n2"))
    here.bind(OTHER)
    here.cache.assumptions.forget("uid-b")
    if not fits:
        here.add(make.node("n1", spec={"unschedulable": True}), make.node("n2"))
    report = run_cycle(here.snapshot(), DEFAULT_POLICY, REGISTRY)
    assert {bind.name: bind.node for bind in report.binds} == ({"b": "n1"} if fits else {"urgent": "n2", "b": "n2"})


def test_a_pod_that_is_deleted_while_its_binding_is_under_way_keeps_the_node_until_it_is_gone() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    here.add(make.merged(PENDING, DELETING))
    assert here.job().tasks["uid-a"].status is Status.RELEASING
    assert here.used() == ONE_POD
    here.delete(PENDING)
    assert here.used() == {}
    assert here.cache.describe()["assumed_tasks"] == 0


def test_an_evicted_pod_is_releasing_until_the_watch_says_so_or_the_eviction_fails() -> None:
    here = world(RUNNING)
    here.evict(RUNNING)
    assert here.snapshot().nodes.releasing[0, 0] == 1000
    here.add(make.merged(RUNNING, {"metadata": {"labels": {"x": "y"}}}))
    assert here.job().tasks["uid-a"].status is Status.RELEASING
    here.cache.assumptions.forget("uid-a")
    assert here.job().tasks["uid-a"].status is Status.RUNNING
    assert here.snapshot().nodes.releasing[0, 0] == 0


def test_amounts_are_in_motion_as_long_as_a_pod_is_leaving_a_node_that_is_there() -> None:
    here = world(RUNNING)
    moving = [here.snapshot().nodes.in_motion]
    here.evict(RUNNING)
    moving.append(here.snapshot().nodes.in_motion)
    here.cache.assumptions.forget("uid-a")
    moving.append(here.snapshot().nodes.in_motion)
    here.add(make.merged(RUNNING, DELETING))
    moving.append(here.snapshot().nodes.in_motion)
    here.delete(make.node("n1"))
    moving.append(here.snapshot().nodes.in_motion)
    here.add(make.node("n1"))
    moving.append(here.snapshot().nodes.in_motion)
    here.delete(RUNNING)
    moving.append(here.snapshot().nodes.in_motion)
    assert moving == [False, True, False, True, False, True, False]


def test_nothing_is_leaving_a_node_that_comes_while_pods_leave_another() -> None:
    here = world(make.merged(RUNNING, DELETING))
    here.snapshot()
    here.add(make.node("n0"))
    here.add(make.node("n9"))
    table = here.snapshot().nodes
    assert dict(zip(table.statics.names, table.releasing[0] > 0, strict=True)) == {
        "n0": False,
        "n1": True,
        "n2": False,
        "n9": False,
    }


def test_what_cannot_be_assumed_any_more_is_left_alone() -> None:
    here = world(RUNNING)
    here.bind(RUNNING, "n2")
    here.bind(make.pod("unknown"))
    here.evict(make.pod("unknown"))
    assert here.used("n1") == ONE_POD
    assert here.cache.describe()["assumed_tasks"] == 0


# Assumed nominations


def test_a_nomination_is_seen_at_once_and_until_the_version_that_shows_it() -> None:
    here = world(PENDING)
    here.nominate(PENDING, "n1")
    assert here.job().tasks["uid-a"].nominated == "n1"
    here.cache.assumptions.nomination_written("uid-a", "n1", str(here.version + 2))
    here.add(make.merged(PENDING, {"metadata": {"labels": {"new": "label"}}}))
    assert here.job().tasks["uid-a"].nominated == "n1"
    here.add(PENDING)  # somebody else has taken it back by then
    assert here.job().tasks["uid-a"].nominated == ""
    assert here.cache.describe()["assumed_nominations"] == 0


def test_a_nomination_that_the_watch_shows_before_the_answer_comes_is_settled_by_the_answer() -> None:
    here = world(PENDING)
    here.nominate(PENDING, "n1")
    here.add(NOMINATED)
    wakes = here.wakes
    here.cache.assumptions.nomination_written("uid-a", "n1", str(here.version))
    assert here.job().tasks["uid-a"].nominated == "n1"
    assert here.cache.describe()["assumed_nominations"] == 0
    assert here.wakes == wakes


def test_a_nomination_that_is_taken_back_is_not_seen_in_events_that_still_show_it() -> None:
    here = world(NOMINATED)
    here.nominate(NOMINATED, "")
    here.add(make.merged(NOMINATED, {"metadata": {"labels": {"new": "label"}}}))
    assert here.job().tasks["uid-a"].nominated == ""


def test_an_answer_to_an_earlier_nomination_says_nothing_of_the_latest() -> None:
    here = world(PENDING)
    here.nominate(PENDING, "n1")
    here.nominate(PENDING, "n2")
    here.cache.assumptions.nomination_written("uid-a", "n1", str(here.version + 1))
    here.cache.assumptions.nomination_failed("uid-a", "n1")
    here.add(NOMINATED)
    assert here.job().tasks["uid-a"].nominated == "n2"


def test_a_nomination_that_cannot_be_written_is_taken_back() -> None:
    here = world(PENDING)
    here.nominate(PENDING, "n1")
    here.cache.assumptions.nomination_failed("uid-a", "n1")
    assert here.job().tasks["uid-a"].nominated == ""
    assert here.cache.describe()["assumed_nominations"] == 0


def test_a_binding_ends_a_nomination_and_its_failure_brings_back_what_the_watch_shows() -> None:
    here = world(NOMINATED)
    here.nominate(NOMINATED, "n2")
    here.bind(NOMINATED, "n2")
    assert here.cache.describe()["assumed_nominations"] == 0
    here.cache.assumptions.forget("uid-a")
    assert here.job().tasks["uid-a"].nominated == "n1"


def test_only_pods_that_wait_are_nominated() -> None:
    here = world(RUNNING)
    here.nominate(RUNNING, "n2")
    assert here.job().tasks["uid-a"].nominated == ""


def test_what_holds_for_one_cycle_only_is_not_assumed() -> None:
    here = world(PENDING)
    passing = CycleReport(nominations=(Nominate("uid-a", "ns", "a", "n1", "ns/pg", lasting=False),))
    here.cache.assumptions.assume(passing)
    here.cache.assumptions.settle(passing, 0.0)
    assert here.job().tasks["uid-a"].nominated == ""


# Spared victims


def test_a_spared_pod_is_no_victim_whatever_the_watch_says_until_it_is_spared_no_more() -> None:
    here = world(RUNNING)
    here.evict(RUNNING)
    here.cache.assumptions.spare("uid-a")
    here.cache.assumptions.forget("uid-a")
    assert_stays(here, preemptable=False, spared=True)
    here.add(make.merged(RUNNING, {"metadata": {"labels": {"x": "y"}}}))
    assert_stays(here, preemptable=False, spared=True)
    wakes = here.wakes
    here.cache.assumptions.unspare("uid-a")
    assert_stays(here)
    assert here.wakes == wakes + 1
    assert here.cache.describe()["spared_tasks"] == 0


def test_a_pod_that_is_no_victim_by_itself_stays_so_after_it_was_spared() -> None:
    never = make.merged(RUNNING, {"metadata": {"annotations": {"volcano.sh/preemptable": "false"}}})
    here = world(RUNNING)
    here.cache.assumptions.spare("uid-a")
    here.add(never)
    assert_stays(here, preemptable=False, spared=True)
    here.cache.assumptions.unspare("uid-a")
    assert_stays(here, preemptable=False)


def test_nothing_is_remembered_of_a_spared_pod_that_is_gone() -> None:
    here = world(RUNNING)
    here.cache.assumptions.spare("uid-a")
    here.delete(RUNNING)
    assert here.cache.describe()["spared_tasks"] == 0
    wakes = here.wakes
    here.cache.assumptions.unspare("uid-a")
    here.cache.assumptions.spare("uid-a")
    assert here.wakes == wakes
    here.add(RUNNING)
    assert_stays(here)


def test_a_spared_pod_stays_spared_wherever_it_moves() -> None:
    here = world(RUNNING)
    here.cache.assumptions.spare("uid-a")
    task = here.job().tasks["uid-a"]
    assert task.moved(Status.RELEASING, "n1").spared


def assert_stays(here: World, *, preemptable: bool = True, spared: bool = False) -> None:
    task = here.job().tasks["uid-a"]
    assert (task.status, task.node) == (Status.RUNNING, "n1")
    assert (task.preemptable, task.spared) == (preemptable, spared)


# Assumed phases


def test_a_decided_phase_is_seen_until_the_watch_confirms_it() -> None:
    here = shown()
    here.decide_phase("Running")
    assert (here.job().spec.phase, here.job().spec.written_phase) == ("Running", "Inqueue")
    here.add(make.pod_group("pg", spec={"minMember": 2}))
    assert (here.job().spec.phase, here.job().spec.min_member) == ("Running", 2)
    here.add(make.pod_group("pg", status={"phase": "Running"}))
    assert (here.job().spec.phase, here.job().spec.written_phase) == ("Running", "")
    assert here.cache.describe()["assumed_phases"] == 0


def test_that_a_wall_time_is_over_is_seen_until_the_watch_confirms_it_or_the_write_fails() -> None:
    here = shown()
    over = Condition("WallTimeOver", "True", "WallTime", jobs_words.wall_time_over("1h"))
    outcome = JobOutcome("ns/pg", "q", here.job().spec.phase, 1, 0, 0, 0, 0, 0, conditions=(over,), changed=True)

    def seen() -> list[str]:
        return [one.message for one in here.job().spec.conditions]

    here.cache.assumptions.assume(CycleReport(jobs={"ns/pg": outcome}))
    assert seen() == [over.message]
    here.add(make.pod_group("pg", spec={"minMember": 2}))
    assert seen() == [over.message], "an event that does not know of it"
    here.cache.assumptions.status_failed("ns/pg")
    assert seen() == []
    here.cache.assumptions.assume(CycleReport(jobs={"ns/pg": outcome}))
    told = {"type": over.kind, "status": over.status, "reason": over.reason, "message": over.message}
    here.add(make.pod_group("pg", status={"conditions": [told]}))
    here.add(make.pod_group("pg"))
    assert seen() == [], "from then on the watch alone decides"


def test_once_written_a_phase_is_what_the_watch_shows_from_that_version_on() -> None:
    here = shown()
    here.decide_phase("Running")
    here.cache.assumptions.status_written("ns/pg", str(here.version + 2))
    here.add(make.pod_group("pg", spec={"minMember": 2}))
    assert here.job().spec.phase == "Running"
    here.add(make.pod_group("pg", status={"phase": "Pending"}))
    assert here.job().spec.phase == "Pending"


def test_without_a_version_the_next_event_confirms_what_was_written() -> None:
    here = shown()
    here.decide_phase("Running")
    here.cache.assumptions.status_written("ns/pg")
    assert here.job().spec.phase == "Running"
    here.add(make.pod_group("pg", status={"phase": "Unknown"}))
    assert here.job().spec.phase == "Unknown"


def test_a_phase_that_could_not_be_written_is_taken_back() -> None:
    here = shown()
    here.decide_phase("Running")
    wakes = here.wakes
    here.cache.assumptions.status_failed("ns/pg")
    assert here.job().spec.phase == "Inqueue"
    assert here.wakes == wakes + 1


def test_a_phase_is_decided_of_one_object_and_not_of_the_next_one_of_its_name() -> None:
    here = shown()
    here.decide_phase("Running")
    again = make.pod_group("pg")
    again["metadata"]["uid"] = "another"
    here.add(again)
    assert (here.job().spec.uid, here.job().spec.phase) == ("another", "Inqueue")


@pytest.mark.parametrize("deleted", [True, False], ids=["after its deletion", "at once"])
def test_what_a_cycle_decides_of_an_object_is_not_assumed_of_one_that_took_its_name_meanwhile(deleted: bool) -> None:
    here = shown()
    again = make.pod_group("pg")
    again["metadata"]["uid"] = "another"
    if deleted:
        here.delete(make.pod_group("pg"))
    here.add(again)
    here.decide_phase("Running")
    assert here.job().spec.phase == "Inqueue"
    here.decide_phase("Running")
    assert here.job().spec.phase == "Running", "the next cycle knows it"


def test_a_phase_that_was_left_out_is_assumed_once_the_next_cycle_decides_the_same() -> None:
    here, decided = shown(), JobOutcome("ns/pg", "q", "Running", 1, 0, 0, 0, 0, 0)
    again = make.pod_group("pg")
    again["metadata"]["uid"] = "another"
    here.add(again)
    here.cache.assumptions.assume(CycleReport(jobs={"ns/pg": decided}))
    assert here.job().spec.phase == "Inqueue"
    here.cache.assumptions.assume(CycleReport(jobs={"ns/pg": decided}))
    assert here.job().spec.phase == "Running"


def test_what_was_assumed_before_takes_no_steps_again() -> None:
    here = shown()
    decided = {name: JobOutcome(name, "q", "Pending", 1, 0, 0, 0, 0, 0) for name in ("ns/a", "ns/b", "ns/c")}
    assert len([*here.cache.assumptions.assuming(CycleReport(jobs=decided))]) == 3
    decided = decided | {"ns/pg": JobOutcome("ns/pg", "q", "Running", 1, 0, 0, 0, 0, 0)}
    assert len([*here.cache.assumptions.assuming(CycleReport(jobs=decided))]) < 3
    assert here.job().spec.phase == "Running"


def test_phases_of_jobs_without_an_object_are_not_assumed() -> None:
    here = world(make.pod("bare"))
    here.decide_phase("Running", "ns/podgroup-uid-bare")
    assert here.job("ns/podgroup-uid-bare").spec.phase == "Inqueue"


# Waking the loop

QUIET: dict[str, tuple[Fields, Fields]] = {
    "a condition on a waiting pod": (
        PENDING,
        make.merged(PENDING, {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}),
    ),
    "a pod's status that says the same": (RUNNING, make.merged(RUNNING, {"status": {"podIP": "10.0.0.1"}})),
    "a heartbeat of a node": (make.node("n1"), make.node("n1", status={"conditions": [{"type": "Ready"}]})),
    "counts and conditions of a PodGroup": (
        make.pod_group("pg"),
        make.pod_group("pg", status={"running": 3, "conditions": [{"type": "Scheduled", "status": "True"}]}),
    ),
    "a pending pod of another scheduler": (
        make.pod("x", spec={"schedulerName": "other"}),
        make.pod("x", spec={"schedulerName": "other", "priority": 1}),
    ),
    "a Service that selects other pods": (
        make.selecting("Service", app="web"),
        make.selecting("Service", app="db"),
    ),
    "a quota without a weight": (make.quota("a", "x"), make.quota("a", "y")),
}


@pytest.mark.parametrize(("before", "after"), QUIET.values(), ids=QUIET)
def test_changes_that_cannot_matter_do_not_wake(before: Fields, after: Fields) -> None:
    here = world(before)
    assert not here.wakes_for(after)


def test_a_binding_that_arrives_does_not_wake() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    assert not here.wakes_for(BOUND)
    assert here.wakes_for(RUNNING)


@pytest.mark.parametrize(
    ("labels", "wakes"),
    [
        pytest.param({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}, False, id="of a node"),
        pytest.param({"topology.kubernetes.io/zone": "z", "team": "x"}, True, id="of a node, and another one"),
        pytest.param({"app": "other"}, True, id="another one in the place of its own"),
    ],
)
def test_a_binding_that_arrives_with_labels_wakes_only_for_those_that_do_not_come_with_a_node(
    labels: dict[str, str], wakes: bool
) -> None:
    labelled = {"metadata": {"labels": {"app": "a"}}}
    here = world(make.merged(PENDING, labelled))
    here.bind(PENDING)
    bound = make.merged(BOUND, labelled)
    assert here.wakes_for(make.merged(bound, {"metadata": {"labels": labels}})) is wakes
    assert here.wakes_for(bound), "labels that go again are no arrival"


LOUD: dict[str, tuple[Fields, Fields]] = {
    "a new pod": (make.node("n1"), make.pod("new")),
    "a pod that finished": (RUNNING, make.merged(RUNNING, {"status": {"phase": "Succeeded"}})),
    "a pod whose gate was lifted": (make.merged(PENDING, {"spec": {"schedulingGates": [{"name": "g"}]}}), PENDING),
    "a node with more room": (make.node("n1"), make.node("n1", status={"allocatable": {"cpu": "9"}})),
    "a node without its taint": (
        make.node("n1", spec={"taints": [{"key": "k", "effect": "NoSchedule"}]}),
        make.node("n1"),
    ),
    "a PodGroup with another minimum": (make.pod_group("pg"), make.pod_group("pg", spec={"minMember": 2})),
    "a queue with another weight": (make.queue("q"), make.queue("q", spec={"weight": 2})),
    "a namespace with another weight": (make.quota("a", 1), make.quota("a", 2)),
}


@pytest.mark.parametrize(("before", "after"), LOUD.values(), ids=LOUD)
def test_changes_that_can_matter_wake(before: Fields, after: Fields) -> None:
    here = world(before)
    assert here.wakes_for(after)


# Order of events


def test_late_and_repeated_events_do_no_harm() -> None:
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for version, fields in [(5, RUNNING), (4, PENDING), (5, PENDING)]:
        found = make.merged(fields, {"metadata": {"resourceVersion": str(version)}})
        cache.intake.apply("Pod", "MODIFIED", make.read(found))
    task = cache.task("uid-a")
    assert task is not None
    assert task.status is Status.RUNNING


def test_a_deleted_object_does_not_come_back_by_a_late_event() -> None:
    cache = Mirror(MirrorSettings(frozenset({"volcano"})))
    for type_, version in [("DELETED", 5), ("MODIFIED", 4), ("DELETED", 3)]:
        cache.intake.apply(
            "Pod", type_, make.read(make.merged(PENDING, {"metadata": {"resourceVersion": str(version)}}))
        )
    assert cache.task("uid-a") is None
    cache.intake.apply("Pod", "ADDED", make.read(make.merged(PENDING, {"metadata": {"resourceVersion": "6"}})))
    assert cache.task("uid-a") is not None


def test_what_is_remembered_of_deleted_objects_is_bounded() -> None:
    seen = SeenVersions()
    for number in range(2 * SeenVersions.REMEMBERED):
        seen.delete(str(number), number + 1)
    assert len(seen._deleted) == SeenVersions.REMEMBERED


def test_a_change_during_a_list_is_newer_than_the_list_whatever_its_version() -> None:
    seen = SeenVersions()
    seen.restart()
    assert seen.admit("a", 0)
    assert seen.delete("b", 0)
    assert not seen.list("a", 5)
    assert not seen.list("b", 5)
    assert list(seen.finish()) == []


def test_a_list_that_is_to_be_read_whole_is_so_until_it_is_complete() -> None:
    seen = SeenVersions()
    seen.restart()
    assert seen.list("a", 5)
    assert list(seen.finish()) == []
    seen.read_all()
    for _ in ("the first attempt", "the second"):
        seen.restart()
        assert seen.list("a", 5)
    assert list(seen.finish()) == []
    seen.restart()
    assert not seen.list("a", 5)


def test_bookmarks_and_unknown_kinds_are_ignored() -> None:
    here = world()
    here.cache.intake.apply("Pod", "BOOKMARK", make.read(PENDING))
    here.cache.intake.apply("Endpoints", "ADDED", make.read(PENDING))
    assert here.cache.task("uid-a") is None


def test_a_relist_keeps_what_is_assumed() -> None:
    here = world(PENDING)
    here.bind(PENDING)
    here.cache.intake.replace("Pod", [make.read(make.merged(PENDING, {"metadata": {"resourceVersion": "900"}}))])
    assert here.used() == ONE_POD
    here.cache.intake.replace("Pod", [])
    assert here.used() == {}


# What a snapshot shows


def test_an_idle_snapshot_shares_everything_with_the_one_before() -> None:
    here = world(RUNNING)
    first = here.snapshot()
    second = here.snapshot()
    assert second.nodes is first.nodes
    assert second.changed == ()
    assert second.active is first.active


def test_a_change_of_amounts_keeps_what_rests_on_attributes() -> None:
    here = world(RUNNING)
    statics = here.snapshot().nodes.statics
    here.delete(RUNNING)
    here.add(make.node("n2", status={"allocatable": {"cpu": "99"}}))
    after = here.snapshot().nodes
    assert after.statics is statics
    assert after.allocatable[0].tolist() == [8000, 99000]
    assert after.idle[0].tolist() == [8000, 99000]


def test_a_change_of_a_label_keeps_the_amounts_and_renews_what_rests_on_attributes() -> None:
    here = world(RUNNING)
    statics = here.snapshot().nodes.statics
    here.add(make.node("n2", metadata={"labels": {"zone": "b"}}))
    after = here.snapshot().nodes
    assert after.statics is not statics
    assert after.statics.label("zone").values == ("b",)
    assert after.requested[0].tolist() == [1000, 0]


def test_other_labels_of_a_pod_on_a_node_leave_the_row_of_the_node_as_it_is() -> None:
    here = world(RUNNING)
    before = here.snapshot()
    assert before.nodes.changes is not None
    written, state = before.nodes.changes.position, before.state
    here.add(make.merged(RUNNING, {"metadata": {"labels": {"app": "new"}}}))
    after = here.snapshot()
    assert {labels.pairs: dict(counts) for labels, counts in after.placed.counts.items()} == {
        (("app", "new"),): {"n1": 1}
    }
    assert after.nodes.changes is not None
    assert after.nodes.changes.position == written
    assert after.state is not state, "rules about pods may have other answers"


def test_rows_stay_in_the_order_of_names_when_nodes_come_and_go() -> None:
    here = world(RUNNING)
    here.snapshot()
    here.add(make.node("a0", status={"allocatable": {"cpu": "1"}}))
    here.delete(make.node("n2"))
    nodes = here.snapshot().nodes
    assert nodes.statics.names == ("a0", "n1")
    assert nodes.allocatable[0].tolist() == [1000, 8000]
    assert nodes.requested[0].tolist() == [0, 1000]


def test_a_new_resource_widens_the_table() -> None:
    here = world(RUNNING)
    assert here.snapshot().nodes.width == 3
    here.add(make.node("n2", status={"allocatable": {"example.com/gpu": 4}}))
    snapshot = here.snapshot()
    assert snapshot.nodes.idle[3].tolist() == [0, 4000]
    assert snapshot.total[3] == 4000


def test_the_jobs_of_a_snapshot_do_not_change_afterwards() -> None:
    here = world(PENDING)
    job = here.job()
    here.add(RUNNING, make.pod("b", group="pg"))
    assert (list(job.tasks), job.tasks["uid-a"].status, job.counts[Status.PENDING]) == (["uid-a"], Status.PENDING, 1)
    assert len(here.job().tasks) == 2


def test_changed_names_jobs_since_the_last_snapshot_and_those_that_went() -> None:
    here = world(PENDING)
    assert here.snapshot().changed == ("ns/pg",)
    here.add(make.pod_group("other"))
    assert here.snapshot().changed == ("ns/other",)
    here.delete(make.pod_group("pg"))
    assert here.snapshot().changed == ("ns/pg",)


ACTIVE: dict[str, tuple[list[Fields], bool]] = {
    "a pending PodGroup without pods": ([make.pod_group("pg", status={"phase": ""})], True),
    "a running job without pending pods": ([RUNNING], False),
    "a running job with a pending pod": ([PENDING], True),
    "a job whose pods are all gated": ([make.merged(PENDING, {"spec": {"schedulingGates": [{"name": "g"}]}})], False),
}


@pytest.mark.parametrize(("objects", "expected"), ACTIVE.values(), ids=ACTIVE)
def test_a_job_is_active_while_a_cycle_may_do_something_for_it(objects: list[Fields], expected: bool) -> None:
    assert list(world(*objects).snapshot().active) == (["ns/pg"] if expected else [])


def test_many_changes_at_once_keep_the_active_jobs_sorted() -> None:
    here = world()
    here.add(*[make.pod_group(f"g{number:03d}", status={"phase": "Pending"}) for number in range(200)])
    assert list(here.snapshot().active) == [f"ns/g{number:03d}" for number in range(200)]
    here.delete(make.pod_group("g100"))
    here.add(make.pod_group("g0505", status={"phase": "Pending"}))
    active = list(here.snapshot().active)
    assert active == sorted(active)
    assert len(active) == 200


def test_a_job_in_a_queue_that_does_not_exist_is_still_shown() -> None:
    here = world(make.pod_group("lost", spec={"queue": "nowhere"}))
    snapshot = here.snapshot()
    assert "ns/lost" in snapshot.jobs
    assert "nowhere" not in snapshot.queues


def test_the_default_queue_is_made_up_while_jobs_want_it() -> None:
    here = world()
    assert "default" not in here.snapshot().queues
    here.add(make.pod_group("pg", spec={"queue": ""}))
    assert here.snapshot().queues["default"].open
    here.add(make.queue("default", spec={"weight": 0}))
    assert "default" not in here.snapshot().queues


def test_pods_hold_nothing_of_a_node_that_has_not_been_seen() -> None:
    here = world(make.pod("x", node="later"))
    assert sum(here.snapshot().used) == 0
    assert not here.snapshot().placed.counts
    here.add(make.node("later"))
    assert here.used("later") == ONE_POD
    assert len(here.snapshot().placed.counts) == 1


def test_tasks_of_a_deleted_pod_group_stay_on_their_nodes() -> None:
    here = world(RUNNING)
    here.delete(make.pod_group("pg"))
    assert "ns/pg" not in here.snapshot().jobs
    assert here.snapshot().books == {}
    assert here.used() == ONE_POD
    here.add(make.pod_group("pg"))
    assert here.job().allocated[0] == 1000


def test_sums_by_queue_and_namespace_follow_the_jobs() -> None:
    here = world(RUNNING, make.pod("b", group="pg"), make.pod_group("pg", spec={"minResources": {"cpu": "3"}}))
    snapshot = here.snapshot()
    books = snapshot.books["q"]
    assert (books.jobs, books.allocated, books.pending) == (1, {0: 1000, 2: 1}, {0: 1000, 2: 1})
    assert (books.inqueue, books.promised) == ({0: 2000}, {0: 3000})
    assert snapshot.shares == {("q", "ns"): {0: 1000, 2: 1}}
    here.add(make.pod_group("pg", spec={"queue": "other"}))
    assert list(here.snapshot().books) == ["other"]


# What objects mean for others

PRIORITIES: dict[str, tuple[list[Fields], int]] = {
    "its own class": ([make.pod_group("pg", spec={"priorityClassName": "high"})], 100),
    "the default class where it has none": ([], 7),
    "its queue's priority before the default class": ([make.queue("q", spec={"priority": 4})], 4),
    "its queue's class": ([make.queue("q", spec={"priorityClassName": "high"})], 100),
    "an unknown class inherits, too": (
        [make.pod_group("pg", spec={"priorityClassName": "typo"}), make.queue("q", spec={"priority": 4})],
        4,
    ),
    "a queue's unknown class says nothing": ([make.queue("q", spec={"priorityClassName": "typo"})], 7),
}


@pytest.mark.parametrize(("objects", "expected"), PRIORITIES.values(), ids=PRIORITIES)
@pytest.mark.parametrize("classes_first", [True, False])
def test_priority_of_a_job(objects: list[Fields], expected: int, classes_first: bool) -> None:
    classes = [make.priority_class("high", 100), make.priority_class("usual", 7, True)]
    here = world(*(classes if classes_first else ()), *objects)
    if not classes_first:
        here.snapshot()
        here.add(*classes)
    assert here.job().priority == expected


def test_a_pod_that_only_names_its_class_has_the_classs_priority() -> None:
    named_only = make.merged(PENDING, {"spec": {"priorityClassName": "high"}})
    here = world(named_only)
    assert here.job().tasks["uid-a"].priority == 1
    here.add(make.priority_class("high", 100))
    assert here.job().tasks["uid-a"].priority == 100
    here.add(make.merged(named_only, {"spec": {"priority": 5}}))
    assert here.job().tasks["uid-a"].priority == 5


def test_a_queues_priority_is_its_own_before_its_classs() -> None:
    here = world(make.priority_class("high", 100))
    here.add(make.queue("a", spec={"priorityClassName": "high"}))
    here.add(make.queue("b", spec={"priorityClassName": "high", "priority": 3}))
    queues = here.snapshot().queues
    assert (queues["a"].priority, queues["b"].priority, queues["q"].priority) == (100, 3, 0)


def test_bare_pods_go_to_the_queue_their_namespace_names() -> None:
    here = world(make.pod("bare"))
    key = "ns/podgroup-uid-bare"
    assert here.job(key).spec.queue == "default"
    here.add(make.namespace("ns", metadata={"annotations": {"scheduling.volcano.sh/queue-name": "team"}}))
    assert here.job(key).spec.queue == "team"
    here.add(make.pod("bare", metadata={"annotations": {"scheduling.volcano.sh/queue-name": "own"}}))
    assert here.job(key).spec.queue == "own"


def test_a_pod_group_made_for_bare_pods_takes_over_their_job() -> None:
    here = world(make.pod("bare"))
    here.add(make.pod_group("podgroup-uid-bare", spec={"minMember": 5}))
    job = here.job("ns/podgroup-uid-bare")
    assert (job.spec.implicit, job.spec.min_member, len(job.tasks)) == (False, 5, 1)


def test_the_oldest_pod_speaks_for_an_implicit_job() -> None:
    def owned(name: str, second: int, minimum: int) -> Fields:
        return make.pod(
            name,
            metadata={
                "creationTimestamp": f"2026-08-01T10:00:0{second}Z",
                "ownerReferences": [{"uid": "rs", "controller": True}],
                "annotations": {"scheduling.volcano.sh/group-min-member": str(minimum)},
            },
        )

    here = world(owned("new", 5, 2), owned("old", 1, 3))
    assert here.job("ns/podgroup-rs").spec.min_member == 3
    here.delete(owned("old", 1, 3))
    assert here.job("ns/podgroup-rs").spec.min_member == 2


def test_a_namespaces_weight_is_the_largest_of_its_quotas() -> None:
    here = world(make.quota("a", 2), make.quota("b", "5"), make.quota("c", "-9"))
    assert here.snapshot().namespaces["ns"].weight == 5
    here.delete(make.quota("b", "5"))
    assert here.snapshot().namespaces["ns"].weight == 2
    here.delete(make.quota("a", 2))
    assert "ns" not in here.snapshot().namespaces


SELECTING = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")


def selected(here: World, namespace: str = "ns") -> set[Selector]:
    found = here.snapshot().selections.get(namespace)
    return set(found.selectors) if found is not None else set()


def web(value: str = "web") -> Selector:
    return Selector((Requirement("app", "In", (value,)),))


@pytest.mark.parametrize("kind", SELECTING)
def test_what_selects_pods_is_kept_while_it_is_there(kind: str) -> None:
    here = world(make.selecting(kind, app="web"), make.selecting(kind, "t", app="db"))
    assert selected(here) == {web(), web("db")}
    here.delete(make.selecting(kind, app="web"))
    assert selected(here) == {web("db")}
    here.add(make.selecting(kind, "t"))
    assert "ns" not in here.snapshot().selections
    assert here.cache.describe()["selectors"] == 0


def test_objects_of_one_name_and_different_kinds_do_not_mix() -> None:
    here = world(*[make.selecting(kind, app=kind) for kind in SELECTING])
    assert selected(here) == {web(kind) for kind in SELECTING}
    here.cache.intake.replace("ReplicaSet", [])
    assert selected(here) == {web(kind) for kind in SELECTING} - {web("ReplicaSet")}


def test_only_namespaces_whose_selectors_changed_are_made_anew() -> None:
    here = world(make.selecting("ReplicaSet", app="web"), make.selecting("Service", namespace="other", app="web"))
    before = here.snapshot().selections
    scaled = {"spec": {"replicas": 9}, "status": {"readyReplicas": 3}}
    assert not here.wakes_for(make.merged(make.selecting("ReplicaSet", app="web"), scaled))
    assert here.snapshot().selections is before
    here.add(make.selecting("ReplicaSet", app="db"))
    after = here.snapshot().selections
    assert (after["ns"] is before["ns"], after["other"] is before["other"]) == (False, True)
    assert set(before["ns"].selectors) == {web()}


def test_a_broken_selector_is_left_out_and_reported() -> None:
    here = world(make.selecting("StatefulSet", app="web"))
    here.add(make.merged(make.selecting("StatefulSet"), {"spec": {"selector": {"matchLabels": {"app": 1}}}}))
    assert selected(here) == set()
    message = "StatefulSet ns/s: spec.selector.matchLabels[...]: must be a string, is an integer"
    assert here.cache.broken["StatefulSet", "ns/s"].message == message
    here.add(make.selecting("StatefulSet", app="web"))
    assert selected(here) == {web()}
    assert not here.cache.broken


# Objects that cannot be used


def test_a_broken_object_is_left_out_with_its_old_version_and_reported() -> None:
    here = world()
    here.add(make.queue("q", spec={"weight": -1}))
    assert "q" not in here.snapshot().queues
    broken = here.cache.broken["Queue", "q"]
    assert (broken.name, broken.uid, broken.message) == (
        "q",
        "uid-q",
        "Queue q: spec.weight: -1 (expected 1 to 65535)",
    )
    here.add(make.queue("q"))
    assert "q" in here.snapshot().queues
    assert not here.cache.broken


def test_an_object_that_does_not_even_decode_is_reported_as_well() -> None:
    here = world(make.pod_group("pg", spec={"minMember": "three"}))
    assert "ns/pg" not in here.snapshot().jobs
    assert (
        here.cache.broken["PodGroup", "ns/pg"].message
        == 'PodGroup ns/pg: spec.minMember: must be an integer, is "three"'
    )
    here.delete(make.pod_group("pg"))
    assert not here.cache.broken


def test_a_broken_pod_on_a_node_still_takes_its_room() -> None:
    here = world(make.merged(RUNNING, {"metadata": {"annotations": {"volcano.sh/task-priority": "x"}}}))
    assert here.used() == ONE_POD
    assert not here.job().tasks
    assert ("Pod", "uid-a") in here.cache.broken


def test_a_broken_pod_without_a_node_is_left_out() -> None:
    here = world(PENDING)
    here.add(make.merged(PENDING, {"spec": {"tolerations": [{"operator": "Like"}]}}))
    assert not here.job().tasks


def test_requests_beyond_all_bounds_do_not_stop_a_snapshot() -> None:
    huge = {"spec": {"containers": [make.container("1E", "9E")]}}
    here = world(*[make.pod(name, node="n1", **huge) for name in "abcd"])
    assert here.snapshot().nodes.idle[0, 0] < 0


# What-if questions, bounds


def test_settling_carries_a_report_out() -> None:
    victim = make.pod("v", node="n1")
    here = world(PENDING, victim)
    here.cache.assumptions.settle(
        CycleReport(
            binds=(Bind("uid-a", "ns", "a", "n2", "ns/pg"),),
            evictions=(Evict("uid-v", "ns", "v", "n1", "", "preempt", "ns/pg"),),
            nominations=(Nominate("uid-a", "ns", "a", "n1", "ns/pg"),),
            jobs={"ns/pg": JobOutcome("ns/pg", "q", "Running", 1, 1, 0, 1, 0, 0)},
        ),
        0.0,
    )
    task = here.job().tasks["uid-a"]
    assert (task.status, task.node, task.nominated) == (Status.RUNNING, "n2", "n1")
    assert (here.used("n1"), here.used("n2")) == ({}, ONE_POD)
    assert here.job().spec.phase == "Running"


def test_shapes_that_nobody_uses_are_forgotten() -> None:
    here = world()
    shaper = here.cache.stores.pods._reader.shaper
    shaper._sweep_at = shaper.TABLE_FLOOR = 16
    for number in range(200):
        fields = make.pod("a", group="pg", spec={"nodeSelector": {"n": str(number)}})
        here.add(fields)
        here.snapshot()
    assert here.cache.describe()["shapes"] <= 16
    before = view(here.snapshot())
    here.add(make.merged(fields, {"metadata": {"labels": {"x": "y"}}}))
    here.add(fields)
    assert view(here.snapshot()) == before


def test_a_queue_without_a_state_counts_as_open_where_asked() -> None:
    fields = make.queue("s", status={"state": ""})
    assert not world(fields).snapshot().queues["s"].open
    here = world(fields, open_without_state=True)
    assert here.snapshot().queues["s"].open


def test_sizes_for_metrics() -> None:
    sizes = world(RUNNING, make.queue("bad", spec={"weight": 0})).cache.describe()
    assert (sizes["nodes"], sizes["tasks"], sizes["broken"], sizes["shapes"]) == (2, 1, 1, 1)


def test_priorities_are_worked_out_in_steps_where_a_class_changes_and_pods_may_change_in_between() -> None:
    low, high = make.priority_class("c", 1), make.priority_class("c", 9)
    classed = [make.pod(f"p{number}", group=f"g{number}", spec={"priorityClassName": "c"}) for number in range(10)]
    here = world(low, *classed, *(make.pod_group(f"g{number}") for number in range(10)))
    here.snapshot()
    here.add(high)
    steps = here.cache.preparing()
    for _ in range(3):
        next(steps)
    here.delete(classed[8])
    here.add(make.merged(classed[9], {"spec": {"priority": 5, "priorityClassName": ""}}))
    assert sum(1 for _ in steps) >= 10
    found = {task.name: task.priority for job in here.snapshot().jobs.values() for task in job.tasks.values()}
    assert {found[f"p{number}"] for number in range(8)} == {9}
    assert (found["p9"], "p8" in found) == (5, False)


def test_jobs_that_change_while_nodes_are_prepared_are_prepared_as_well() -> None:
    waiting = [make.pod(f"p{number}", group=f"g{number}") for number in range(600)]
    here = world(make.node("n1"), *waiting, *(make.pod_group(f"g{number}") for number in range(600)))
    here.snapshot()
    steps = here.cache.preparing()
    assert next(steps, "done") == "done", "nothing has changed"
    for fields in waiting[:300]:
        here.add(make.merged(fields, {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}))
    steps = here.cache.preparing()
    for _ in range(300):
        next(steps)
    for fields in waiting[300:]:
        here.add(make.merged(fields, {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}))
    assert sum(1 for _ in steps) >= 300
    assert len(here.cache.stores.jobs._dirty) == 0
