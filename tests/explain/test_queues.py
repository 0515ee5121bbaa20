"""Explanations of queues: what their jobs wait for, and who holds what they deserve."""

from __future__ import annotations

import pytest

from tests.explain.explained import queue_explained
from tests.support.plans import DEFAULT_POLICY, policy_of
from vsched.explain.records import State
from vsched.framework.codes import Code
from vsched.framework.policy import Policy

KEEPS = policy_of("gang", "predicates proportion", actions="allocate")
RECLAIMS = policy_of("gang", "predicates proportion", actions="allocate, reclaim")
HELD = """
    node n1 cpu=8
    queue q
    queue p {words}
    job ns/o queue=p min=1 phase=Running
    pods ns/o 8 cpu=1 on=n1
    job ns/a queue=q min=1 phase=Inqueue pods=1 cpu=9
    job ns/b queue=q min=4 phase=Inqueue pods=4 cpu=1
"""


@pytest.mark.parametrize(
    ("text", "policy", "state", "message", "codes"),
    [
        pytest.param(
            "node n1 cpu=9\nqueue q capability=cpu:4\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=5 age=9\n"
            "job ns/b queue=q min=1 phase=Inqueue pods=1 cpu=5\njob ns/c queue=q min=2 phase=Inqueue pods=1 cpu=1",
            DEFAULT_POLICY,
            State.NEVER,
            "3 jobs wait, ns/a first: queue q may hold 4 cpu at most: 5 asked",
            [Code.QUEUE_CAPABILITY, Code.GANG_INCOMPLETE],
            id="its jobs by what they wait for",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q\njob ns/a queue=q min=1 pods=1 cpu=5",
            DEFAULT_POLICY,
            State.RUNS,
            "no job waits; holds 5 of the 5 cpu that it deserves",
            [],
            id="all are placed",
        ),
        pytest.param("node n1\nqueue q", DEFAULT_POLICY, State.RUNS, "no job waits; holds nothing", [], id="empty"),
        pytest.param(
            "node n1\njob ns/a queue=q min=1 pods=1 cpu=1\njob ns/b queue=q min=1 pods=1 cpu=1",
            DEFAULT_POLICY,
            State.NEVER,
            "queue q does not exist: 2 jobs wait for it to be created",
            [Code.QUEUE_NOT_FOUND],
            id="named and not there",
        ),
        pytest.param(
            "node n1\nqueue q state=Closed\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=1",
            DEFAULT_POLICY,
            State.WAITS,
            "1 job waits, ns/a first: queue q is Closed, not Open",
            [Code.QUEUE_CLOSED],
            id="closed",
        ),
    ],
)
def test_why_a_queue_waits(text: str, policy: Policy, state: State, message: str, codes: list[Code]) -> None:
    found = queue_explained(text, "q", policy)

    assert found is not None
    assert (found.kind, found.state, found.message) == ("Queue", state, message)
    assert [one.code for one in found.constraints] == codes


@pytest.mark.parametrize(
    ("policy", "words", "told"),
    [
        pytest.param(
            KEEPS,
            "",
            "queue p holds 8 cpu where it deserves 4 cpu, and the policy takes nothing back (it has no action reclaim)",
            id="nobody takes back",
        ),
        pytest.param(
            RECLAIMS,
            "reclaimable=false",
            "queue p holds 8 cpu where it deserves 4 cpu, and is not reclaimable",
            id="it does not give back",
        ),
    ],
)
def test_who_holds_what_a_queue_deserves(policy: Policy, words: str, told: str) -> None:
    found = queue_explained(HELD.format(words=words), "q", policy)

    assert found is not None
    holder = found.constraints[-1]
    assert (holder.code, holder.message, holder.resource, holder.subject) == (Code.PROTECTED, told, "cpu", "p")
    assert found.counts == {"jobs": 2, "waiting": 2, "running": 0, "pods": 5, "pending": 5}


def test_a_queue_that_nobody_names_is_unknown() -> None:
    assert queue_explained("node n1", "q") is None
