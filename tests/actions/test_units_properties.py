"""Jobs that leave as a whole or not at all: no plan evicts a part of one, whatever the actions and plugins."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror, policy_from
from tests.support.taking import taking
from vsched.framework.cycle import run_cycle
from vsched.model.jobs.native import NativeGroup
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.settings.built_in import REGISTRY

MOVING = """
actions: "allocate, shuffle, backfill"
tiers:
- plugins:
  - name: tdm
    arguments: {tdm.evict.period: 0s, tdm.revocable-zone.shut: "00:00-00:01"}
  - name: predicates
"""
"""Node n0 is in a zone that is closed at the time of the tests."""
POLICIES = {
    "preempt": taking("allocate, preempt, backfill", "priority gang conformance", "predicates"),
    "preempt, whatever gangs lose": taking("preempt, allocate", "priority conformance", "predicates"),
    "preempt at least cost": taking(
        "allocate, preempt", "priority", "predicates", args={"enableTopologyAwarePreemption": True}
    ),
    "reclaim": taking("allocate, reclaim, preempt", "gang conformance", "predicates capacity-H"),
    "gangs": taking("allocate, gangpreempt, gangreclaim", "priority gang", "predicates proportion"),
    "gangs, as Volcano votes": taking("allocate, gangpreempt", "priority", "predicates drf", victims="reference"),
    "shuffle": policy_from(MOVING),
}


@settings(max_examples=examples(60), deadline=None)
@given(contended(), st.sampled_from(sorted(POLICIES)), st.sets(st.integers(0, 9)))
def test_all_of_a_unit_leaves_or_nothing(text: str, policy: str, whole: set[int]) -> None:
    text = text.replace("node n0 ", "node n0 volcano.sh/revocable-zone=shut ")
    snapshot = mirror(manifests(text)).snapshot(NOW)
    holding: dict[str, set[str]] = {}
    for number, (key, job) in enumerate(sorted(snapshot.jobs.items())):
        if number in whole:
            job.spec = msgspec.structs.replace(job.spec, native=NativeGroup(whole=True))
            holding[key] = {task.uid for task in job.tasks.values() if _holds(task)}
    evicted = {eviction.uid for eviction in run_cycle(snapshot, POLICIES[policy], REGISTRY).evictions}
    for uids in holding.values():
        assert not evicted & uids or evicted >= uids


def _holds(task: Task) -> bool:
    return HOLDS[task.status].allocated
