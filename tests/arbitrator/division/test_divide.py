"""Who deserves what, case by case. Excludes what holds in all cases, and what is done about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from tests.support.parties import Said, amounts, bucket, deserved, party, pods, shown, world
from vsched.arbitrator.division.divide import divide
from vsched.model.arbitration.records import Bucket, Division, NamespaceAccount
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec


def division(total: Said, *parties: NamespaceAccount, buckets: Iterable[Bucket] = (), storage: Said = "") -> Division:
    return divide(world(total, parties, buckets=buckets, storage=storage))


def gets(made: Division) -> dict[str, str]:
    """What each namespace deserves, in the language of the cases; zeros are left out."""
    return {name: _text(what) for name, what in deserved(made).items()}


def may_hold(made: Division) -> dict[str, str]:
    return {name: _text(shown(award.ceiling)) for name, award in made.namespaces.items()}


def _text(quantities: Mapping[str, str]) -> str:
    return " ".join(f"{name}={quantity}" for name, quantity in quantities.items() if name != "pods")


ALL = "cpu=2 memory=2Gi"


@pytest.mark.parametrize(
    ("total", "parties", "expected"),
    [
        pytest.param(ALL, [party("a", held=ALL)], {"a": ALL}, id="T1: who is alone deserves everything"),
        pytest.param(
            ALL,
            [party("a", held=ALL), party("b", waiting=ALL)],
            {"a": "cpu=1 memory=1Gi", "b": "cpu=1 memory=1Gi"},
            id="T2: two that want everything deserve a half each",
        ),
        pytest.param(
            ALL,
            [party("a", held="cpu=1 memory=1Gi"), party("b", held="cpu=1 memory=1Gi")],
            {"a": "cpu=1 memory=1Gi", "b": "cpu=1 memory=1Gi"},
            id="T3: and so it stays",
        ),
        pytest.param(
            "cpu=10",
            [party("a", waiting="cpu=3"), party("b", waiting="cpu=30")],
            {"a": "cpu=3", "b": "cpu=7"},
            id="nobody deserves more than it asks for",
        ),
        pytest.param(
            "cpu=10",
            [party("a", held="cpu=8", leaving="cpu=6"), party("b", waiting="cpu=30")],
            {"a": "cpu=2", "b": "cpu=8"},
            id="what is on its way out is not asked for",
        ),
        pytest.param(
            "cpu=10",
            [party("a", waiting="cpu=30", weight=2), party("b", waiting="cpu=30", weight=3)],
            {"a": "cpu=4", "b": "cpu=6"},
            id="by the weights of Consumers",
        ),
        pytest.param(
            "cpu=10",
            [
                party("a", waiting="cpu=30", consumer=False, weight=4),
                party("b", waiting="cpu=30"),
                party("c", waiting="cpu=5", consumer=False, weight=-3),
            ],
            {"a": "cpu=6666m", "b": "cpu=1666m", "c": "cpu=1666m"},
            id="without a Consumer by the weight of its quotas, and never less than one",
        ),
        pytest.param(
            "cpu=10",
            [
                party("a", waiting="cpu=30"),
                party("kube-system", held="cpu=4", hard="cpu=1"),
            ],
            {"a": "cpu=6", "kube-system": "cpu=4"},
            id="kube-system first, with all it requests, whatever its Consumer says",
        ),
        pytest.param(
            "cpu=10",
            [party("a", waiting="cpu=30", reserved="cpu=2"), party("kube-system", held="cpu=40")],
            {"a": "", "kube-system": "cpu=10"},
            id="kube-system does not deserve more than there is",
        ),
        pytest.param(
            "cpu=10",
            [party("a", reserved="cpu=6"), party("b", waiting="cpu=30")],
            {"a": "cpu=6", "b": "cpu=4"},
            id="what is reserved is deserved even unasked",
        ),
        pytest.param(
            "cpu=10",
            [party("a", reserved="requests.cpu=7", waiting="cpu=8", hard="cpu=6"), party("b", waiting="cpu=30")],
            {"a": "cpu=6", "b": "cpu=4"},
            id="a reservation goes before shares, but not before a limit",
        ),
        pytest.param(
            "cpu=10",
            [party("a", waiting="cpu=30", hard="cpu=4", quota="cpu=3"), party("b", waiting="cpu=30")],
            {"a": "cpu=3", "b": "cpu=7"},
            id="limits cap, the quota's as well",
        ),
        pytest.param(
            "cpu=10",
            [party("a", reserved="cpu=10"), party("b", reserved="cpu=20"), party("c", waiting="cpu=1")],
            {"a": "cpu=3333m", "b": "cpu=6666m", "c": "cpu=1m"},
            id="reservations beyond the cluster shrink in proportion",
        ),
        pytest.param(
            "cpu=11 memory=11Gi",
            [party("a", waiting="cpu=20 memory=2Gi"), party("b", waiting="cpu=2 memory=20Gi")],
            {"a": "cpu=10 memory=1Gi", "b": "cpu=1 memory=10Gi"},
            id="dominant shares of different resources",
        ),
        pytest.param(
            "cpu=4 memory=16Gi",
            [party("a", waiting="cpu=4 memory=2Gi"), party("b", waiting="cpu=4 memory=8Gi")],
            {"a": "cpu=2 memory=2Gi", "b": "cpu=2 memory=8Gi"},
            id="want of one resource does not keep anybody from another that suffices",
        ),
        pytest.param(
            "cpu=4",
            [party("a", waiting="cpu=1 example.com/gpu=1"), party("b", waiting="cpu=1")],
            {"a": "cpu=1", "b": "cpu=1"},
            id="what no node has is nobody's",
        ),
        pytest.param(
            "cpu=4",
            [
                party("a", held="cpu=1 limits.cpu=9 requests.storage=5Gi", hard="limits.cpu=8"),
                party("b", waiting="cpu=1", reserved="limits.cpu=3"),
            ],
            {"a": "cpu=1 limits.cpu=8 requests.storage=5Gi", "b": "cpu=1 limits.cpu=3"},
            id="of what has no total everybody deserves what it asks for, within limit and reservation",
        ),
    ],
)
def test_deserved(total: str, parties: list[NamespaceAccount], expected: dict[str, str]) -> None:
    assert gets(division(total, *parties)) == expected


@pytest.mark.parametrize(
    ("parties", "buckets", "expected", "parts"),
    [
        pytest.param(
            [party(name, waiting="cpu=20", parent=area) for name, area in (("a", "x"), ("b", "x"), ("c", "y"))],
            [bucket("x", weight=40), bucket("y", weight=60)],
            {"a": "cpu=2", "b": "cpu=2", "c": "cpu=6"},
            {"x": "cpu=4", "y": "cpu=6"},
            id="areas of 40 and 60 hundredths, whatever number of namespaces they have",
        ),
        pytest.param(
            [party("a", waiting="cpu=20", parent="x"), party("c", waiting="cpu=1", parent="y")],
            [bucket("x", weight=40), bucket("y", weight=60)],
            {"a": "cpu=9", "c": "cpu=1"},
            {"x": "cpu=9", "y": "cpu=1"},
            id="what an area does not ask for goes to the other",
        ),
        pytest.param(
            [party("a", waiting="cpu=20", parent="x"), party("b", parent="x"), party("c", waiting="cpu=20")],
            [],
            {"a": "cpu=5", "b": "", "c": "cpu=5"},
            {"x": "cpu=5"},
            id="a bucket that is not there has weight one beside namespaces without a bucket",
        ),
        pytest.param(
            [party("a", held="cpu=9", parent="x"), party("b", held="cpu=1", parent="x"), party("c", held="cpu=9")],
            [bucket("x", hard="cpu=3")],
            {"a": "cpu=2", "b": "cpu=1", "c": "cpu=7"},
            {"x": "cpu=3"},
            id="the limit of a bucket is that of all its namespaces together",
        ),
        pytest.param(
            [party("a", waiting="cpu=2", parent="x"), party("c", waiting="cpu=20")],
            [bucket("x", reserved="cpu=6")],
            {"a": "cpu=2", "c": "cpu=4"},
            {"x": "cpu=6"},
            id="the reservation of a bucket holds even unasked",
        ),
        pytest.param(
            [party("a", reserved="cpu=4", parent="x"), party("b", held="cpu=9", parent="x"), party("c", held="cpu=9")],
            [],
            {"a": "cpu=4", "b": "cpu=1", "c": "cpu=5"},
            {"x": "cpu=5"},
            id="what is reserved for a namespace is reserved for its bucket",
        ),
        pytest.param(
            [party("a", reserved="cpu=4", parent="x"), party("b", reserved="cpu=8", parent="x")],
            [bucket("x", hard="cpu=6")],
            {"a": "cpu=2400m", "b": "cpu=3600m"},
            {"x": "cpu=6"},
            id="reservations beyond the limit of their bucket shrink in proportion, none being above the limit itself",
        ),
        pytest.param(
            [party(name, waiting="limits.cpu=9", parent=area) for name, area in (("a", "x"), ("b", "x"), ("c", "y"))],
            [bucket("x", hard="limits.cpu=6")],
            {"a": "limits.cpu=3", "b": "limits.cpu=3", "c": "limits.cpu=9"},
            {"x": "limits.cpu=6", "y": "limits.cpu=9"},
            id="what has no total is divided where a bucket has a limit",
        ),
        pytest.param(
            [party("kube-system", waiting="cpu=5", parent="x"), party("c", waiting="cpu=9")],
            [bucket("x", hard="cpu=1")],
            {"kube-system": "cpu=5", "c": "cpu=5"},
            {"x": ""},
            id="kube-system is in no bucket",
        ),
        pytest.param(
            [
                party(name, waiting="cpu=9", parent=area)
                for name, area in (("a", "x"), ("b", "y"), ("c", "top"), ("d", ""))
            ],
            [bucket("x", weight=2, parent="top"), bucket("y", parent="top"), bucket("top", weight=3)],
            {"a": "cpu=3750m", "b": "cpu=1875m", "c": "cpu=1875m", "d": "cpu=2500m"},
            {"top": "cpu=7500m", "x": "cpu=3750m", "y": "cpu=1875m"},
            id="a bucket's part is shared among its namespaces and the buckets in it, by weight",
        ),
        pytest.param(
            [party("a", waiting="cpu=9", parent="x"), party("b", waiting="cpu=9", parent="y")],
            [
                bucket("x", hard="cpu=5", parent="top"),
                bucket("y", hard="cpu=5", parent="top"),
                bucket("top", hard="cpu=6"),
            ],
            {"a": "cpu=3", "b": "cpu=3"},
            {"top": "cpu=6", "x": "cpu=3", "y": "cpu=3"},
            id="the limit of a bucket is that of the buckets in it together",
        ),
        pytest.param(
            [
                party("a", waiting="cpu=9", parent="inner"),
                party("b", waiting="cpu=9", parent="other"),
                party("c", held="cpu=9"),
            ],
            [
                bucket("inner", reserved="cpu=4", parent="mid"),
                bucket("mid", parent="top"),
                bucket("other", parent="top"),
            ],
            {"a": "cpu=4", "b": "cpu=1", "c": "cpu=5"},
            {"inner": "cpu=4", "mid": "cpu=4", "other": "cpu=1", "top": "cpu=5"},
            id="what is reserved for a bucket is reserved for all above it, also for one that is only named",
        ),
        pytest.param(
            [party("a", waiting="cpu=9", parent="x"), party("b", waiting="cpu=9")],
            [bucket("x", hard="cpu=4", parent="y"), bucket("y", parent="z"), bucket("z", hard="cpu=1", parent="x")],
            {"a": "cpu=4", "b": "cpu=6"},
            {"x": "cpu=4", "y": "", "z": ""},
            id="buckets that are in one another are in none",
        ),
        pytest.param(
            [party("a", waiting="limits.cpu=9", parent="x"), party("b", waiting="limits.cpu=9", parent="top")],
            [bucket("x", parent="top"), bucket("top", hard="limits.cpu=6")],
            {"a": "limits.cpu=3", "b": "limits.cpu=3"},
            {"top": "limits.cpu=6", "x": "limits.cpu=3"},
            id="what has no total is divided where any bucket above has a limit",
        ),
    ],
)
def test_buckets(
    parties: list[NamespaceAccount], buckets: list[Bucket], expected: dict[str, str], parts: dict[str, str]
) -> None:
    made = division("cpu=10", *parties, buckets=buckets)
    assert gets(made) == expected
    assert {name: _text(shown(award.deserved)) for name, award in made.buckets.items()} == parts


def test_storage_of_known_size_is_divided() -> None:
    both = [party(name, held="requests.storage=8Gi") for name in "ab"]
    made = division("cpu=1", *both, storage="requests.storage=10Gi")
    assert gets(made) == {"a": "requests.storage=5Gi", "b": "requests.storage=5Gi"}
    assert made.total == amounts("cpu=1 requests.storage=10Gi pods=110") | {"memory": 0}


def test_floors_and_limits_in_force_are_told() -> None:
    made = division(
        "cpu=6 memory=10Gi",
        party("a", reserved="cpu=12 memory=3Gi", hard="memory=2Gi", quota="pods=5", parent="x"),
        party("b", reserved="cpu=4"),
        buckets=[bucket("x", reserved="cpu=1", hard="cpu=8 memory=5Gi")],
    )
    a, b, x = made.namespaces["a"], made.namespaces["b"], made.buckets["x"]
    assert a.hard == amounts("cpu=8 memory=2Gi pods=5")
    assert (shown(a.reserved), shown(a.cut)) == ({"cpu": "4", "memory": "2Gi"}, {"cpu": "8", "memory": "1Gi"})
    assert (shown(b.reserved), shown(b.cut)) == ({"cpu": "2"}, {"cpu": "2"})
    assert (x.hard, shown(x.reserved), shown(x.cut)) == (amounts("cpu=8 memory=5Gi"), {"cpu": "4"}, {})


def test_everything_divided_and_everything_asked_for_has_an_entry() -> None:
    made = division("cpu=1", party("a", hard="limits.memory=1Gi"), party("b", held="persistentvolumeclaims=2"))
    assert made.namespaces["a"].deserved == {"cpu": 0, "memory": 0, "pods": 0, "limits.memory": 0}
    assert made.namespaces["b"].deserved == {"cpu": 0, "memory": 0, "pods": 0, "persistentvolumeclaims": 2}


def test_amounts_beyond_what_can_be_written_are_no_trouble() -> None:
    much = {"cpu": 1 << 70, "limits.cpu": 1 << 70}
    made = division("cpu=10", party("a", waiting=much, reserved=much), party("b", waiting=much))
    assert made.namespaces["a"].deserved["cpu"] == 10_000
    assert made.namespaces["b"].deserved["cpu"] == 0
    assert made.namespaces["b"].deserved["limits.cpu"] >= 1 << 61


def test_nobody_deserves_anything_where_nobody_arbitrates() -> None:
    made = divide(replace(world("cpu=1", [party("a", held="cpu=1")]), arbitration=None))
    assert (made.namespaces, made.buckets, made.total["cpu"]) == ({}, {}, 1000)


@pytest.mark.parametrize(
    ("parties", "expected"),
    [
        pytest.param(
            [party("a", held="cpu=2"), party("b", held="cpu=1")],
            {"a": "cpu=9", "b": "cpu=8"},
            id="what nobody asks for is offered to all",
        ),
        pytest.param(
            [party("a", held="cpu=2", reserved="cpu=6"), party("b", held="cpu=1")],
            {"a": "cpu=13", "b": "cpu=8"},
            id="what is reserved and not used is lent",
        ),
        pytest.param(
            [party("a", held="cpu=2", waiting="cpu=4", reserved="cpu=6"), party("b", held="cpu=8")],
            {"a": "cpu=6", "b": "cpu=4"},
            id="as soon as it is asked for nobody gets more of it",
        ),
        pytest.param(
            [party("a", held="cpu=1"), party("b", held="cpu=1", hard="cpu=4", quota="cpu=3")],
            {"a": "cpu=9", "b": "cpu=3"},
            id="nobody is lent more than its limit",
        ),
        pytest.param(
            [party("a", held="cpu=8", leaving="cpu=8"), party("b", held="cpu=2", waiting="cpu=30")],
            {"a": "", "b": "cpu=10"},
            id="what is on its way out is not kept from others",
        ),
        pytest.param(
            [party("kube-system", held="cpu=4"), party("b", held="cpu=2")],
            {"kube-system": "", "b": "cpu=6"},
            id="kube-system has no ceiling, and lends nothing it requests",
        ),
        pytest.param(
            [party("a", held="limits.cpu=3"), party("b", hard="limits.cpu=5")],
            {"a": "cpu=10", "b": "cpu=10 limits.cpu=5"},
            id="of what has no total the limit is the ceiling",
        ),
    ],
)
def test_ceilings(parties: list[NamespaceAccount], expected: dict[str, str]) -> None:
    assert may_hold(division("cpu=10", *parties)) == expected


def test_a_limited_bucket_lends_no_more_than_its_own() -> None:
    made = division(
        "cpu=10",
        party("a", held="cpu=1", reserved="cpu=2", parent="x"),
        party("b", held="cpu=2 limits.cpu=1", parent="x"),
        party("c", held="cpu=1"),
        buckets=[bucket("x", hard="cpu=4 limits.cpu=6")],
    )
    assert may_hold(made) == {"a": "cpu=3 limits.cpu=5", "b": "cpu=3 limits.cpu=6", "c": "cpu=7"}
    assert shown(made.buckets["x"].ceiling) == {"cpu": "4", "limits.cpu": "6", "pods": "110"}


def test_pods_are_whole_so_what_is_left_beside_them_is_lent() -> None:
    """Eight GPUs among three: nobody can use the two thirds beyond two whole ones, and somebody should."""
    running = [pod for name in "abc" for pod in pods(name, 2, "example.com/gpu=1", on="n1")]
    waiting = [pod for name in "abc" for pod in pods(name, 9, "example.com/gpu=1", name="more")]
    for there in (running + waiting, waiting):
        made = divide(world("example.com/gpu=8", [party(name) for name in "abc"], pods=there))
        assert {award.deserved["example.com/gpu"] for award in made.namespaces.values()} == {2666}
        assert {award.ceiling["example.com/gpu"] for award in made.namespaces.values()} <= {4000, 4666}


def test_the_largest_pods_that_fit_are_what_a_namespace_claims() -> None:
    there = [*pods("a", 1, "cpu=3"), *pods("a", 1, "cpu=20", name="never"), *pods("a", 8, "cpu=2", name="small")]
    made = divide(world("cpu=11", [party("a"), party("b", held="cpu=4", waiting="cpu=7")], pods=there))
    assert made.namespaces["a"].deserved["cpu"] == 5500
    assert made.namespaces["b"].ceiling["cpu"] == 5500 + 500


def test_a_gang_that_does_not_fit_as_a_whole_claims_nothing() -> None:
    there = [*pods("a", 4, "cpu=1", job="a/gang"), *pods("b", 9, "cpu=1")]
    snapshot = world("cpu=6", [party("a"), party("b")], pods=there)
    assert divide(snapshot).namespaces["b"].ceiling["cpu"] == 3000
    assert snapshot.arbitration is not None
    for least, ceiling in ((4, 6000), (3, 3000)):
        job = Job("a/gang", JobSpec("a", "gang", min_member=least))
        for task in snapshot.arbitration.parties["a"].tasks.values():
            job.put(task)
        made = divide(replace(snapshot, jobs={"a/gang": job}))
        assert made.namespaces["b"].ceiling["cpu"] == ceiling
