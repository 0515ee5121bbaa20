"""Taking back: who goes, for whom, and when nobody does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.arbitrator.taking.rounds import bucket, consumer, decided, gone
from tests.support.examples import examples
from tests.support.plans import Manifest
from tests.support.taking import taking
from vsched.arbitrator.taking.placing import Placing
from vsched.model.arbitration.records import ARBITRATOR_VERSION
from vsched.settings.built_in import REGISTRY

FULL = """
node n1 cpu=4
pods a/old 1 cpu=1 on=n1 age=100
pods a/mid 1 cpu=1 on=n1 age=50
pods a/new 1 cpu=1 on=n1 age=10
pods a/top 1 cpu=1 on=n1 age=5 priority=9
"""
"""One node full of one namespace's pods."""


# -- who stays


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            FULL.replace("age=10", "started=599").replace("age=100", "started=600"),
            ["a/old.0 for b/w.0"],
            id="the first in order that has run long enough goes",
        ),
        pytest.param(
            "node n1 cpu=4\npods a/x 4 cpu=1 on=n1 started=60", [], id="nobody while all have to run for longer"
        ),
        pytest.param(
            "node n1 cpu=4\njob a/x vsched.io/reclaim-min-runtime=1m\npods a/x 4 cpu=1 on=n1 started=60",
            ["a/x.0 for b/w.0"],
            id="a PodGroup states a shorter time",
        ),
    ],
)
def test_pods_run_for_their_minimum_time(text: str, expected: list[str]) -> None:
    times = {"minruntime": {"preemptMinRuntime": "20m", "reclaimMinRuntime": "10m"}}
    placing = Placing.of(REGISTRY, taking("allocate", "minruntime", plugins=times))
    text = text.replace("pods a/mid 1", "pods a/mid 1 started=9").replace("pods a/top 1", "pods a/top 1 started=9")

    assert gone(decided(f"{text}\npods b/w 2 cpu=1", placing=placing)) == expected


def test_pods_that_leave_together_stay_while_one_of_them_has_to_run() -> None:
    times = {"minruntime": {"reclaimMinRuntime": "10m"}}
    placing = Placing.of(REGISTRY, taking("allocate", "minruntime", plugins=times))
    text = "node n1 cpu=4\njob a/x\npods a/x 2 cpu=1 on=n1 started=700\npods a/x 2 cpu=1 on=n1 started=599"
    text = f"{text}\npods b/w 2 cpu=1"

    assert gone(decided(text, whole=["a/x"], placing=placing)) == []
    text = text.replace("599", "600")
    assert len(gone(decided(text, whole=["a/x"], placing=placing, most=9))) == 4


# -- who goes first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            FULL + "pods b/w 2 cpu=1",
            ["a/new.0 for b/w.0"],
            id="of the pods of the lowest priority the youngest goes",
        ),
        pytest.param(
            """
            node n1 cpu=4
            pods a/one 2 cpu=1 on=n1 age=30
            pods a/two 2 cpu=1 on=n1 age=30
            pods b/w 1 cpu=1
            pods b/w 1 cpu=1
            """,
            ["a/one.0 for b/w.0"],
            id="of equally old pods the first by name goes",
        ),
        pytest.param(
            FULL.replace("a/top 1", "a/top 1 kube-arbitrator.incubator.k8s.io/preferred-victim=true")
            + "pods b/w 2 cpu=1",
            ["a/top.0 for b/w.0"],
            id="a preferred victim goes before all others, whatever its priority",
        ),
        pytest.param(
            FULL.replace("a/new 1", "a/new 1 volcano.sh/preemptable=false") + "pods b/w 2 cpu=1",
            ["a/mid.0 for b/w.0"],
            id="a pod that is not preemptable lets others go first",
        ),
        pytest.param(
            "node n1 cpu=4\njob a/x min=2 vsched.io/preemptibility=semi-preemptible\n"
            "pods a/x 2 cpu=1 on=n1 age=5\njob a/y vsched.io/preemptibility=non-preemptible\n"
            "pods a/y 1 cpu=1 on=n1 age=1\npods a/x 1 cpu=1 on=n1 age=9 priority=9\npods b/w 2 cpu=1",
            ["a/x.0 for b/w.0"],
            id="what a job does not keep by its preemptibility goes before what jobs keep",
        ),
        pytest.param(
            FULL.replace(" cpu=1", " cpu=1 volcano.sh/preemptable=false") + "pods b/w 2 cpu=1",
            ["a/new.0 for b/w.0"],
            id="where none of them is preemptable they go like others",
        ),
        pytest.param(
            FULL.replace(" cpu=1", " cpu=1 volcano.sh/preemptable=false").replace(
                "a/top 1 cpu=1 volcano.sh/preemptable=false", "a/top 1 cpu=1"
            )
            + "pods b/w 2 cpu=1",
            ["a/top.0 for b/w.0"],
            id="before those that are not preemptable goes one of any priority",
        ),
        pytest.param(
            FULL.replace(
                "a/new 1",
                "a/new 1 volcano.sh/preemptable=false kube-arbitrator.incubator.k8s.io/preferred-victim=true",
            )
            + "pods b/w 2 cpu=1",
            ["a/mid.0 for b/w.0"],
            id="a preferred victim that is not preemptable goes last all the same",
        ),
        pytest.param(
            """
            node n1 cpu=9
            pods a/old 5 cpu=1 on=n1 age=100
            pods c/new 4 cpu=1 on=n1 age=1
            pods b/w 3 cpu=1
            """,
            ["a/old.0 for b/w.0"],
            id="the most overused namespace gives first, however old its pods",
        ),
        pytest.param(
            """
            node n1 cpu=2
            node n2 cpu=2
            pods a/small 4 cpu=500m on=n1 age=1
            pods a/large 1 cpu=2 on=n2 age=100
            pods b/w 1 cpu=2
            """,
            ["a/large.0 for b/w.0"],
            id="one pod goes rather than several younger ones",
        ),
        pytest.param(
            FULL + "pods b/w 1 cpu=1 age=5\npods b/x 1 cpu=1 age=50\npods b/y 1 cpu=1 age=90 priority=0",
            ["a/new.0 for b/x.0"],
            id="room is made for the oldest pod of the highest priority",
        ),
        pytest.param(
            FULL.replace("cpu=4", "cpu=6") + "pods c/run 2 cpu=1 on=n1 age=1\npods c/w 2 cpu=1\npods b/w 2 cpu=1 age=1",
            ["a/new.0 for b/w.0"],
            id="room is made for the neediest namespace",
        ),
        pytest.param(
            FULL + "pods kube-system/w 1 cpu=1\npods b/w 1 cpu=1 age=100",
            ["a/new.0 for kube-system/w.0"],
            id="the system's namespace comes before all others",
        ),
    ],
)
def test_who_goes_first(text: str, expected: list[str]) -> None:
    assert gone(decided(text)) == expected


# -- who does not go


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            FULL + "pods b/w 2 cpu=1\npdb a/guard selector=job:new allowed=0",
            ["a/mid.0 for b/w.0"],
            id="a pod whose budget is used up stays",
        ),
        pytest.param(
            FULL.replace("priority=9", "priority=2000000000").replace("a/old 1", "a/old 1 priority=2000000000")
            + "pods b/w 2 cpu=1\npdb a/guard selector=job:new allowed=0\npdb a/too selector=job:mid allowed=0",
            [],
            id="critical pods stay even where nobody else may go",
        ),
        pytest.param(
            FULL.replace("a/", "kube-system/") + "pods b/w 2 cpu=1",
            [],
            id="the system's namespace gives nothing",
        ),
        pytest.param(
            "node n1 cpu=3\nnode n2 cpu=1\npods a/p 3 cpu=1 on=n1\npods b/w 1 cpu=1\npods a/w 9 cpu=1",
            [],
            id="nobody goes for a pod that has room",
        ),
        pytest.param(
            "node n1 cpu=3 pods=3\npods a/p 2 cpu=1 on=n1\npods c/p 1 cpu=1 on=n1 leaving\npods b/w 1 cpu=1\n"
            "pods a/w 9 cpu=1",
            [],
            id="nobody goes for a pod that has room once others have left, their slots included",
        ),
        pytest.param(
            "node n1 cpu=4\npods a/p 3 cpu=1 on=n1\npods c/p 1 cpu=1 on=n1 leaving port=80\npods b/w 1 cpu=1 port=80\n"
            "pods a/w 9 cpu=1\npods b/x 9 cpu=1 gated",
            [],
            id="nobody goes for a port that its holder is about to leave",
        ),
        pytest.param(
            FULL + "pods b/w 2 cpu=1 selector=zone:b",
            [],
            id="nobody goes for a pod that no node could take",
        ),
        pytest.param(
            FULL + "pods b/w 2 cpu=5",
            [],
            id="nobody goes for a pod that is larger than any node",
        ),
        pytest.param(
            FULL + "pods b/w 2 cpu=1 gated",
            [],
            id="nobody goes for a pod that is held back by a gate",
        ),
        pytest.param(
            FULL + "pods b/w 1 cpu=3",
            [],
            id="nobody goes for a pod that is larger than what its namespace deserves",
        ),
        pytest.param(
            FULL + "node n2 cpu=2 cordoned\npods a/far 2 cpu=1 on=n2 age=1\npods b/w 3 cpu=1",
            ["a/new.0 for b/w.0"],
            id="nobody goes from a node where the pod could not run",
        ),
        pytest.param(
            FULL.replace("n1", "n1 zone=a", 1) + "node n2 cpu=2 zone=b\npods a/far 2 cpu=1 on=n2 age=200\n"
            "pods b/w 2 cpu=1 selector=zone:b",
            ["a/far.0 for b/w.0"],
            id="room is made where the pod may run",
        ),
        pytest.param(
            FULL.replace("a/old 1", "a/old 1 port=80") + "pods b/w 2 cpu=1 port=80",
            ["a/old.0 for b/w.0"],
            id="whoever holds the port that the pod needs goes",
        ),
    ],
)
def test_who_stays(text: str, expected: list[str]) -> None:
    assert gone(decided(text)) == expected


def test_pods_that_come_back_to_their_node_stay() -> None:
    text = FULL + "pods b/w 2 cpu=1"
    assert gone(decided(text, owners=[("new", "DaemonSet"), ("mid", "ReplicaSet")])) == ["a/mid.0 for b/w.0"]


def test_pods_whose_eviction_was_refused_stay() -> None:
    text = FULL + "pods b/w 2 cpu=1"
    assert gone(decided(text, spared=["a/new.0"])) == ["a/mid.0 for b/w.0"]
    assert gone(decided(text, spared=[f"a/{name}.0" for name in ("new", "mid", "old", "top")])) == []


def test_nothing_is_taken_below_what_is_reserved() -> None:
    text = """
    node n1 cpu=6
    pods a/wide 1 cpu=2 on=n1 age=1
    pods a/slim 2 cpu=1 on=n1 age=9
    pods c/p 2 cpu=1 on=n1
    pods b/w 2 cpu=1
    """
    assert gone(decided(text)) == ["a/wide.0 for b/w.0"]
    kept = [consumer("a", reserved="requests.cpu=3"), consumer("c", reserved="cpu=2")]
    assert gone(decided(text, *kept)) == ["a/slim.0 for b/w.0"]
    assert gone(decided(text, consumer("a", reserved="cpu=4"), consumer("c", reserved="cpu=2"))) == []


def test_what_a_bucket_reserves_is_not_taken_for_others() -> None:
    text = """
    node n1 cpu=2 zone=a
    node n2 cpu=2
    pods a/p 2 cpu=1 on=n1
    pods a/q 1 cpu=1 on=n2
    pods b/w 1 cpu=1 selector=zone:a
    pods c/w 1 cpu=1
    """
    area = [consumer("a", parent="area"), consumer("c", parent="area")]
    assert gone(decided(text, *area, bucket("area", "cpu=2"))) == ["a/p.0 for b/w.0"]
    assert gone(decided(text, *area, bucket("area", "cpu=3"))) == []
    inside = [*area, consumer("b", parent="area"), bucket("area", "cpu=3")]
    assert gone(decided(text, *inside)) == ["a/p.0 for b/w.0"]


# -- several at once


LARGE = FULL + "pods b/w 1 cpu=3"
"""Three have to leave for it."""


@pytest.mark.parametrize(
    ("most", "expected"),
    [(1, ["new"]), (2, ["new", "mid"]), (9, ["new", "mid", "old"])],
    ids=["one a round", "two a round", "as many as it takes"],
)
def test_a_set_is_begun_with_as_many_as_a_round_may_have(most: int, expected: list[str]) -> None:
    verdict = decided(LARGE, consumer("b", reserved="cpu=3"), most=most)
    assert gone(verdict) == [f"a/{name}.0 for b/w.0" for name in expected]


def test_a_set_that_may_not_go_as_a_whole_is_not_begun() -> None:
    guarded = LARGE + "\npdb a/guard selector=job:old allowed=0\npdb a/two selector=job:top allowed=0"
    assert gone(decided(guarded, consumer("b", reserved="cpu=3"), most=9)) == []


def test_a_budget_is_not_spent_twice_in_a_round() -> None:
    guarded = FULL + "pods b/w 2 cpu=1\npdb a/guard selector=app:x allowed=1"
    guarded = guarded.replace("age=10", "age=10 labels=app:x").replace("age=50", "age=50 labels=app:x")
    assert gone(decided(guarded, most=2)) == ["a/new.0 for b/w.0", "a/old.0 for b/w.1"]


def test_what_is_begun_is_gone_on_with_on_the_same_node() -> None:
    text = """
    node n1 cpu=2
    node n2 cpu=2
    pods a/p 2 cpu=1 on=n1 age=10
    pods a/q 2 cpu=1 on=n2 age=20
    pods b/w 1 cpu=2
    """
    assert gone(decided(text)) == ["a/p.0 for b/w.0"]
    begun = text.replace("a/p 2 cpu=1 on=n1 age=10", "a/p 1 cpu=1 on=n1 leaving\npods a/p 1 cpu=1 on=n1 age=30")
    assert gone(decided(begun)) == ["a/p.1 for b/w.0"]
    done = text.replace("a/p 2 cpu=1 on=n1", "a/p 2 cpu=1 on=n1 leaving")
    assert gone(decided(done)) == []


def test_no_more_go_than_are_needed() -> None:
    text = """
    node n1 cpu=4
    pods a/small 1 cpu=500m on=n1 age=1
    pods a/wide 1 cpu=1500m on=n1 age=5
    pods a/rest 2 cpu=1 on=n1 age=50
    pods b/w 1 cpu=2
    """
    assert gone(decided(text, most=9)) == ["a/small.0 for b/w.0", "a/wide.0 for b/w.0"]
    assert gone(decided(text.replace("cpu=2", "cpu=1500m"), most=9)) == ["a/wide.0 for b/w.0"]


def test_every_namespace_has_its_turn() -> None:
    text = FULL + "pods b/w 9 cpu=1\npods c/w 9 cpu=1"
    assert gone(decided(text, most=9)) == ["a/new.0 for b/w.0", "a/mid.0 for c/w.0"]


def test_what_a_victim_leaves_over_is_for_the_next() -> None:
    text = FULL + "pods b/w 2 cpu=500m\npods c/w 2 cpu=500m"
    assert gone(decided(text, most=9)) == ["a/new.0 for b/w.0", "a/mid.0 for b/w.1"]


def test_who_cannot_be_helped_does_not_keep_others_from_it() -> None:
    text = FULL + "pods b/w 9 cpu=500m selector=zone:b\npods c/w 9 cpu=500m"
    assert gone(decided(text)) == ["a/new.0 for c/w.0"]
    text = FULL + "pods b/w 9 cpu=500m selector=zone:b age=9\npods b/x 1 cpu=500m"
    assert gone(decided(text)) == ["a/new.0 for b/x.0"]


# -- gangs


@pytest.mark.parametrize(
    ("text", "reserved", "expected"),
    [
        pytest.param("job b/g min=3 pods=3 cpu=1", "cpu=2", 0, id="a gang that does not deserve its minimum"),
        pytest.param("job b/g min=3 pods=3 cpu=1", "cpu=3", 3, id="a gang that deserves its minimum"),
        pytest.param("job b/g min=2 pods=9 cpu=1", "cpu=3", 2, id="a gang that has not begun has its minimum first"),
        pytest.param("job b/g min=3 pods=2 cpu=1", "cpu=3", 0, id="a gang that has not enough pods"),
        pytest.param("job b/g min=2 pods=2 cpu=1 queue=none", "cpu=3", 0, id="a gang of a queue that does not exist"),
        pytest.param(
            "job b/g min=2 roles=ps:1,worker:1\npods b/g 1 cpu=1 role=ps selector=zone:b\npods b/g 5 cpu=1 role=worker",
            "cpu=3",
            0,
            id="a gang of which one role can go nowhere",
        ),
        pytest.param(
            "job b/g min=2 roles=ps:1,worker:1\npods b/g 4 cpu=1 role=worker age=9\npods b/g 1 cpu=1 role=ps",
            "cpu=2",
            2,
            id="a gang with one pod of each role",
        ),
        pytest.param(
            "job b/g min=1 subGroups=w:3:1\npods b/g 2 cpu=1 labels=w:x\npods b/g 3 cpu=1 labels=w:y age=9",
            "cpu=2",
            0,
            id="a gang that does not deserve the sub-group that it needs",
        ),
        pytest.param(
            "job b/g min=1 subGroups=w:2:1\npods b/g 1 cpu=1 labels=w:x age=9\npods b/g 2 cpu=1 labels=w:y",
            "cpu=2",
            2,
            id="a gang with a whole sub-group",
        ),
        pytest.param(
            "job b/g min=1 subGroups=w:3:1\npods b/g 2 cpu=1 labels=w:x\npods b/g 1 cpu=1 labels=w:y",
            "cpu=9",
            0,
            id="a gang without a whole sub-group",
        ),
    ],
)
def test_a_gang_is_helped_as_a_whole_or_not_at_all(text: str, reserved: str, expected: int) -> None:
    verdict = decided(FULL + text, consumer("b", reserved=reserved), most=9)
    assert len(verdict.evictions) == expected
    if "roles" in text and expected:
        assert {one.beneficiary for one in verdict.evictions} == {"b/g.0", "b/g.4"}
    if "subGroups" in text and expected:
        assert {one.beneficiary for one in verdict.evictions} == {"b/g.1", "b/g.2"}


# -- when


def test_nobody_goes_before_the_grace_is_over() -> None:
    assert decided(FULL + "pods b/w 2 cpu=1", grace=10.0).evictions == ()


def test_nobody_goes_where_none_may() -> None:
    assert decided(FULL + "pods b/w 2 cpu=1", most=0).evictions == ()


# -- buckets that hold all they may


HALF = """
node n1 cpu=16
node n2 cpu=16 taint=gpu:NoSchedule
"""
"""Room enough on a node, whatever buckets may hold."""


@pytest.mark.parametrize(
    ("text", "objects", "expected"),
    [
        pytest.param(
            HALF + "pods a/old 4 cpu=1 on=n1\njob b/new pods=2 cpu=1",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4")],
            ["a/old.0 for b/new.0", "a/old.1 for b/new.1"],
            id="somebody of the bucket goes, though there is room on the nodes",
        ),
        pytest.param(
            HALF + "pods a/old 3 cpu=1 on=n1\njob b/new pods=2 cpu=1",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4")],
            ["a/old.0 for b/new.1"],
            id="only as many as the bucket lacks",
        ),
        pytest.param(
            HALF + "pods a/old 2 cpu=1 on=n1\npods a/big 1 cpu=2 on=n2 age=9\njob b/new pods=1 cpu=2",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4")],
            ["a/big.0 for b/new.0"],
            id="one rather than two, also from a node that the pod cannot go to",
        ),
        pytest.param(
            HALF + "pods c/old 9 cpu=1 on=n1\npods a/old 4 cpu=1 on=n2\njob b/new pods=1 cpu=1",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4"), consumer("c")],
            ["a/old.0 for b/new.0"],
            id="never somebody of another bucket in their place",
        ),
        pytest.param(
            HALF + "pods a/old 4 cpu=1 on=n1\njob b/new pods=1 cpu=1",
            [
                consumer("a", parent="inner"),
                consumer("b", parent="x"),
                bucket("inner", parent="x"),
                bucket("x", hard="cpu=4"),
            ],
            ["a/old.0 for b/new.0"],
            id="of whatever bucket in it",
        ),
        pytest.param(
            HALF + "pods a/old 4 cpu=1 on=n1\njob b/new pods=1 cpu=1",
            [consumer("a", "cpu=3", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4")],
            ["a/old.0 for b/new.0"],
            id="down to what is reserved",
        ),
        pytest.param(
            HALF + "pods a/old 4 cpu=1 on=n1\njob b/new pods=1 cpu=1\npdb a/guard selector=job:old allowed=0",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4")],
            [],
            id="within disruption budgets",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=4\npods c/old 4 cpu=1 on=n1\npods a/old 4 cpu=1 on=n2\njob b/new pods=1 cpu=1",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4"), consumer("c")],
            ["a/old.0 for b/new.0"],
            id="where nodes are full as well, one that makes room in both",
        ),
        pytest.param(
            HALF + "pods a/old 2 limits=cpu:2 on=n1\njob b/new pods=1 limits=cpu:2",
            [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="limits.cpu=4")],
            ["a/old.0 for b/new.0"],
            id="for what has no total but in the bucket",
        ),
    ],
)
def test_a_bucket_that_holds_all_it_may_gives_back_to_its_own(
    text: str, objects: list[Manifest], expected: list[str]
) -> None:
    assert gone(decided(text, *objects, most=9)) == expected


def test_nobody_goes_for_a_place_that_its_bucket_could_not_hold() -> None:
    """The one that has too much of the bucket still has its grace; another's pods would make room on the node only."""
    text = "node n1 cpu=8\npods a/old 4 cpu=1 on=n1\npods c/old 4 cpu=1 on=n1\njob b/new pods=1 cpu=1"
    objects = [consumer("a", parent="x"), consumer("b", parent="x"), bucket("x", hard="cpu=4"), consumer("c")]
    since = {"type": "Overused", "status": "True", "lastTransitionTime": "2027-01-15T07:00:00Z"}
    told = {
        "apiVersion": ARBITRATOR_VERSION,
        "kind": "Allocation",
        "metadata": {"name": "defaults", "namespace": "c", "uid": "told"},
        "status": {"conditions": [since]},
    }
    reserved = consumer("d", "cpu=2")
    assert gone(decided(text, *objects, told, reserved, most=9, grace=10)) == []


# -- pods that leave together

GROUP = """
node n1 cpu=4
node n2 cpu=2
job a/g min=1 phase=Running
pods a/g 2 cpu=1 on=n1 age=1
pods a/g 2 cpu=1 on=n2 age=1
pods a/old 2 cpu=1 on=n1 age=100
"""
"""The youngest pods are those of one group."""


@pytest.mark.parametrize(
    ("text", "most", "spared", "expected"),
    [
        pytest.param(GROUP + "pods b/w 1 cpu=1", 1, (), ["a/old.0 for b/w.0"], id="a pod that leaves alone goes first"),
        pytest.param(
            GROUP + "pods b/w 1 cpu=2",
            4,
            (),
            ["a/old.0 for b/w.0", "a/old.1 for b/w.0"],
            id="two of them before a larger group",
        ),
        pytest.param(
            GROUP.replace("pods a/old 2", "pods a/old 2 priority=2000000000") + "pods b/w 1 cpu=1",
            1,
            (),
            ["a/g.0 for b/w.0", "a/g.1 for b/w.0", "a/g.2 for b/w.0", "a/g.3 for b/w.0"],
            id="where nobody else may go, all of the group in one round",
        ),
        pytest.param(
            GROUP.replace("pods a/old 2", "pods a/old 2 priority=2000000000") + "pods b/w 1 cpu=1",
            1,
            ["a/g.3"],
            [],
            id="none of the group where one of its pods cannot be evicted",
        ),
        pytest.param(
            GROUP.replace("pods a/old 2", "pods a/old 2 priority=2000000000")
            + "pods b/w 1 cpu=1\npdb a/g selector=job:g allowed=3",
            1,
            (),
            [],
            id="none of the group where a disruption budget keeps one of its pods",
        ),
    ],
)
def test_pods_that_leave_together(text: str, most: int, spared: list[str], expected: list[str]) -> None:
    assert gone(decided(text, most=most, spared=spared, whole=["a/g"])) == expected


def test_the_reservation_holds_for_the_whole_group() -> None:
    text = GROUP.replace("pods a/old 2", "pods a/old 2 priority=2000000000") + "pods b/w 1 cpu=1"
    assert not decided(text, consumer("a", "cpu=3"), whole=["a/g"]).evictions
    assert decided(text, consumer("a", "cpu=3")).evictions, "single pods could go"


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ghi"), st.sampled_from("12"), st.integers(1, 2)), min_size=4, max_size=8),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.sets(st.sampled_from("ghi")),
    st.integers(1, 4),
)
def test_no_round_evicts_a_part_of_a_group(
    held: list[tuple[str, str, int]], wanted: list[int], whole: set[str], most: int
) -> None:
    lines = ["node n1 cpu=4", "node n2 cpu=4"]
    lines += [f"job a/{job} min=1 phase=Running" for job in "ghi"]
    lines += [f"pods a/{job} 1 cpu={cpu} on=n{node}" for job, node, cpu in held]
    lines += [f"pods b/w{at} 2 cpu={cpu}" for at, cpu in enumerate(wanted)]
    evicted = {one.name for one in decided("\n".join(lines), most=most, whole=[f"a/{job}" for job in whole]).evictions}
    for job in whole:
        members = {f"{job}.{at}" for at in range(sum(name == job for name, _, _ in held))}
        assert not evicted & members or evicted >= members
