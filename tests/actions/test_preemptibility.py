"""Jobs that keep their minimum, or all of their pods, from every action (``vsched.io/preemptibility``)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import aged
from tests.support.examples import examples
from tests.support.explained import explained
from tests.support.plans import plan
from tests.support.subgroups import job_of, workers
from tests.support.taking import Busy, taking
from vsched.framework.jobs import JobView
from vsched.framework.policy import Policy
from vsched.framework.surplus import kept_by
from vsched.model.jobs.job import JobSpec
from vsched.model.queues.evictions import Preemptibility

SEMI, NONE = "vsched.io/preemptibility=semi-preemptible", "vsched.io/preemptibility=non-preemptible"
ROOM = "class high 9\nclass mid 5\nnode n1 cpu=2\nnode n2 cpu=2\nqueue own\nqueue other\n"
RUNS = "pods ns/a 2 cpu=1 on=n1\npods ns/a 2 cpu=1 on=n2\n"
LOOSE = ("priority gang-P", "predicates")
"""Nothing in it protects the minimum of a job in its queue."""


def policy(actions: str, *tiers: str) -> Policy:
    return taking(f"enqueue, {actions}", *(tiers or LOOSE))


def evicted(job: str, actions: str, wanted: int, *tiers: str, queue: str = "other") -> int:
    """How many of four pods of a job leave for another one that asks for more than there is."""
    text = f"{ROOM}job ns/a queue=other phase=Running {job}\n{RUNS}"
    text += f"job ns/new queue={queue} min={wanted} pods={wanted} cpu=1 class=high"
    return len(plan(text, policy(actions, *tiers)).evicted[0])


@pytest.mark.parametrize(
    ("actions", "queue"),
    [
        pytest.param("preempt", "other", id="preempt"),
        pytest.param("gangpreempt", "other", id="gangpreempt"),
        pytest.param("reclaim", "own", id="reclaim"),
        pytest.param("gangreclaim", "own", id="gangreclaim"),
        pytest.param("gangpreempt, preempt", "other", id="both within a queue"),
    ],
)
def test_what_leaves_for_others(actions: str, queue: str) -> None:
    tiers = ("priority gang-PR", "predicates proportion") if queue == "own" else LOOSE
    assert evicted("min=2", actions, 2, *tiers, queue=queue) == 2
    assert evicted(f"min=2 {SEMI}", actions, 2, *tiers, queue=queue) == 2, "what is beyond its minimum"
    assert evicted(f"min=3 {SEMI}", actions, 2, *tiers, queue=queue) == 0, "nothing in vain"
    assert evicted(f"min=3 {SEMI}", actions, 1, *tiers, queue=queue) == 1
    assert evicted(f"min=0 {NONE}", actions, 1, *tiers, queue=queue) == 0
    assert evicted("min=0 vsched.io/preemptibility=preemptible", actions, 1, *tiers, queue=queue) == 1
    assert evicted("min=0 vsched.io/preemptibility=some", actions, 1, *tiers, queue=queue) == 1, "passed over"


def test_whole_gangs_leave_instead_of_the_minimum_that_is_kept() -> None:
    text = f"{ROOM}job ns/a min=2 queue=other phase=Running {SEMI}\npods ns/a 1 cpu=1 on=n1\npods ns/a 1 cpu=1 on=n2\n"
    text += "job ns/b min=2 queue=other phase=Running class=mid\npods ns/b 1 cpu=1 on=n1\npods ns/b 1 cpu=1 on=n2\n"
    found = plan(f"{text}job ns/new queue=other pods=1 cpu=1 class=high", policy("gangpreempt"))

    assert sorted(found.evicted[0]) == ["b.0", "b.1"], "although its priority is higher"


@pytest.mark.parametrize(
    ("said", "cpu", "gone"),
    [
        pytest.param(SEMI, 1, {"worker": 1}, id="the worker beyond the minimum"),
        pytest.param(SEMI, 2, {}, id="nothing of the minima"),
        pytest.param("", 2, {"ps": 1}, id="a job that does not say keeps nothing"),
    ],
)
def test_minima_of_roles_are_kept(said: str, cpu: int, gone: dict[str, int]) -> None:
    text = f"{ROOM}job ns/a min=2 roles=ps:1,worker:1 queue=other phase=Running {said}\n"
    text += "pods ns/a 1 cpu=2 role=ps on=n1\npods ns/a 2 cpu=1 role=worker on=n2\n"
    roles = {"a.0": "ps", "a.1": "worker", "a.2": "worker"}
    found = plan(f"{text}job ns/new queue=other pods=1 cpu={cpu} class=high", policy("preempt"))

    assert Counter(roles[name] for name in found.evicted[0]) == gone


@pytest.mark.parametrize(
    ("pods", "lost"),
    [
        pytest.param("a:rr b:rr", [], id="every sub-group is needed"),
        pytest.param("a:rrr b:rr", ["a2"], id="a pod beyond the size of its sub-group"),
        pytest.param("a:rr b:rr c:rr", ["c0", "c1"], id="a sub-group beyond those that the job needs"),
        pytest.param("a:rr b:rr c:r", ["c0"], id="a sub-group that is not complete"),
    ],
)
def test_sub_groups_that_a_job_needs_are_kept(pods: str, lost: list[str]) -> None:
    job = job_of(pods, workers(2, 2), min_member=4)
    job.spec = with_semi(job.spec)
    keeps = kept_by(JobView(job))

    assert keeps is not None
    assert sorted(task.name for task in reversed(job.tasks.values()) if not keeps(task)) == lost


def with_semi(spec: JobSpec) -> JobSpec:
    return JobSpec(
        spec.namespace,
        spec.name,
        min_member=spec.min_member,
        sub_groups=spec.sub_groups,
        preemptibility=Preemptibility.SEMI,
    )


def test_what_protects_the_pods_of_others_is_told() -> None:
    text = f"{ROOM}job ns/b min=4 queue=other phase=Running {SEMI}\n{RUNS.replace('ns/a', 'ns/b')}"
    found = explained(f"{text}job ns/a queue=other pods=1 cpu=1 class=high", policy=policy("allocate, preempt"))

    message = (
        "pods of the queue's other jobs could make room on 2 nodes, and are protected: "
        "their jobs keep them by their preemptibility (vsched.io/preemptibility) (2 nodes)"
    )
    assert message in [one.message for one in found.constraints]


# -- properties

often = settings(max_examples=examples(40), deadline=None)
ACTIONS = (
    "preempt, reclaim, allocate",
    "gangpreempt, gangreclaim, allocate",
    "allocate, gangreclaim, preempt, reclaim, gangpreempt, shuffle",
)
LAYOUTS = (
    LOOSE,
    ("priority gang-PR", "predicates proportion"),
    ("gang", "drf predicates capacity"),
    ("gang-PR", "drf"),
)


@often
@given(aged(), st.sampled_from(ACTIONS), st.sampled_from(LAYOUTS))
def test_no_action_takes_what_a_job_keeps(text: str, actions: str, layout: tuple[str, ...]) -> None:
    world = Busy(text, policy(actions, *layout))
    for _ in range(3):
        before = world.snapshot()
        ready = {key: job.ready for key, job in before.jobs.items()}
        specs = {key: job.spec for key, job in before.jobs.items()}
        report = world.cycle()
        for key in {eviction.job for eviction in report.evictions}:
            gone = sum(1 for eviction in report.evictions if eviction.job == key)
            bound = sum(1 for bind in report.binds if bind.job == key)
            if specs[key].preemptibility is Preemptibility.SEMI:
                assert ready[key] + bound - gone >= specs[key].min_member, key
            assert specs[key].preemptibility is not Preemptibility.NONE, key
