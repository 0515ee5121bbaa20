"""What queues hold, deserve and wait for, as parts of the cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tests.support.plans import policy_of
from tests.support.sights import JOBS, frozen
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.web.overview.shares import WHOLE, PodCounts, QueueShares, counting, queue_shares

CAPACITY = policy_of("priority gang", "drf predicates capacity")
TREE = """
node n1 cpu=10 memory=10Gi
queue root
queue up parent=root deserved=cpu:6,memory:1Gi
queue low parent=up deserved=cpu:4
queue other
job ns/runs min=2 queue=low phase=Running
pods ns/runs 2 cpu=1 memory=2Gi on=n1
job ns/waits min=3 pods=3 cpu=4 memory=1Gi queue=low
job ns/plain min=1 queue=other phase=Running
pods ns/plain 1 cpu=1 memory=1Gi on=n1
"""


def shares_of(snapshot: Snapshot, report: CycleReport) -> dict[str, QueueShares]:
    counts: PodCounts = Counter()
    list(counting(snapshot, report.binds, counts))
    return queue_shares(snapshot, report, counts)


def test_a_queue_counts_with_those_below_it_by_the_resource_of_which_it_is_most() -> None:
    session = frozen(TREE, CAPACITY)
    found = shares_of(session.snapshot, session.report)
    assert {name: one.held for name, one in found.items()} == {
        WHOLE: 0.5,
        "root": 0.5,
        "up": 0.4,
        "low": 0.4,
        "other": 0.1,
    }
    assert {name: one.waiting for name, one in found.items()} == {
        WHOLE: 1.2,
        "root": 1.2,
        "up": 1.2,
        "low": 1.2,
        "other": 0,
    }
    assert (found["low"].deserved, found["up"].deserved) == (0.4, 1.0)
    assert found[WHOLE].deserved is found["root"].deserved is None, "all of it is their own"


def test_what_the_session_places_is_held_and_no_longer_waits() -> None:
    session = frozen(JOBS)
    assert session.report.binds
    found = shares_of(session.snapshot, session.report)
    assert found["q"].held == found[WHOLE].held == 1.0
    assert found["q"].waiting == found[WHOLE].waiting == 1.5, "three pods of two cores, of four"


def test_where_no_queue_is_known_the_cluster_is() -> None:
    session = frozen(TREE)
    snapshot = replace(session.snapshot, queues={})
    found = shares_of(snapshot, CycleReport())
    assert found == {WHOLE: QueueShares(0.5, None, 1.2)}


def test_in_a_cluster_without_nodes_every_share_is_nothing() -> None:
    session = frozen("queue root\nqueue low parent=root\njob ns/waits min=1 pods=1 cpu=4 queue=low", CAPACITY)
    found = shares_of(session.snapshot, session.report)
    assert {"root", "low", WHOLE} <= set(found)
    assert all((one.held, one.deserved or 0, one.waiting) == (0, 0, 0) for one in found.values())
