"""Jobs that keep their minimum, or all of their pods, from every action (``vsched.io/preemptibility``)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import aged
from tests.support.examples import examples
from tests.support.explained import explained
from tests.support.plans import plan
from tests.support.subgroups import job_of, workers
from tests.support.taking import Busy, taking
from vsched.explain.why import words as told
from vsched.framework.jobs import JobView
from vsched.framework.policy import Policy
from vsched.framework.surplus import protected_by
from vsched.model.jobs.spec import JobSpec
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
    given_back = 1 if "reclaim" in actions else 0
    assert evicted(f"min=0 {NONE}", actions, 1, *tiers, queue=queue) == given_back, "beyond what its queue deserves"
    assert evicted("min=0 vsched.io/preemptibility=preemptible", actions, 1, *tiers, queue=queue) == 1
    assert evicted("min=0 vsched.io/preemptibility=some", actions, 1, *tiers, queue=queue) == 1, "passed over"


RECLAIMS = [pytest.param("reclaim", id="reclaim"), pytest.param("gangreclaim", id="gangreclaim")]
DIVIDED = [
    pytest.param(("priority gang-PR", "predicates proportion"), id="proportion"),
    pytest.param(("priority gang-PR", "predicates capacity"), id="capacity"),
]


HALVES = "node n1 cpu=4\nnode n2 cpu=4\nqueue own deserved=cpu:4\nqueue other deserved=cpu:4\n"
"""Eight cpus, of which each of two queues deserves half."""
HOG = f"job ns/hog queue=other min=0 phase=Running {NONE}\n"
BORROWED = told.JOBS_OF_QUEUE_AND_UNDER_SHARE
ALL = f"{HOG}pods ns/hog 4 cpu=1 on=n1\npods ns/hog 4 cpu=1 on=n2\n"


def left_by(text: str, actions: str, *tiers: str, keeps: list[str] | None = None) -> Counter[str]:
    """How many pods of each job leave in some cycles of ``HALVES``."""
    busy, gone = Busy(HALVES + text, taking(f"enqueue, allocate, {actions}", *tiers, keeps=keeps)), Counter[str]()
    for _ in range(6):
        gone.update(eviction.job.partition("/")[2] for eviction in busy.cycle().evictions)
    return gone


@pytest.mark.parametrize("tiers", DIVIDED)
@pytest.mark.parametrize("actions", RECLAIMS)
@pytest.mark.parametrize(
    ("wants", "gone"),
    [
        pytest.param("job ns/new queue=own min=4 pods=4 cpu=1", {"hog": 4}, id="what is beyond is given back"),
        pytest.param("job ns/new queue=own min=1 pods=1 cpu=1", {"hog": 1}, id="as much as is asked for"),
        pytest.param("job ns/new queue=own min=6 pods=6 cpu=1", {}, id="not what its queue deserves"),
        pytest.param("job ns/new queue=own min=1 pods=1 cpu=5", {}, id="nor for what has no room"),
        pytest.param(
            "job ns/new queue=other min=1 pods=1 cpu=1 class=high\nclass high 9", {}, id="not in its own queue"
        ),
    ],
)
def test_no_job_keeps_a_whole_cluster_for_good(wants: str, gone: dict[str, int], actions: str, tiers: Any) -> None:
    assert left_by(ALL + wants, actions, *tiers) == gone


@pytest.mark.parametrize("actions", RECLAIMS)
def test_the_last_pod_does_not_take_its_queue_below_what_it_deserves(actions: str) -> None:
    """Other victims may, where the job that takes lacks its minimum."""
    rest = (
        "pods ns/hog 2 cpu=2 on=n1\npods ns/hog 1 cpu=1 on=n2\nnode n2 cpu=1\njob ns/new queue=own min=1 pods=1 cpu=2"
    )
    tiers = "priority gang-PR", "predicates capacity"
    assert left_by(f"job ns/hog queue=other min=0 phase=Running\n{rest}", actions, *tiers) == {"hog": 1}
    assert left_by(HOG + rest, actions, *tiers) == {}


@pytest.mark.parametrize("tiers", DIVIDED)
@pytest.mark.parametrize("actions", RECLAIMS)
def test_pods_that_are_preemptible_go_before(actions: str, tiers: Any) -> None:
    others = "job ns/loose queue=other min=0 phase=Running\npods ns/loose 4 cpu=1 on=n2\n"
    wants = "job ns/new queue=own min=2 pods=2 cpu=1"
    assert left_by(f"{HOG}pods ns/hog 4 cpu=1 on=n1\n{others}{wants}", actions, *tiers) == {"loose": 2}


@pytest.mark.parametrize("actions", RECLAIMS)
@pytest.mark.parametrize(
    ("keeps", "gone"),
    [
        pytest.param(["other"], {}, id="its queue"),
        pytest.param(["*"], {}, id="all queues"),
        pytest.param(["own"], {"hog": 4}, id="another queue"),
    ],
)
def test_the_policy_says_who_keeps_all_of_it(keeps: list[str], gone: dict[str, int], actions: str) -> None:
    wants = "job ns/new queue=own min=4 pods=4 cpu=1"
    assert left_by(ALL + wants, actions, "priority gang-PR", "predicates capacity", keeps=keeps) == gone


def test_where_nobody_says_what_queues_deserve_all_of_it_stays() -> None:
    wants = "job ns/new queue=own min=4 pods=4 cpu=1"
    assert left_by(ALL + wants, "reclaim", "priority gang-PR", "predicates drf") == {}


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
    keeps = protected_by(JobView(job))

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

    message = told.protected(told.OTHERS_OF_QUEUE, 2, told.KEPT)
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
    """One that keeps all of its pods gives back what its queue holds beyond what it deserves, to those that reclaim."""
    world = Busy(text, policy(actions, *layout))
    divided = any("proportion" in tier or "capacity" in tier for tier in layout)
    for _ in range(3):
        before = world.snapshot()
        ready = {key: job.ready for key, job in before.jobs.items()}
        specs = {key: job.spec for key, job in before.jobs.items()}
        report = world.cycle()
        for key in {eviction.job for eviction in report.evictions}:
            by = {eviction.action for eviction in report.evictions if eviction.job == key}
            gone = sum(1 for eviction in report.evictions if eviction.job == key)
            bound = sum(1 for bind in report.binds if bind.job == key)
            if specs[key].preemptibility is Preemptibility.SEMI:
                assert ready[key] + bound - gone >= specs[key].min_member, key
            if specs[key].preemptibility is Preemptibility.NONE:
                assert divided, key
                assert by <= {"reclaim", "gangreclaim"}, key


@pytest.mark.parametrize(
    ("actions", "keeps", "says"),
    [
        pytest.param("reclaim", None, BORROWED, id="what is borrowed may be reclaimed"),
        pytest.param("gangreclaim", ["own"], BORROWED, id="its queue is not among those that keep it"),
        pytest.param("reclaim", ["other"], "others", id="its queue is"),
        pytest.param("preempt", None, "others", id="nothing is reclaimed"),
    ],
)
def test_it_is_told_for_whom_nobody_leaves(actions: str, keeps: list[str] | None, says: str) -> None:
    asked = taking(f"enqueue, allocate, {actions}", "priority gang-PR", "predicates capacity", keeps=keeps)
    found = explained(HALVES + ALL, "ns/hog", asked)
    assert told.non_preemptible(says) in found.notes
