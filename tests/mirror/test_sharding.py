"""The division of one cluster among replicas: every job is decided on once, and shares are those of the whole."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.framework.cycle import run_cycle
from vsched.mirror.sharding import ShardDivision, narrowed, shard_of, stated_shard, territory
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

POOL = "volcano.sh/nodegroup-name"


def snapshot_of(text: str) -> Snapshot:
    return mirror(manifests(text)).snapshot(NOW)


def queues(*found: Queue) -> dict[str, Queue]:
    return {queue.name: queue for queue in found}


def said(shard: str) -> tuple[tuple[str, str], ...]:
    return (("vsched.io/shard", shard),)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(queues(Queue("q")), shard_of("q", 4), id="by its name"),
        pytest.param(queues(Queue("q", parent="a"), Queue("a")), shard_of("a", 4), id="by the top of its tree"),
        pytest.param(
            queues(Queue("q", parent="a"), Queue("a", parent="root"), Queue("root")),
            shard_of("a", 4),
            id="not the root",
        ),
        pytest.param(queues(Queue("q", annotations=said("3"))), 3, id="as it says"),
        pytest.param(
            queues(Queue("q", parent="a", annotations=said("1")), Queue("a", annotations=said("2"))),
            2,
            id="the top first",
        ),
        pytest.param(queues(Queue("q", parent="a", annotations=said("1")), Queue("a")), 1, id="else the next below"),
        pytest.param(queues(Queue("q", annotations=said("4"))), shard_of("q", 4), id="a shard that there is not"),
        pytest.param(queues(Queue("q", parent="q")), shard_of("q", 4), id="a ring"),
        pytest.param({}, shard_of("q", 4), id="a queue that there is not"),
    ],
)
def test_the_shard_of_a_queue(found: dict[str, Queue], expected: int) -> None:
    assert ShardDivision(4).shard_of_queue("q", found) == expected


@pytest.mark.parametrize("text", ["", "-1", "1.0", "x", "²", "4", "1 "])
def test_annotations_that_name_no_shard(text: str) -> None:
    assert stated_shard(Queue("q", annotations=said(text)), 4) is None


def test_hashes_are_the_same_in_every_process_and_spread() -> None:
    assert [shard_of(f"q{number}", 3) for number in range(6)] == [0, 2, 1, 2, 0, 0]
    spread = Counter(shard_of(f"node-{number:04}", 4) for number in range(1000))
    assert max(spread.values()) - min(spread.values()) < 100


def test_jobs_belong_to_the_pool_that_they_select() -> None:
    snapshot = snapshot_of(
        f"""
        node a1 cpu=4 {POOL}=a
        node b1 cpu=4 {POOL}=b
        node c1 cpu=4
        job ns/a pods=1 cpu=1 selector={POOL}:a
        job ns/b pods=1 cpu=1 selector={POOL}:b
        job ns/any pods=1 cpu=1
        job ns/none
        """
    )
    division = ShardDivision(8, "node-pool", POOL)
    pools = {key: division.pool_of(job) for key, job in snapshot.jobs.items()}
    assert pools == {"ns/a": "a", "ns/b": "b", "ns/any": "", "ns/none": ""}
    for pool, name in (("a", "a1"), ("b", "b1"), ("", "c1")):
        row = snapshot.nodes.statics.row[name]
        key = f"ns/{pool}" if pool else "ns/any"
        shard = division.shard_of_job(snapshot.jobs[key], snapshot.queues)
        assert shard == division.slices(snapshot.nodes.statics)[row] == shard_of(pool, 8)


QUEUES = "\n".join(f"queue q{number} weight={number + 1}" for number in range(5))
NODES = "\n".join(f"node n{number} cpu=8" for number in range(6))
JOB = st.tuples(st.integers(0, 4), st.integers(1, 3), st.integers(1, 2))


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(JOB, max_size=10), st.integers(1, 4))
def test_every_job_is_decided_on_once_and_all_divide_the_cluster_alike(
    jobs: list[tuple[int, int, int]], count: int
) -> None:
    lines = [f"job ns/j{at} queue=q{queue} pods={pods} cpu={cpu}" for at, (queue, pods, cpu) in enumerate(jobs)]
    whole = snapshot_of("\n".join([NODES, QUEUES, *lines]))
    division = ShardDivision(count)
    parts = [narrowed(whole, division, frozenset({shard}), None) for shard in range(count)]
    for field in ("active", "changed", "nominated"):
        assert sorted(key for part in parts for key in getattr(part, field)) == sorted(getattr(whole, field))
    for part in parts:
        assert sorted([*part.changed, *part.elsewhere]) == sorted(whole.changed)
        assert part.books is whole.books
        assert part.holders is whole.holders
    statics = whole.nodes.statics
    nodes = [name for shard in range(count) for name in territory(statics, division, frozenset({shard}))]
    assert sorted(nodes) == sorted(statics.names)
    everything = territory(statics, division, frozenset(range(count)))
    assert sorted(everything) == sorted(statics.names)

    policy = policy_of("gang", "drf proportion predicates nodeorder")
    divided = run_cycle(whole, policy, REGISTRY).queues
    for part in parts:
        found = run_cycle(part, policy, REGISTRY)
        assert set(found.jobs) == set(part.changed)
        assert {name: queue.deserved for name, queue in found.queues.items()} == {
            name: queue.deserved for name, queue in divided.items()
        }, "the division among queues is that of the whole cluster"


def test_what_others_decide_for_counts_and_is_left_alone() -> None:
    text = f"""
        {NODES}
        queue ours vsched.io/shard=0
        queue theirs vsched.io/shard=1
        job ns/ours queue=ours min=1 pods=1 cpu=1
        job ns/theirs queue=theirs min=2 pods=2 cpu=8
        pods ns/theirs 1 cpu=8 nominated=n0
        pods ns/theirs 3 cpu=8 on=n1
    """
    whole = snapshot_of(text)
    mine = narrowed(whole, ShardDivision(2), frozenset({0}), None)
    report = run_cycle(mine, DEFAULT_POLICY, REGISTRY)
    assert [bind.job for bind in report.binds] == ["ns/ours"]
    assert report.nominations == ()
    assert set(report.jobs) == {"ns/ours"}
    assert report.queues["theirs"].allocated["cpu"] == 24_000
    nobody = run_cycle(narrowed(whole, ShardDivision(2), frozenset(), None), DEFAULT_POLICY, REGISTRY)
    assert (nobody.binds, dict(nobody.jobs)) == ((), {})


def test_the_territory_is_made_once() -> None:
    statics = snapshot_of(NODES).nodes.statics
    of = partial(territory, statics, ShardDivision(3))
    assert of(frozenset({0, 1})) is of(frozenset({0, 1}))
    assert of(frozenset({0})) != of(frozenset({1}))
