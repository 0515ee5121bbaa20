"""What is to be written after a division, and that it is written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from tests.support.arbitrating import AT_ONCE, PLACING, Cluster
from tests.support.parties import NOW, Pod, bucket, party, pods, world
from vsched.arbitrator import words
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import (
    DropAllocation,
    Effect,
    MakeConsumer,
    Promise,
    Remark,
    RoundResult,
    WriteAllocation,
    WriteStatus,
)
from vsched.arbitrator.reconcile import reconcile
from vsched.arbitrator.rules import ArbitrationRules
from vsched.model.arbitration.records import AllocationRecord, ArbitrationCondition, Bucket, Claim, NamespaceAccount

SLOW = ArbitrationRules(grace_seconds=1000.0)


def decided(
    parties: Sequence[NamespaceAccount],
    said: Sequence[Pod] = (),
    *,
    buckets: Sequence[Bucket] = (),
    total: Any = "cpu=4",
    now: float = NOW,
    **options: Any,
) -> RoundResult:
    snapshot = replace(world(total, parties, pods=said, buckets=buckets), now=now)
    return reconcile(snapshot, divide(snapshot), SLOW, PLACING, **options)


def of(effects: Sequence[Effect], kind: type[Any], namespace: str | None = None) -> list[Any]:
    return [
        one
        for one in effects
        if isinstance(one, kind) and namespace in (None, one.namespace)  # type: ignore[union-attr]
    ]


def told(effect: WriteAllocation | WriteStatus) -> dict[str, ArbitrationCondition]:
    assert effect.status is not None
    return {one.kind: one for one in effect.status["conditions"]}


def claims(namespace: str, *names: str) -> tuple[Claim, ...]:
    return tuple(Claim(namespace, name, f"uid-{name}", "1", 1) for name in names)


# -- Consumers


def test_a_namespace_without_a_consumer_gets_one_and_its_allocation_after_that() -> None:
    verdict = decided([party("a", consumer=False)])
    assert verdict.effects == (MakeConsumer("a"),)
    verdict = decided([party("a")], pods("a", 1, "cpu=1", on="n1"))
    (made,) = of(verdict.effects, WriteAllocation)
    assert (made.name, made.uid, made.version, made.owner) == ("defaults", "", "", ("defaults", "a-defaults"))
    assert made.spec == {"deserved": {"cpu": "1", "memory": "0", "pods": "1"}, "hard": {}, "reserved": {}}
    assert made.status is not None
    assert made.status["allocated"] == {"cpu": "1", "memory": "0", "pods": "1"}


@pytest.mark.parametrize(
    "fields",
    [{"terminating": True}, {"unreadable": True}],
    ids=["a namespace in its last moments", "a namespace whose Consumer cannot be read"],
)
def test_no_consumer_is_made_for(fields: dict[str, Any]) -> None:
    stray = (AllocationRecord("a", "other", "u"),)
    verdict = decided([party("a", consumer=False, allocations=stray, **fields)])
    assert not of(verdict.effects, MakeConsumer)
    assert not of(verdict.effects, DropAllocation)


def test_the_allocation_of_an_unreadable_consumer_goes_on() -> None:
    record = AllocationRecord("a", "mine", "u", "3")
    verdict = decided([party("a", consumer=False, unreadable=True, allocations=(record,))])
    (written,) = of(verdict.effects, WriteAllocation)
    assert (written.name, written.uid, written.version) == ("mine", "u", "3")


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        ({}, "Valid", ""),
        (
            {"hard": "cpu=1", "reserved": "cpu=2"},
            "Invalid",
            words.above_bound("spec.reserved.cpu: 2", "1", "spec.hard"),
        ),
        (
            {"hard": "cpu=3", "quota": "cpu=2"},
            "Invalid",
            words.above_bound("spec.hard.cpu: 3", "2", words.THE_QUOTA),
        ),
    ],
    ids=["it keeps the rules", "it reserves more than its limit", "it allows more than the quota"],
)
def test_whether_a_consumer_is_accepted(fields: dict[str, Any], reason: str, message: str) -> None:
    verdict = decided([party("a", **fields)])
    (written,) = of(verdict.effects, WriteStatus)
    found = told(written)["Accepted"]
    assert (found.reason, found.message, found.status) == (reason, message, "True" if reason == "Valid" else "False")
    remarks = [(one.kind, one.reason, one.message) for one in of(verdict.effects, Remark) if one.kind == "Consumer"]
    assert remarks == ([] if reason == "Valid" else [("Consumer", "Invalid", message)])


def test_a_second_consumer_is_told_that_it_does_not_count() -> None:
    first, second = claims("a", "one", "two")
    one = msgspec.structs.replace(party("a"), claim=first, idle_claims=(second,))
    verdict = decided([one])
    written = {each.name: told(each)["Accepted"] for each in of(verdict.effects, WriteStatus)}
    assert written["one"].status == "True"
    assert (written["two"].status, written["two"].reason) == ("False", "NotCounted")
    assert written["two"].message == words.older_counts("one")


def test_a_parent_that_is_not_there_is_told() -> None:
    verdict = decided([party("a", parent="area")])
    (written,) = of(verdict.effects, WriteStatus)
    assert told(written)["ParentFound"].reason == "BucketNotFound"
    assert "ParentFound" not in told(
        of(decided([party("a", parent="x")], buckets=[bucket("x")]).effects, WriteStatus)[0]
    )


# -- Allocations


def test_allocations_that_do_not_count_are_dropped() -> None:
    records = (AllocationRecord("a", "gone", "u1"), AllocationRecord("a", "defaults", "u2"))
    assert of(decided([party("a", allocations=records)]).effects, DropAllocation) == [DropAllocation("a", "gone", "u1")]
    without = party("a", consumer=False, allocations=records)
    assert of(decided([without]).effects, DropAllocation) == [DropAllocation("a", "gone", "u1")]


def test_hard_and_reserved_are_copied_as_they_are_stated() -> None:
    claim = Claim("a", "mine", "u", "1", 1, {"cpu": 1500}, {"cpu": 500})
    claim = msgspec.structs.replace(claim, stated_hard={"requests.cpu": "1500m"}, stated_reserved={"cpu": "0.5"})
    (written,) = of(decided([msgspec.structs.replace(party("a"), claim=claim)]).effects, WriteAllocation)
    assert written.spec is not None
    assert (written.spec["hard"], written.spec["reserved"]) == ({"requests.cpu": "1500m"}, {"cpu": "0.5"})


@pytest.mark.parametrize(
    ("parties", "reason", "message"),
    [
        ([party("a", reserved="cpu=1")], "InForce", ""),
        (
            [party("a", reserved="cpu=3"), party("b", reserved="cpu=5")],
            "ReservationsExceedCluster",
            words.reservation_cut("1500m of 3 cpu", limited=False),
        ),
        (
            [party("a", reserved="cpu=3", quota="cpu=2")],
            "LimitBelowReservation",
            words.reservation_cut("2 of 3 cpu", limited=True),
        ),
    ],
    ids=["it is in force", "the cluster has too little", "the quota is below it"],
)
def test_what_becomes_of_a_reservation(parties: list[NamespaceAccount], reason: str, message: str) -> None:
    verdict = decided(parties)
    found = told(of(verdict.effects, WriteAllocation, "a")[0])["Reserved"]
    assert (found.reason, found.message) == (reason, message)
    assert found in verdict.conditions["a"]


def test_nothing_is_said_of_reservations_where_there_is_none() -> None:
    assert "Reserved" not in told(of(decided([party("a")]).effects, WriteAllocation)[0])


# -- buckets


def test_what_is_said_of_a_bucket() -> None:
    parties = [party("a", parent="area"), party("b", parent="area"), party("c")]
    said = [*pods("a", 1, "cpu=1", on="n1"), *pods("b", 1, "cpu=1", on="n1"), *pods("c", 9, "cpu=1")]
    verdict = decided(parties, said, buckets=[bucket("area", reserved="cpu=9")])
    (written,) = [one for one in of(verdict.effects, WriteStatus) if one.kind == "Bucket"]
    assert (written.namespace, written.name, written.uid) == ("", "area", "bucket-area")
    assert written.status["deserved"]["cpu"] == "4"
    assert written.status["allocated"]["cpu"] == "2"
    assert written.status["observedGeneration"] == 1
    assert told(written)["Reserved"].reason == "ReservationsExceedCluster"
    assert told(written)["Accepted"].status == "True"


# -- once


def lively() -> Cluster:
    cluster = Cluster(
        {"n1": "cpu=4 memory=4Gi"},
        [party("a"), party("b", hard="cpu=1", reserved="cpu=2"), party("c", parent="area"), party("d", parent="none")],
        buckets=[bucket("area", reserved="cpu=9")],
        rules=SLOW,
    )
    cluster.run("a/p", 4, "cpu=1 memory=1Gi", on="n1")
    cluster.run("c/w", 4, "cpu=1 memory=1Gi")
    return cluster


def test_what_is_written_is_not_written_again() -> None:
    cluster = lively()
    first = cluster.round()[2].effects
    assert {type(one) for one in first} >= {WriteAllocation, WriteStatus, Remark}
    for _ in range(15):
        verdict = cluster.round()[2]
        assert [one for one in verdict.effects if not isinstance(one, Remark)] == []
        assert verdict.overused


def test_people_are_told_when_something_begins_and_not_again() -> None:
    cluster = lively()
    begun = [(one.kind, one.name, one.reason) for one in cluster.round()[2].effects if isinstance(one, Remark)]
    assert ("Consumer", "defaults", "Invalid") in begun
    assert ("Consumer", "defaults", "BucketNotFound") in begun
    assert ("Bucket", "area", "ReservationCut") in begun
    assert not any(isinstance(one, Remark) for one in cluster.round()[2].effects)


def test_people_are_told_that_a_namespace_is_overused_once_its_allocation_is_there() -> None:
    record = AllocationRecord(
        "a", "defaults", "u", "1", conditions=(ArbitrationCondition("Overused", "False", "NotOverused"),)
    )
    full = [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 4, "cpu=1")]
    verdict = decided([party("a", allocations=(record,)), party("b")], full)
    (remark,) = of(verdict.effects, Remark)
    assert (remark.kind, remark.namespace, remark.uid, remark.warning, remark.reason) == (
        "Allocation",
        "a",
        "u",
        True,
        "Overused",
    )
    assert remark.message == words.beyond_deserved("2 cpu", "", ["b"])
    known = msgspec.structs.replace(record, conditions=(ArbitrationCondition("Overused", "True", since=NOW - 5),))
    verdict = decided([party("a", allocations=(known,)), party("b")], full)
    assert not of(verdict.effects, Remark)
    assert told(of(verdict.effects, WriteAllocation, "a")[0])["Overused"].since == NOW - 5


def test_what_is_held_is_written_once_in_a_while_and_everything_else_at_once() -> None:
    rules = ArbitrationRules(allocated_seconds=10.0)
    cluster = Cluster({"n1": "cpu=40 memory=40Gi"}, [party("a")], rules=rules)
    cluster.run("a/p", 1, "cpu=1 memory=1Gi", on="n1")
    cluster.round()
    written: list[WriteAllocation] = []
    for _ in range(20):
        cluster.run("a/p", 1, "cpu=1 memory=1Gi", on="n1")
        written += of(cluster.round()[2].effects, WriteAllocation)
    assert len([one for one in written if one.spec is not None]) == 20, "what is deserved follows what is asked for"
    assert len([one for one in written if one.status is not None]) == 2, "twenty seconds are two periods of ten"


def test_a_changed_generation_is_observed_at_once() -> None:
    cluster = Cluster({"n1": "cpu=4"}, [party("a")], rules=SLOW)
    cluster.round()
    old = cluster.parties["a"]
    assert old.claim is not None
    changed = msgspec.structs.replace(old.claim, generation=2)
    cluster.parties["a"] = msgspec.structs.replace(old, claim=changed)
    (written,) = cluster.round()[2].effects
    assert isinstance(written, WriteStatus)
    assert written.status["observedGeneration"] == 2


# -- over time


@pytest.mark.parametrize("nodes", [{"n1": "cpu=2 memory=2Gi"}, {"n1": "cpu=1 memory=1Gi", "n2": "cpu=1 memory=1Gi"}])
def test_the_designs_t1_to_t3(nodes: dict[str, str]) -> None:
    cluster = Cluster(nodes, [party("one")])
    for node in [*nodes, *nodes][:2]:
        cluster.run("one/a", 1, "cpu=1 memory=1Gi", on=node)
    assert dict(cluster.round()[1].namespaces["one"].deserved) == {"cpu": 2000, "memory": 2 << 30, "pods": 2}

    cluster.parties["two"] = party("two")
    cluster.run("two/b", 2, "cpu=1 memory=1Gi")
    _, division, verdict = cluster.round()
    assert all(division.namespaces[name].deserved["cpu"] == 1000 for name in ("one", "two"))
    assert all(division.namespaces[name].deserved["memory"] == 1 << 30 for name in ("one", "two"))
    assert [one.namespace for one in verdict.evictions] == ["one"]
    assert not any(cluster.round()[2].evictions for _ in range(5))
    assert (cluster.held("one"), cluster.held("two")) == (1, 1)


def test_what_leaves_is_not_let_back_into_the_room_that_it_made() -> None:
    """Where several have to leave one node, the first could come back before the last is gone, by amounts alone."""
    cluster = Cluster(
        {"n1": "cpu=4 memory=4Gi", "n2": "cpu=3 memory=3Gi"}, [party("a", weight=2), party("b"), party("c")]
    )
    cluster.terminating = 2
    for node, old in (("n1", 6), ("n2", 4)):
        cluster.run("b/old", old, "cpu=500m memory=500Mi", on=node)
        cluster.run("a/big", 1, "cpu=1 memory=1Gi", on=node)
    cluster.run("a/new", 2, "cpu=2 memory=1Gi")
    cluster.run("c/new", 1, "cpu=500m memory=500Mi")
    evicted = [len(cluster.round()[2].evictions) for _ in range(25)]
    assert sum(evicted) == 5
    assert not any(evicted[-10:])
    assert (cluster.held("a"), cluster.held("c")) == (3, 1)


def test_the_grace_holds() -> None:
    cluster = Cluster({"n1": "cpu=2"}, [party("a"), party("b")], rules=ArbitrationRules(grace_seconds=3.0))
    cluster.run("a/p", 2, "cpu=1", on="n1")
    cluster.run("b/w", 2, "cpu=1")
    evicted = [len(cluster.round()[2].evictions) for _ in range(6)]
    assert evicted == [0, 0, 0, 1, 0, 0]


def test_the_grace_begins_anew_when_nobody_was_short_meanwhile() -> None:
    cluster = Cluster({"n1": "cpu=2"}, [party("a"), party("b")], rules=ArbitrationRules(grace_seconds=3.0))
    cluster.run("a/p", 2, "cpu=1", on="n1")
    cluster.run("b/w", 2, "cpu=1")
    assert not any(cluster.round()[2].evictions for _ in range(3))
    waiting, cluster.pods = cluster.pods[2:], cluster.pods[:2]
    assert not cluster.round()[2].overused
    cluster.pods += waiting
    assert [len(cluster.round()[2].evictions) for _ in range(4)] == [0, 0, 0, 1]


def test_a_promise_lasts_until_the_pod_has_its_place_and_no_longer_than_it_may() -> None:
    full = [*pods("a", 2, "cpu=1", on="n1"), *pods("b", 2, "cpu=1")]
    snapshot = world("cpu=2", [party("a"), party("b")], pods=full)
    verdict = reconcile(snapshot, divide(snapshot), AT_ONCE, PLACING)
    assert verdict.promised == {"b-pod-0": Promise("b", "n1", NOW + AT_ONCE.promise_seconds)}

    def later(said: Sequence[Pod], seconds: float) -> dict[str, Promise]:
        return dict(
            decided(
                [party("a"), party("b")], said, total="cpu=2", now=NOW + seconds, promised=verdict.promised
            ).promised
        )

    assert later(full, 59.0) == verdict.promised
    assert later(full, 60.0) == {}
    assert later([*pods("a", 1, "cpu=1", on="n1"), *pods("b", 1, "cpu=1", on="n1")], 1.0) == {}
    assert later(full[:2], 1.0) == {}


def test_nothing_follows_where_nobody_arbitrates() -> None:
    snapshot = replace(world("cpu=2", []), arbitration=None)
    division = divide(world("cpu=2", []))
    assert reconcile(snapshot, division, AT_ONCE, PLACING) == RoundResult()
