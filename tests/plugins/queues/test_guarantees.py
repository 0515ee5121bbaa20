"""What queues are guaranteed stays free for them: whoever asks, whatever places, flat and in a tree."""

from __future__ import annotations

import pytest

from tests.plugins.quota_world import Quotas, cpu, pods
from tests.support.plans import plan
from tests.support.taking import Busy, evicted, taking
from vsched.framework.policy import Policy
from vsched.framework.refusal import Shortage
from vsched.model.amounts.resources import Amounts
from vsched.plugins.words.queues import guarantee_kept

ACTIONS = "enqueue, allocate, backfill"
FLAT = taking(ACTIONS, "gang capacity", "predicates")
TREE = taking(ACTIONS, "gang capacity-H", "predicates")
WEIGHTS = taking(ACTIONS, "gang proportion", "predicates")
FROM_A = "queue a guarantee=cpu:2 weight=2\nqueue b weight=4\nqueue c weight=4"


def six_jobs(*queues: str) -> str:
    """Six jobs of one core in each queue."""
    return "\n".join(f"job ns/{queue}{at} queue={queue} pods=1 cpu=1" for at in range(6) for queue in queues)


@pytest.mark.parametrize("policy", [FLAT, TREE, WEIGHTS], ids=["capacity", "capacity in a tree", "proportion"])
@pytest.mark.parametrize(
    ("queues", "asking", "bound"),
    [
        pytest.param(FROM_A, six_jobs("b", "c"), 8, id="several queues together leave it free"),
        pytest.param(FROM_A, six_jobs("a", "b", "c"), 10, id="its own queue takes it"),
        pytest.param(
            f"{FROM_A}\njob x/a queue=a phase=Running\npods x/a 1 cpu=1 on=n1",
            six_jobs("b", "c"),
            8,
            id="what it holds counts for it",
        ),
        pytest.param(
            f"{FROM_A}\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1",
            six_jobs("b", "c"),
            6,
            id="and nothing is kept once it holds all of it",
        ),
        pytest.param(
            f"{FROM_A}\nqueue d guarantee=cpu:1\njob x/d queue=d phase=Running\npods x/d 3 cpu=1 on=n1",
            six_jobs("b", "c"),
            5,
            id="what another one holds beyond its guarantee is no part of it",
        ),
        pytest.param(f"{FROM_A}\nqueue d guarantee=cpu:3", six_jobs("b", "c", "d"), 8, id="several guarantees"),
        pytest.param(
            "queue a guarantee=cpu:8\nqueue d guarantee=cpu:9\nqueue b\nqueue c",
            six_jobs("b", "c"),
            0,
            id="guarantees of more than there is leave nothing to others",
        ),
        pytest.param(
            "queue a guarantee=cpu:8\nqueue d guarantee=cpu:9\nqueue b\nqueue c",
            six_jobs("a", "d"),
            10,
            id="and each may take its own",
        ),
        pytest.param(
            f"{FROM_A}\njob x/lost queue=gone phase=Running\npods x/lost 3 cpu=1 on=n1",
            six_jobs("b", "c"),
            5,
            id="what is on the nodes counts, whosever it is",
        ),
        pytest.param("queue a guarantee=cpu:6 state=Closed\nqueue b", six_jobs("b"), 4, id="a closed queue keeps it"),
    ],
)
def test_what_a_queue_is_guaranteed_stays_free(policy: Policy, queues: str, asking: str, bound: int) -> None:
    assert len(plan(f"node n1 cpu=10\n{queues}\n{asking}", policy).order) == bound


@pytest.mark.parametrize(
    ("queues", "asking", "bound"),
    [
        pytest.param(
            "queue p capability=cpu:6\nqueue a parent=p guarantee=cpu:2\nqueue b parent=p\nqueue c parent=p",
            six_jobs("b", "c"),
            4,
            id="among the children of a queue",
        ),
        pytest.param(
            "queue p capability=cpu:6\nqueue a parent=p guarantee=cpu:2\nqueue b parent=p\nqueue c parent=p\nqueue d",
            six_jobs("b", "c", "d"),
            8,
            id="and no more than once above",
        ),
        pytest.param(
            "queue p\nqueue a parent=p guarantee=cpu:2\nqueue b\nqueue c", six_jobs("b", "c"), 8, id="from all others"
        ),
        pytest.param(
            "queue p guarantee=cpu:4\nqueue a parent=p\nqueue b\nqueue c", six_jobs("b", "c"), 6, id="for a parent"
        ),
        pytest.param(
            "queue p guarantee=cpu:4\nqueue a parent=p guarantee=cpu:2\nqueue d parent=p\nqueue b\nqueue c",
            six_jobs("b", "c", "d"),
            8,
            id="for a parent, whose other children may take what is beyond the child's",
        ),
        pytest.param(
            "queue p capability=cpu:1\nqueue a parent=p guarantee=cpu:3\nqueue b\nqueue c",
            six_jobs("b", "c"),
            9,
            id="no more than the parent may hold",
        ),
        pytest.param(
            "queue root capability=cpu:7\n" + FROM_A, six_jobs("b", "c"), 5, id="within what the root may hold"
        ),
    ],
)
def test_in_a_tree_it_stays_free_at_each_level(queues: str, asking: str, bound: int) -> None:
    assert len(plan(f"node n1 cpu=10\n{queues}\n{asking}", TREE).order) == bound


@pytest.mark.parametrize("policy", [FLAT, TREE, WEIGHTS], ids=["capacity", "capacity in a tree", "proportion"])
def test_slots_that_are_guaranteed_stay_free_of_pods_that_ask_for_nothing_else(policy: Policy) -> None:
    text = "node n1 cpu=9 pods=5\nqueue a guarantee=pods:2\nqueue b\nqueue c\n" + "\n".join(
        f"job ns/{queue} queue={queue} min=0 pods=4" for queue in "bc"
    )

    assert len(plan(text, policy).order) == 3


@pytest.mark.parametrize(
    ("world", "request_", "refusal"),
    [
        pytest.param(
            Quotas().queue("a", guarantee=cpu(3000)).queue("b", 2).queue("c", 4),
            cpu(2000),
            guarantee_kept(["a"], "", Shortage("cpu", 6000, 2000, 7000)),
            id="for whom, and how much is held of the rest",
        ),
        pytest.param(
            Quotas().queue("a", guarantee=cpu(3000)).queue("b", 2).queue("c", 4), cpu(1000), "", id="the rest is free"
        ),
        pytest.param(
            Quotas().queue("a", 1, guarantee=cpu(3000)).queue("b", 2).queue("c", 4, guarantee=cpu(1000)),
            cpu(2000),
            guarantee_kept(["a"], "", Shortage("cpu", 7000, 2000, 8000)),
            id="a queue that holds what it is guaranteed is not named",
        ),
        pytest.param(
            Quotas().queue("a", guarantee=cpu(2000)).queue("b", 2).queue("c", 1, guarantee=cpu(2000)).queue("d", 3),
            cpu(2000),
            guarantee_kept(["a", "c"], "", Shortage("cpu", 6000, 2000, 7000)),
            id="all others are",
        ),
        pytest.param(
            Quotas(hierarchy=True)
            .queue("p", capability=cpu(6000))
            .queue("a", parent="p", guarantee=cpu(2000))
            .queue("b", parent="p")
            .queue("c", 3, parent="p"),
            cpu(2000),
            guarantee_kept(["a"], "p", Shortage("cpu", 3000, 2000, 4000)),
            id="in a tree, where",
        ),
        pytest.param(
            Quotas().queue("a", guarantee=pods(5)).queue("b").queue("c", 4), cpu(6000), "", id="of its resource alone"
        ),
    ],
)
def test_the_refusal_says_for_whom_room_is_kept(world: Quotas, request_: Amounts, refusal: str) -> None:
    assert world.refusal("b", request_) == refusal


@pytest.mark.parametrize("hierarchy", [False, True], ids=["flat", "in a tree"])
def test_what_is_placed_and_reserved_counts_at_once(hierarchy: bool) -> None:
    world = Quotas(hierarchy=hierarchy).queue("a", guarantee=cpu(3000), wants=3).queue("b").queue("c", 4, wants=2)
    assert world.refusal("b", cpu(3000)) == ""

    world.place("c-wants", 2)
    assert world.refusal("b", cpu(2000)) == guarantee_kept(["a"], "", Shortage("cpu", 6000, 2000, 7000))
    waits = world.asking("c")
    world.plugin.reserve(world.found("c"), waits, 1)
    assert world.refusal("b", cpu(1000)) == guarantee_kept(["a"], "", Shortage("cpu", 7000, 1000, 7000))
    world.plugin.reserve(world.found("c"), waits, -1)
    world.place("a-wants", 3)
    assert world.refusal("b", cpu(1000)) == ""


BORROWED = """
    node n1 cpu=5
    node n2 cpu=5
    queue a guarantee=cpu:2 weight=2
    queue b deserved=cpu:4 weight=4
    queue c weight=4
    job x/c queue=c min=0 phase=Running
    pods x/c 5 cpu=1 on=n1
    pods x/c 5 cpu=1 on=n2
"""
"""Queue c holds what a is guaranteed: as found, for the guarantee is new, or nodes were lost."""


@pytest.mark.parametrize("divider", ["capacity", "capacity-H"])
@pytest.mark.parametrize("actions", ["allocate, reclaim", "reclaim, allocate"])
def test_where_it_is_borrowed_already_it_is_kept_free_of_what_leaves_first(divider: str, actions: str) -> None:
    asking = "job x/b0 queue=b phase=Inqueue pods=1 cpu=1\njob x/b1 queue=b phase=Inqueue pods=1 cpu=1"
    world = Busy(BORROWED + asking, taking(actions, "gang conformance", f"predicates {divider}"), terminating=2)

    assert evicted(world.cycle()) == ["c.4", "c.3", "c.2", "c.1"], "three for the first, one for the second"
    bound = [bind.name for report in (world.cycle() for _ in range(4)) for bind in report.binds]
    assert bound == ["b0.0", "b1.0"]

    world.change("job x/a queue=a min=2 phase=Inqueue pods=2 cpu=1", "ADDED")
    world.change("job x/late queue=c phase=Inqueue pods=1 cpu=1 age=9", "ADDED")
    report = world.cycle()
    assert (evicted(report), [bind.name for bind in report.binds]) == ([], ["a.0", "a.1"])
