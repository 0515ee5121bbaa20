"""capacity and victims: from whom is taken back, down to what, and when it is known before looking."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.quota_world import Quotas, cpu, memory, pods
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.model.amounts.resources import Amounts
from vsched.model.pods.task import Task


def candidates(world: Quotas, *queues: str) -> list[Task]:
    """All tasks that run in these queues."""
    jobs = world.cluster.jobs.values()
    return [
        task for queue in queues for job in jobs if job.spec.queue == queue for task in job.tasks.values() if task.node
    ]


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        pytest.param({"deserved": cpu(4000)}, 2, id="down to what the queue deserves"),
        pytest.param({"deserved": cpu(3500)}, 3, id="the last victim may lead below it"),
        pytest.param({"deserved": cpu(9000)}, 0, id="nothing of a queue within its share"),
        pytest.param({}, 6, id="all that is not deserved"),
        pytest.param({"guarantee": cpu(5000)}, 1, id="never below the guarantee"),
        pytest.param({"guarantee": memory(1)}, 6, id="of what the tasks use"),
        pytest.param({"deserved": memory(5)}, 6, id="tasks that use nothing deserved go first of all"),
        pytest.param({"deserved": pods(99)}, 0, id="pods that are deserved keep their tasks"),
        pytest.param({"deserved": pods(1)}, 0, id="however many there are"),
        pytest.param({"deserved": cpu(4000), "state": "Closed"}, 2, id="a closed queue gives back as well"),
    ],
)
def test_what_is_taken_from_a_queue_that_holds_six_cores(fields: dict[str, Any], count: int) -> None:
    world = Quotas().queue("a", 6, **fields).queue("b", deserved=cpu(5000))
    asks = world.asking("b")
    found = candidates(world, "a")

    assert world.victims(asks, *found) == [task.name for task in found[:count]]
    assert world.votes(asks).rules_out(world.cluster.jobs["ns/a-holds"]) is (count == 0)


def test_victims_have_to_hold_something_that_is_asked_for() -> None:
    world = Quotas().queue("a").queue("b", deserved=((world_gpu := 3, 2000),))
    world.holding("a", "cores", world.cluster.shape(cpu=1000, memory=0))
    gpu = world.cluster.shape(cpu=0, memory=0, **{"example.com/gpu": 1000})
    world.holding("a", "gpus", gpu)
    asks = world.asking("b", gpu)

    assert world.gpu == world_gpu
    assert world.victims(asks, *candidates(world, "a")) == ["gpus-0"]
    assert world.votes(asks).rules_out(world.cluster.jobs["ns/cores"]), "nothing in common but the pod"


@pytest.mark.parametrize(
    ("deserved", "asked", "victims"),
    [
        pytest.param(memory(500), (0, 300), ["m0-0", "m1-0"], id="of what is asked for"),
        pytest.param(cpu(9000), (1000, 0), [], id="not of another resource"),
        pytest.param(
            (*cpu(9000), *memory(500)), (1000, 300), ["m0-0", "m1-0"], id="of one of those that are asked for"
        ),
        pytest.param(
            (*cpu(7000), *memory(500)), (8000, 300), [], id="unless the node lacks another one that is not deserved"
        ),
        pytest.param(cpu(9000), (1000, 300), [], id="which the reclaimer's queue has to deserve"),
        pytest.param((*cpu(9000), *memory(200)), (1000, 300), [], id="all of it"),
    ],
)
def test_a_queue_gives_back_what_it_holds_too_much_of(
    deserved: Amounts, asked: tuple[int, int], victims: list[str]
) -> None:
    """Here of memory: of cpu it deserves more than it holds."""
    world = Quotas().queue("a", deserved=(*cpu(9000), *memory(500))).queue("b", deserved=deserved)
    for number in range(3):
        world.holding("a", f"m{number}", world.cluster.shape(cpu=1000, memory=270))
    asks = world.asking("b", world.cluster.shape(cpu=asked[0], memory=asked[1]))

    assert world.victims(asks, *candidates(world, "a")) == victims


def test_a_resource_that_is_deserved_at_zero_may_be_taken_back() -> None:
    world = Quotas()
    world.queue("a", deserved=(*cpu(9000), (world.gpu, 0))).queue("b", deserved=((world.gpu, 4000),))
    world.holding("a", "plain", world.core)
    world.holding("a", "gpu", world.cluster.shape(cpu=1000, memory=0, **{"example.com/gpu": 1000}))
    asks = world.asking("b", world.cluster.shape(cpu=1000, memory=0, **{"example.com/gpu": 4000}))

    assert world.victims(asks, *candidates(world, "a")) == ["gpu-0"]


def test_tasks_of_unknown_jobs_and_queues_are_left_alone() -> None:
    world = Quotas().queue("b", deserved=cpu(5000))
    lost = world.holding("gone", "lost", world.core)
    stray = world.holding("b", "stray", world.core)
    asks = world.asking("b")
    del world.cluster.jobs["ns/stray"]

    assert world.victims(asks, lost, stray) == []
    assert world.votes(asks).rules_out(world.cluster.jobs["ns/lost"])


def test_who_asks_does_not_matter_beyond_its_queue_and_request() -> None:
    world = Quotas().queue("a", 1).queue("b")

    assert world.votes(world.asking("a")).depends_on == world.votes(world.asking("b")).depends_on


# -- in a tree ------------------------------------------------------------------------------------------------------

Tree = dict[str, dict[str, Any]]
DESERVED = {"deserved": cpu(4000)}


@pytest.mark.parametrize(
    ("queues", "counts"),
    [
        pytest.param(
            {"p": DESERVED, "a": {"parent": "p", "holds": 3, "deserved": cpu(1000)}, "b": DESERVED},
            (0, 0, 0),
            id="a parent within its share keeps what its children hold too much of",
        ),
        pytest.param(
            {"p": {"deserved": cpu(2000)}, "a": {"parent": "p", "holds": 3, "deserved": cpu(1000)}, "b": DESERVED},
            (1, 1, 1),
            id="and gives what it holds too much of itself",
        ),
        pytest.param(
            {"p": {}, "a": {"parent": "p", "holds": 3, "deserved": cpu(1000)}, "b": DESERVED},
            (2, 2, 2),
            id="a parent that deserves nothing keeps nothing",
        ),
        pytest.param(
            {
                "p": {"deserved": cpu(5000)},
                "a": {"parent": "p", "holds": 3, "deserved": cpu(1000)},
                "b": {"parent": "p", **DESERVED},
            },
            (2, 2, 2),
            id="among the children of one queue it does not count",
        ),
        pytest.param(
            {"p": DESERVED, "a": {"parent": "p", "holds": 2}, "b": {"parent": "p"}},
            (0, 0, 0),
            id="between two that deserve nothing below one queue nothing is taken",
        ),
        pytest.param({"a": {"holds": 2}, "b": {}}, (0, 0, 0), id="who deserves nothing takes nothing back"),
        pytest.param(
            {"p": {"deserved": cpu(2000)}, "b": {"parent": "p"}, "a": {"holds": 2}},
            (0, 2, 2),
            id="unless one above it may claim for it",
        ),
        pytest.param(
            {"p": {"guarantee": cpu(2000)}, "a": {"parent": "p", "holds": 3}, "b": DESERVED},
            (1, 1, 1),
            id="a parent keeps what it is guaranteed, however far up is looked",
        ),
        pytest.param(
            {"p": {"guarantee": cpu(3000)}, "a": {"parent": "p", "holds": 3}, "b": {"parent": "p", **DESERVED}},
            (3, 3, 3),
            id="which its own children may take from each other",
        ),
        pytest.param(
            {"g": DESERVED, "p": {"parent": "g"}, "a": {"parent": "p", "holds": 3}, "b": {"deserved": cpu(9000)}},
            (0, 0, 0),
            id="a parent's parent keeps what it deserves as well",
        ),
        pytest.param(
            {"a": {"parent": "gone", "holds": 3}, "b": DESERVED}, (0, 0, 0), id="a queue left out is left alone"
        ),
        pytest.param({"a": {"holds": 3}, "b": {"parent": "gone"}}, (0, 0, 0), id="and takes nothing"),
        pytest.param(
            {"a": {"holds": 3, "deserved": cpu(2000)}, "c": {"parent": "a", "holds": 1}, "b": DESERVED},
            (2, 2, 2),
            id="a queue with children is taken from by what all below it hold",
        ),
    ],
)
def test_what_is_taken_by_how_far_up_is_looked(queues: Tree, counts: tuple[int, ...]) -> None:
    for level, count in enumerate(counts):
        world = Quotas(hierarchy=True, level=level)
        for name, fields in queues.items():
            world.queue(name, **fields)
        asks, found = world.asking("b"), candidates(world, "a")

        assert len(world.victims(asks, *found)) == count, f"level {level}"
        assert world.votes(asks).rules_out(world.cluster.jobs["ns/a-holds"]) is (count == 0), f"level {level}"


# -- properties -----------------------------------------------------------------------------------------------------

amounts = st.one_of(st.just(()), st.integers(0, 6).map(lambda cores: cpu(1000 * cores)))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Quotas, Task]:
    """Queues in a small tree or side by side that hold tasks of different kinds, and a task that asks."""
    world = Quotas(hierarchy=draw(st.booleans()), level=draw(st.integers(0, 2)))
    shapes = [world.core, world.cluster.shape(cpu=500, memory=20), world.cluster.shape(cpu=0, memory=30)]
    names = ["a", "b", "c", "d", "e"]
    for at, name in enumerate(names):
        deserved: Amounts = draw(amounts)
        if draw(st.booleans()):
            deserved = (*deserved, *memory(draw(st.integers(0, 60))))
        parent = draw(st.sampled_from(["", "", *names[:at], "gone"]))
        world.queue(name, deserved=deserved, guarantee=draw(amounts), parent=parent)
        for number in range(draw(st.integers(0, 3))):
            world.holding(name, f"{name}{number}", draw(st.sampled_from(shapes)))
    return world, world.asking(draw(st.sampled_from(names)), draw(st.sampled_from(shapes)))


@given(worlds())
def test_a_guarantee_that_is_held_stays_held(found: tuple[Quotas, Task]) -> None:
    world, asks = found
    running = candidates(world, *world.cluster.queues)
    gone = {task.uid: task for task in world.votes(asks).agreed(running) or ()}

    for name, queue in world.cluster.queues.items():
        taken = [task for task in candidates(world, name) if task.uid in gone]
        if not taken or world.problem(name):
            continue
        for column, amount in queue.guarantee:
            less = sum(dict(task.shape.request).get(column, 0) for task in taken)
            assert not less or world.opening.usage.queue(name).get(column, 0) - less >= amount


@given(worlds(), st.data())
def test_what_is_known_before_looking_is_so_and_stays_so(found: tuple[Quotas, Task], data: st.DataObject) -> None:
    world, asks = found
    opening, plugin = world.opening, world.plugin
    running = candidates(world, *world.cluster.queues)
    kept = {key for key in {task.job for task in running} if world.votes(asks).rules_out(opening.jobs[key])}
    ledger = Ledger(opening.nodes, opening.usage, [plugin])

    for task in data.draw(st.permutations(running)):
        assert not kept & {victim.job for victim in world.votes(asks).agreed(running) or ()}
        ledger.evict(opening.jobs[task.job], task, 0, EvictionCause("reclaim", asks.job))
        running.remove(task)
