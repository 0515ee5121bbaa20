"""Jobs of a backlog that may take from others: they get and are told what they would get and be told one by one."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.backlogged import FACTS, TAKING, Backlogged, backlog, change
from tests.support.clusters import seeded
from tests.support.examples import examples
from tests.support.taking import taking

VICTIMS = (
    "class low 1",
    "node n4 cpu=8 zone=b",
    "node n5 cpu=6",
    "node n6 cpu=6",
    "job y/greedy queue=q min=1 phase=Running",
    "pods y/greedy 5 cpu=1 on=n4",
    "job y/cheap queue=r min=1 phase=Running class=low",
    "pods y/cheap 3 cpu=1 on=n5",
    "job y/firm queue=q min=3 phase=Running class=low",
    "pods y/firm 3 cpu=1 on=n4 labels=of:firm",
    "pdb y/firm selector=of:firm allowed=0",
    "job y/safe queue=r min=1 phase=Running class=low",
    "pods y/safe 6 cpu=1 on=n6 labels=of:safe",
    "pdb y/safe selector=of:safe allowed=0",
    "job y/whole queue=s min=3 phase=Running",
    "pods y/whole 3 cpu=1 on=n5",
)
CHANGES = (
    *FACTS,
    *VICTIMS[4:],
    "job y/cheaper queue=r min=2 phase=Running class=low",
    "pods y/cheaper 2 cpu=1 on=n4",
    "pods y/loose 2 cpu=1 on=n5",
    "pdb y/safe selector=of:safe allowed=1",
)
IN_A_QUEUE = ("keen", "hopeless", "urgent")
TIERS = ("priority gang conformance", "drf-P predicates proportion nodeorder")
POLICIES = {
    "reclaim first": taking("enqueue, allocate, reclaim, preempt, backfill", *TIERS),
    "preempt first": taking("enqueue, allocate, preempt, reclaim, backfill", *TIERS),
    "before others": taking("enqueue, reclaim, preempt, allocate, backfill", *TIERS),
    "capacity": taking(
        "enqueue, allocate, preempt, reclaim, backfill", "priority gang", "predicates capacity nodeorder"
    ),
    "gangs": taking("allocate, gangpreempt, gangreclaim", "priority gang", "predicates proportion"),
    "topology-aware": taking(
        "allocate, preempt, reclaim, backfill",
        "priority gang-P",
        "predicates proportion",
        args={"enableTopologyAwarePreemption": True},
    ),
    "after a while": taking(
        "allocate, reclaim, preempt",
        "priority gang preemption-delay",
        "predicates proportion",
        plugins={"preemption-delay": {"preemptionDelay": "2s"}},
    ),
    "reference": taking(
        "enqueue, allocate, reclaim, preempt, backfill",
        "priority gang conformance",
        "drf predicates proportion",
        victims="reference",
    ),
}


@settings(max_examples=examples(120), deadline=None)
@given(policy=st.sampled_from([*POLICIES]), random=seeded, steps=st.integers(1, 5))
def test_jobs_take_and_are_told_as_if_each_had_a_turn_of_its_own(policy: str, random: Random, steps: int) -> None:
    cluster = Backlogged(*VICTIMS, *backlog(random, TAKING), *backlog(random, random.choice((TAKING, IN_A_QUEUE))))
    assume = random.random() < 0.5
    for _ in range(steps):
        for _ in range(random.randint(0, 2)):
            change(random, cluster, TAKING, CHANGES)
        cluster.run(POLICIES[policy], assume=assume)
