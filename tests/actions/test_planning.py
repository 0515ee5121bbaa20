"""Planned starts and EASY backfill: room is kept for the first job that finds none, and others go before it in time."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_from
from tests.support.start_plans import CLUSTER, POLICY, easy, hours, starts
from vsched.framework.codes import Code
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import (
    A_START,
    RESERVED,
    RESERVED_IN_QUEUE,
    available,
    on_nodes,
    said_of_nodes,
    start_of,
)


def test_a_gang_without_room_starts_when_enough_has_ended() -> None:
    found = plan(CLUSTER, easy())
    assert starts(found) == (60, ("n1", "n2"))
    assert not found.bound


@pytest.mark.parametrize(
    ("job", "bound"),
    [
        pytest.param(f"cpu=1 {hours(30)}", True, id="work that ends in time goes before"),
        pytest.param(f"cpu=1 {hours(60)}", True, id="also work that ends just then"),
        pytest.param(f"cpu=1 {hours(61)}", False, id="work that ends later waits"),
        pytest.param("cpu=1", False, id="work of unknown duration waits"),
    ],
)
def test_who_goes_before(job: str, bound: bool) -> None:
    found = plan(f"{CLUSTER}\njob x/small min=1 pods=1 {job} age=60", easy())
    assert (found.bound == {"small": 1}) is bound
    assert found.jobs["x/small"].ahead_of == ("x/big" if bound else "")
    assert starts(found) == (60, ("n1", "n2"))
    if not bound:
        assert found.jobs["x/small"].code == Code.RESERVED
        kept = RESERVED.replace(A_START, start_of(["x/big at 09:00 UTC"]))
        assert found.message("x/small") == f"{words.NONE_FITS}: {on_nodes([(kept, 2)])}"
        told = available(2, {kept: 2})
        assert found.why("x/small.0") == told


def test_a_job_with_a_planned_start_says_so() -> None:
    text = CLUSTER.replace("started=0", "started=60 age=60").replace("min=2 pods=2", "min=2 pods=2 class=high", 1)
    found = plan(f"class high 1000\n{text}", easy())
    why = f"{words.needs(words.THE_GANG, 2, 2, 0)}: {on_nodes([('Insufficient cpu', 2)])}"
    assert found.message("x/big") == f"{why}; {words.starts_at('08:59 UTC (in 59m)', ['n1', 'n2'], 2)}"
    planned = found.jobs["x/big"].planned
    assert planned is not None
    assert (planned.node_count, planned.ahead) == (2, ("x/long", "x/short"))


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        pytest.param(f"started=600 {hours(60)}", 50, id="what has run for a while ends sooner"),
        pytest.param(
            f"started=7200 {hours(60)}",
            pytest.approx(15.5, abs=0.1),
            id="what has run for too long is taken to run on for a part of that",
        ),
        pytest.param("started=600 deadline=1800", 20, id="a deadline"),
        pytest.param("", None, id="nobody knows"),
    ],
)
def test_when_work_ends(running: str, expected: float | None) -> None:
    text = f"node n1 cpu=4\npods x/long 1 cpu=3 on=n1 {running}\njob x/long min=1\njob x/big min=1 pods=1 cpu=4"
    found = starts(plan(text, easy()))
    assert found == (None if expected is None else (expected, ("n1",)))


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({}, 60, id="by default"),
        pytest.param({"trust": "[learnt, limit]"}, None, id="what work declares need not be trusted"),
        pytest.param({"trust": "[limit]", "unknownDuration": "2h"}, 120, id="what is not trusted is unknown"),
        pytest.param({"reserveFor": "{queues: [default]}"}, 60, id="for its queue"),
        pytest.param({"reserveFor": "{queues: [other]}"}, None, id="for another queue only"),
        pytest.param({"reserveFor": "{minPriority: 1}"}, None, id="its priority is too low"),
        pytest.param({"reserveFor": "{waited: 10m}"}, 60, id="it has waited for long enough"),
        pytest.param({"reserveFor": "{waited: 11m}"}, None, id="it has not"),
    ],
)
def test_arguments(args: dict[str, object], expected: float | None) -> None:
    found = starts(plan(CLUSTER, easy(**args)))
    assert found == (None if expected is None else (expected, ("n1", "n2")))


def test_work_that_leaves_enough_beside_it_goes_before_whatever_its_length() -> None:
    text = f"{CLUSTER.replace('cpu=4 age=600', 'cpu=3 age=600')}\njob x/endless min=3 pods=3 cpu=1 age=60"
    found = plan(text, easy())
    assert starts(found) == (60, ("n1", "n2"))
    assert not found.bound, "two of three would leave enough"
    found = plan(text.replace("min=3 pods=3", "min=2 pods=2"), easy())
    assert found.bound == {"endless": 2}
    assert starts(found) == (60, ("n1", "n2"))


def test_other_nodes_are_free_for_all() -> None:
    found = plan(
        f"{CLUSTER.replace('cpu=4 age=600', 'cpu=4 age=600 selector=kind:big')}".replace(
            "node n1 cpu=4", "node n1 cpu=4 kind=big"
        ).replace("node n2 cpu=4", "node n2 cpu=4 kind=big")
        + "\nnode n3 cpu=4\njob x/endless min=1 pods=1 cpu=4 age=60",
        easy(),
    )
    assert found.bound == {"endless": 1}
    assert found.jobs["x/endless"].ahead_of == ""


def test_depth_says_for_how_many_jobs_room_is_kept() -> None:
    text = f"{CLUSTER}\njob x/next min=1 pods=1 cpu=4 age=500\njob x/last min=1 pods=1 cpu=4 age=400\nnode n3 cpu=4"
    text += f"\njob x/third min=1 age=900\npods x/third 1 cpu=1 on=n3 started=0 {hours(90)}"
    assert [starts(plan(text, easy()), f"x/{job}") for job in ("big", "next", "last")] == [
        (60, ("n1", "n2")),
        None,
        None,
    ]
    found = plan(text, easy(depth=2))
    assert starts(found) == (60, ("n1", "n2"))
    assert starts(found, "x/next") == (90, ("n3",)), "what is kept for the first is not for the second"
    assert starts(found, "x/last") is None


def test_a_gang_that_asks_for_closeness_starts_in_the_first_domain_that_has_room() -> None:
    racks = "\n".join(f"node n{number} cpu=4 example.com/rack=r{number // 3}" for number in range(1, 5))
    ends = "\n".join(
        f"job x/w{number} min=1 age=900\npods x/w{number} 1 cpu=3 on=n{number} started=0 {hours(minutes)}"
        for number, minutes in ((1, 10), (2, 50), (3, 20), (4, 30))
    )
    gang = "job x/big min=2 pods=2 cpu=4 age=600"
    policy = policy_from(
        POLICY.format(args="")
        + "  - name: network-topology-aware\n"
        + "    arguments: {hypernode.labels: [{key: example.com/rack, tierName: rack}]}\n"
    )
    assert starts(plan(f"{racks}\n{ends}\n{gang}", policy)) == (20, ("n1", "n3")), "anywhere"
    assert starts(plan(f"{racks}\n{ends}\n{gang} topology=hard tier=1", policy)) == (30, ("n3", "n4"))


def test_a_job_with_a_planned_start_may_still_evict_others() -> None:
    text = POLICY.format(args="").replace("allocate, backfill", "allocate, preempt, backfill")
    for name in ("gang", "drf"):
        text = text.replace(f"name: {name}", f"name: {name}\n    enablePreemptable: false")
    preempting = policy_from(text)
    text = f"class high 1000\n{CLUSTER}".replace("min=2 pods=2", "min=2 pods=2 class=high")
    found = plan(text, preempting)
    assert sorted(found.evicted[0]) == ["long.0", "short.0"]
    assert starts(found) is None, "it has its places"


LIMITED = f"""
node n1 cpu=8
node n2 cpu=8
queue q capability=cpu:6
job x/long min=1 queue=q age=900
pods x/long 1 cpu=2 on=n1 started=0 {hours(60)}
job x/short min=1 queue=q age=900
pods x/short 1 cpu=2 on=n2 started=0 {hours(20)}
job x/big min=1 pods=1 cpu=4 queue=q age=600
"""
"""There is room for x/big, and its queue may hold it in 20 minutes."""


@pytest.mark.parametrize("divider", ["proportion", "capacity"])
@pytest.mark.parametrize(
    ("job", "bound"),
    [
        pytest.param(f"queue=q cpu=1 {hours(20)}", True, id="work of the queue that ends in time"),
        pytest.param(f"queue=q cpu=1 {hours(21)}", False, id="work of the queue that ends later"),
        pytest.param("cpu=2", True, id="work of another queue, on room that is not kept"),
    ],
)
def test_a_job_that_its_queue_does_not_let_in_starts_when_enough_of_the_queue_has_ended(
    divider: str, job: str, bound: bool
) -> None:
    policy = policy_from(POLICY.format(args="") + f"  - name: {divider}\n")
    found = plan(f"{LIMITED}\njob x/small min=1 pods=1 {job} age=60", policy)
    planned = starts(found)
    assert planned is not None
    assert planned[0] == 20
    assert (found.bound == {"small": 1}) is bound
    if not bound:
        told = said_of_nodes(RESERVED_IN_QUEUE, 2).replace(A_START, start_of(["x/big at 08:20 UTC"]))
        assert told in found.message("x/small")


def test_what_a_queue_may_hold_besides_goes_to_others() -> None:
    policy = policy_from(POLICY.format(args="") + "  - name: proportion\n")
    text = LIMITED.replace("pods=1 cpu=4", "pods=1 cpu=3") + "\njob x/small min=1 pods=1 cpu=1 queue=q age=60"
    found = plan(text, policy)
    planned = starts(found)
    assert planned is not None
    assert planned[0] == 20
    assert found.bound == {"small": 1}, "2 + 3 + 1 of 6 in 20 minutes"
    assert "small" not in plan(text.replace("pods=1 cpu=1", "pods=1 cpu=2"), policy).bound


def test_a_job_that_never_fits_keeps_nothing() -> None:
    found = plan(f"{CLUSTER}\njob x/huge min=3 pods=3 cpu=4 age=800\njob x/small min=1 pods=1 cpu=1 age=60", easy())
    assert starts(found, "x/huge") is None
    assert starts(found) == (60, ("n1", "n2")), "the next gets its planned start"


def test_without_the_plugin_nothing_is_kept() -> None:
    text = f"{CLUSTER}\njob x/small min=1 pods=1 cpu=1 age=60"
    found = plan(text)
    assert found.bound == {"small": 1}
    assert starts(found) is None


def test_a_start_is_planned_in_any_way_that_there_is() -> None:
    """In order, the launcher takes the fullest node, which is the only one with a GPU."""
    text = f"""
        node n1 cpu=4 gpu=1
        node n2 cpu=4
        job x/long pods=0 min=1 age=900
        pods x/long 1 cpu=4 on=n1 started=0 {hours(60)}
        job x/big min=2 age=600
        pods x/big 1 cpu=4 role=launcher
        pods x/big 1 cpu=1 gpu=1 role=worker
    """
    assert starts(plan(text, easy())) == (60, ("n1", "n2"))


def test_a_planned_start_has_the_minima_of_roles() -> None:
    text = f"""
        node n1 cpu=6
        job x/long pods=0 min=1 age=900
        pods x/long 1 cpu=4 on=n1 started=0 {hours(60)}
        job x/big min=2 roles=ps:1,worker:1 age=600
        pods x/big 2 cpu=3 role=worker
        pods x/big 1 cpu=3 role=ps
    """
    assert starts(plan(text, easy())) == (60, ("n1",))
