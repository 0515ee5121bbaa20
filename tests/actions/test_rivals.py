"""Whoever got room by evictions keeps it: nobody leaves for a job that another waiting job would take it from."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import aged, contended
from tests.support.examples import examples
from tests.support.taking import Busy, evicted, taking

ACTIONS = ("allocate", "preempt", "reclaim", "gangpreempt", "gangreclaim", "backfill")
TIERS = (
    ("priority gang conformance proportion", "drf-P predicates nodeorder"),
    ("priority gang conformance capacity", "drf-P predicates nodeorder"),
    ("priority gang-P conformance capacity-H pdb", "drf-P predicates nodeorder"),
    ("gang-P conformance drf", "predicates proportion nodeorder"),
    ("priority gang eviction-cost", "drf-P predicates nodeorder"),
)
CYCLES = 12
orders = st.permutations(ACTIONS).flatmap(lambda found: st.integers(3, 6).map(lambda count: ", ".join(found[:count])))
quickly = settings(max_examples=examples(20), deadline=None)


@pytest.mark.parametrize("order", [*permutations(range(3))])
@pytest.mark.parametrize("preempt", ["gangpreempt", "preempt"])
@pytest.mark.parametrize("terminating", [0, 1])
@pytest.mark.parametrize(
    ("text", "running"),
    [
        pytest.param(
            """
            node n1 cpu=4
            queue a deserved=cpu:1
            queue b deserved=cpu:4
            job x/low queue=a min=0 phase=Running
            pods x/low 3 cpu=1 on=n1
            job x/b queue=b phase=Running
            pods x/b 1 cpu=1 on=n1
            job x/want queue=a class=high phase=Inqueue pods=1 cpu=3
            job x/due queue=b min=2 phase=Inqueue pods=2 cpu=1
            """,
            {"low": 1, "b": 1, "due": 2},
            id="a pod that two of another queue have a claim on",
        ),
        pytest.param(
            """
            node n1 cpu=3
            node n2 cpu=2
            queue a deserved=cpu:2
            queue b deserved=cpu:5
            job x/low queue=a phase=Running
            pods x/low 2 cpu=1 on=n2
            job x/more queue=a phase=Running
            pods x/more 1 cpu=1 on=n1
            job x/b queue=b phase=Running
            pods x/b 1 cpu=2 on=n1
            job x/want queue=a class=high phase=Inqueue pods=1 cpu=2
            job x/due queue=b phase=Inqueue pods=1 cpu=2
            """,
            {"low": 2, "more": 1, "b": 1},
            id="a pod that is all that its queue holds too much",
        ),
    ],
)
def test_what_is_started_is_not_taken_back(
    text: str, running: dict[str, int], order: tuple[int, ...], preempt: str, terminating: int
) -> None:
    actions = ("allocate", preempt, "gangreclaim")
    policy = taking(", ".join(actions[at] for at in order), "priority gang conformance capacity", "predicates")
    world = Busy(f"class high 9\nqueue default\n{text}", policy, terminating=terminating, returning=True)
    started: set[str] = set()
    for _ in range(8):
        report = world.cycle()
        assert started.isdisjoint(evicted(report))
        started |= {bind.name for bind in report.binds}

    assert Counter(task.job.partition("/")[2] for task in world.tasks() if task.node) == running


def test_a_job_whose_room_does_not_do_for_the_other_one_gets_it() -> None:
    text = """
        class high 9
        node n1 cpu=3
        queue a deserved=cpu:1
        queue b deserved=cpu:4
        job x/low queue=a min=0 phase=Running
        pods x/low 3 cpu=1 on=n1
        job x/want queue=a class=high phase=Inqueue pods=1 cpu=3
        job x/due queue=b phase=Inqueue pods=1 cpu=4
    """
    policy = taking("allocate, gangpreempt, gangreclaim", "priority gang conformance capacity", "predicates")

    assert evicted(Busy(text, policy).cycle()) == ["low.2", "low.1", "low.0"]


@pytest.mark.parametrize(
    "placed",
    [
        pytest.param("", id="wherever they are"),
        pytest.param("topology=hard tier=1", id="in one domain"),
    ],
)
@pytest.mark.parametrize(
    "kept",
    [
        pytest.param("", id="any pod"),
        pytest.param("volcano.sh/preemptable=false", id="the pod that runs already alone"),
    ],
)
def test_a_job_that_another_one_breaks_up_takes_nothing(placed: str, kept: str) -> None:
    """The job ``due`` would start in the place of ``first``, once ``low`` has left for that one."""
    text = f"""
        class high 9
        node n1 cpu=4 rack=r1
        node n2 cpu=2 rack=r2
        queue a deserved=cpu:1
        queue b deserved=cpu:5
        job x/low queue=a min=1 phase=Running
        pods x/low 2 cpu=2 on=n1
        job x/first queue=b min=2 phase=Running
        pods x/first 1 cpu=2 on=n2
        pods x/first 1 cpu=2 {kept}
        job x/due queue=b class=high phase=Inqueue {placed}
        pods x/due 1 cpu=2
    """
    tiers = ("priority gang conformance", "predicates capacity network-topology-aware")
    near = {"network-topology-aware": {"hypernode.labels": ["rack"]}}
    report = Busy(text, taking("allocate, gangreclaim, gangpreempt", *tiers, plugins=near)).cycle()

    assert [(one.name, one.beneficiary) for one in report.evictions] == [("low.1", "x/due")]


@quickly
@given(contended() | aged(), st.sampled_from(TIERS), orders, st.integers(0, 2))
def test_two_jobs_do_not_take_from_each_other(
    text: str, tiers: tuple[str, ...], actions: str, terminating: int
) -> None:
    """Whatever is evicted comes back at once, and the actions come in any order."""
    world = Busy(text, taking(actions, *tiers), terminating=terminating, returning=True)
    took: set[tuple[str, str]] = set()
    for _ in range(CYCLES):
        for eviction in world.cycle().evictions:
            if eviction.job != eviction.beneficiary:
                assert (eviction.job, eviction.beneficiary) not in took
                took.add((eviction.beneficiary, eviction.job))
