"""Who is short, and who is overused meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.support.parties import NOW, Pod, amounts, bucket, party, pods, world
from vsched.arbitrator import words
from vsched.arbitrator.conditions import overuse_message
from vsched.arbitrator.division.divide import divide
from vsched.arbitrator.effects import Overuse
from vsched.arbitrator.overuse import excesses, kept_in_buckets, overuses, record_of, shortages
from vsched.arbitrator.wants import PodDemands
from vsched.model.arbitration.records import AllocationRecord, ArbitrationCondition, Bucket, NamespaceAccount
from vsched.model.pods.status import Status

HALVES = [party("a"), party("b")]


def looked_at(
    parties: Sequence[NamespaceAccount], said: Sequence[Pod], total: Any = "cpu=4", buckets: Sequence[Bucket] = ()
) -> dict[str, Overuse]:
    snapshot = world(total, parties, buckets=buckets, pods=said)
    division = divide(snapshot)
    assert snapshot.arbitration is not None
    exceeding = excesses(snapshot.arbitration, division)
    short = shortages(snapshot, division, PodDemands(snapshot))
    in_buckets = kept_in_buckets(snapshot.arbitration, division)
    return overuses(snapshot.arbitration, division, exceeding, in_buckets, short, snapshot.now)


@pytest.mark.parametrize(
    ("said", "overused", "short"),
    [
        pytest.param(
            [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 4, "cpu=1")],
            {"a": "cpu=2"},
            ("b",),
            id="whoever holds more than its half while the other waits",
        ),
        pytest.param(
            [*pods("a", 4, "cpu=1", on="n1")], {}, (), id="nobody, where one holds everything and nobody else waits"
        ),
        pytest.param(
            [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 1, "cpu=3")],
            {},
            (),
            id="nobody, where what waits is more than its namespace deserves",
        ),
        pytest.param(
            [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 2, "cpu=1", gated=True)],
            {},
            (),
            id="nobody, where what waits is held back by a gate",
        ),
        pytest.param(
            [
                *pods("a", 2, "cpu=1", on="n1"),
                *pods("a", 2, "cpu=1", name="old", on="n1", status=Status.RELEASING),
                *pods("b", 2, "cpu=1"),
            ],
            {},
            (),
            id="nobody, where what is too much is on its way out",
        ),
        pytest.param(
            [*pods("a", 3, "cpu=1", on="n1"), *pods("a", 3, "cpu=1"), *pods("b", 1, "cpu=1", on="n1")],
            {},
            (),
            id="nobody, where the one that waits holds the most itself",
        ),
        pytest.param(
            [*pods("kube-system", 4, "cpu=1", on="n1"), *pods("b", 4, "cpu=1")],
            {},
            (),
            id="never the system's namespace",
        ),
    ],
)
def test_who_is_overused(said: list[Pod], overused: dict[str, str], short: tuple[str, ...]) -> None:
    found = looked_at([*HALVES, party("kube-system")], said)
    assert {name: dict(one.excess) for name, one in found.items()} == {
        name: amounts(excess) for name, excess in overused.items()
    }
    assert all(one.claimants == short for one in found.values())


@pytest.mark.parametrize(
    ("parties", "buckets", "said", "expected"),
    [
        pytest.param(
            [party("a", hard="cpu=3")],
            [],
            pods("a", 4, "cpu=1", on="n1"),
            {"a": words.beyond_own_limit("1 cpu")},
            id="who holds more than its limit, whoever is short",
        ),
        pytest.param(
            [party("a", hard="cpu=3")], [], pods("a", 3, "cpu=1", on="n1"), {}, id="not who holds just as much"
        ),
        pytest.param(
            [party("a", quota="cpu=3")],
            [],
            pods("a", 4, "cpu=1", on="n1"),
            {"a": words.beyond_own_limit("1 cpu")},
            id="nor more than its quota",
        ),
        pytest.param(
            [party("a", hard="cpu=0")],
            [],
            pods("a", 1, "cpu=1", on="n1"),
            {"a": words.beyond_own_limit("1 cpu")},
            id="a limit of nothing is one",
        ),
        pytest.param(
            [party("a", hard="limits.cpu=3")],
            [],
            pods("a", 2, "cpu=1 limits.cpu=2", on="n1"),
            {"a": words.beyond_own_limit("1 limits.cpu")},
            id="what has no total is limited all the same",
        ),
        pytest.param(
            [party("a", hard="cpu=3"), party("b")],
            [],
            [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 1, "cpu=1")],
            {"a": f"{words.beyond_own_limit('1 cpu')}; {words.beyond_deserved('1 cpu', '', ['b'])}"},
            id="both is said",
        ),
        pytest.param(
            [party("a", parent="x"), party("b", parent="x")],
            [bucket("x", hard="cpu=3")],
            [*pods("a", 3, "cpu=1", on="n1"), *pods("b", 1, "cpu=1", on="n1")],
            {"a": words.beyond_own_limit("1 cpu more than it deserves while bucket x holds")},
            id="who has too much of what its bucket has too much of",
        ),
        pytest.param(
            [party("a", parent="x"), party("b", parent="y")],
            [bucket("x", parent="y"), bucket("y", hard="cpu=2", parent="z"), bucket("z", hard="cpu=9")],
            [*pods("a", 2, "cpu=1", on="n1"), *pods("b", 1, "cpu=1", on="n1")],
            {"a": words.beyond_own_limit("1 cpu more than it deserves while bucket y holds")},
            id="at any level",
        ),
        pytest.param(
            [party("a", parent="x"), party("b", parent="x")],
            [bucket("x", hard="limits.cpu=4")],
            [*pods("a", 2, "limits.cpu=2", on="n1"), *pods("b", 1, "limits.cpu=2")],
            {"a": words.beyond_deserved("2 limits.cpu", "", ["b"])},
            id="of what only their bucket has a total",
        ),
    ],
)
def test_limits_hold_whoever_is_short(
    parties: list[NamespaceAccount], buckets: list[Bucket], said: list[Pod], expected: dict[str, str]
) -> None:
    found = looked_at(parties, said, buckets=buckets)
    assert {name: overuse_message(one) for name, one in found.items()} == expected


def test_a_pod_that_no_node_could_hold_makes_nobody_short() -> None:
    nodes = {"n1": "cpu=2", "n2": "cpu=2"}
    running = [*pods("a", 2, "cpu=1", on="n1"), *pods("a", 2, "cpu=1", name="far", on="n2")]
    reserved = [party("a"), party("b", reserved="cpu=3")]
    assert "a" in looked_at(reserved, [*running, *pods("b", 1, "cpu=2")], nodes)
    assert not looked_at(reserved, [*running, *pods("b", 1, "cpu=3")], nodes)


def test_the_degree_is_the_largest_part_of_the_cluster_that_is_not_deserved() -> None:
    found = looked_at(
        HALVES, [*pods("a", 4, "cpu=1 memory=1Gi", on="n1"), *pods("b", 4, "cpu=1 memory=1Gi")], "cpu=4 memory=40Gi"
    )
    assert found["a"].degree == 0.5


def test_a_namespace_in_its_last_moments_is_not_short() -> None:
    ending = msgspec.structs.replace(party("b"), terminating=True)
    assert not looked_at([party("a"), ending], [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 4, "cpu=1")])


@pytest.mark.parametrize(
    ("told", "since"),
    [
        ((), NOW),
        ((ArbitrationCondition("Overused", "True", since=NOW - 7.5),), NOW - 7.5),
        ((ArbitrationCondition("Overused", "False", since=NOW - 7.5),), NOW),
    ],
    ids=["it begins now where nothing is said", "it goes on since when the Allocation says", "it begins anew"],
)
def test_since_when(told: tuple[ArbitrationCondition, ...], since: float) -> None:
    record = AllocationRecord("a", "defaults", "u", "1", conditions=told)
    full = [*pods("a", 4, "cpu=1", on="n1"), *pods("b", 4, "cpu=1")]
    assert looked_at([party("a", allocations=(record,)), party("b")], full)["a"].since == since


def test_the_allocation_that_counts_is_the_consumers_namesake() -> None:
    records = (AllocationRecord("a", "another"), AllocationRecord("a", "defaults"))
    assert record_of(party("a", allocations=records)) is records[1]
    assert record_of(party("a", consumer=False, allocations=records)) is records[1]
    assert record_of(party("a", allocations=records[:1])) is None
    assert record_of(party("a", consumer=False, unreadable=True, allocations=records)) is records[0]
