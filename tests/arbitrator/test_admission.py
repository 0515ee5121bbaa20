"""What Consumers and buckets must keep to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.parties import amounts, bucket, party, world
from vsched.arbitrator import words
from vsched.arbitrator.admission import (
    ReservedByLevel,
    bucket_problems,
    consumer_problems,
    problems,
)
from vsched.arbitrator.tree import LEVELS_MAX
from vsched.model.arbitration.records import SYSTEM_NAMESPACE, Bucket, Claim, NamespaceAccount

TOTAL = "cpu=10 memory=10Gi pods=110"


def claim(namespace: str = "a", **said: Any) -> Claim:
    """The Consumer of a namespace."""
    found = party(namespace, **said).claim
    assert found is not None
    return found


def found_beside(
    new: Claim | Bucket, parties: list[NamespaceAccount], buckets: list[Bucket] | None = None, total: str = TOTAL
) -> tuple[str, ...]:
    """What is wrong with an object beside these."""
    arbitration = world(total, parties, buckets=buckets or ()).arbitration
    assert arbitration is not None
    return problems(new, arbitration, amounts(total))


QUOTA = words.THE_QUOTA


@pytest.mark.parametrize(
    ("said", "quota", "expected"),
    [
        pytest.param({}, "", (), id="a Consumer that says nothing"),
        pytest.param({"reserved": "cpu=4"}, "", (), id="a reservation without a limit"),
        pytest.param({"hard": "cpu=2", "reserved": "cpu=2"}, "cpu=2", (), id="all at their bounds"),
        pytest.param(
            {"hard": "cpu=2", "reserved": "cpu=2500m"},
            "",
            (words.above_bound("spec.reserved.cpu: 2500m", "2", "spec.hard"),),
            id="a reservation beyond the limit",
        ),
        pytest.param(
            {"hard": "requests.cpu=2", "reserved": "cpu=3"},
            "",
            (words.above_bound("spec.reserved.cpu: 3", "2", "spec.hard"),),
            id="two spellings of one resource",
        ),
        pytest.param(
            {"hard": "cpu=2 memory=2Gi", "reserved": "cpu=3 memory=3Gi"},
            "",
            (
                words.above_bound("spec.reserved.cpu: 3", "2", "spec.hard"),
                words.above_bound("spec.reserved.memory: 3Gi", "2Gi", "spec.hard"),
            ),
            id="every resource is named",
        ),
        pytest.param(
            {"hard": "limits.memory=8Gi pods=20"},
            "limits.memory=4Gi pods=10",
            (
                words.above_bound("spec.hard.limits.memory: 8Gi", "4Gi", QUOTA),
                words.above_bound("spec.hard.pods: 20", "10", QUOTA),
            ),
            id="a limit beyond the quota",
        ),
        pytest.param({"hard": "cpu=8"}, "memory=4Gi", (), id="a quota for something else"),
        pytest.param(
            {"reserved": "cpu=3"},
            "cpu=2",
            (words.above_bound("spec.reserved.cpu: 3", "2", QUOTA),),
            id="a reservation beyond the quota where no limit is stated",
        ),
        pytest.param(
            {"hard": "cpu=4", "reserved": "cpu=3"},
            "cpu=2",
            (words.above_bound("spec.hard.cpu: 4", "2", QUOTA),),
            id="where the limit is at fault, the limit is named",
        ),
        pytest.param(
            {"hard": "gold.storageclass.storage.k8s.io/requests.storage=1Ti"},
            "gold.storageclass.storage.k8s.io/requests.storage=1Gi",
            (words.above_bound("spec.hard.gold.storageclass.storage.k8s.io/requests.storage: 1Ti", "1Gi", QUOTA),),
            id="storage of a class",
        ),
    ],
)
def test_a_consumer_by_itself(said: dict[str, object], quota: str, expected: tuple[str, ...]) -> None:
    assert consumer_problems(claim(**said), amounts(quota)) == expected


def test_a_bucket_reserves_within_its_limit() -> None:
    assert bucket_problems(bucket("b", hard="cpu=2", reserved="cpu=2"), {}) == ()
    assert bucket_problems(bucket("b", hard="cpu=2", reserved="cpu=3"), {}) == (
        words.above_bound("spec.reserved.cpu: 3", "2", "spec.hard"),
    )


@pytest.mark.parametrize(
    ("new", "others", "buckets", "expected"),
    [
        pytest.param(claim(reserved="cpu=10"), [], [], (), id="all of it"),
        pytest.param(
            claim(reserved="cpu=11"),
            [],
            [],
            (words.reserves_too_much("spec.reserved.cpu: 11", "10", words.THE_CLUSTER, ""),),
            id="more than there is",
        ),
        pytest.param(
            claim(reserved="cpu=4"),
            [party("b", reserved="cpu=7")],
            [],
            (words.reserves_too_much("spec.reserved.cpu: 4", "10", words.THE_CLUSTER, "7"),),
            id="more than others leave",
        ),
        pytest.param(
            claim(reserved="cpu=3 memory=11Gi"),
            [party("a", reserved="cpu=9"), party("b", reserved="cpu=7")],
            [],
            (words.reserves_too_much("spec.reserved.memory: 11Gi", "10Gi", words.THE_CLUSTER, ""),),
            id="what it reserved itself before is no longer reserved",
        ),
        pytest.param(
            claim(reserved="cpu=5"),
            [party("a", reserved="cpu=6"), party("b", reserved="cpu=7")],
            [],
            (),
            id="less than before, though still too much: no reason to refuse",
        ),
        pytest.param(
            claim(hard="memory=1Gi"),
            [party("b", reserved="cpu=11")],
            [],
            (),
            id="who reserves nothing is not answerable for others",
        ),
        pytest.param(
            claim(reserved="nvidia.com/gpu=1"),
            [],
            [],
            (words.reserves_too_much("spec.reserved.nvidia.com/gpu: 1", "0", words.THE_CLUSTER, ""),),
            id="what no node has",
        ),
        pytest.param(
            claim(reserved="limits.cpu=99 requests.storage=1Ti"),
            [],
            [],
            (),
            id="what has no known end is not summed up",
        ),
        pytest.param(
            claim(SYSTEM_NAMESPACE, reserved="cpu=99"), [party("b", reserved="cpu=7")], [], (), id="kube-system"
        ),
        pytest.param(
            claim(reserved="cpu=3"),
            [party(SYSTEM_NAMESPACE, reserved="cpu=99")],
            [],
            (),
            id="beside kube-system, whose reservation is not asked",
        ),
        pytest.param(
            claim(reserved="cpu=4", parent="area"),
            [party("b", reserved="cpu=4", parent="area"), party("c", reserved="cpu=2")],
            [bucket("area", reserved="cpu=8")],
            (),
            id="a reservation out of its bucket's",
        ),
        pytest.param(
            claim(reserved="cpu=5", parent="area"),
            [party("b", reserved="cpu=4", parent="area"), party("c", reserved="cpu=2")],
            [bucket("area", reserved="cpu=8")],
            (words.reserves_too_much("spec.reserved.cpu: 5", "10", words.THE_CLUSTER, "6"),),
            id="children that reserve more than their bucket, and than there is",
        ),
        pytest.param(
            claim(reserved="cpu=5", parent="none-such"),
            [party("b", reserved="cpu=6", parent="none-such")],
            [],
            (words.reserves_too_much("spec.reserved.cpu: 5", "10", words.THE_CLUSTER, "6"),),
            id="a bucket that does not exist reserves nothing itself",
        ),
        pytest.param(
            claim(reserved="cpu=3", parent="area"),
            [party("b", reserved="cpu=2", parent="area")],
            [bucket("area", hard="cpu=4")],
            (words.reserves_too_much("spec.reserved.cpu: 3", "4", words.limit_of_bucket("area"), "2"),),
            id="children that reserve more than their bucket may hold",
        ),
        pytest.param(
            claim(reserved="cpu=3", parent="area"),
            [party("a", reserved="cpu=3"), party("b", reserved="cpu=8")],
            [bucket("area", reserved="cpu=3")],
            (),
            id="moving below a bucket that reserves as much already",
        ),
        pytest.param(
            bucket("area", reserved="cpu=4"),
            [party("a", reserved="cpu=6"), party("b", reserved="cpu=3", parent="area")],
            [],
            (),
            id="a bucket's reservation stands for its children's",
        ),
        pytest.param(
            bucket("area", reserved="cpu=5"),
            [party("a", reserved="cpu=6")],
            [bucket("area", reserved="cpu=4")],
            (words.reserves_too_much("spec.reserved.cpu: 5", "10", words.THE_CLUSTER, "6"),),
            id="a bucket that wants more than is left",
        ),
        pytest.param(
            bucket("area", reserved="cpu=5"),
            [party("a", reserved="cpu=6")],
            [bucket("area", reserved="cpu=7")],
            (),
            id="a bucket that wants less than before, though still too much",
        ),
        pytest.param(
            claim("b", reserved="cpu=3", parent="inner"),
            [party("a", reserved="cpu=4", parent="outer")],
            [bucket("inner", parent="outer"), bucket("outer", hard="cpu=6")],
            (words.reserves_too_much("spec.reserved.cpu: 3", "6", words.limit_of_bucket("outer"), "4"),),
            id="more than a bucket further up may hold",
        ),
        pytest.param(
            bucket("inner", reserved="cpu=5", parent="outer"),
            [party("a", reserved="cpu=4", parent="inner")],
            [bucket("outer", hard="cpu=4")],
            (words.reserves_too_much("spec.reserved.cpu: 5", "4", words.limit_of_bucket("outer"), ""),),
            id="a bucket that reserves more than the one above it may hold",
        ),
        pytest.param(
            bucket("inner", reserved="cpu=4", parent="outer"),
            [party("a", reserved="cpu=4", parent="inner"), party("b", reserved="cpu=6")],
            [bucket("outer", reserved="cpu=4")],
            (),
            id="what is reserved on every level counts once",
        ),
    ],
)
def test_reservations_stay_within_the_cluster(
    new: Claim | Bucket, others: list[NamespaceAccount], buckets: list[Bucket], expected: tuple[str, ...]
) -> None:
    assert found_beside(new, others, buckets) == expected


def _chain(length: int) -> list[Bucket]:
    """``b0`` in ``b1`` in ``b2`` and so on."""
    return [bucket(f"b{at}", parent=f"b{at + 1}" if at + 1 < length else "") for at in range(length)]


@pytest.mark.parametrize(
    ("new", "buckets", "expected"),
    [
        pytest.param(bucket("x", parent="b0"), _chain(LEVELS_MAX), (), id="as deep as may be"),
        pytest.param(bucket("x", parent="not-yet"), [], (), id="below one that does not exist yet"),
        pytest.param(
            bucket("x", parent="b0"),
            _chain(LEVELS_MAX + 1),
            (words.too_deep("b0", LEVELS_MAX),),
            id="deeper",
        ),
        pytest.param(
            bucket("x", parent="x"),
            [],
            (words.circle("x", "x", ["x"]),),
            id="in itself",
        ),
        pytest.param(
            bucket("b2", parent="b0"),
            _chain(3),
            (words.circle("b0", "b2", ["b0", "b1", "b2"]),),
            id="in one that is in it",
        ),
        pytest.param(
            bucket("x", parent="b0"),
            [bucket("b0", parent="b1"), bucket("b1", parent="b0")],
            (words.too_deep("b0", LEVELS_MAX),),
            id="below buckets that are in one another",
        ),
    ],
)
def test_above_every_bucket_there_is_an_end(new: Bucket, buckets: list[Bucket], expected: tuple[str, ...]) -> None:
    assert found_beside(new, [], buckets) == expected


def test_all_rules_are_held_at_once() -> None:
    quota = party("a", consumer=False, quota="cpu=1")
    assert found_beside(claim(hard="cpu=2", reserved="cpu=12"), [quota, party("b")]) == (
        words.above_bound("spec.reserved.cpu: 12", "2", "spec.hard"),
        words.above_bound("spec.hard.cpu: 2", "1", QUOTA),
        words.reserves_too_much("spec.reserved.cpu: 12", "10", words.THE_CLUSTER, ""),
    )


def test_a_namespace_that_is_not_known_yet_has_no_quota() -> None:
    assert found_beside(claim("new", hard="cpu=99"), []) == ()


_CPUS = st.integers(0, 8).map(lambda cpus: f"cpu={cpus}")
_PARTIES = st.lists(st.tuples(_CPUS, st.sampled_from(["", "one", "two", "gone"])), max_size=5)


@given(_PARTIES, _CPUS, _CPUS, _CPUS, st.sampled_from(["", "one", "gone"]))
@settings(max_examples=examples(80))
def test_whoever_passes_leaves_no_more_reserved_than_there_is_or_was(
    others: list[tuple[str, str]], one: str, two: str, asked: str, parent: str
) -> None:
    parties = [party(f"n{at}", reserved=said, parent=under) for at, (said, under) in enumerate(others)]
    buckets = {"one": bucket("one", reserved=one), "two": bucket("two", reserved=two)}
    claims = [each.claim for each in parties if each.claim is not None]
    new = claim("n0", reserved=asked, parent=parent)
    before = ReservedByLevel(claims, buckets).within[""].get("cpu", 0)
    after = (
        ReservedByLevel([each for each in claims if each.namespace != "n0"] + [new], buckets).within[""].get("cpu", 0)
    )
    refused = bool(found_beside(new, parties, list(buckets.values())))
    reserves = new.reserved.get("cpu", 0) > 0
    assert refused == (reserves and after > 10_000 and after > before)
