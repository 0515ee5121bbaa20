"""Victims that may not be evicted yet: the condition of a job begins with the moment from which on they may be."""

from __future__ import annotations

import pytest

from tests.support.plans import plan, policy_from
from vsched.actions.words import may_evict_from
from vsched.framework.words.jobs import NONE_FITS
from vsched.framework.words.nodes import on_nodes
from vsched.plugins.words.victims import MIN_RUNTIME

POLICY = policy_from(
    """
actions: "enqueue, allocate, reclaim, preempt, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: minruntime, arguments: {preemptMinRuntime: 1h, reclaimMinRuntime: 2h}}]
- plugins: [{name: predicates}, {name: capacity}, {name: nodeorder}]
"""
)
CLASSES = "class high 100\nclass low 1\n"
LOW = "job ns/a min=1 class=low phase=Running"
HIGH = "job ns/b pods=1 cpu=2 class=high"
NO_ROOM = f"{NONE_FITS}: {on_nodes([('Insufficient cpu', 1)])}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            f"node n1 cpu=4\n{LOW}\npods ns/a 4 cpu=1 on=n1 started=600\n{HIGH}",
            f"{may_evict_from('08:50', MIN_RUNTIME, reclaims=False)}; {NO_ROOM}",
            id="those of its queue",
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q deserved=cpu:2\nqueue o deserved=cpu:2\njob ns/a min=1 phase=Running queue=o\n"
            "pods ns/a 4 cpu=1 on=n1 started=600\njob ns/b pods=1 cpu=2 queue=q",
            f"{may_evict_from('09:50', MIN_RUNTIME, reclaims=True)}; {NO_ROOM}",
            id="those of another queue",
        ),
        pytest.param(
            f"node n1 cpu=4\n{LOW}\npods ns/a 3 cpu=1 on=n1 started=1800\npods ns/a 1 cpu=1 on=n1 started=600\n{HIGH}",
            f"{may_evict_from('08:30', MIN_RUNTIME, reclaims=False)}; {NO_ROOM}",
            id="as many as it needs, those first that are free first",
        ),
        pytest.param(
            f"node n1 cpu=2\nnode n2 cpu=2\n{LOW}\npods ns/a 2 cpu=1 on=n1 started=600\n"
            f"pods ns/a 2 cpu=1 on=n2 started=1200\n{HIGH}",
            f"{may_evict_from('08:40', MIN_RUNTIME, reclaims=False)}; "
            f"{NONE_FITS}: {on_nodes([('Insufficient cpu', 2)])}",
            id="the first node of several",
        ),
        pytest.param(
            f"node n1 cpu=4\n{LOW}\npods ns/a 4 cpu=1 on=n1 bound\n{HIGH}", NO_ROOM, id="nothing while no end is known"
        ),
        pytest.param(
            f"node n1 cpu=4\njob ns/a min=4 class=low phase=Running\npods ns/a 4 cpu=1 on=n1 started=600\n{HIGH}",
            NO_ROOM,
            id="nothing where their gang protects them all the same",
        ),
        pytest.param(
            f"node n1 cpu=4\njob ns/a min=1 class=high phase=Running\npods ns/a 4 cpu=1 on=n1 started=600\n{HIGH}",
            NO_ROOM,
            id="nothing of those that it may not preempt",
        ),
    ],
)
def test_from_when_on_victims_may_be_evicted(text: str, message: str) -> None:
    assert plan(CLASSES + text, POLICY).message("ns/b") == message
