"""Places that others are to leave: told of where a job has its minimum with them, and only as long as they stand."""

from __future__ import annotations

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.framework.codes import Code
from vsched.framework.cycle import run_cycle
from vsched.framework.words import jobs as words
from vsched.framework.words.nodes import on_nodes
from vsched.settings.built_in import REGISTRY


def test_a_place_for_one_pod_of_a_gang_is_no_reason_to_wait_for_others_to_leave() -> None:
    text = "node n1 cpu=1\npods ns/old 1 cpu=1 on=n1 leaving\njob ns/a min=2 pods=2 cpu=1 phase=Inqueue"
    alone = policy_of("priority gang", "predicates", actions="allocate, preempt")
    report = run_cycle(mirror(manifests(text)).snapshot(NOW), alone, REGISTRY)

    told = f"{words.needs(words.THE_GANG, 2, 2, 1, 1)}: {on_nodes([('Insufficient cpu', 1)])}"
    assert report.nominations == ()
    assert (report.jobs["ns/a"].code, report.jobs["ns/a"].message) == (Code.GANG_SIZE, told)
    assert report.unschedulable["ns/a.0"].message == words.fits_but_waits(words.gang_reaches_minimum("ns/a", 2))


def test_a_try_that_was_given_up_promises_no_pod_a_node() -> None:
    text = "node n1 cpu=4\npods ns/old 1 cpu=4 on=n1 leaving\njob ns/a min=3\npods ns/a 2 cpu=1\npods ns/a 1 cpu=3"
    report = run_cycle(mirror(manifests(text)).snapshot(NOW), DEFAULT_POLICY, REGISTRY)

    assert not report.nominations
    assert report.unschedulable["ns/a.0"].message == words.fits_but_waits(words.gang_reaches_minimum("ns/a", 3))


def test_a_pod_that_a_node_is_held_for_is_told_which() -> None:
    text = """
        node n1 cpu=2
        queue q
        job ns/o min=1 phase=Running
        pods ns/o 1 cpu=2 on=n1 leaving
        job ns/a min=1 queue=q phase=Inqueue
        pods ns/a 1 cpu=2 nominated=n1
        job ns/b min=1 queue=q phase=Inqueue age=9
        pods ns/b 1 cpu=2 nominated=n1
    """
    nobody_asks = policy_of("gang", "predicates", actions="backfill")
    report = run_cycle(mirror(manifests(text)).snapshot(NOW), nobody_asks, REGISTRY)

    assert report.unschedulable["ns/b.0"].message == words.goes_once("n1")
