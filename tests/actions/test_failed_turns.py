"""Jobs of one kind: a refusal of one of them holds for the others without a try, and nothing else changes."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.apart import KNOWN, told_apart
from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.hypernodes import Obj, hypernode_object
from tests.support.plans import NOW, manifests, mirror
from tests.support.taking import taking
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.plugins.words.queues import over_limit

Cluster = tuple[str, list[Obj]]
"""A text, and HyperNodes."""


POLICIES = [
    taking("allocate, reclaim, preempt, backfill", "priority gang conformance", "drf-P predicates proportion"),
    taking("enqueue, allocate, preempt, reclaim", "priority gang-PR", "predicates capacity-H network-topology-aware"),
    taking("preempt, reclaim, allocate, backfill", "priority gang", "predicates capacity nodeorder"),
    taking("allocate, gangpreempt, gangreclaim", "priority gang-P", "predicates proportion network-topology-aware"),
    taking("allocate, preempt", "priority gang sla", "predicates nodeorder"),
]


def snapshot(cluster: Cluster) -> Snapshot:
    text, hypernodes = cluster
    return mirror([*manifests(text), *hypernodes]).snapshot(NOW)


def decided(cluster: Cluster, policy: Policy) -> CycleReport:
    report = run_cycle(snapshot(cluster), policy, KNOWN)
    return msgspec.structs.replace(report, spans=())


def backlog(random: Random, text: str) -> str:
    """The text with copies of jobs that wait, which differ in names and some of them in age."""
    lines, jobs = text.splitlines(), dict[str, list[str]]()
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind in ("job", "pods"):
            jobs.setdefault(rest.split()[0], []).append(line)
    waiting = [name for name, own in jobs.items() if not any(" on=" in line for line in own)]
    for name in random.sample(waiting, min(2, len(waiting))):
        for number in range(random.randint(3, 7)):
            copy = f"{name}{'-' * number}copy"
            for line in jobs[name]:
                line = line.replace(f" {name} ", f" {copy} ", 1)
                lines.append(line if random.random() < 0.5 else line.replace("age=0", "age=3"))
    return "\n".join(lines)


@st.composite
def backlogs(draw: st.DrawFn) -> Cluster:
    """A contended cluster with a backlog of a few kinds; its nodes may be in racks, and jobs may have to be close."""
    random: Random = draw(st.randoms(use_true_random=False))
    text = draw(contended())
    nodes = [line.split()[1] for line in text.splitlines() if line.startswith("node ")]
    half = max(1, len(nodes) // 2)
    racks = [hypernode_object("r1", 1, *nodes[:half]), hypernode_object("r2", 1, *(nodes[half:] or nodes[:1]))]
    if len(nodes) < 2 or random.random() < 0.4:
        return backlog(random, text), []
    lines = []
    for line in text.splitlines():
        if line.startswith("job ") and random.random() < 0.6:
            line += f" topology={random.choice(['hard', 'soft'])} tier=1"
        lines.append(line)
    return backlog(random, "\n".join(lines)), racks


@settings(max_examples=examples(25), deadline=None)
@given(cluster=backlogs(), policy=st.sampled_from(POLICIES))
def test_jobs_get_the_same_places_and_reasons_where_each_is_of_its_own_kind(cluster: Cluster, policy: Policy) -> None:
    assert decided(cluster, policy) == decided(cluster, told_apart(policy))


# -- how much is tried ------------------------------------------------------------------------------------------------

FULL = "queue q capability=cpu:3\nnode n1 cpu=8\njob ns/old min=3 queue=q phase=Running\npods ns/old 3 cpu=1 on=n1\n"


def full_queue(jobs: int) -> str:
    """A queue that holds all it may, and gangs that wait."""
    return FULL + "".join(f"job ns/j{one} min=2 queue=q\npods ns/j{one} 2 cpu=1\n" for one in range(jobs))


def session(text: str, policy: Policy) -> Session:
    return run_actions(mirror(manifests(text)).snapshot(NOW), policy, KNOWN, Trace())


def tries(jobs: int, policy: Policy) -> int:
    """How many statements and choices of a node a session takes."""
    tried: list[None] = []
    run_actions(
        mirror(manifests(full_queue(jobs))).snapshot(NOW), policy, KNOWN, Trace(checkpoint=lambda: tried.append(None))
    )
    return len(tried)


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param("allocate", id="turns of allocate"),
        pytest.param("allocate, preempt", id="searches for victims in the own queue"),
        pytest.param("allocate, reclaim", id="searches for victims in other queues"),
    ],
)
def test_a_longer_backlog_of_one_kind_takes_no_more_tries(actions: str) -> None:
    policy = taking(actions, "priority gang", "predicates capacity")
    assert tries(40, policy) == tries(10, policy) < tries(10, told_apart(policy))


def test_all_gangs_of_a_backlog_are_told_why_they_wait() -> None:
    found = session(full_queue(9), taking("allocate, preempt", "priority gang", "predicates capacity"))
    told = {found.refused.jobs[f"ns/j{one}"].message for one in range(9)}
    assert told == {over_limit("q", "q", "cpu")}
