"""Disruption budgets: which victims they let go, and what evictions of the cycle leave of them, whatever the policy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import plan, policy_of
from tests.support.taking import Busy, evicted, taking
from tests.support.worlds import World
from vsched.framework.budgets import Budgets
from vsched.framework.words.victims import budgets_forbid, in_several_budgets
from vsched.model.pods.task import Task

CLUSTER = """
node n1 cpu=16
job ns/a
pods ns/a 3 cpu=1 on=n1 labels=tier:x
pods ns/a 1 cpu=1 on=n1 bound labels=tier:x
job ns/b
pods ns/b 2 cpu=1 on=n1 labels=tier:x
job ns/c
pods ns/c 2 cpu=1 on=n1 unlabelled
job ns/u
pods ns/u 1 cpu=1 on=n1 unready labels=tier:x
job other/d
pods other/d 1 cpu=1 on=n1 labels=tier:x
job ns/new pods=1 cpu=1
"""
EVERYONE = "a.0 a.1 a.2 b.0 b.1 c.0 c.1 u.0 d.0"


def names(tasks: object) -> str:
    assert isinstance(tasks, list | tuple)
    return " ".join(task.name for task in tasks)


def of(world: World) -> Budgets:
    return Budgets(world.snapshot.budgets)


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
            "pdb ns/p selector=job:a allowed=5\npdb ns/r selector=tier:x allowed=5",
            "a.0 b.0",
            "b.0",
            id="a pod in two budgets cannot be evicted at all",
        ),
        pytest.param(
            "pdb ns/p selector=job:a allowed=1\npdb ns/r selector=tier:x allowed=1",
            "a.0 b.0",
            "b.0",
            id="and costs neither of them anything",
        ),
        pytest.param(
            "pdb ns/p selector=job:a\npdb ns/r selector=tier:x",
            "a.3",
            "a.3",
            id="unless it has not begun to run",
        ),
        pytest.param("pdb ns/p selector=job:u", "u.0", "", id="a pod that is not ready costs as much as others"),
        pytest.param(
            "pdb ns/p selector=job:u currentHealthy=2 desiredHealthy=2",
            "u.0",
            "u.0",
            id="unless as many are healthy as are wanted",
        ),
        pytest.param(
            "pdb ns/p selector=job:u currentHealthy=1 desiredHealthy=2", "u.0", "", id="too few of them are healthy"
        ),
        pytest.param(
            "pdb ns/p selector=job:u unhealthy=AlwaysAllow", "u.0", "u.0", id="or the budget lets unready pods go"
        ),
        pytest.param(
            "pdb ns/p selector=tier:x unhealthy=AlwaysAllow allowed=1",
            "u.0 a.0 a.1",
            "u.0 a.0",
            id="who is not ready uses nothing of it up",
        ),
        pytest.param(
            "pdb ns/p selector=job:a allowed=2 generation=3 observed=2",
            "a.0",
            "",
            id="nobody until a change of the budget has been taken in",
        ),
    ],
)
def test_victims_within_the_budgets(budgets: str, candidates: str, victims: str) -> None:
    world = World(f"{CLUSTER}\n{budgets}")
    found = of(world)

    assert names(found.allowed(world.tasks(candidates))) == victims
    assert names(found.allowed(world.tasks(candidates))) == victims, "asking costs nothing"


def evict(world: World, budgets: Budgets, task: Task) -> None:
    budgets.on_release(world.jobs[task.job], task, 0)


def restore(world: World, budgets: Budgets, task: Task) -> None:
    budgets.on_allocate(world.jobs[task.job], task, 0)


def test_what_was_evicted_in_the_cycle_counts() -> None:
    world = World(f"{CLUSTER}\npdb ns/p selector=tier:x allowed=2")
    budgets, all_of_them = of(world), world.tasks("a.1 a.2 b.0")

    evict(world, budgets, world.task("a.0"))
    assert names(budgets.allowed(all_of_them)) == "a.1"
    evict(world, budgets, world.task("b.1"))
    assert names(budgets.allowed(all_of_them)) == ""
    restore(world, budgets, world.task("b.1"))
    assert names(budgets.allowed(all_of_them)) == "a.1"


def test_placements_of_the_cycle_cost_and_give_nothing() -> None:
    world = World(f"{CLUSTER}\npdb ns/p allowed=1")
    budgets, new = of(world), world.task("new.0")

    restore(world, budgets, new)
    evict(world, budgets, new)
    evict(world, budgets, world.task("a.3"))
    assert names(budgets.allowed(world.tasks("a.0 a.1"))) == "a.0"


@pytest.mark.parametrize(
    ("budgets", "kept", "told"),
    [
        pytest.param("pdb ns/p selector=job:a allowed=1", "a.0", None, id="a budget that allows some says nothing"),
        pytest.param(
            "pdb ns/p selector=job:a",
            "a.0 b.0",
            budgets_forbid(["ns/p"]),
            id="one",
        ),
        pytest.param(
            "pdb ns/p selector=job:a\npdb ns/q selector=job:b",
            "a.0 b.0",
            budgets_forbid(["ns/p", "ns/q"]),
            id="several",
        ),
        pytest.param(
            "pdb ns/p selector=job:a allowed=3\npdb ns/q selector=tier:x allowed=3",
            "a.0 b.0",
            in_several_budgets(["ns/p", "ns/q"]),
            id="two about the same pods",
        ),
    ],
)
def test_what_is_said_of_budgets_that_keep_victims(budgets: str, kept: str, told: str | None) -> None:
    world = World(f"{CLUSTER}\n{budgets}")
    refusal = of(world).protects(world.tasks(kept))

    assert (refusal and refusal.message) == told


@given(st.integers(0, 4), st.integers(0, 4), st.permutations(EVERYONE.split()), st.integers(0, 8))
def test_no_budget_is_ever_passed_however_often_it_is_asked(one: int, two: int, order: list[str], step: int) -> None:
    world = World(f"{CLUSTER}\npdb ns/p selector=job:b allowed={one}\npdb ns/r selector=job:a allowed={two}")
    budgets = of(world)
    gone: list[str] = []
    for part in (order[:step], order[step:]):
        for task in list(budgets.allowed([world.task(name) for name in part])):
            evict(world, budgets, task)
            gone.append(task.name)

    assert sum(name[0] == "b" for name in gone) == min(one, 2)
    assert sum(name[0] == "a" for name in gone) == min(two, 3)
    assert {"c.0", "c.1", "d.0"} <= set(gone), "pods that no budget is about are free"


RECLAIMING = [
    policy_of(*tiers, "predicates", actions="enqueue, allocate, reclaim") for tiers in (("gang pdb",), ("gang",))
]
PREEMPTING = [
    policy_of(*tiers, "predicates", actions="enqueue, allocate, preempt")
    for tiers in (("pdb priority",), ("priority",))
]


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
    for policy, queue in (*((one, "q") for one in PREEMPTING), *((one, "r") for one in RECLAIMING)):
        [gone] = plan(text + wanting.format(queue=queue), policy).evicted
        assert sorted(gone) == evicted


GANG_BEHIND_A_BUDGET = """
class high 10
queue q
queue r
node n1 cpu=2
node n2 cpu=2
job ns/a queue=q min=0 phase=Running
pods ns/a 2 cpu=1 on=n1
pods ns/a 2 cpu=1 on=n2
pdb ns/p selector=job:a allowed={allowed}
job ns/gang queue={queue} class=high min={min} pods={min} cpu=1
"""


@pytest.mark.parametrize("victims", ["protection", "reference"])
@pytest.mark.parametrize(
    ("actions", "queue"),
    [("enqueue, allocate, preempt", "q"), ("enqueue, allocate, reclaim", "r")],
    ids=["preempt", "reclaim"],
)
@pytest.mark.parametrize(
    ("allowed", "least", "count"),
    [
        pytest.param(1, 3, 0, id="nobody goes where the budget does not allow all that a gang needs"),
        pytest.param(3, 3, 3, id="all of them where it does"),
        pytest.param(1, 1, 1, id="one for one"),
    ],
)
def test_budgets_are_counted_for_the_gang_as_a_whole(
    victims: str, actions: str, queue: str, allowed: int, least: int, count: int
) -> None:
    text = GANG_BEHIND_A_BUDGET.format(allowed=allowed, queue=queue, min=least)
    world = Busy(text, taking(actions, "priority gang", "predicates", victims=victims))

    assert len(evicted(world.cycle())) == count
    assert evicted(world.cycle()) == []
