"""Turns: of daemons that share a limit one places at a time, each in time, and nobody waits where all is deserved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.plans import NOW, manifests, mirror
from vsched.mirror.sharding import ShardDivision
from vsched.mirror.turns import PAUSE_SECONDS, TURN_SECONDS, Group, Rest, group_of, resting_namespaces, resting_queues
from vsched.model.arbitration.records import WHOLE, Ceiling
from vsched.model.snapshot import Snapshot

BEGIN = NOW - NOW % TURN_SECONDS
WORK = """
node n1 cpu=64
queue a vsched.io/shard=0
queue b vsched.io/shard=1
queue c vsched.io/shard=2
job one/a queue=a pods=4 cpu=1
job one/b queue=b pods=4 cpu=1
job two/a queue=a pods=4 cpu=1
job three/c queue=c pods=4 cpu=1
"""
DIVISION = ShardDivision(3)


def ceilings(snapshot: Snapshot, buckets: dict[str, tuple[str, ...]] | None = None, **deserved: int) -> Snapshot:
    """The snapshot where namespaces deserve so many cpus, and may hold no more."""
    cpu = snapshot.axis.column("cpu")
    found = {
        name: Ceiling({cpu: 1000 * cpus}, deserved={cpu: 1000 * cpus}, pools=(WHOLE, *(buckets or {}).get(name, ())))
        for name, cpus in deserved.items()
    }
    return replace(snapshot, ceilings=found)


@pytest.fixture
def waiting() -> Snapshot:
    return mirror(manifests(WORK)).snapshot(NOW)


def rest(snapshot: Snapshot, at: float, *held: int) -> Rest:
    return resting_namespaces(replace(snapshot, now=at), snapshot.active, DIVISION, frozenset(held))


def places(snapshot: Snapshot, at: float, *held: int, namespace: str = "one") -> bool:
    return namespace not in rest(snapshot, at, *held).names


@given(at=st.floats(0, 4e9))
def test_of_the_shards_that_want_more_than_a_namespace_deserves_one_places_at_a_time(at: float) -> None:
    snapshot = ceilings(mirror(manifests(WORK)).snapshot(NOW), one=7)
    placing = [shard for shard in (0, 1) if places(snapshot, at, shard)]
    assert len(placing) == (0 if at % TURN_SECONDS < PAUSE_SECONDS else 1)


def test_each_has_its_turn_and_knows_when_to_look_again(waiting: Snapshot) -> None:
    snapshot = ceilings(waiting, one=7)
    for shard in (0, 1):
        at, turns = BEGIN, 0
        for _ in range(8):
            found = rest(snapshot, at, shard)
            if found.names:
                assert 0 < found.seconds <= TURN_SECONDS + PAUSE_SECONDS
                at += found.seconds
            else:
                turns, at = turns + 1, at + TURN_SECONDS
        assert turns >= 3


def test_nobody_waits_where_all_that_is_held_and_wanted_is_deserved(waiting: Snapshot) -> None:
    snapshot = ceilings(waiting, one=8)
    cpu = snapshot.axis.column("cpu")
    for at in (BEGIN, BEGIN + 1.0, BEGIN + 3.0):
        assert places(snapshot, at, 0)
        assert places(snapshot, at, 1)
    full = replace(snapshot, held={"one": {cpu: 1}})
    assert not all(places(full, BEGIN + 1.0, shard) for shard in (0, 1))


def test_a_daemon_that_has_all_shards_of_a_namespace_waits_for_nobody(waiting: Snapshot) -> None:
    snapshot = ceilings(waiting, one=1, two=1, three=1)
    assert rest(snapshot, BEGIN, 0, 1).names == frozenset()
    assert rest(snapshot, BEGIN + 1.0, 0).names <= {"one"}, "the others have jobs of one shard"
    assert rest(snapshot, BEGIN + 1.0, 2).names == frozenset(), "it has no job there"


def test_the_namespaces_of_a_bucket_have_one_turn(waiting: Snapshot) -> None:
    buckets = {"two": ("inner", "outer"), "three": ("outer",)}
    short = ceilings(waiting, buckets, two=3, three=9)
    placing = [shard for shard, name in ((0, "two"), (2, "three")) if places(short, BEGIN + 1.0, shard, namespace=name)]
    assert len(placing) == 1
    enough = ceilings(waiting, buckets, two=4, three=9)
    assert places(enough, BEGIN, 0, namespace="two")
    assert places(enough, BEGIN, 2, namespace="three")
    # What a namespace of the bucket holds beyond its part is missing to the others, although it wants no more.
    cpu = waiting.axis.column("cpu")
    full = replace(
        ceilings(waiting, {**buckets, "idle": ("outer",)}, two=4, three=9, idle=1), held={"idle": {cpu: 2000}}
    )
    assert not places(full, BEGIN, 2, namespace="three")


def test_limits_of_limits_are_nobodys_for_certain(waiting: Snapshot) -> None:
    snapshot = ceilings(waiting, one=8)
    limited = replace(snapshot, ceilings={"one": replace_limits(snapshot.ceilings["one"])})
    assert [places(limited, BEGIN + 1.0, shard) for shard in (0, 1)].count(True) == 1


def replace_limits(ceiling: Ceiling) -> Ceiling:
    return Ceiling(ceiling.most, {"limits.cpu": 1000}, deserved=ceiling.deserved, pools=ceiling.pools)


def test_namespaces_that_nothing_is_divided_for_never_wait(waiting: Snapshot) -> None:
    assert rest(waiting, BEGIN, 0).names == frozenset()


@pytest.mark.parametrize(
    ("pools", "group"),
    [
        pytest.param((), Group("", "ns"), id="alone"),
        pytest.param((WHOLE,), Group("", "ns"), id="in no bucket"),
        pytest.param((WHOLE, "b"), Group("b", ""), id="in a bucket"),
        pytest.param((WHOLE, "b", "top"), Group("top", ""), id="in a bucket of a bucket"),
    ],
)
def test_the_group_of_a_namespace(pools: tuple[str, ...], group: Group) -> None:
    assert group_of("ns", Ceiling({}, pools=pools)) == group


POOL = "volcano.sh/nodegroup-name"
POOLS = f"""
node n1 cpu=64 {POOL}=a
node n2 cpu=64 {POOL}=g
queue top capability=cpu:7
queue low parent=top
queue free
job ns/a queue=low pods=4 cpu=1 selector={POOL}:a
job ns/g queue=top pods=4 cpu=1 selector={POOL}:g
job ns/free-a queue=free pods=4 cpu=1 selector={POOL}:a
job ns/free-g queue=free pods=4 cpu=1 selector={POOL}:g
"""
BY_POOL = ShardDivision(2, "node-pool")


def queues_at(text: str, at: float, *held: int, division: ShardDivision = BY_POOL) -> frozenset[str]:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    return resting_queues(replace(snapshot, now=at), snapshot.active, division, frozenset(held)).names


@given(at=st.floats(0, 4e9))
def test_of_the_shards_that_want_more_than_a_queue_may_hold_one_places_at_a_time(at: float) -> None:
    found = [queues_at(POOLS, at, shard) for shard in (0, 1)]
    assert found.count(frozenset({"top", "low"})) == (2 if at % TURN_SECONDS < PAUSE_SECONDS else 1)
    assert all(names <= {"top", "low"} for names in found), "the other queue has no limit"


def test_nobody_waits_for_a_turn_in_a_queue_with_room_for_all_or_in_one_shard() -> None:
    enough = POOLS.replace("cpu:7", "cpu:8")
    for at in (BEGIN, BEGIN + 1.0, BEGIN + 3.0):
        assert queues_at(enough, at, 0) == queues_at(enough, at, 1) == frozenset()
        assert queues_at(POOLS, at, 0, 1) == frozenset()
        assert queues_at(POOLS, at, 0, division=ShardDivision(2)) == frozenset()
    holding = enough + f"pods ns/a 1 cpu=1 on=n1 selector={POOL}:a\n"
    assert queues_at(holding, BEGIN, 0) == {"top", "low"}
