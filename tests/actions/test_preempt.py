"""preempt: who takes from whom within a queue, as a whole or not at all, and what stays as it is."""

from __future__ import annotations

import pytest

from tests.support.taking import Busy, evicted, kept, taking
from vsched.framework.policy import Policy

BY_PRIORITY = taking("allocate, preempt, backfill", "priority gang-P conformance", "predicates nodeorder")
WITHIN_QUEUES = taking("allocate, preempt", "priority gang-P conformance", "predicates capacity")
MINIMA = taking("allocate, preempt", "priority gang conformance", "predicates")
BY_SHARE = taking("allocate, preempt", "gang-P drf conformance", "predicates")
BY_SHARE_OF_JOBS = taking("allocate, preempt", "gang-P drf-N conformance", "predicates")
PRIORITY_THEN_SHARE = taking("allocate, preempt", "priority", "drf", "gang-P predicates")
ELASTIC = taking("allocate, preempt", "priority", "gang-P predicates")
ONE_FULL_NODE = "class high 9\nnode n1 cpu=2"
THREE_TO_ONE = "\n".join(
    f"job {name} phase=Running\npods {name} 1 cpu=500m on=n1" for name in ("x/m1", "x/m2", "x/m3", "y/m4")
)


@pytest.mark.parametrize(
    ("policy", "text", "victims"),
    [
        pytest.param(
            BY_PRIORITY,
            "job x/low phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            ["low.1"],
            id="a job takes from one of lower priority, the youngest by name first",
        ),
        pytest.param(
            BY_PRIORITY,
            "job x/like class=high phase=Running\npods x/like 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            [],
            id="not from one of equal priority",
        ),
        pytest.param(
            BY_PRIORITY,
            "queue q\njob x/low queue=q phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            [],
            id="not from another queue",
        ),
        pytest.param(
            BY_PRIORITY,
            "job x/low phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1 never",
            [],
            id="not for a pod whose preemption policy is Never",
        ),
        pytest.param(
            BY_PRIORITY,
            "job x/low phase=Running\npods x/low 2 cpu=1 on=n1 volcano.sh/preemptable=false\n"
            "job x/want class=high pods=1 cpu=1",
            [],
            id="not from pods that may not be preempted",
        ),
        pytest.param(
            BY_PRIORITY,
            "job kube-system/low phase=Running\npods kube-system/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            [],
            id="not from the system namespace",
        ),
        pytest.param(
            BY_PRIORITY,
            "job x/low phase=Running\npods x/low 2 cpu=1 on=n1 bound\njob x/want class=high pods=1 cpu=1",
            ["low.1"],
            id="from pods that are bound and have not begun to run as well",
        ),
        pytest.param(
            MINIMA,
            "job x/low min=2 phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            [],
            id="not below a minimum that gang protects",
        ),
        pytest.param(
            BY_PRIORITY,
            "job x/low min=2 phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            ["low.1"],
            id="below a minimum where gang has no say",
        ),
        pytest.param(
            BY_SHARE,
            "job x/much phase=Running\npods x/much 2 cpu=1 on=n1\njob x/none pods=1 cpu=1",
            ["much.1"],
            id="a job with no share takes from one with a larger one",
        ),
        pytest.param(
            BY_SHARE,
            "job x/much phase=Running\npods x/much 1 cpu=1 on=n1\njob x/more phase=Running\npods x/more 1 cpu=1 on=n1\n"
            "job x/none pods=1 cpu=1",
            [],
            id="not where the one taken from could take it back",
        ),
        pytest.param(
            BY_SHARE,
            "job x/much phase=Running\npods x/much 2 cpu=1 on=n1\njob y/none pods=1 cpu=1",
            ["much.1"],
            id="a namespace with no share takes from one with a larger one",
        ),
        pytest.param(
            BY_SHARE,
            f"weight y 9\n{THREE_TO_ONE}\njob y/none pods=1 cpu=500m",
            ["m3.0"],
            id="a namespace of more weight may have more",
        ),
        pytest.param(
            BY_SHARE_OF_JOBS,
            f"weight y 9\n{THREE_TO_ONE}\njob y/none pods=1 cpu=500m",
            [],
            id="where namespaces are not ordered it is up to the jobs",
        ),
        pytest.param(
            PRIORITY_THEN_SHARE,
            "job x/much class=high phase=Running\npods x/much 2 cpu=1 on=n1\njob x/none class=high pods=1 cpu=1",
            ["much.1"],
            id="a tier that agrees to nobody leaves it to the next one",
        ),
        pytest.param(
            taking("allocate, preempt", "priority gang-P drf conformance", "predicates"),
            "job x/much class=high phase=Running\npods x/much 2 cpu=1 on=n1\njob x/none class=high pods=1 cpu=1",
            [],
            id="within a tier all have to agree",
        ),
        pytest.param(
            taking("allocate, preempt", "priority gang-P", "predicates proportion-P"),
            "job x/low phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high pods=1 cpu=1",
            ["low.1"],
            id="what a queue deserves does not keep its jobs from each other",
        ),
    ],
)
def test_who_takes_from_whom(policy: Policy, text: str, victims: list[str]) -> None:
    asking = text.replace(" pods=1", " phase=Inqueue pods=1")

    assert evicted(Busy(f"{ONE_FULL_NODE}\n{asking}", policy).cycle()) == victims


@pytest.mark.parametrize(
    ("text", "victims"),
    [
        pytest.param(
            "job x/a min=1 phase=Running\npods x/a 2 cpu=1 priority=1 on=n1\npods x/a 1 cpu=1 priority=5",
            ["a.1"],
            id="a pod takes from one of its job that has less priority",
        ),
        pytest.param(
            "job x/a min=1 phase=Running\npods x/a 2 cpu=1 priority=5 on=n1\npods x/a 1 cpu=1 priority=5",
            [],
            id="not from one that has as much",
        ),
        pytest.param(
            "job x/a min=1 phase=Running\npods x/a 2 cpu=1 priority=1 on=n1\npods x/a 3 cpu=1 priority=5",
            ["a.1", "a.0"],
            id="one after the other until one finds nobody",
        ),
        pytest.param(
            "job x/a min=2 phase=Running\npods x/a 2 cpu=1 priority=1 on=n1\npods x/a 1 cpu=2 priority=5",
            [],
            id="not where the job would fall below its minimum",
        ),
        pytest.param(
            "job x/a min=1 phase=Running\npods x/a 2 cpu=1 priority=1 on=n1\npods x/a 1 cpu=1 priority=5 never",
            [],
            id="not for a pod whose preemption policy is Never",
        ),
        pytest.param(
            "node n2 cpu=4\njob x/a min=0 phase=Running\npods x/a 1 cpu=1 priority=1 on=n2\n"
            "pods x/a 1 cpu=3 priority=2 on=n2\npods x/a 1 cpu=3 priority=5",
            ["a.1"],
            id="whoever leaves first is let stay where the next one is enough",
        ),
    ],
)
def test_inside_a_job(text: str, victims: list[str]) -> None:
    assert evicted(Busy(f"{ONE_FULL_NODE}\n{text}", ELASTIC).cycle()) == victims


@pytest.mark.parametrize("actions", ["preempt, allocate", "allocate, preempt", "reclaim, preempt, allocate, backfill"])
def test_pods_that_nobody_has_to_leave_for_are_placed_at_once_wherever_allocate_stands(actions: str) -> None:
    text = "node n1 cpu=4\njob x/a min=1 phase=Running\npods x/a 1 cpu=1 on=n1\npods x/a 2 cpu=1"
    report = Busy(text, taking(actions, "priority", "gang predicates")).cycle()

    assert [bind.name for bind in report.binds] == ["a.1", "a.2"]


# -- best effort ------------------------------------------------------------------------------------------------------


SLOTS = "class high 9\nnode n1 cpu=4 pods=2"


@pytest.mark.parametrize(
    ("text", "victims"),
    [
        pytest.param(
            "job x/low phase=Running\npods x/low 2 on=n1\njob x/want class=high phase=Inqueue pods=1",
            ["low.1"],
            id="from another best-effort pod",
        ),
        pytest.param(
            "job x/low phase=Running\npods x/low 2 cpu=1 on=n1\njob x/want class=high phase=Inqueue pods=1",
            [],
            id="not from a pod that asks for something",
        ),
        pytest.param(
            "job x/low phase=Running\npods x/low 2 on=n1\njob x/want class=high phase=Inqueue pods=1 cpu=1",
            ["low.1"],
            id="a pod that asks for something takes a best-effort pod's slot",
        ),
    ],
)
def test_whom_a_best_effort_pod_takes_its_slot_from(text: str, victims: list[str]) -> None:
    policy = taking("allocate, preempt, backfill", "priority", "predicates")

    assert evicted(Busy(f"{SLOTS}\n{text}", policy).cycle()) == victims


def test_a_best_effort_pod_that_fits_is_left_to_backfill() -> None:
    text = f"{SLOTS}\njob x/low phase=Running\npods x/low 1 on=n1\njob x/want class=high phase=Inqueue pods=1"
    report = Busy(text, taking("allocate, preempt, backfill", "priority", "predicates")).cycle()

    assert evicted(report) == []
    assert [bind.name for bind in report.binds] == ["want.0"]


# -- gangs ------------------------------------------------------------------------------------------------------------


def test_two_gangs_of_a_hundred_never_hold_half_of_120_places_each() -> None:
    nodes = "\n".join(f"node n{number:02} cpu=10" for number in range(12))
    low = "\n".join(f"pods x/low 10 cpu=1 on=n{number:02}" for number in range(12))
    gangs = "\n".join(f"job x/{name} min=100 class=high phase=Inqueue pods=100 cpu=1" for name in "ab")
    world = Busy(f"class high 9\n{nodes}\njob x/low phase=Running\n{low}\n{gangs}", BY_PRIORITY, returning=True)
    first = world.cycle()

    assert len(first.evictions) == 100
    assert {eviction.beneficiary for eviction in first.evictions} == {"x/a"}
    assert {name.partition(".")[0] for name in kept(first)} == {"a"}
    second = world.cycle()
    assert {bind.job for bind in second.binds} == {"x/a"}
    assert len(second.binds) == 100
    for _ in range(3):
        report = world.cycle()
        assert (report.binds, report.evictions) == ((), ())


@pytest.mark.parametrize(
    ("text", "victims", "places"),
    [
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\njob x/low phase=Running\npods x/low 2 cpu=1 on=n1\n"
            "pods x/low 2 cpu=1 on=n2\njob x/want min=5 class=high phase=Inqueue pods=5 cpu=1",
            [],
            {},
            id="one that would not fit on empty nodes evicts nobody",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\njob x/low phase=Running\npods x/low 2 cpu=1 on=n1\n"
            "job x/want min=3 class=high phase=Inqueue pods=3 cpu=1",
            ["low.1"],
            {"want.0": "n2", "want.1": "n2", "want.2": "n1"},
            id="partly on what is idle, partly on what is freed",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=2\njob x/low phase=Running\npods x/low 2 cpu=1 on=n1\n"
            "job x/want min=2 class=high phase=Inqueue pods=2 cpu=1",
            [],
            {},
            id="nobody leaves for one that has room",
        ),
        pytest.param(
            "node n1 cpu=3\njob x/v1 phase=Running\npods x/v1 1 cpu=1 on=n1\njob x/v2 phase=Running age=5\n"
            "pods x/v2 1 cpu=2 on=n1\njob x/want min=2 class=high phase=Inqueue pods=2 cpu=1",
            ["v2.0"],
            {"want.0": "n1", "want.1": "n1"},
            id="nobody leaves for one pod where what leaves for the next is enough for both",
        ),
        pytest.param(
            "node n1 cpu=4\njob x/v1 phase=Running\npods x/v1 1 cpu=1 on=n1\njob x/v2 phase=Running age=5\n"
            "pods x/v2 1 cpu=3 on=n1\njob x/want min=1 class=high phase=Inqueue pods=1 cpu=3",
            ["v2.0"],
            {"want.0": "n1"},
            id="whoever leaves first is let stay where the next one is enough",
        ),
        pytest.param(
            "node n1 cpu=2\nnode n2 cpu=3\nqueue q capability=cpu:4\njob x/v1 queue=q phase=Running\n"
            "pods x/v1 1 cpu=1 on=n1\njob x/v2 queue=q phase=Running\npods x/v2 1 cpu=3 on=n2\n"
            "job x/want min=2 queue=q class=high phase=Inqueue pods=2 cpu=2",
            ["v2.0", "v1.0"],
            {"want.0": "n2", "want.1": "n1"},
            id="a node that did not do for one pod does for the next once the queue has room",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\nqueue q capability=cpu:4\njob x/low queue=q phase=Running\n"
            "pods x/low 4 cpu=1 on=n1\njob x/want min=2 queue=q class=high phase=Inqueue pods=2 cpu=1",
            ["low.3", "low.2"],
            {"want.0": "n1", "want.1": "n1"},
            id="a queue at its capability frees within the queue, though a node is idle",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q capability=cpu:4\nqueue r\njob x/other queue=r phase=Running\n"
            "pods x/other 2 cpu=1 on=n1\njob x/low queue=q phase=Running\npods x/low 2 cpu=1 on=n1\n"
            "job x/want min=3 queue=q class=high phase=Inqueue pods=3 cpu=1",
            [],
            {},
            id="what another queue holds is not touched",
        ),
    ],
)
def test_gangs_take_as_a_whole(text: str, victims: list[str], places: dict[str, str]) -> None:
    report = Busy(f"class high 9\n{text}", WITHIN_QUEUES).cycle()

    assert evicted(report) == victims
    assert kept(report) == places


@pytest.mark.parametrize(
    "gang",
    [
        pytest.param("job x/gang min=3 pods=3 cpu=2", id="a gang of pods alike"),
        pytest.param("job x/gang min=2\npods x/gang 1 cpu=1\npods x/gang 1 cpu=9", id="one that finds nodes for some"),
        pytest.param(
            "job x/gang min=2 roles=ps:1,worker:1\npods x/gang 1 cpu=1 role=worker\npods x/gang 1 cpu=9 role=ps",
            id="one that lacks a role",
        ),
        pytest.param(
            "job x/gang min=2 subGroups=rack:1:2\npods x/gang 1 cpu=1 labels=rack:a\npods x/gang 1 cpu=9 labels=rack:b",
            id="one that lacks a sub-group",
        ),
        pytest.param(
            "job x/gang min=3 phase=Running\npods x/gang 1 cpu=1 on=n1\npods x/gang 1 cpu=1\npods x/gang 1 cpu=9",
            id="one of which a pod is left",
        ),
        pytest.param("job x/gang min=2\npods x/gang 1\npods x/gang 1 cpu=9", id="one with a pod that asks for nothing"),
    ],
)
@pytest.mark.parametrize("actions", ["allocate, preempt, backfill", "allocate, backfill, preempt, reclaim"])
def test_a_gang_that_cannot_start_takes_nothing_not_even_on_paper(gang: str, actions: str) -> None:
    policy = taking(actions, "priority gang conformance proportion", "predicates")
    report = Busy(f"node n1 cpu=4\nqueue default\n{gang}", policy).cycle()

    running = 1000 if "on=n1" in gang else 0
    assert (report.nominations, report.binds, report.evictions) == ((), (), ())
    assert report.queues["default"].allocated.get("cpu", 0) == running
    assert not any("Pipelined" in why.reasons for why in report.unschedulable.values())


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("job x/other min=2 queue=q pods=2 cpu=1", id="a gang"),
        pytest.param("job x/other min=2 queue=q pods=1\npods x/other 1 cpu=99", id="a pod that asks for nothing"),
    ],
)
def test_a_gang_that_cannot_start_costs_no_victim_a_slot(other: str) -> None:
    text = f"""
        class high 9
        node n1 cpu=16 pods=4
        queue default
        queue q
        job x/low phase=Running
        pods x/low 3 cpu=1 on=n1
        job x/want min=2 class=high pods=2 cpu=1
        {other}
    """
    policy = taking("allocate, backfill, preempt", "priority gang conformance proportion", "predicates")
    world = Busy(text, policy)

    assert evicted(world.cycle()) == ["low.2"]
    assert [bind.name for bind in world.cycle().binds] == ["want.0", "want.1"]


def test_a_job_without_success_does_not_hide_the_next_one() -> None:
    text = f"""{ONE_FULL_NODE}
        job x/low phase=Running
        pods x/low 2 cpu=1 on=n1
        job x/never class=high age=9 phase=Inqueue pods=1 cpu=1 never unlabelled
        job x/want class=high phase=Inqueue pods=1 cpu=1 unlabelled
    """
    report = Busy(text, BY_PRIORITY).cycle()

    assert [(eviction.name, eviction.beneficiary) for eviction in report.evictions] == [("low.1", "x/want")]


# -- rules ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nodes", "victims", "wanted", "expected"),
    [
        pytest.param("zone=a\nzone=b", "cpu=2", "selector=zone:b", ["low.1"], id="the node that its selector names"),
        pytest.param("taint=only:x\n", "cpu=2", "", ["low.1"], id="not a node that it does not tolerate"),
        pytest.param("taint=only:x\ntaint=only:x", "cpu=2", "", [], id="none where it tolerates none"),
        pytest.param("cordoned\n", "cpu=2", "", ["low.1"], id="not a node that takes no more pods"),
        pytest.param("\n", "cpu=1 port=80", "port=80", ["low.0"], id="a pod that holds the port leaves"),
        pytest.param("\n", "cpu=1", "apart=low", ["low.0"], id="a pod that it cannot stand leaves"),
        pytest.param("\n", "cpu=1 apart=want", "", ["low.0"], id="and a pod that cannot stand it"),
        pytest.param("\n", "cpu=1 volcano.sh/preemptable=false port=80", "port=80", [], id="or stays where it has to"),
    ],
)
def test_rules_hold_with_the_victims_gone(nodes: str, victims: str, wanted: str, expected: list[str]) -> None:
    first, second = nodes.split("\n")
    text = f"""
        class high 9
        node n1 cpu=2 {first}
        node n2 cpu=2 {second}
        job x/low phase=Running
        pods x/low 1 {victims} on=n1
        pods x/low 1 {victims} on=n2
        job x/want class=high phase=Inqueue pods=1 cpu=1 {wanted}
    """
    world = Busy(text, BY_PRIORITY)
    report = world.cycle()

    assert evicted(report) == expected
    assert [bind.name for bind in world.cycle().binds] == (["want.0"] if expected else [])


def test_a_gang_that_keeps_its_pods_apart_frees_one_node_each() -> None:
    text = """
        class high 9
        node n1 cpu=3
        node n2 cpu=3
        job x/low phase=Running
        pods x/low 3 cpu=1 on=n1
        pods x/low 3 cpu=1 on=n2
        job x/want min=2 class=high phase=Inqueue pods=2 cpu=1 apart=want
    """
    report = Busy(text, BY_PRIORITY).cycle()

    assert kept(report) == {"want.0": "n1", "want.1": "n2"}
    assert sorted(evicted(report)) == ["low.2", "low.5"]


# -- which node -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "node"),
    [
        pytest.param(
            "cpu=2 class=mid", "cpu=2 class=low", "n2", id="the least important of the most important victims"
        ),
        pytest.param("cpu=1 class=low,cpu=1 class=low", "cpu=2 class=low", "n2", id="then the least weight of all"),
        pytest.param("cpu=1 class=mid,cpu=1 class=low", "cpu=2 class=mid", "n2", id="of which each victim is a part"),
        pytest.param("cpu=2 class=low started=60", "cpu=2 class=low started=5", "n2", id="then who began last"),
        pytest.param("cpu=2 class=low started=60", "cpu=2 class=low started=60", "n1", id="then the first node"),
        pytest.param(
            "cpu=2 class=mid", "cpu=1 class=low,cpu=2 class=mid", "n1", id="equal, as nobody leaves for nothing"
        ),
    ],
)
def test_the_node_that_costs_least(first: str, second: str, node: str) -> None:
    lines = ["class high 9", "class mid 5", "class low 2", "node n1 cpu=2", "node n2 cpu=2"]
    for at, pods in (("n1", first), ("n2", second)):
        for number, about in enumerate(pods.split(",")):
            name = f"x/{at}-{number}"
            kind = about.partition("class=")[2].split()[0]
            lines += [f"job {name} phase=Running class={kind}", f"pods {name} 1 {about} podClass={kind} on={at}"]
    lines.append("job x/want class=high phase=Inqueue pods=1 cpu=2")
    args = {"enableTopologyAwarePreemption": True, "minCandidateNodesPercentage": 100}
    policy = taking("allocate, preempt", "priority gang-P", "predicates", args=args)

    assert kept(Busy("\n".join(lines), policy).cycle()) == {"want.0": node}


@pytest.mark.parametrize(
    ("args", "node"),
    [
        pytest.param({"minCandidateNodesPercentage": 100}, "n9", id="all nodes"),
        pytest.param({"minCandidateNodesPercentage": 20}, "n1", id="a part of the nodes, by name"),
        pytest.param({"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 10}, "n9", id="at least so many"),
        pytest.param({"minCandidateNodesPercentage": 100, "maxCandidateNodesAbsolute": 3}, "n2", id="at most so many"),
    ],
)
def test_how_many_nodes_are_compared(args: dict[str, object], node: str) -> None:
    lines = ["class high 99"]
    for number in range(10):
        cost = {2: 5, 9: 1}.get(number, 7 - (number == 1))
        lines += [f"node n{number} cpu=1", f"class c{number} {cost}", f"job x/v{number} phase=Running class=c{number}"]
        lines.append(f"pods x/v{number} 1 cpu=1 podClass=c{number} on=n{number}")
    lines.append("job x/want class=high phase=Inqueue pods=1 cpu=1")
    policy = taking(
        "allocate, preempt", "priority gang-P", "predicates", args=args | {"enableTopologyAwarePreemption": True}
    )

    assert kept(Busy("\n".join(lines), policy).cycle()) == {"want.0": node}


def test_without_comparing_the_node_of_the_best_score_is_taken() -> None:
    text = """
        class high 9
        node n1 cpu=2
        node n2 cpu=8
        job x/low phase=Running
        pods x/low 1 cpu=2 on=n1
        pods x/low 4 cpu=2 on=n2
        job x/want class=high phase=Inqueue pods=1 cpu=2
    """
    for scorer, node in (("binpack", "n1"), ("nodeorder", "n1")):
        policy = taking("allocate, preempt", "priority gang-P", f"predicates {scorer}")
        assert kept(Busy(text, policy).cycle()) == {"want.0": node}


@pytest.mark.parametrize(
    ("predicates", "compares", "victims"),
    [
        pytest.param("predicates", True, ["low.0"], id="in the comparison of nodes who leaves is gone"),
        pytest.param("predicates-P", True, ["low.0"], id="also where one of the two switches is off"),
        pytest.param("predicates-A", True, ["low.0"], id="or the other"),
        pytest.param("predicates-PA", True, [], id="with both off its port is still taken"),
        pytest.param("predicates-PA", False, ["low.0"], id="the switches are about the comparison alone"),
    ],
)
def test_switches_of_predicates_in_the_comparison_of_nodes(predicates: str, compares: bool, victims: list[str]) -> None:
    policy = taking(
        "allocate, preempt", "priority gang-P", predicates, args={"enableTopologyAwarePreemption": compares}
    )
    text = """
        class high 9
        node n1 cpu=4
        job x/low phase=Running
        pods x/low 1 cpu=1 on=n1 port=80
        job x/want class=high phase=Inqueue pods=1 cpu=1 port=80
    """

    assert evicted(Busy(text, policy).cycle()) == victims


def test_whom_others_have_left_for_is_no_victim_in_the_same_session() -> None:
    """The pod of ``half`` is the least, once ``full`` has as few as ``late`` would have: and then one left in vain."""
    text = """
        node n0 memory=9Gi
        node n1 cpu=6
        queue q
        job y/early queue=q
        pods y/early 1 cpu=2
        job x/full queue=q
        pods x/full 1 cpu=2 on=n0
        pods x/full 2 cpu=2 on=n1
        pods x/full 1 cpu=2 on=n0
        job x/half min=2 queue=q
        pods x/half 1 cpu=2 on=n1
        pods x/half 1 cpu=2
        job y/late queue=q
        pods y/late 1 cpu=2
    """
    policy = taking("allocate, preempt", "priority gang-P conformance capacity", "drf predicates nodeorder binpack")
    report = Busy(text, policy).cycle()
    assert sorted(evicted(report)) == ["full.1", "full.2", "full.3"]
    assert sorted(kept(report)) == ["early.0", "half.1", "late.0"]
