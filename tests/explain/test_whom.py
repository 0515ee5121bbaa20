"""Who is meant is said: whom room is held for, who has to leave, and which scheduler pods are for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings

from tests.support.clusters import clusters, contended
from tests.support.examples import examples
from tests.support.explained import explained
from tests.support.plans import DEFAULT_POLICY, GROUP, NOW, Manifest, manifests, mirror, policy_of
from vsched.explain.explaining import explain
from vsched.explain.records import Whereabouts
from vsched.framework.codes import Code
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.framework.words.nodes import OTHERS
from vsched.mirror.state import words
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins.words import jobs as gangs
from vsched.settings.built_in import REGISTRY

OLD = "job x/o min=1 phase=Running\npods x/o 1 cpu=4 on=n1 leaving"
PREEMPTS = policy_of("priority gang", "predicates", actions="preempt")
TAKING = policy_of("priority gang", "predicates proportion", actions="enqueue, allocate, preempt, reclaim, backfill")
GANG = "job ns/g min=2 phase=Inqueue age=60"


def decided(text: str, *more: Manifest, policy: Policy = DEFAULT_POLICY) -> tuple[Snapshot, CycleReport]:
    snapshot = mirror([*manifests(text), *more]).snapshot(NOW)
    return snapshot, run_cycle(snapshot, policy, REGISTRY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            f"node n0 cpu=4\nnode n1 cpu=4\n{OLD}\n{GANG}\npods ns/g 2 cpu=4\njob ns/a min=3 pods=3 cpu=1",
            "the gang needs 3, none fit: 2 nodes have resources that are reserved for job ns/g",
            id="by a gang that gathers its places: what is idle, and what is about to be",
        ),
        pytest.param(
            f"node n0 cpu=8\nnode n1 cpu=4\n{OLD}\n{GANG}\npods ns/g 1 cpu=4 nominated=n0\n"
            "pods ns/g 1 cpu=4 nominated=n1\njob ns/a min=6 pods=6 cpu=1",
            "the gang needs 6, 4 fit: 2 nodes have resources that are reserved for job ns/g",
            id="by nominations",
        ),
        pytest.param(
            f"node n0 cpu=4\nnode n1 cpu=4\nnode n2 cpu=2\n{OLD}\n{GANG}\npods ns/g 2 cpu=4\n"
            "job ns/a min=1 pods=1 cpu=3",
            "no node fits: 2 nodes have resources that are reserved for job ns/g, 1 has too little cpu",
            id="nodes that are too small are told apart",
        ),
        pytest.param(
            f"node n0 cpu=4\nnode n1 cpu=4\n{OLD}\njob x/p min=1 phase=Running\npods x/p 1 cpu=4 on=n0 leaving\n"
            "job ns/g phase=Inqueue age=60\npods ns/g 1 cpu=4\njob ns/h phase=Inqueue age=50\npods ns/h 1 cpu=4\n"
            "job ns/a min=1 pods=1 cpu=1",
            "no node fits: 2 nodes have resources that are reserved for jobs ns/g and ns/h",
            id="by several",
        ),
    ],
)
def test_room_that_is_held_is_told_with_those_it_is_held_for(text: str, message: str) -> None:
    _, report = decided(text)
    whom = message.partition("reserved for ")[2].partition(",")[0]

    assert report.jobs["ns/a"].message == message
    assert f"reserved for {whom}" in report.unschedulable["ns/a.0"].message
    assert explained(text).message == message
    told = [one.message for one in explained(text).constraints]
    assert any(f"reserved for {whom}" in one for one in told), told


@pytest.mark.parametrize(
    ("text", "policy", "code", "message"),
    [
        pytest.param(
            "node n0 cpu=4\nnode n1 cpu=4\n" + OLD + f"\n{GANG}\npods ns/g 1 cpu=4 nominated=n0\n"
            "pods ns/g 1 cpu=4 nominated=n1",
            PREEMPTS,
            Code.LEAVING,
            "1 pod has a node and waits for other pods to leave: g.1 will go to n1 once the terminating pods are gone",
            id="only the pod whose node others leave waits for them",
        ),
        pytest.param(
            f"node n0 cpu=4\nnode n1 cpu=4\n{GANG}\npods ns/g 2 cpu=4 nominated=n0\n",
            policy_of("priority gang", "predicates", actions="allocate"),
            "",
            "",
            id="who is placed at once is not said to wait",
        ),
    ],
)
def test_who_waits_for_others_to_leave(text: str, policy: Policy, code: str, message: str) -> None:
    _, report = decided(text, policy=policy)

    assert (report.jobs["ns/g"].code, report.jobs["ns/g"].message) == (code, message)


def _says_who_leaves(text: str, policy: Policy) -> None:
    """Whatever is said of leaving, of quotas and of room that is held is so."""
    snapshot, report = decided(text, policy=policy)
    session = run_actions(snapshot, policy, REGISTRY, Trace())
    for key, outcome in report.jobs.items():
        said = outcome.message
        assert OTHERS not in said
        if "once the terminating pods are gone" in said:
            node = said.partition("will go to ")[2].split()[0]
            assert session.is_left(node), (key, said)
        if "resources that are reserved for job" in said:
            assert any(view.moved for other, view in session.jobs.items() if other != key), (key, said)
        if " is guaranteed" in said or " are guaranteed" in said:
            assert any(queue.guarantee for queue in snapshot.queues.values()), (key, said)
        if re.search(r"\bqueue \S+ allows ", said) or ("may hold" in said and ", as " not in said):
            assert any(queue.capability for queue in snapshot.queues.values()), (key, said)
        if "no nodes are known" in said:
            assert not len(snapshot.nodes), (key, said)
        queue = snapshot.queues.get(outcome.queue)
        if queue is not None and not queue.open and outcome.code not in ("", Code.QUEUE_CLOSED):
            view = session.jobs.get(key)
            asks = view is not None and any(
                not task.gated and not task.shape.best_effort for task in view.job.pending.values()
            )
            assert not asks or view is None or view.waiting_to_enter, (key, outcome.code, said)
    for name, verdict in report.unschedulable.items():
        assert OTHERS not in verdict.message, name
        if "once the terminating pods are gone" in verdict.message:
            assert session.is_left(verdict.message.partition("will go to ")[2].split()[0]), (name, verdict.message)
        if "quota insufficient" in verdict.message:
            assert any(queue.capability for queue in snapshot.queues.values()), (name, verdict.message)


@settings(max_examples=examples(35), deadline=None)
@given(text=clusters())
def test_of_any_cluster_nothing_is_said_that_is_not_so(text: str) -> None:
    _says_who_leaves(text, DEFAULT_POLICY)
    _says_who_leaves(text, TAKING)


@settings(max_examples=examples(35), deadline=None)
@given(text=contended(ruled=True))
def test_nor_of_one_where_some_take_from_others(text: str) -> None:
    _says_who_leaves(text, TAKING)


def foreign(count: int, scheduler: str, group: str = "a", namespace: str = "ns", **spec: object) -> list[Manifest]:
    """Pods of another scheduler that name a PodGroup."""
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{scheduler or 'none'}-{number}",
                "namespace": namespace,
                "uid": f"{namespace}/{scheduler}-{number}",
                "annotations": {GROUP: group},
            },
            "spec": {"schedulerName": scheduler, "containers": [{"name": "main"}], **spec},
            "status": {"phase": "Pending"},
        }
        for number in range(count)
    ]


GROUP_OF_3 = "node n1 cpu=8\njob ns/a min=3 phase=Inqueue"
SERVES = words.daemon_serves("volcano and vsched")
TWO_OTHERS = words.other_schedulers("2 for x, 1 for y")


@pytest.mark.parametrize(
    ("text", "pods", "state", "message"),
    [
        pytest.param(
            GROUP_OF_3,
            foreign(3, "default-scheduler"),
            Whereabouts.NEVER,
            gangs.none_is_for_it(3, words.pods_for_others(3, words.one_scheduler("default-scheduler"), SERVES), ""),
            id="which one, and whom this daemon serves",
        ),
        pytest.param(
            GROUP_OF_3,
            [*foreign(1, "y"), *foreign(2, "x")],
            Whereabouts.NEVER,
            gangs.none_is_for_it(3, words.pods_for_others(3, TWO_OTHERS, SERVES), ""),
            id="several",
        ),
        pytest.param(
            f"{GROUP_OF_3}\npods ns/a 2 cpu=1",
            foreign(1, "x"),
            Whereabouts.NEVER,
            gangs.others_too(gangs.some_exist(2, 3, ""), words.pods_for_others(1, words.one_scheduler("x"), SERVES)),
            id="besides its own",
        ),
        pytest.param(
            f"{GROUP_OF_3} roles=w:3",
            foreign(3, "x"),
            Whereabouts.NEVER,
            f"role w has 0 of the 3 pods that it needs; {words.pods_for_others(3, words.one_scheduler('x'), SERVES)}",
            id="of a gang with roles",
        ),
        pytest.param(
            GROUP_OF_3,
            foreign(3, "x", namespace="other"),
            Whereabouts.WAITS,
            "no pods exist, and the gang needs 3",
            id="those of another namespace are none of it",
        ),
        pytest.param(
            GROUP_OF_3,
            foreign(3, "x", group="b"),
            Whereabouts.WAITS,
            "no pods exist, and the gang needs 3",
            id="nor are those of another PodGroup",
        ),
    ],
)
def test_pods_of_other_schedulers_are_named(text: str, pods: list[Manifest], state: Whereabouts, message: str) -> None:
    snapshot, report = decided(text, *pods)

    found = explain(snapshot, DEFAULT_POLICY, REGISTRY, report, "ns", "a", simulations=0)
    assert found is not None
    assert (report.jobs["ns/a"].message, found.message, found.state) == (message, message, state)


def test_what_is_said_of_other_schedulers_pods_ends_with_them() -> None:
    cache = mirror([*manifests(GROUP_OF_3), *foreign(2, "x")])
    first = cache.snapshot(NOW)
    assert list(first.foreign) == ["ns/a"]

    cache.intake.replace("Pod", {})
    second = cache.snapshot(NOW + 1)
    assert not second.foreign
    assert "ns/a" in second.changed, "its job is told anew"


def test_a_lost_pod_is_not_said_not_to_exist() -> None:
    _, report = decided("node n1 cpu=8\njob ns/a min=1 phase=Running\npods ns/a 1 cpu=8 on=n1 lost")

    assert report.jobs["ns/a"].message == gangs.none_exists(1, gangs.pods_gone(0, 0, 1))
