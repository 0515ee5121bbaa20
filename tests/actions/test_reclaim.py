"""reclaim: queues take back what others hold beyond what they deserve, and no more than is of use."""

from __future__ import annotations

import pytest

from tests.support.plans import plan
from tests.support.taking import Busy, evicted, kept, taking
from vsched.framework.policy import Policy

PROPORTION = taking("allocate, reclaim", "gang conformance proportion", "predicates")
CAPACITY = taking("allocate, reclaim", "gang conformance capacity pdb", "predicates")
TREE = taking("allocate, reclaim", "gang conformance capacity-H", "predicates")
STOCK = taking("allocate, reclaim", "priority gang conformance", "predicates proportion")
MINIMA = taking("allocate, reclaim", "gang", "predicates capacity-R")
FALLING_THROUGH = taking("allocate, reclaim", "gang", "capacity", "predicates")
AS_IN_VOLCANO = taking("allocate, reclaim", "gang", "capacity", "predicates", victims="reference")
STOCK_AS_IN_VOLCANO = taking(
    "allocate, reclaim", "priority gang conformance", "predicates proportion", victims="reference"
)
FULL = "queue a\nqueue b\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1"
TWO_AND_TWO = """
    queue b parent=dept deserved=cpu:1
    queue c parent=root deserved=cpu:1
    job x/a queue=a phase=Running
    pods x/a 2 cpu=1 on=n1
    job x/c queue=c phase=Running
    pods x/c 2 cpu=1 on=n1
    job x/b queue=b pods=1 cpu=1
"""
WITHIN_ITS_SHARE = """
    queue a priority=5
    queue b
    queue c weight=30
    job x/a queue=a phase=Running
    pods x/a 2 cpu=1 on=n1
    job x/c queue=c phase=Running
    pods x/c 2 cpu=1 on=n1
"""


@pytest.mark.parametrize(
    ("policy", "text", "victims"),
    [
        pytest.param(
            PROPORTION,
            f"{FULL}\njob x/b queue=b pods=1 cpu=1",
            ["a.3"],
            id="from a queue that holds more than its weight gives it",
        ),
        pytest.param(
            PROPORTION,
            "queue a\nqueue b\njob x/a queue=a phase=Running\npods x/a 2 cpu=1 on=n1\njob x/b queue=b phase=Running\n"
            "pods x/b 2 cpu=1 on=n1\njob x/more queue=b pods=1 cpu=1",
            [],
            id="an overused queue takes nothing",
        ),
        pytest.param(
            PROPORTION,
            "queue a reclaimable=false\nqueue b\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            [],
            id="not from a queue that is not reclaimable",
        ),
        pytest.param(
            PROPORTION,
            f"{FULL}\njob x/b queue=b pods=1 cpu=1 never",
            [],
            id="not for a pod whose preemption policy is Never",
        ),
        pytest.param(
            PROPORTION,
            f"{FULL} volcano.sh/preemptable=false\njob x/b queue=b pods=1 cpu=1",
            [],
            id="not from pods that may not be preempted",
        ),
        pytest.param(
            PROPORTION,
            f"{FULL} bound\njob x/b queue=b pods=1 cpu=1",
            [],
            id="not from pods that have not begun to run",
        ),
        pytest.param(
            PROPORTION,
            "queue a\nqueue b state=Closed\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            [],
            id="a closed queue takes nothing",
        ),
        pytest.param(
            PROPORTION,
            "queue a state=Closed\nqueue b\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            ["a.3"],
            id="but gives back",
        ),
        pytest.param(
            CAPACITY,
            "queue a deserved=cpu:3\nqueue b deserved=cpu:1\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b min=2 pods=2 cpu=1",
            [],
            id="a gang that deserves a part of what it needs takes nothing",
        ),
        pytest.param(
            CAPACITY,
            "queue a deserved=cpu:2\nqueue b deserved=cpu:2\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b min=2 pods=2 cpu=1",
            ["a.3", "a.2"],
            id="down to what a queue deserves",
        ),
        pytest.param(
            CAPACITY,
            "queue a guarantee=cpu:3\nqueue b deserved=cpu:2\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            ["a.3"],
            id="down to what a queue is guaranteed",
        ),
        pytest.param(
            CAPACITY,
            "queue a guarantee=cpu:4\nqueue b deserved=cpu:2\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            [],
            id="and not below",
        ),
        pytest.param(
            CAPACITY,
            "queue a\nqueue b deserved=cpu:4 capability=cpu:1\njob x/a queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=2",
            [],
            id="not past its own capability",
        ),
        pytest.param(
            CAPACITY,
            "queue a\nqueue b deserved=cpu:2\npdb x/g selector=job:a allowed=1\njob x/a queue=a phase=Running\n"
            "pods x/a 4 cpu=1 on=n1\njob x/b queue=b pods=1 cpu=1",
            ["a.3"],
            id="as many as a disruption budget allows",
        ),
        pytest.param(
            CAPACITY,
            "queue a\nqueue b deserved=cpu:2\npdb x/g selector=job:a allowed=0\njob x/a queue=a phase=Running\n"
            "pods x/a 3 cpu=1 on=n1\njob x/c queue=a age=9 phase=Running\npods x/c 1 cpu=1 on=n1\n"
            "job x/extra queue=a age=9 phase=Running\npods x/extra 1 on=n1\njob x/b queue=b min=1 pods=1 cpu=1",
            [],
            id="nobody where the others are at their minimum",
        ),
        pytest.param(
            CAPACITY,
            "queue a\nqueue b deserved=cpu:2\npdb x/g selector=job:a allowed=0\njob x/a queue=a phase=Running\n"
            "pods x/a 2 cpu=1 on=n1\njob x/c queue=a age=9 phase=Running\npods x/c 2 cpu=1 on=n1\n"
            "job x/b queue=b min=1 pods=1 cpu=1",
            ["c.1"],
            id="another one where a disruption budget keeps the first",
        ),
        pytest.param(
            MINIMA,
            "queue a\nqueue b deserved=cpu:2\njob x/a min=4 queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            [],
            id="a gang's minimum is protected where gang is asked",
        ),
        pytest.param(
            FALLING_THROUGH,
            "queue a\nqueue b deserved=cpu:2\njob x/a min=4 queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            [],
            id="though a later tier names its pods",
        ),
        pytest.param(
            AS_IN_VOLCANO,
            "queue a\nqueue b deserved=cpu:2\njob x/a min=4 queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
            "job x/b queue=b pods=1 cpu=1",
            ["a.3"],
            id="but as in Volcano, a tier that agrees to nobody leaves it to the next",
        ),
        pytest.param(
            PROPORTION,
            f"{WITHIN_ITS_SHARE}\njob x/b queue=b pods=1 cpu=500m",
            ["a.1"],
            id="from the queue that holds more than it deserves, though its priority is higher",
        ),
        pytest.param(
            STOCK,
            f"{WITHIN_ITS_SHARE}\njob x/b queue=b pods=1 cpu=500m",
            ["a.1"],
            id="also where gang and conformance stand in a tier before proportion",
        ),
        pytest.param(
            STOCK_AS_IN_VOLCANO,
            f"{WITHIN_ITS_SHARE}\njob x/b queue=b pods=1 cpu=500m",
            ["c.1"],
            id="but as in Volcano, the order of queues alone decides then",
        ),
        pytest.param(
            TREE,
            f"queue dept parent=root capability=cpu:2\nqueue a parent=dept deserved=cpu:1\n{TWO_AND_TWO}",
            ["a.1"],
            id="from the one below the same parent where only that makes room for the parent",
        ),
        pytest.param(
            TREE,
            f"queue dept parent=root\nqueue a parent=dept priority=5 deserved=cpu:1\n{TWO_AND_TWO}",
            ["a.1"],
            id="from the nearest in the tree first, whatever the order of queues",
        ),
    ],
)
def test_what_is_taken_from_whom(policy: Policy, text: str, victims: list[str]) -> None:
    asking = text.replace(" pods=", " phase=Inqueue pods=")

    assert evicted(Busy(f"node n1 cpu=4\n{asking}", policy).cycle()) == victims


def test_a_parent_with_room_only_among_its_own_is_not_judged_by_what_others_could_free() -> None:
    text = """
        node n1 cpu=4
        node n2 cpu=8
        queue dept parent=root capability=cpu:4
        queue a parent=dept deserved=cpu:2
        queue b parent=dept deserved=cpu:2
        queue c parent=root deserved=cpu:1
        job x/b queue=b phase=Running
        pods x/b 4 cpu=1 on=n1
        job x/c queue=c phase=Running
        pods x/c 8 cpu=1 on=n2
        job x/a queue=a phase=Inqueue pods=1 cpu=2
    """
    report = Busy(text, TREE).cycle()

    assert evicted(report) == ["b.3", "b.2"]
    assert kept(report) == {"a.0": "n1"}


def test_an_overused_queue_takes_nothing_not_even_for_a_pod_that_asks_for_a_slot_alone() -> None:
    text = """
        node n1 cpu=4 pods=3
        node n2 cpu=0 pods=1
        queue a
        queue b
        job x/a queue=a phase=Running
        pods x/a 1 cpu=2 on=n1
        pods x/a 1 on=n2
        job x/b queue=b phase=Running
        pods x/b 2 cpu=1 on=n1
        job x/more queue=b phase=Inqueue pods=1 selector=kubernetes.io/hostname:n2
    """
    report = Busy(text, STOCK).cycle()

    assert report.queues["b"].overused
    assert evicted(report) == []


ORDER = """
    node n1 cpu=6
    queue a priority=2
    queue b priority=1
    queue c deserved=cpu:6
    job x/a1 queue=a phase=Running age=9
    pods x/a1 2 cpu=1 on=n1
    job x/a2 queue=a phase=Running age=5
    pods x/a2 2 cpu=1 on=n1
    job x/b queue=b phase=Running
    pods x/b 2 cpu=1 on=n1
    job x/c queue=c min={count} phase=Inqueue pods={count} cpu=1
"""


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6])
def test_the_last_queue_then_the_last_job_then_the_last_pod_goes_first(count: int) -> None:
    policy = taking("allocate, reclaim", "gang-PR capacity", "predicates")
    report = Busy(ORDER.format(count=count), policy).cycle()

    assert evicted(report) == ["b.1", "b.0", "a2.1", "a2.0", "a1.1", "a1.0"][:count]


GROWING = """
    node n1 cpu=16 memory=64Gi
    job x/a min=1 queue=a phase=Running
    pods x/a 2 cpu=6 memory=1Gi on=n1
    job x/b min=1 queue=b phase=Running
    pods x/b 4 cpu=1 memory=1Gi on=n1
"""
ONE_MORE = "pods x/b 1 cpu=1 memory=1Gi"
DESERVES_FIVE = "queue b deserved=cpu:5"


@pytest.mark.parametrize(
    ("policy", "text", "victims"),
    [
        pytest.param(
            CAPACITY,
            f"queue a deserved=cpu:11\n{DESERVES_FIVE}\n{ONE_MORE}",
            [],
            id="one more pod takes no queue below what it deserves",
        ),
        pytest.param(
            CAPACITY,
            f"queue a deserved=cpu:7\n{DESERVES_FIVE}\n{ONE_MORE}",
            [],
            id="not by one core",
        ),
        pytest.param(
            CAPACITY,
            f"queue a deserved=cpu:6\n{DESERVES_FIVE}\n{ONE_MORE}",
            ["a.1"],
            id="it takes what the queue holds beyond that",
        ),
        pytest.param(
            CAPACITY,
            f"queue a deserved=cpu:11\n{DESERVES_FIVE}\njob x/new queue=b pods=1 cpu=1 memory=1Gi",
            ["a.1"],
            id="but a job that lacks its minimum may take the last victim",
        ),
        pytest.param(
            CAPACITY,
            f"queue a deserved=cpu:6,memory:9Gi\n{DESERVES_FIVE}\n{ONE_MORE}",
            ["a.1"],
            id="what its node does not lack does not count",
        ),
        pytest.param(
            CAPACITY,
            f"queue a deserved=cpu:8\n{DESERVES_FIVE}\n{ONE_MORE}\nqueue c\njob x/c queue=c min=0 phase=Running\n"
            "node n2 cpu=6 memory=8Gi\npods x/c 1 cpu=6 on=n2",
            ["c.0"],
            id="it takes from the next queue in place of that",
        ),
        pytest.param(
            TREE,
            f"queue p deserved=cpu:11\nqueue a parent=p deserved=cpu:6\n{DESERVES_FIVE}\n{ONE_MORE}",
            [],
            id="nor a queue above it",
        ),
        pytest.param(
            TREE,
            f"queue p deserved=cpu:6\nqueue a parent=p deserved=cpu:6\n{DESERVES_FIVE}\n{ONE_MORE}",
            ["a.1"],
            id="in a tree, too, what all hold beyond that",
        ),
        pytest.param(
            PROPORTION, f"queue a weight=11\nqueue b weight=5\n{ONE_MORE}", [], id="nor below what its weight gives it"
        ),
        pytest.param(
            taking("allocate, reclaim", "gang proportion", "predicates", victims="reference"),
            f"queue a weight=11\nqueue b weight=5\n{ONE_MORE}",
            [],
            id="nor where tiers agree as in Volcano",
        ),
    ],
)
def test_growth_beyond_the_minimum_leaves_other_queues_what_they_deserve(
    policy: Policy, text: str, victims: list[str]
) -> None:
    asking = text.replace(" pods=", " phase=Inqueue pods=")

    assert evicted(Busy(f"{GROWING}\n{asking}", policy).cycle()) == victims


EIGHT_AND_SEVEN = """
    node n1 cpu=15
    queue a {a}
    queue b {b}
    queue c deserved=cpu:8
    job x/a queue=a phase=Running
    pods x/a 8 cpu=1 on=n1
    job x/b queue=b phase=Running
    pods x/b 7 cpu=1 on=n1
    {asking}
"""
SIX_JOBS = "\n".join(f"job x/c{number} queue=c phase=Inqueue pods=1 cpu=1" for number in range(6))
SIX_PODS = "job x/c queue=c min=6 phase=Inqueue pods=6 cpu=1"
ONE_POD = "job x/c queue=c phase=Inqueue pods=1 cpu=6"
IN_TURN = ["a.7", "b.6", "a.6", "b.5", "a.5", "b.4"]


@pytest.mark.parametrize("asking", [SIX_JOBS, SIX_PODS, ONE_POD], ids=["six jobs", "a gang of six", "one pod"])
@pytest.mark.parametrize(
    ("policy", "a", "b", "victims"),
    [
        pytest.param(CAPACITY, "deserved=cpu:2", "deserved=cpu:2", IN_TURN, id="equal amounts"),
        pytest.param(
            CAPACITY,
            "deserved=cpu:2",
            "deserved=cpu:4",
            ["a.7", "a.6", "a.5", "a.4", "a.3", "b.6"],
            id="the larger ratio of held to deserved first",
        ),
        pytest.param(TREE, "deserved=cpu:2", "deserved=cpu:2", IN_TURN, id="siblings in a tree"),
        pytest.param(
            TREE,
            "deserved=cpu:2 parent=p\nqueue p deserved=cpu:2",
            "deserved=cpu:2 parent=r\nqueue r deserved=cpu:2",
            IN_TURN,
            id="queues below different parents",
        ),
        pytest.param(
            taking("allocate, reclaim", "gang conformance capacity eviction-cost", "predicates"),
            "deserved=cpu:2",
            "deserved=cpu:2",
            IN_TURN,
            id="where evictions have a cost",
        ),
    ],
)
def test_victims_come_from_queues_in_turn_by_present_shares(
    policy: Policy, a: str, b: str, victims: list[str], asking: str
) -> None:
    report = Busy(EIGHT_AND_SEVEN.format(a=a, b=b, asking=asking), policy).cycle()

    assert evicted(report) == victims


@pytest.mark.parametrize(
    ("text", "victims", "places"),
    [
        pytest.param(
            "node n2 cpu=1\njob x/b queue=b min=1 phase=Inqueue pods=1 cpu=1", [], {}, id="nobody where there is room"
        ),
        pytest.param(
            "node n2 cpu=1\njob x/b queue=b min=2 phase=Inqueue pods=2 cpu=1",
            ["a.3"],
            {"b.0": "n2", "b.1": "n1"},
            id="idle room first",
        ),
        pytest.param(
            "job x/b queue=b min=5 phase=Inqueue pods=5 cpu=1", [], {}, id="nobody where all of it is not enough"
        ),
        pytest.param(
            "node n2 cpu=2\njob x/big queue=a phase=Running min=0\npods x/big 1 cpu=2 on=n2\n"
            "job x/b queue=b min=1 phase=Inqueue pods=1 cpu=2 selector=kubernetes.io/hostname:n2",
            ["big.0"],
            {"b.0": "n2"},
            id="only where the job may run",
        ),
    ],
)
def test_nobody_leaves_in_vain(text: str, victims: list[str], places: dict[str, str]) -> None:
    report = Busy(
        "node n1 cpu=4\nqueue a\nqueue b deserved=cpu:9\njob x/a min=0 queue=a phase=Running\npods x/a 4 cpu=1 on=n1\n"
        + text,
        CAPACITY,
    ).cycle()

    assert evicted(report) == victims
    assert kept(report) == places


@pytest.mark.parametrize(
    ("large", "victims"),
    [
        pytest.param(3, ["large.0"], id="the second victim alone leaves room for all three pods"),
        pytest.param(2, ["small.0", "large.0"], id="the second victim leaves room for two of three pods"),
    ],
)
def test_a_victim_stays_where_a_later_one_for_the_same_job_is_enough(large: int, victims: list[str]) -> None:
    """The job needs one pod, and its queue deserves three: room for them is made one by one."""
    text = f"""
        class high 5
        node n1 cpu={2 + large}
        queue a
        queue b deserved=cpu:3
        job x/small min=0 queue=a phase=Running
        pods x/small 1 cpu=2 on=n1
        job x/large min=0 queue=a phase=Running class=high
        pods x/large 1 cpu={large} on=n1
        job x/b min=1 queue=b phase=Inqueue pods=3 cpu=1
    """
    world = Busy(text, taking("allocate, reclaim", "priority gang conformance capacity", "predicates"))
    assert evicted(world.cycle()) == victims
    for _ in range(2):
        assert not world.cycle().evictions
    assert [world.task(f"b.{number}").node for number in range(3)] == ["n1"] * 3


def test_what_stays_after_all_takes_room_that_others_then_lack() -> None:
    """Either small pod alone could stay beside the large one's room; both cannot."""
    text = """
        class high 5
        node n1 cpu=4
        queue a
        queue b deserved=cpu:3
        job x/small min=0 queue=a phase=Running
        pods x/small 2 cpu=1 on=n1
        job x/large min=0 queue=a phase=Running class=high
        pods x/large 1 cpu=2 on=n1
        job x/b min=1 queue=b phase=Inqueue pods=3 cpu=1
    """
    world = Busy(text, taking("allocate, reclaim", "priority gang conformance capacity", "predicates"))

    assert evicted(world.cycle()) == ["small.1", "large.0"]


def test_a_gang_that_others_leave_for_keeps_the_idle_room_of_its_minimum() -> None:
    """Its master has idle room; a worker takes from others. A job that allocate asks first would take the master's."""
    text = """
        class high 5
        node n0
        node n1
        queue q
        job x/large
        pods x/large 1 cpu=3 on=n1
        job x/other
        pods x/other 2 cpu=1 on=n0
        job x/gang queue=q phase=Running roles=master:1,worker:0
        pods x/gang 1 cpu=1 role=master
        pods x/gang 1 cpu=1 role=worker
        job x/first queue=q phase=Inqueue class=high
        pods x/first 3 cpu=1
    """
    policy = taking("reclaim, allocate", "priority gang conformance proportion", "drf predicates nodeorder binpack")
    world = Busy(text, policy)
    report = world.cycle()
    assert evicted(report) == ["other.1"]
    assert dict(kept(report)).keys() >= {"gang.0", "gang.1"}
    world.cycle()
    assert world.task("gang.0").node
    assert world.task("gang.1").node


def test_a_gang_for_which_others_left_grows_in_the_next_session() -> None:
    """One small pod leaves for its minimum. The large one that leaves for more would have been enough for both."""
    text = """
        node n0 cpu=7 memory=64Gi
        queue a
        queue b weight=2
        job x/one min=0 queue=a phase=Running
        pods x/one 1 cpu=1 on=n0
        job x/most min=0 queue=a phase=Running
        pods x/most 2 cpu=3 on=n0
        job x/b queue=b min=1 phase=Inqueue
        pods x/b 4 cpu=1
    """
    world = Busy(text, taking("allocate, gangreclaim, reclaim", "priority gang-PR", "predicates proportion"))
    assert [evicted(world.cycle()) for _ in range(3)] == [["one.0"], ["most.1"], []]
    assert all(world.task(f"b.{number}").node for number in range(4))


def test_each_job_keeps_one_of_its_victims_whatever_others_of_its_queue_take() -> None:
    """The large pod leaves room for all: but only what is left for a job keeps its nodes for it."""
    text = """
        class high 5
        node n1 cpu=5
        queue a
        queue b deserved=cpu:3
        job x/small min=0 queue=a phase=Running
        pods x/small 2 cpu=1 on=n1
        job x/large min=0 queue=a phase=Running class=high
        pods x/large 1 cpu=3 on=n1
        job x/b min=2 queue=b phase=Inqueue pods=2 cpu=1 age=9
        job x/c min=1 queue=b phase=Inqueue pods=1 cpu=1
    """
    world = Busy(text, taking("allocate, reclaim", "priority gang conformance capacity", "predicates"))

    assert evicted(world.cycle()) == ["small.1", "large.0"]


@pytest.mark.parametrize("policy", [CAPACITY, TREE, PROPORTION, STOCK], ids=["capacity", "tree", "proportion", "stock"])
@pytest.mark.parametrize(
    ("guarantee", "victims"),
    [
        pytest.param("cpu:3", [], id="a pod that its queue needs for its guarantee stays"),
        pytest.param("cpu:2", ["a.1"], id="one that it does not need leaves"),
        pytest.param("memory:1Gi", ["a.1"], id="a guarantee of something else keeps no pod"),
    ],
)
def test_no_queue_falls_below_its_guarantee_by_one_large_pod(
    policy: Policy, guarantee: str, victims: list[str]
) -> None:
    """It holds four cores of the three, and each of its pods has two."""
    text = f"""
        node n1 cpu=4
        queue a guarantee={guarantee}
        queue b deserved=cpu:2 weight=9
        job x/a queue=a min=0 phase=Running
        pods x/a 2 cpu=2 on=n1
        job x/b queue=b phase=Inqueue pods=1 cpu=1
    """
    assert evicted(Busy(text, policy).cycle()) == victims


@pytest.mark.parametrize(("guarantee", "victims"), [(3, []), (2, ["a.1"])], ids=["it needs the pod", "it does not"])
def test_no_queue_above_falls_below_its_guarantee(guarantee: int, victims: list[str]) -> None:
    text = f"""
        node n1 cpu=4
        queue dept guarantee=cpu:{guarantee}
        queue a parent=dept
        queue b deserved=cpu:2
        job x/a queue=a min=0 phase=Running
        pods x/a 2 cpu=2 on=n1
        job x/b queue=b phase=Inqueue pods=1 cpu=1
    """
    assert evicted(Busy(text, TREE).cycle()) == victims


def test_a_queue_is_asked_again_for_every_job() -> None:
    text = """
        node n1 cpu=4
        queue a
        queue b deserved=cpu:2
        job x/a min=0 queue=a phase=Running
        pods x/a 4 cpu=1 on=n1
        job x/b1 queue=b phase=Inqueue age=3 pods=1 cpu=1
        job x/b2 queue=b phase=Inqueue age=2 pods=1 cpu=1
        job x/b3 queue=b phase=Inqueue age=1 pods=1 cpu=1
    """
    report = Busy(text, CAPACITY).cycle()

    assert [eviction.beneficiary for eviction in report.evictions] == ["x/b1", "x/b2"]


@pytest.mark.parametrize("order", ["preempt, reclaim", "reclaim, preempt"])
def test_what_one_action_has_freed_the_other_leaves_alone(order: str) -> None:
    text = """
        class high 9
        node n1 cpu=2
        queue a deserved=cpu:1
        queue b deserved=cpu:1
        job x/a min=1 queue=a phase=Running
        pods x/a 2 cpu=1 on=n1
        job x/best queue=a class=high phase=Inqueue pods=1 cpu=1
        job x/b queue=b phase=Inqueue pods=1 cpu=1
    """
    policy = taking(f"allocate, {order}", "priority gang conformance capacity", "predicates")
    report = Busy(text, policy).cycle()

    assert len(report.evictions) == 1
    assert len({eviction.uid for eviction in report.evictions}) == 1
    assert len(kept(report)) == 1


@pytest.mark.parametrize("actions", ["allocate, reclaim", "allocate, gangreclaim", "allocate, consolidate, reclaim"])
def test_a_job_with_its_minimum_only_grows_whichever_plugin_says_first_that_it_starves(actions: str) -> None:
    """The plugin priority calls a job starving that has pods without a node."""
    text = """
    node n0 cpu=2
    node n1 cpu=3
    node n2 cpu=2
    queue a deserved=cpu:5
    queue b deserved=cpu:7
    job ns/holder min=1 queue=a phase=Running
    pods ns/holder 1 cpu=2 on=n0
    pods ns/holder 1 cpu=2 on=n1
    pods ns/holder 1 cpu=2 on=n2
    job ns/more min=1 queue=b phase=Running
    pods ns/more 1 cpu=1 on=n1
    pods ns/more 1 cpu=1
    """
    assert plan(text, taking(actions, "priority", "capacity predicates", "gang")).reports[0].evictions == ()


def test_room_that_a_larger_pod_left_over_stays_with_the_pod_that_found_it() -> None:
    """The pod after it has another one leave for itself, which would be in vain if the room were given up again."""
    found = plan(
        """
        node n1 cpu=8
        queue a weight=1
        queue b weight=3
        job x/a queue=a phase=Running
        pods x/a 4 cpu=1 on=n1
        pods x/a 1 cpu=2 on=n1
        job x/b queue=b phase=Running
        pods x/b 1 cpu=1 on=n1
        pods x/b 2 cpu=1
        job x/c queue=b phase=Running
        pods x/c 1 cpu=1 on=n1
        pods x/c 1 cpu=1
        """,
        STOCK,
    ).reports[0]

    assert sorted(one.name for one in found.evictions) == ["a.3", "a.4"]
    assert sorted(one.name for one in found.nominations) == ["b.1", "b.2", "c.1"]
