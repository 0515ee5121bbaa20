"""sla: who is served when, and who has waited long enough."""

from __future__ import annotations

import pytest

from tests.support.plans import NOW, plan, policy_of
from tests.support.worlds import World
from vsched.framework.points.extension import Vote
from vsched.plugins.sla import Sla, SlaArgs

CURRENT, LEGACY = "volcano.sh/sla-waiting-time", "sla-waiting-time"
JOBS = f"""
node n1 cpu=4
job ns/plain age=500
job ns/soon age=50 {CURRENT}=1m
job ns/older age=80 {CURRENT}=1m20s
job ns/late age=600 {CURRENT}=1h
"""


def votes(text: str, default: float | None = None, *, job: str = "ns/a") -> Vote:
    world = World(text)
    plugin = world.opened(Sla(SlaArgs(default).normalised()))
    vote = plugin.job_enqueueable(world.jobs[job])
    assert plugin.job_pipelined(world.jobs[job]) is vote
    return vote


@pytest.mark.parametrize(
    ("line", "default", "vote"),
    [
        pytest.param("job ns/a age=900", None, Vote.ABSTAIN, id="without a waiting time it has nothing to say"),
        pytest.param(f"job ns/a age=59 {CURRENT}=1m", None, Vote.ABSTAIN, id="a job that has waited too short a time"),
        pytest.param(f"job ns/a age=60 {CURRENT}=1m", None, Vote.PERMIT, id="a job whose time has come"),
        pytest.param("job ns/a age=60", 60.0, Vote.PERMIT, id="the policy's time where the job has none"),
        pytest.param(f"job ns/a age=60 {CURRENT}=1h", 60.0, Vote.ABSTAIN, id="the job's own time before the policy's"),
        pytest.param("job ns/a age=60", 0.0, Vote.ABSTAIN, id="a policy's time of zero is none"),
        pytest.param(f"job ns/a age=60 {CURRENT}=soon", None, Vote.ABSTAIN, id="a bad annotation counts as none"),
        pytest.param(f"job ns/a age=60 {CURRENT}=0s", None, Vote.ABSTAIN, id="an annotation of zero counts as none"),
        pytest.param(f"job ns/a age=60 {CURRENT}=soon", 60.0, Vote.PERMIT, id="then the policy's time holds"),
    ],
)
def test_jobs_that_have_waited_long_enough_are_spoken_for(line: str, default: float | None, vote: Vote) -> None:
    assert votes(f"node n1 cpu=1\n{line}", default) is vote


def test_who_is_to_be_served_first_goes_first_and_others_go_last() -> None:
    world = World(JOBS)
    plugin = world.opened(Sla(SlaArgs()))
    due = {job.spec.name: plugin.job_key(job) - NOW for job in world.jobs.values()}

    assert due == {"older": 0.0, "soon": 10.0, "late": 3000.0, "plain": float("inf")}


CROWDED = f"""
node n1 cpu=2
job ns/big age=100 cpu=1 pods=1 minResources=cpu:9 {CURRENT}=1m
"""


@pytest.mark.parametrize(
    ("tiers", "phase"),
    [
        pytest.param(("sla", "overcommit"), "Inqueue", id="in an earlier tier its word stands"),
        pytest.param(("sla overcommit",), "Pending", id="in the same tier the other may refuse"),
        pytest.param(("overcommit", "sla"), "Pending", id="in a later tier it comes too late"),
    ],
)
def test_admission_of_a_job_that_others_would_refuse(tiers: tuple[str, ...], phase: str) -> None:
    assert plan(CROWDED, policy_of(*tiers, "predicates")).phases()["big"] == phase


def test_the_job_that_is_due_first_gets_the_room() -> None:
    text = f"""
node n1 cpu=1
job ns/a age=90 pods=1 cpu=1 {CURRENT}=1h
job ns/b age=60 pods=1 cpu=1 {CURRENT}=2m
"""
    assert plan(text, policy_of("sla", "predicates")).order == ["b.0"]
    assert plan(text, policy_of("predicates")).order == ["a.0"]
