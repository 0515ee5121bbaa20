"""Vcjobs that restart when pods of theirs are evicted do not take from each other again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.controllers.vcjobs.contending import START, Contest
from tests.support import builders as make
from tests.support.examples import examples
from tests.support.vcjobs import task, vcjob
from vsched.controllers.vcjobs.spec import JobAction, JobEvent, VcJob, VcjobPolicy
from vsched.framework.policy import Policy
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

Obj = dict[str, Any]
POLICIES = Path(__file__).parents[3] / "config" / "policies"


def policy(name: str) -> Policy:
    return load_text((POLICIES / f"{name}.yaml").read_text(encoding="utf-8"), name, REGISTRY).policy


CAPACITY, PROPORTION = policy("capacity"), policy("taking-back")
IN_A_TREE = load_text(
    (POLICIES / "capacity.yaml")
    .read_text(encoding="utf-8")
    .replace("capacity  ", "capacity\n    enableHierarchy: true  "),
    "tree",
    REGISTRY,
).policy
KINDS = [
    pytest.param(CAPACITY, id="capacity"),
    pytest.param(IN_A_TREE, id="capacity in a tree"),
    pytest.param(PROPORTION, id="proportion"),
]
RESTARTS = (JobAction.RESTART_JOB, JobAction.RESTART_TASK, JobAction.RESTART_POD)


def job(name: str, queue: str, replicas: int, minimum: int, action: JobAction | None = JobAction.RESTART_JOB) -> VcJob:
    policies = () if action is None else (VcjobPolicy(action, frozenset({JobEvent.POD_EVICTED})),)
    made = vcjob(task("w", replicas), min_available=minimum, max_retry=1000, policies=policies)
    return replace(made, name=name, uid=f"uid-{name}", queue=queue)


def contest(of: Policy, cpus: int, deserved: dict[str, int], seed: int = 0, **seen: bool) -> Contest:
    queues = [
        make.queue(name, spec={"weight": part, "reclaimable": True, "deserved": {"cpu": str(part)}})
        for name, part in deserved.items()
    ]
    return Contest(of, cpus, queues, seed, **seen)


@pytest.mark.parametrize("of", KINDS)
@pytest.mark.parametrize("dies", [pytest.param(False, id="one daemon"), pytest.param(True, id="a daemon that dies")])
def test_two_jobs_that_restart_get_what_their_queues_deserve(of: Policy, dies: bool) -> None:
    at = contest(of, 4, {"qa": 2, "qb": 2})
    at.add(job("ja", "qa", 4, 2))
    at.run(20)
    assert at.running() == {"ja": 4}
    at.add(job("jb", "qb", 4, 2))
    for _ in range(60):
        at.run(1)
        if dies:
            at.forget()
    assert at.running() == {"ja": 2, "jb": 2}
    assert [both for _, *both in at.takings] == [["jb", "ja"]] * 2


@pytest.mark.parametrize("of", KINDS)
def test_a_loop_whose_cause_is_not_known_is_ended_by_back_off(of: Policy) -> None:
    at = contest(of, 4, {"qa": 2, "qb": 2}, seen=False)
    at.add(job("ja", "qa", 4, 2))
    at.run(20)
    at.add(job("jb", "qb", 4, 2))
    at.run(100)
    at.run(60, seconds=60.0)
    assert (at.loops, len(at.takings)) == (1, 4)
    assert at.running() == {"ja": 2, "jb": 2}


@st.composite
def contests(draw: st.DrawFn) -> tuple[Contest, list[VcJob]]:
    deserved = {name: draw(st.integers(1, 4)) for name in ("qa", "qb", "qc")[: draw(st.integers(2, 3))]}
    of, seed = draw(st.sampled_from([CAPACITY, IN_A_TREE, PROPORTION])), draw(st.integers(0, 99))
    at = contest(of, sum(deserved.values()), deserved, seed)
    jobs = []
    for number, queue in enumerate([*deserved, *draw(st.lists(st.sampled_from([*deserved]), max_size=2))]):
        replicas = draw(st.integers(1, 6))
        minimum = draw(st.integers(1, replicas))
        action = draw(st.sampled_from([*RESTARTS, None]))
        jobs.append(job(f"j{number}", queue, replicas, minimum, action))
    return at, jobs


@settings(max_examples=examples(25))
@given(contests(), st.booleans())
def test_the_same_two_jobs_do_not_take_from_each_other_again(drawn: tuple[Contest, list[VcJob]], dies: bool) -> None:
    at, jobs = drawn
    for each in jobs:
        at.add(each)
        at.run(10)
        if dies:
            at.forget()
    at.run(30)
    at.run(6, seconds=600.0)
    took = {takers[1:] for takers in at.takings}
    assert not {(one, other) for one, other in took if (other, one) in took}
    assert all(moment < START + 10 * len(jobs) + 35 for moment, _, _ in at.takings)
