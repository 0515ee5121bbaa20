"""pdb: which victims the budgets of their pods allow, and what evictions of the cycle leave of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import plan, policy_of
from tests.support.worlds import World
from vsched.framework.extension import NoArgs
from vsched.model.task import Task
from vsched.plugins.pdb import Pdb

CLUSTER = """
node n1 cpu=16
job ns/a
pods ns/a 3 cpu=1 on=n1 labels=tier:x
pods ns/a 1 cpu=1 on=n1 bound labels=tier:x
job ns/b
pods ns/b 2 cpu=1 on=n1 labels=tier:x
job ns/c
pods ns/c 2 cpu=1 on=n1 unlabelled
job other/d
pods other/d 1 cpu=1 on=n1 labels=tier:x
job ns/new pods=1 cpu=1
"""
EVERYONE = "a.0 a.1 a.2 b.0 b.1 c.0 c.1 d.0"


def names(tasks: object) -> str:
    assert isinstance(tasks, list | tuple)
    return " ".join(task.name for task in tasks)


@pytest.mark.parametrize(
    ("budgets", "candidates", "victims"),
    [
        pytest.param("", EVERYONE, EVERYONE, id="without budgets anyone"),
        pytest.param("pdb ns/p selector=job:a allowed=1", "a.0 a.1 b.0", "a.0 b.0", id="the first within the budget"),
        pytest.param("pdb ns/p selector=job:a allowed=1", "a.1 a.0", "a.1", id="in the order of the candidates"),
        pytest.param("pdb ns/p selector=job:a", "a.0 b.0", "b.0", id="nobody where nothing is allowed"),
        pytest.param("pdb ns/p selector=tier:x allowed=2", "a.0 b.0 b.1", "a.0 b.0", id="a budget across jobs"),
        pytest.param(
            "pdb ns/p allowed=0", "a.0 c.0 d.0", "d.0", id="an empty selector means all pods of its namespace"
        ),
        pytest.param("pdb other/p selector=tier:x", "a.0 d.0", "a.0", id="a budget is about its own namespace"),
        pytest.param("pdb ns/p selector=job:a", "c.0 c.1", "c.0 c.1", id="pods without labels are as good as others"),
        pytest.param("pdb ns/p selector=job:a", "a.3", "a.3", id="a pod that has not begun to run costs nothing"),
        pytest.param(
            "pdb ns/p selector=job:a allowed=1 disrupted=a.0", "a.0 a.1 a.2", "a.0 a.1", id="granted evictions are free"
        ),
        pytest.param(
            "pdb ns/p selector=job:a\npdb ns/r selector=tier:x allowed=1",
            "a.0 b.0",
            "",
            id="a pod that one budget keeps costs its other budgets all the same",
        ),
        pytest.param(
            "pdb ns/p selector=job:b allowed=1\npdb ns/r selector=tier:x allowed=5",
            "b.0 b.1 a.0",
            "b.0 a.0",
            id="every budget has to agree",
        ),
    ],
)
def test_victims_within_the_budgets(budgets: str, candidates: str, victims: str) -> None:
    world = World(f"{CLUSTER}\n{budgets}")
    plugin, evictor = world.opened(Pdb(NoArgs())), world.task("new.0")

    assert names(plugin.preemptable(evictor, world.tasks(candidates))) == victims
    assert names(plugin.reclaimable(evictor, world.tasks(candidates))) == victims, "asking costs nothing"
    assert names(plugin.bounded(world.tasks(candidates))) == victims


def evict(world: World, plugin: Pdb, task: Task) -> None:
    plugin.on_release(world.jobs[task.job], task, 0)


def restore(world: World, plugin: Pdb, task: Task) -> None:
    plugin.on_allocate(world.jobs[task.job], task, 0)


def test_what_was_evicted_in_the_cycle_counts() -> None:
    world = World(f"{CLUSTER}\npdb ns/p selector=tier:x allowed=2")
    plugin, evictor, all_of_them = world.opened(Pdb(NoArgs())), world.task("new.0"), world.tasks("a.1 a.2 b.0")

    evict(world, plugin, world.task("a.0"))
    assert names(plugin.preemptable(evictor, all_of_them)) == "a.1"
    evict(world, plugin, world.task("b.1"))
    assert names(plugin.preemptable(evictor, all_of_them)) == ""
    restore(world, plugin, world.task("b.1"))
    assert names(plugin.preemptable(evictor, all_of_them)) == "a.1"


def test_placements_of_the_cycle_cost_and_give_nothing() -> None:
    world = World(f"{CLUSTER}\npdb ns/p allowed=1")
    plugin, new = world.opened(Pdb(NoArgs())), world.task("new.0")

    restore(world, plugin, new)
    evict(world, plugin, new)
    evict(world, plugin, world.task("a.3"))
    assert names(plugin.preemptable(new, world.tasks("a.0 a.1"))) == "a.0"


def test_who_asks_makes_no_difference() -> None:
    world = World(CLUSTER)
    plugin, one, other = world.opened(Pdb(NoArgs())), world.task("new.0"), world.task("a.0")

    assert plugin.preemptor_class(one) == plugin.preemptor_class(other)
    assert plugin.reclaimer_class(one) == plugin.reclaimer_class(other)


@given(st.integers(0, 4), st.integers(0, 4), st.permutations(EVERYONE.split()), st.integers(0, 8))
def test_no_budget_is_ever_passed_however_often_it_is_asked(one: int, two: int, order: list[str], step: int) -> None:
    world = World(f"{CLUSTER}\npdb ns/p selector=tier:x allowed={one}\npdb ns/r selector=job:a allowed={two}")
    plugin, evictor = world.opened(Pdb(NoArgs())), world.task("new.0")
    gone: list[str] = []
    for part in (order[:step], order[step:]):
        for task in list(plugin.preemptable(evictor, [world.task(name) for name in part]) or ()):
            evict(world, plugin, task)
            gone.append(task.name)

    assert sum(name[0] in "ab" for name in gone) <= one
    assert sum(name[0] == "a" for name in gone) <= two
    assert {"c.0", "c.1", "d.0"} <= set(gone), "pods that no budget is about are free"


RECLAIMING = policy_of("gang pdb", "predicates", actions="enqueue, allocate, reclaim")
PREEMPTING = policy_of("pdb priority", "predicates", actions="enqueue, allocate, preempt")


@pytest.mark.parametrize(
    ("budget", "evicted"),
    [
        pytest.param("", ["a.0", "a.1", "a.2"], id="as many as are wanted"),
        pytest.param("pdb ns/p selector=job:a allowed=2", ["a.0", "a.1"], id="not more than the budget"),
        pytest.param("pdb ns/p selector=job:a", [], id="nobody where nothing is allowed"),
    ],
)
def test_a_whole_cycle_stays_within_the_budget_over_all_its_nodes(budget: str, evicted: list[str]) -> None:
    text = f"""
class high 10
node n1 cpu=1
node n2 cpu=1
node n3 cpu=1
job ns/a queue=q min=0
pods ns/a 1 cpu=1 on=n1
pods ns/a 1 cpu=1 on=n2
pods ns/a 1 cpu=1 on=n3
queue q
queue r
{budget}
"""
    wanting = "".join(f"job ns/new{number} pods=1 cpu=1 queue={{queue}} class=high\n" for number in range(3))
    for policy, queue in ((PREEMPTING, "q"), (RECLAIMING, "r")):
        document = plan(text + wanting.format(queue=queue), policy).document
        gone = [eviction["pod"].partition("/")[2] for cycle in document["cycles"] for eviction in cycle["evictions"]]
        assert sorted(gone) == evicted
