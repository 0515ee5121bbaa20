"""Room that was freed for a job is kept for it until it has it, and no longer than it has a use for it."""

from __future__ import annotations

import pytest

from tests.support.plans import plan
from tests.support.taking import Busy, evicted, kept, taking
from vsched.framework.words.jobs import goes_once
from vsched.framework.words.nodes import RESERVED_FOR_OTHERS, available, with_others
from vsched.model.plan import CycleReport

PREEMPT = taking("allocate, preempt, backfill", "priority gang-P conformance", "predicates")
RECLAIM = taking("enqueue, allocate, reclaim, backfill", "priority gang conformance proportion", "predicates")

CROWDED = """
    class high 9
    class higher 99
    node n1 cpu=2
    node n2 cpu=2
    job x/low phase=Running
    pods x/low 2 cpu=1 on=n1
    pods x/low 2 cpu=1 on=n2
    job x/gang min=3 class=high phase=Inqueue pods=3 cpu=1
"""
PLACES = {"gang.0": "n1", "gang.1": "n1", "gang.2": "n2"}
WAITING = """
    class high 9
    class higher 99
    node n1 cpu=2
    job x/old phase=Running
    pods x/old 2 cpu=1 on=n1 leaving
    job x/want min=2 class=high phase=Inqueue pods=2 cpu=1 nominated=n1
"""
"""Two pods leave for two others, as a later cycle finds it."""


def bound(report: CycleReport) -> dict[str, str]:
    """Where pods are bound, by name."""
    return {bind.name: bind.node for bind in report.binds}


def test_nodes_are_kept_for_a_whole_gang_said_once_and_bound_when_the_victims_are_gone() -> None:
    world = Busy(CROWDED, PREEMPT, terminating=3, returning=True)
    first = world.cycle()

    assert len(evicted(first)) == 3
    assert kept(first) == PLACES
    for _ in range(3):
        report = world.cycle()
        assert (report.nominations, report.evictions, report.binds) == ((), (), ())
        assert report.unschedulable["x/gang.0"].message == goes_once("n1")
    assert bound(world.cycle()) == PLACES


def test_who_waits_for_others_that_leave_anyway_has_its_node_for_the_cycle_alone() -> None:
    report = Busy(WAITING.replace("nominated=n1", ""), PREEMPT).cycle()

    assert [(one.name, one.node, one.lasting) for one in report.nominations] == [
        ("want.0", "n1", False),
        ("want.1", "n1", False),
    ]


def test_the_same_through_plan() -> None:
    found = plan(CROWDED, PREEMPT, cycles=3)

    assert [len(each) for each in found.evicted] == [3, 0, 0]
    assert {one.name: one.node for one in found.reports[0].nominations} == PLACES
    assert {one.name: one.node for one in found.reports[1].binds} == PLACES


def test_whoever_comes_later_does_not_get_what_is_kept_whatever_its_priority() -> None:
    world = Busy(CROWDED, PREEMPT, terminating=2)
    world.cycle()
    world.change("class higher 99\njob x/late class=higher phase=Inqueue pods=1 cpu=1", "ADDED")
    first = world.cycle()

    assert evicted(first) == ["low.2"], "it may take from those who still run"
    assert kept(first) == {"late.0": "n2"}
    seen: dict[str, str] = {}
    for _ in range(3):
        seen |= bound(world.cycle())
    assert seen == PLACES | {"late.0": "n2"}


def test_a_queue_that_deserves_no_more_than_is_kept_for_it_is_served_all_the_same() -> None:
    text = """
        node n1 cpu=4
        queue a
        queue b
        job x/a min=0 queue=a phase=Running
        pods x/a 4 cpu=1 on=n1
        job x/b min=2 queue=b phase=Inqueue pods=2 cpu=1
    """
    world = Busy(text, RECLAIM, terminating=1, returning=True)

    assert evicted(world.cycle()) == ["a.3", "a.2"]
    held = world.cycle()
    assert (held.queues["b"].allocated, held.queues["b"].overused) == ({}, False), "it holds nothing yet"
    assert (held.binds, held.evictions) == ((), ())
    assert bound(world.cycle()) == {"b.0": "n1", "b.1": "n1"}


@pytest.mark.parametrize("terminating", [0, 2])
@pytest.mark.parametrize(
    ("plugins", "queues"),
    [
        pytest.param("proportion", "queue a\nqueue b", id="by weight"),
        pytest.param("capacity", "queue a deserved=cpu:4\nqueue b deserved=cpu:4", id="by deserved amounts"),
        pytest.param(
            "capacity-H",
            "queue root deserved=cpu:8\nqueue a parent=root deserved=cpu:4\nqueue b parent=root deserved=cpu:4",
            id="in a tree",
        ),
    ],
)
@pytest.mark.parametrize(
    "job",
    [
        pytest.param("job x/b queue=b phase=Inqueue pods=4 cpu=1", id="an elastic job"),
        pytest.param("job x/b min=2 queue=b phase=Inqueue pods=4 cpu=1", id="a gang that grows"),
        pytest.param(
            "job x/b queue=b phase=Inqueue pods=2 cpu=1\njob x/b2 min=0 queue=b phase=Inqueue pods=2 cpu=1",
            id="two jobs",
        ),
        pytest.param(
            "job x/b min=1 subGroups=rack:1:1 queue=b phase=Inqueue\npods x/b 2 cpu=1 labels=rack:1\n"
            "pods x/b 1 cpu=1 labels=rack:2\npods x/b 1 cpu=1 labels=rack:3",
            id="one that grows by sub-groups",
        ),
    ],
)
def test_all_that_a_queue_got_room_for_is_bound_in_one_session(
    job: str, plugins: str, queues: str, terminating: int
) -> None:
    policy = taking("enqueue, allocate, reclaim, backfill", f"priority gang conformance {plugins}", "predicates")
    text = f"node n1 cpu=8\n{queues}\njob x/a queue=a phase=Running\npods x/a 8 cpu=1 on=n1\n{job}"
    world = Busy(text, policy, terminating=terminating, returning=True)

    assert len(evicted(world.cycle())) == 4
    for _ in range(terminating):
        assert bound(world.cycle()) == {}
    assert list(bound(world.cycle()).values()) == ["n1"] * 4


@pytest.mark.parametrize(
    ("victims", "taken_back"),
    [
        pytest.param("leaving", {}, id="not while those who leave for it are still there"),
        pytest.param("succeeded", {"want.0": "", "want.1": ""}, id="once they have left, the share counts"),
    ],
)
def test_a_share_that_dips_takes_nothing_back(victims: str, taken_back: dict[str, str]) -> None:
    """Three queues with demand leave the one in question 1.33 of the 4 cores, and it waits for 2."""
    text = f"""
        node n1 cpu=4
        queue a
        queue b
        queue c
        job x/a queue=a phase=Running
        pods x/a 2 cpu=1 on=n1
        pods x/a 2 cpu=1 on=n1 {victims}
        job x/want min=2 queue=b phase=Inqueue pods=2 cpu=1 nominated=n1
        job x/other min=4 queue=c phase=Inqueue pods=4 cpu=1
    """
    report = Busy(text, RECLAIM).cycle()

    assert {one.name: one.node for one in report.nominations} == taken_back
    assert report.evictions == ()


@pytest.mark.parametrize("plugin", ["proportion", "capacity"])
def test_a_capability_that_was_lowered_takes_room_back_while_others_leave_for_it(plugin: str) -> None:
    text = """
        node n1 cpu=4
        queue b capability=cpu:1
        pods x/old 1 cpu=4 on=n1 leaving
        job x/want min=1 queue=b phase=Inqueue pods=4 cpu=500m nominated=n1
    """
    policy = taking("enqueue, allocate, backfill", f"priority gang conformance {plugin}", "predicates")
    report = Busy(text, policy).cycle()

    assert {one.name: one.node for one in report.nominations} == {"want.2": "", "want.3": ""}


def test_a_running_job_that_starts_again_keeps_its_admission_while_it_waits_for_its_place() -> None:
    text = """
        node n1 cpu=1
        queue a
        queue b weight=9
        job x/a queue=a min=0 phase=Running
        pods x/a 1 cpu=1 on=n1
        job x/again queue=b phase=Running pods=1 cpu=500m
        job x/late queue=b phase=Inqueue age=9 pods=1 cpu=1
    """
    world = Busy(text, RECLAIM)
    report = world.cycle()

    assert (evicted(report), kept(report)) == (["a.0"], {"again.0": "n1"})
    assert report.jobs["x/again"].phase == "Inqueue"
    assert bound(world.cycle()) == {"again.0": "n1"}


def test_without_admission_a_job_that_was_not_admitted_keeps_its_place_as_well() -> None:
    world = Busy(WAITING.replace("phase=Inqueue", "phase=Pending"), PREEMPT)
    world.change("job x/late class=higher phase=Inqueue pods=1 cpu=1", "ADDED")
    report = world.cycle()

    assert kept(report) == {}
    assert report.unschedulable["x/late.0"].message.startswith(
        available(1, {with_others(RESERVED_FOR_OTHERS, "job x/want"): 1}).removesuffix(".")
    )


@pytest.mark.parametrize(
    ("more", "changed"),
    [
        pytest.param("", {}, id="as long as nothing changes it stands, and is not said again"),
        pytest.param("node n2 cpu=9", {}, id="another node that becomes free changes nothing"),
        pytest.param("node n1 cpu=2 cordoned", {"want.0": "", "want.1": ""}, id="the node takes no more pods"),
        pytest.param("node n1 cpu=1", {"want.0": "", "want.1": ""}, id="the node has become too small for the gang"),
        pytest.param("job x/want min=3 phase=Inqueue", {"want.0": "", "want.1": ""}, id="the gang needs more pods now"),
        pytest.param(
            "job x/want min=2 queue=shut phase=Inqueue\nqueue shut state=Closed",
            {"want.0": "", "want.1": ""},
            id="its queue is closed",
        ),
        pytest.param(
            "job x/want min=2 queue=small phase=Inqueue\nqueue small capability=cpu:1",
            {"want.0": "", "want.1": ""},
            id="its queue may not hold so much",
        ),
        pytest.param(
            "job x/want min=2 queue=nowhere phase=Inqueue", {"want.0": "", "want.1": ""}, id="its queue does not exist"
        ),
        pytest.param(
            "pods x/want 1 cpu=1 nominated=n1 gated",
            {"want.0": "", "want.1": ""},
            id="a pod of the minimum is held back",
        ),
        pytest.param(
            "job x/want min=1 phase=Inqueue\npods x/want 1 cpu=1 nominated=n1 gated",
            {"want.0": ""},
            id="a pod beyond the minimum is held back: its node alone is given up",
        ),
    ],
)
def test_when_a_node_is_no_longer_kept(more: str, changed: dict[str, str]) -> None:
    policy = taking("allocate, backfill", "priority gang", "predicates capacity")
    world = Busy(WAITING, policy)
    world.change(more)
    report = world.cycle()

    assert kept(report) == changed
    assert bound(report) == {}


@pytest.mark.parametrize(
    ("more", "places"),
    [
        pytest.param("node n2 cpu=9", {"want.0": "n2", "want.1": "n2"}, id="elsewhere, where there is room"),
        pytest.param("", {}, id="nowhere, where there is none"),
    ],
)
def test_the_node_is_gone(more: str, places: dict[str, str]) -> None:
    world = Busy(WAITING, PREEMPT)
    world.change("node n1 cpu=2", "DELETED")
    world.change(more, "ADDED")
    report = world.cycle()

    assert bound(report) == places
    assert kept(report) == ({} if places else {"want.0": "", "want.1": ""}), "a binding says where the pod goes"


@pytest.mark.parametrize(
    ("node", "victims", "wants"),
    [
        pytest.param("cpu=2 pods=2", "cpu=1", "cpu=1", id="slots for pods"),
        pytest.param("cpu=4", "cpu=1 port=80", "cpu=1 port=80", id="a port of the host"),
        pytest.param("cpu=4", "cpu=1", "cpu=1 apart=old", id="pods that it cannot stand"),
    ],
)
def test_a_node_is_kept_while_those_who_leave_still_hold_what_is_needed(node: str, victims: str, wants: str) -> None:
    text = f"""
        class high 9
        node n1 {node}
        job x/old min=0 phase=Running
        pods x/old 1 {victims} on=n1
        pods x/old 1 cpu=1 on=n1
        job x/want class=high phase=Inqueue pods=1 {wants}
    """
    world = Busy(text, PREEMPT, terminating=2)
    first = world.cycle()

    assert kept(first) == {"want.0": "n1"}
    for _ in range(2):
        report = world.cycle()
        assert (report.nominations, report.evictions, report.binds) == ((), (), ())
    assert bound(world.cycle()) == {"want.0": "n1"}


def test_best_effort_pods_keep_the_slot_that_was_freed_for_them() -> None:
    text = """
        class high 9
        node n1 cpu=2 pods=1
        job x/low phase=Running
        pods x/low 1 on=n1
        job x/want class=high phase=Inqueue pods=1
    """
    world = Busy(text, taking("allocate, preempt, backfill", "priority", "predicates"), terminating=1, returning=True)

    assert kept(world.cycle()) == {"want.0": "n1"}
    assert (world.cycle().binds, world.cycle().evictions) == ((), ())
    assert "want.0" in {task.name for task in world.tasks() if task.node}


def test_what_is_kept_for_several_jobs_goes_by_their_order() -> None:
    text = """
        class high 9
        class higher 99
        node n1 cpu=2
        job x/old phase=Running
        pods x/old 2 cpu=1 on=n1 leaving
        job x/a min=2 class=high phase=Inqueue pods=2 cpu=1 nominated=n1
        job x/b min=2 class=higher phase=Inqueue pods=2 cpu=1 nominated=n1
    """
    assert kept(Busy(text, PREEMPT).cycle()) == {"a.0": "", "a.1": ""}


def test_a_place_is_not_kept_where_the_gang_could_not_stand_with_it() -> None:
    text = """
        node n1 cpu=1
        job x/gang min=2 phase=Inqueue
        pods x/gang 1 cpu=1 nominated=n1
        pods x/gang 1 cpu=1
        job x/other phase=Inqueue pods=1 cpu=1
    """
    report = Busy(text, PREEMPT).cycle()

    assert bound(report) == {"other.0": "n1"}
    assert kept(report) == {"gang.0": ""}


def test_a_gang_that_others_break_up_in_the_session_keeps_no_room_either() -> None:
    """The policy lets preempt break gangs up; what it leaves of this one could not start."""
    text = """
        class high 9
        node n1 cpu=2
        node n2 cpu=1
        job x/gang min=1 roles=lead:1,w:0 phase=Running
        pods x/gang 1 cpu=1 on=n1 role=lead
        pods x/gang 1 cpu=1 nominated=n2 role=w
        job x/old phase=Running
        pods x/old 1 cpu=1 on=n2 leaving
        job x/old2 phase=Running
        pods x/old2 1 cpu=1 on=n1 volcano.sh/preemptable=false
        job x/want min=1 class=high phase=Inqueue pods=1 cpu=1
    """
    report = Busy(text, taking("allocate, preempt", "priority gang-P conformance", "predicates")).cycle()

    assert evicted(report) == ["gang.0"]
    assert kept(report) == {"gang.1": "", "want.0": "n1"}


def test_a_sub_group_that_has_lost_a_node_keeps_nothing() -> None:
    text = """
        queue default
        node n1 cpu=2
        node n2 cpu=1
        job x/gang min=1 subGroups=rack:2:1 phase=Running
        pods x/gang 2 cpu=1 labels=rack:a on=n1
        pods x/gang 1 cpu=1 labels=rack:b nominated=n2
        pods x/gang 1 cpu=1 labels=rack:b nominated=gone
        job x/other phase=Inqueue pods=1 cpu=1
    """
    report = Busy(text, PREEMPT).cycle()

    assert {one.name: one.node for one in report.nominations} == {"gang.2": "", "gang.3": ""}
    assert bound(report) == {"other.0": "n2"}


@pytest.mark.parametrize(
    ("plugins", "queues"),
    [
        pytest.param("proportion", "queue a\nqueue b weight=3", id="by weight"),
        pytest.param(
            "capacity-H", "queue p\nqueue a parent=p deserved=cpu:1\nqueue b parent=p deserved=cpu:3", id="in a tree"
        ),
    ],
)
def test_what_waits_for_others_to_leave_is_not_held_yet(plugins: str, queues: str) -> None:
    text = f"""
        queue default
        {queues}
        node n1 cpu=4
        job x/a queue=a phase=Running
        pods x/a 3 cpu=1 on=n1
        job x/b min=3 queue=b phase=Inqueue pods=3 cpu=1
    """
    policy = taking("allocate, backfill, reclaim", f"priority gang conformance {plugins}", "predicates")
    world = Busy(text, policy, terminating=1)
    first, second, third = world.cycle(), world.cycle(), world.cycle()

    assert kept(first).keys() == {"b.0", "b.1", "b.2"}
    for report in (first, second):
        assert (report.queues["b"].allocated.get("cpu", 0), report.queues["b"].share) == (0, 0.0)
        assert report.namespaces["b/x"].allocated.get("cpu", 0) == 0
    assert third.queues["b"].allocated["cpu"] == third.namespaces["b/x"].allocated["cpu"] == 3000
    if "p" in third.queues:
        assert [report.queues["p"].subtree.get("cpu", 0) for report in (first, second, third)] == [1000, 1000, 4000]
