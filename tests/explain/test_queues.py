"""Explanations of queues: what their jobs wait for, and who holds what they deserve."""

from __future__ import annotations

import pytest

from tests.support.explained import queue_explained
from tests.support.plans import DEFAULT_POLICY, policy_from, policy_of
from vsched.explain.records import Whereabouts
from vsched.explain.words import reasons
from vsched.framework.codes import Code
from vsched.framework.policy import Policy
from vsched.plugins.words.queues import jobs_and_children

KEEPS = policy_of("gang", "predicates proportion", actions="allocate")
PLAIN = policy_of("gang", "predicates")
TREE = policy_of("gang", "predicates capacity")
HIERARCHY = policy_from(
    "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, {name: capacity, enableHierarchy: true}]}]"
)
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
            Whereabouts.NEVER,
            "3 jobs wait, ns/a first: queue q may hold 4 cpu at most: 5 asked",
            [Code.QUEUE_CAPABILITY, Code.GANG_INCOMPLETE],
            id="its jobs by what they wait for",
        ),
        pytest.param(
            "node n1 cpu=9\nqueue q\njob ns/a queue=q min=1 pods=1 cpu=5",
            DEFAULT_POLICY,
            Whereabouts.RUNS,
            f"{reasons.NO_JOB_WAITS}; {reasons.holds_deserved(reasons.amount_of('5', '5', 'cpu'))}",
            [],
            id="all are placed",
        ),
        pytest.param(
            "node n1\nqueue q", DEFAULT_POLICY, Whereabouts.RUNS, "no job waits; holds nothing", [], id="empty"
        ),
        pytest.param(
            "node n1 cpu=4\nqueue q state=Closed\njob ns/a queue=q min=1 pods=1 cpu=1 on=n1 phase=Running",
            PLAIN,
            Whereabouts.RUNS,
            f"is Closed, not Open; no job waits; {reasons.holds_of_cluster(reasons.amount_of('1', '4', 'cpu'))}",
            [],
            id="closed, and some still run",
        ),
        pytest.param(
            "node n1\nqueue q\njob ns/a queue=q min=2 phase=Inqueue\n"
            "job ns/b queue=q min=2 phase=Unknown\npods ns/b 1 cpu=1 on=n1",
            PLAIN,
            Whereabouts.WAITS,
            f"{reasons.wait_for_pods(2)}; {reasons.holds_of_cluster(reasons.amount_of('1', '4', 'cpu'))}",
            [],
            id="admitted, and pods are missing",
        ),
        pytest.param(
            "node n1\nqueue q state=Closed",
            DEFAULT_POLICY,
            Whereabouts.FINISHED,
            "is Closed, not Open; no job waits; holds nothing",
            [],
            id="closed and empty",
        ),
        pytest.param(
            "node n1\njob ns/a queue=q min=1 pods=1 cpu=1\njob ns/b queue=q min=1 pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.NEVER,
            reasons.queue_awaited("q", 2),
            [Code.QUEUE_NOT_FOUND],
            id="named and not there",
        ),
        pytest.param(
            "node n1\nqueue q state=Closed\njob ns/a queue=q min=1 phase=Inqueue pods=1 cpu=1",
            DEFAULT_POLICY,
            Whereabouts.WAITS,
            "1 job waits, ns/a first: queue q is Closed, not Open",
            [Code.QUEUE_CLOSED],
            id="closed",
        ),
    ],
)
def test_why_a_queue_waits(text: str, policy: Policy, state: Whereabouts, message: str, codes: list[Code]) -> None:
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
            reasons.holds_more("p", [("8 cpu", "4 cpu")], reasons.NOTHING_TAKEN_BACK),
            id="nobody takes back",
        ),
        pytest.param(
            RECLAIMS,
            "reclaimable=false",
            reasons.holds_more("p", [("8 cpu", "4 cpu")], reasons.NOT_RECLAIMABLE),
            id="it does not give back",
        ),
    ],
)
def test_who_holds_what_a_queue_deserves(policy: Policy, words: str, told: str) -> None:
    found = queue_explained(HELD.format(words=words), "q", policy)

    assert found is not None
    holder = found.constraints[-1]
    assert (holder.code, holder.message, holder.resource, holder.subject) == (Code.PROTECTED, told, "cpu", "p")
    assert [one for one in found.constraints if one.code is Code.PROTECTED] == [holder], "it is said once"
    assert found.counts == {"jobs": 2, "waiting": 2, "running": 0, "pods": 5, "pending": 5}


BRANCHES = """
    node n1 cpu=8
    queue root
    queue dept parent=root deserved=cpu:6
    queue a parent=dept deserved=cpu:3
    queue b parent=dept deserved=cpu:3
    queue else parent=root
    job ns/runs queue=a min=1 phase=Running
    pods ns/runs 4 cpu=1 on=n1
    job ns/a1 queue=a min=1 phase=Inqueue pods=1 cpu=9 age=9
    job ns/b1 queue=b min=2 phase=Inqueue pods=1 cpu=1 age=8
    job ns/b2 queue=b min=2 phase=Inqueue pods=1 cpu=1 age=7
    job ns/e queue=else min=1 phase=Inqueue pods=1 cpu=9 age=99
"""


def test_a_queue_tells_of_those_below_it() -> None:
    found = queue_explained(BRANCHES, "dept", TREE)

    assert found is not None
    assert found.message.startswith("3 jobs wait, ns/b1 of queue b first: 1 of the gang's 2 pods")
    assert [(one.subject, one.code, one.message.partition(" first")[0]) for one in found.constraints] == [
        ("b", Code.GANG_INCOMPLETE, "queue b: 2 jobs, ns/b1"),
        ("a", Code.RESOURCES, "queue a: 1 job, ns/a1"),
    ]
    assert found.counts == {"jobs": 4, "waiting": 3, "running": 1, "pods": 7, "pending": 3}


def test_a_problem_of_the_queue_hides_no_reason_of_its_jobs() -> None:
    own = "job ns/own queue=dept min=1 phase=Inqueue pods=1 cpu=1 age=1"
    found = queue_explained(f"{BRANCHES}\n{own}", "dept", HIERARCHY)

    assert found is not None
    assert found.message == jobs_and_children("")
    assert [one.message.partition(" first")[2] != "" for one in found.constraints] == [True, True, True]


def test_the_root_holds_what_is_held_below_it() -> None:
    text = "\n".join(line for line in BRANCHES.splitlines() if "Inqueue" not in line)
    root, dept = queue_explained(text, "root", TREE), queue_explained(text, "dept", TREE)

    assert root is not None
    assert dept is not None
    assert root.message == "no job waits; holds 4 of the 8 cpu of the cluster"
    assert dept.message == f"{reasons.NO_JOB_WAITS}; {reasons.holds_deserved(reasons.amount_of('4', '6', 'cpu'))}"
    assert (root.state, root.counts["jobs"]) == (Whereabouts.RUNS, 1)


def test_a_queue_that_nobody_names_is_unknown() -> None:
    assert queue_explained("node n1", "q") is None
