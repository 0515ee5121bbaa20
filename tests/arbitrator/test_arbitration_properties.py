"""Arbitration over rounds, on small random clusters: what holds whatever namespaces want, reserve and hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.arbitrating import PLACING, Cluster
from tests.support.examples import examples
from tests.support.parties import bucket, party
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.arbitrator.taking.kept import KeptAmounts
from vsched.arbitrator.wants import PodDemands
from vsched.model.arbitration.records import Award, Bucket
from vsched.model.plan import Evict
from vsched.model.snapshot import Snapshot

ROUNDS = 150
"""By then evictions have come to an end, at one in a round or less."""
QUIET = 8
"""After so many rounds without an eviction, in which whoever left is gone, there will be none."""


BUCKETS = [
    [],
    [bucket("area", reserved="cpu=2")],
    [bucket("area", hard="cpu=4"), bucket("other")],
    [bucket("area", hard="cpu=3", parent="top"), bucket("top", hard="cpu=4 memory=3Gi")],
    [
        bucket("area", reserved="cpu=1", parent="top"),
        bucket("other", weight=2, parent="top"),
        bucket("top", hard="cpu=4"),
    ],
]


@st.composite
def clusters(draw: st.DrawFn, most: int = 1) -> Cluster:
    """Two to four namespaces on one to three nodes, some of them full of what is to be taken back."""
    sizes = draw(st.lists(st.integers(2, 5), min_size=1, max_size=3))
    nodes = {f"n{number}": f"cpu={size} memory={draw(st.integers(size, 6))}Gi" for number, size in enumerate(sizes)}
    buckets = draw(st.sampled_from(BUCKETS))
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


@settings(max_examples=examples(20), deadline=None)
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


@settings(max_examples=examples(20), deadline=None)
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
    nodes, kept, asking = snapshot.nodes, KeptAmounts(arbitration, division), PodDemands(snapshot)

    def is_limited(key: str) -> bool:
        """Whether a bucket may have too little left for a pod: then pods leave other nodes, too."""
        above = kept.buckets_of(tasks[key].namespace)
        return any(asking.amounts(tasks[key].shape).keys() & division.buckets[name].hard for name in above)

    for node in {eviction.node for eviction in verdict.evictions}:
        row = nodes.statics.row[node]
        here = [eviction for eviction in verdict.evictions if eviction.node == node]
        wanted = {eviction.beneficiary for eviction in here if not is_limited(eviction.beneficiary)}
        for column in range(nodes.width):
            free = int(nodes.idle[column, row] + nodes.releasing[column, row])
            back = sum(dict(uids[eviction.uid].shape.request).get(column, 0) for eviction in here)
            asked = sum(dict(tasks[key].shape.request).get(column, 0) for key in wanted)
            assert asked <= free + back, "evicted pods for a job that was not placed"
    for eviction in verdict.evictions:
        victim, claimant = uids[eviction.uid], tasks[eviction.beneficiary]
        assert victim.namespace in verdict.overused
        assert claimant.namespace in verdict.overused[victim.namespace].claimants
        assert victim.namespace != claimant.namespace


@settings(max_examples=examples(12), deadline=None)
@given(clusters())
def test_a_namespace_that_is_alone_is_overused_only_beyond_its_limits(cluster: Cluster) -> None:
    (owner, *_) = cluster.parties.values()
    cluster.parties = {owner.namespace: owner}
    cluster.pods = [living for living in cluster.pods if living.namespace == owner.namespace]
    for _ in range(4):
        snapshot, division, verdict = cluster.round()
        hard, kept = division.namespaces[owner.namespace].hard, _kept(snapshot, owner.namespace)
        assert bool(verdict.overused) == any(kept.get(name, 0) > most for name, most in hard.items())
        assert not verdict.evictions


@st.composite
def empty_clusters(draw: st.DrawFn) -> Cluster:
    """One node on which nothing runs yet, and pods of several namespaces, in buckets or not, in any order."""
    buckets = draw(st.sampled_from(BUCKETS))
    parties = [
        party(
            name,
            reserved=draw(st.sampled_from(["", "", "cpu=1", "memory=1Gi"])),
            hard=draw(st.sampled_from(["", "", "cpu=3", "cpu=0", "memory=2Gi", "pods=2"])),
            weight=draw(st.integers(1, 3)),
            parent=draw(st.sampled_from(["", *(one.name for one in buckets)])),
        )
        for name in "abcd"[: draw(st.integers(2, 4))]
    ]
    cluster = Cluster(
        {"n0": f"cpu={draw(st.integers(1, 11))} memory={draw(st.integers(2, 8))}Gi"}, parties, buckets=buckets
    )
    sizes = [
        "cpu=500m memory=500Mi",
        "cpu=1",
        "cpu=1 memory=1Gi",
        "cpu=2 memory=1Gi",
        "cpu=1500m",
        "cpu=3 memory=100Mi",
    ]
    for each in parties:
        for size in draw(st.lists(st.sampled_from(sizes), max_size=3, unique=True)):
            cluster.run(
                f"{each.namespace}/{size.replace('=', '').replace(' ', '-').lower()}", draw(st.integers(1, 6)), size
            )
    cluster.pods = draw(st.permutations(cluster.pods))
    return cluster


@settings(max_examples=examples(30), deadline=None)
@given(empty_clusters())
def test_where_all_begin_with_nothing_nobody_is_ever_evicted(cluster: Cluster) -> None:
    """What is idle is lent once: nothing is started on room that somebody who waits has a right to."""
    for _ in range(12):
        verdict = cluster.round()[2]
        assert not verdict.evictions
        assert not verdict.overused
        assert all(value <= 0 for each in cluster.buckets for value in _beyond(cluster, each).values())


@settings(max_examples=examples(20), deadline=None)
@given(clusters(), st.integers(0, 3))
def test_a_bucket_never_holds_more_than_it_may_unless_it_did_before(cluster: Cluster, quiet: int) -> None:
    """Rounds are skipped, too: sessions go on by the ceilings of the last one."""
    before = {each.name: _beyond(cluster, each) for each in cluster.buckets}
    for _ in range(25):
        _, division, verdict = cluster.round()
        for _ in range(quiet):
            cluster._place(division, lends=not verdict.promised)
        for each in cluster.buckets:
            now = _beyond(cluster, each)
            assert all(value <= max(0, before[each.name][name]) for name, value in now.items())
            before[each.name] = now


def _beyond(cluster: Cluster, bucket: Bucket) -> dict[str, int]:
    """By how much the pods in a bucket, at whatever level, keep more than it may."""
    parents = {one.name: one.parent for one in cluster.buckets}
    inside = {bucket.name}
    while found := {name for name, parent in parents.items() if parent in inside} - inside:
        inside |= found
    names = {name for name, one in cluster.parties.items() if one.claim is not None and one.claim.parent in inside}
    kept = Counter[str]()
    for living in cluster.pods:
        if living.namespace in names and living.keeps:
            kept.update(living.request)
    return {name: kept[name] - most for name, most in bucket.hard.items()}


def _kept(snapshot: Snapshot, namespace: str) -> dict[str, int]:
    assert snapshot.arbitration is not None
    return snapshot.arbitration.parties[namespace].kept
