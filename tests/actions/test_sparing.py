"""Whoever need not leave after all stays: seen from the job as a whole, once all of its pods have their places."""

from __future__ import annotations

import pytest

from tests.support.taking import Busy, evicted, taking

PREEMPT = taking("allocate, preempt", "priority gang-P", "predicates capacity")
RECLAIM = taking("allocate, reclaim", "gang-R", "predicates capacity-H")


@pytest.mark.parametrize(
    ("text", "victims"),
    [
        pytest.param(
            "node n1 cpu=3\njob x/v1 phase=Running\npods x/v1 1 cpu=1 on=n1\njob x/v2 phase=Running age=5\n"
            "pods x/v2 1 cpu=2 on=n1",
            ["v2.0"],
            id="what leaves for the second pod is enough for both",
        ),
        pytest.param(
            "node n1 cpu=2\njob x/v1 phase=Running\npods x/v1 2 cpu=1 on=n1",
            ["v1.1", "v1.0"],
            id="both have to leave where both are needed",
        ),
        pytest.param(
            "node n1 cpu=3 pods=2\njob x/v1 phase=Running\npods x/v1 1 cpu=1 on=n1\njob x/v2 phase=Running age=5\n"
            "pods x/v2 1 cpu=2 on=n1",
            ["v1.0", "v2.0"],
            id="both where pod slots are needed",
        ),
        pytest.param(
            "queue q capability=cpu:3\nnode n1 cpu=3\nnode n2 cpu=9\njob x/v1 queue=q phase=Running\n"
            "pods x/v1 1 cpu=1 on=n1\njob x/v2 queue=q phase=Running age=5\npods x/v2 1 cpu=2 on=n1",
            ["v2.0"],
            id="a queue at its capability has room for one of them again",
        ),
        pytest.param(
            "queue q capability=cpu:2\nnode n1 cpu=3\nnode n2 cpu=9\njob x/v1 queue=q phase=Running\n"
            "pods x/v1 1 cpu=1 on=n1\njob x/v2 queue=q phase=Running age=5\npods x/v2 1 cpu=1 on=n2",
            ["v1.0", "v2.0"],
            id="a queue at its capability has not, though the node has",
        ),
    ],
)
def test_two_pods_take_from_two(text: str, victims: list[str]) -> None:
    queue = "queue=q" if "queue q" in text else ""
    asking = f"job x/want min=2 {queue} class=high phase=Inqueue pods=2 cpu=1"

    assert sorted(evicted(Busy(f"class high 9\n{text}\n{asking}", PREEMPT).cycle())) == sorted(victims)


def test_rules_keep_a_victim_out_though_there_is_room_for_it() -> None:
    text = """
        class high 9
        node n1 cpu=9
        job x/v phase=Running
        pods x/v 2 cpu=1 apart=want on=n1
        job x/want min=2 class=high phase=Inqueue pods=2 cpu=1
    """
    assert evicted(Busy(text, PREEMPT).cycle()) == ["v.1", "v.0"]


def test_the_most_valuable_of_those_that_may_stay_does() -> None:
    text = """
        class high 9
        class mid 5
        node n1 cpu=4
        job x/low phase=Running age=9
        pods x/low 1 cpu=1 on=n1
        job x/mid class=mid phase=Running
        pods x/mid 1 cpu=1 on=n1
        job x/most class=mid phase=Running age=9
        pods x/most 1 cpu=2 on=n1
        job x/want min=3 class=high phase=Inqueue pods=3 cpu=1
    """
    assert sorted(evicted(Busy(text, PREEMPT).cycle())) == ["low.0", "most.0"]


def test_a_queue_of_the_same_parent_makes_room_for_the_parent() -> None:
    text = """
        node n1 cpu=8
        queue dept parent=root capability=cpu:4
        queue a parent=dept deserved=cpu:3
        queue b parent=dept deserved=cpu:1
        job x/b min=0 queue=b phase=Running
        pods x/b 1 cpu=1 on=n1
        pods x/b 1 cpu=3 on=n1
        job x/a min=3 queue=a phase=Inqueue pods=3 cpu=1
    """
    assert evicted(Busy(text, RECLAIM).cycle()) == ["b.1"]
