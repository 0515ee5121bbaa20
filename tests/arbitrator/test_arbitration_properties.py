"""Arbitration over rounds, on small random clusters: what holds whatever namespaces want, reserve and hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.arbitrating import PLACING, Cluster
from tests.support.parties import bucket, party
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.model.arbitration import Award
from vsched.model.plan import Evict
from vsched.model.snapshot import Snapshot

ROUNDS = 150
"""By then evictions have come to an end, at one in a round or less."""
QUIET = 8
"""After so many rounds without an eviction, in which whoever left is gone, there will be none."""


@st.composite
def clusters(draw: st.DrawFn, most: int = 1) -> Cluster:
    """Two to four namespaces on one to three nodes, some of them full of what is to be taken back."""
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
    nodes = {f"n{number}": f"cpu={size} memory={draw(st.integers(size, 6))}Gi" for number, size in enumerate(sizes)}
    buckets = draw(
        st.sampled_from([[], [bucket("area", reserved="cpu=2")], [bucket("area", hard="cpu=4"), bucket("other")]])
    )
    parties = [
        party(
            name,
            reserved=draw(st.sampled_from(["", "", "cpu=1", "cpu=2 memory=1Gi", "pods=2"])),
            hard=draw(st.sampled_from(["", "", "", "cpu=3", "memory=2Gi"])),
            weight=draw(st.integers(1, 3)),
            parent=draw(st.sampled_from(["", *(one.name for one in buckets)])),
        )
        for name in "abcd"[: draw(st.integers(2, 4))]
    ]
    cluster = Cluster(
        nodes,
        parties,
        buckets=buckets,
        rules=ArbitrationRules(grace_seconds=draw(st.sampled_from([0.0, 2.0])), evictions_per_round=most),
        terminating=draw(st.integers(0, 3)),
    )
    owner = draw(st.sampled_from(parties)).namespace
    for node, size in zip(nodes, sizes, strict=True):
        many = draw(st.sampled_from([2 * size - 2, 2 * size - 2, size]))
        cluster.run(f"{owner}/old", many, "cpu=500m memory=500Mi", on=node, **_fields(draw))
        cluster.run(f"{draw(st.sampled_from(parties)).namespace}/big", 1, "cpu=1 memory=1Gi", on=node)
    if draw(st.booleans()):
        cluster.stay[f"{owner}/old"] = draw(st.integers(0, 4))
    for each in parties:
        size = draw(st.sampled_from(["cpu=500m memory=500Mi", "cpu=1 memory=1Gi", "cpu=2 memory=1Gi", "cpu=3"]))
        cluster.run(f"{each.namespace}/new", draw(st.integers(0, 5)), size, **_fields(draw))
    return cluster


def _fields(draw: st.DrawFn) -> dict[str, Any]:
    return {"priority": draw(st.sampled_from([0, 0, 5])), "preferred_victim": draw(st.booleans())}


def _reversed(snapshot: Snapshot) -> Snapshot:
    """The same with everything that has no order in another one."""
    assert snapshot.arbitration is not None
    parties = {
        name: msgspec.structs.replace(
            one, tasks=dict(reversed(one.tasks.items())), pending=dict(reversed(one.pending.items()))
        )
        for name, one in reversed(snapshot.arbitration.parties.items())
    }
    return replace(snapshot, arbitration=msgspec.structs.replace(snapshot.arbitration, parties=parties))


def _check_round(snapshot: Snapshot, awards: dict[str, Award], evictions: tuple[Evict, ...]) -> None:
    arbitration = snapshot.arbitration
    assert arbitration is not None
    gone = {eviction.uid for eviction in evictions}
    for name, one in arbitration.parties.items():
        lost = Counter[str]()
        for task in one.tasks.values():
            if task.uid in gone:
                lost.update({snapshot.axis.names[column]: value for column, value in task.shape.request})
        for resource, value in lost.items():
            assert one.kept[resource] - value >= awards[name].reserved.get(resource, 0), "taken from a reserve"
        for budget in snapshot.budgets.get(name, ()):
            about = [
                task
                for task in one.tasks.values()
                if task.uid in gone and budget.selector.matches(dict(task.labels.pairs))
            ]
            assert len(about) <= budget.allowed, "taken beyond a budget"


@settings(max_examples=30, deadline=None)
@given(clusters())
def test_for_constant_demand_evictions_come_to_an_end_and_keep_what_is_promised(cluster: Cluster) -> None:
    quiet = 0
    for _ in range(ROUNDS):
        snapshot, division, verdict = cluster.round()
        assert len(verdict.evictions) <= 1
        _check_round(snapshot, dict(division.namespaces), verdict.evictions)
        quiet = 0 if verdict.evictions else quiet + 1
        if quiet == QUIET:
            return
    raise AssertionError("there is no end of evictions")


@settings(max_examples=30, deadline=None)
@given(clusters(most=100))
def test_whoever_is_evicted_makes_room_that_its_beneficiary_needs(cluster: Cluster) -> None:
    cluster.rules = ArbitrationRules(grace_seconds=0.0, evictions_per_round=100)
    snapshot, division, verdict = cluster.round()
    _check_round(snapshot, dict(division.namespaces), verdict.evictions)
    arbitration = snapshot.arbitration
    assert arbitration is not None
    assert reconcile(_reversed(snapshot), division, cluster.rules, PLACING).evictions == verdict.evictions
    tasks = {task.key: task for one in arbitration.parties.values() for task in one.tasks.values()}
    uids = {task.uid: task for task in tasks.values()}
    nodes = snapshot.nodes
    for node in {eviction.node for eviction in verdict.evictions}:
        row = nodes.statics.row[node]
        here = [eviction for eviction in verdict.evictions if eviction.node == node]
        wanted = {eviction.beneficiary for eviction in here}
        for column in range(nodes.width):
            free = int(nodes.idle[column, row] + nodes.releasing[column, row])
            back = sum(dict(uids[eviction.uid].shape.request).get(column, 0) for eviction in here)
            asked = sum(dict(tasks[key].shape.request).get(column, 0) for key in wanted)
            assert asked <= free + back, "evicted in vain"
    for eviction in verdict.evictions:
        victim, claimant = uids[eviction.uid], tasks[eviction.beneficiary]
        assert victim.namespace in verdict.overused
        assert claimant.namespace in verdict.overused[victim.namespace].claimants
        assert victim.namespace != claimant.namespace


@settings(max_examples=15, deadline=None)
@given(clusters())
def test_a_namespace_that_is_alone_is_never_overused(cluster: Cluster) -> None:
    (owner, *_) = cluster.parties.values()
    cluster.parties = {owner.namespace: owner}
    cluster.pods = [living for living in cluster.pods if living.namespace == owner.namespace]
    for _ in range(4):
        _, _, verdict = cluster.round()
        assert not verdict.overused
        assert not verdict.evictions
