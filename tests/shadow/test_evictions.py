"""Evictions there: who follows them, and when they were of use."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.small import SmallCluster
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.shadow.evictions import FOLLOWED_MAX, EvictionFollower
from vsched.shadow.findings import Evicted

AT, BOUND = 100.0, 60.0


def pod(job: str, number: int = 0, node: str = "n1", created: float = 0.0) -> Task:
    cluster = SmallCluster()
    made = cluster.job(job, 0)
    return cluster.task(made, f"{job}-{number}", cluster.shape(), Status.RUNNING, node, created=created)


class Came(NamedTuple):
    """A pod that is on a node after the eviction, and whether its gang has its minimum then."""

    task: Task
    is_complete: bool = True


CASES: dict[str, tuple[list[Came], bool, bool]] = {
    "nobody came: of no use, but nobody is back": ([], False, False),
    "the victim's gang is back elsewhere: in vain": ([Came(pod("victim", 1, "n2"))], False, True),
    "one that waited has started on the node": ([Came(pod("waits"))], True, False),
    "one that waited has a pod there, and not its minimum": ([Came(pod("waits"), False)], False, False),
    "one that waited has started on another node": ([Came(pod("waits", node="n2"))], False, False),
    "one that came after the eviction has started there": ([Came(pod("late", created=AT + 1))], False, False),
    "both": ([Came(pod("waits")), Came(pod("victim", 1, "n2"))], True, True),
}


@pytest.mark.parametrize(("came", "used", "back"), CASES.values(), ids=CASES.keys())
def test_what_becomes_of_an_eviction(came: list[Came], used: bool, back: bool) -> None:
    follower, victim = EvictionFollower(BOUND), pod("victim")
    follower.mark(victim.uid)
    assert follower.left(victim, AT)
    for one in came:
        follower.placed(one.task.job, [one.task])
        if one.is_complete:
            follower.complete(one.task.job)
    assert follower.due(AT + BOUND - 1) == []
    (found,) = follower.due(AT + BOUND)
    assert found == Evicted(AT + BOUND, "ns/victim", "ns/victim-0", "n1", AT, used, back)
    assert found.in_vain == (back and not used)
    assert follower.due(AT + 10 * BOUND) == []


def test_a_pod_that_leaves_for_another_reason_is_not_followed() -> None:
    follower = EvictionFollower(BOUND)
    assert not follower.left(pod("victim"), AT)
    assert follower.due(AT + BOUND) == []


def test_a_pod_comes_back_for_one_eviction_each() -> None:
    follower, victims = EvictionFollower(BOUND), [pod("victim", 0), pod("victim", 1)]
    for victim in victims:
        follower.mark(victim.uid)
        assert follower.left(victim, AT)
    follower.placed("ns/victim", [pod("victim", 2)])
    assert [found.back for found in follower.due(AT + BOUND)] == [True, False]


def test_no_more_are_followed_than_may_be() -> None:
    follower = EvictionFollower(BOUND)
    for number in range(FOLLOWED_MAX + 5):
        victim = pod("victim", number)
        follower.mark(victim.uid)
        assert follower.left(victim, AT + number * 1e-6)
    given_up = follower.due(AT + 1)
    assert [found.pod for found in given_up] == [f"ns/victim-{number}" for number in range(5)]
    assert len(follower.due(AT + 2 * BOUND)) == FOLLOWED_MAX
