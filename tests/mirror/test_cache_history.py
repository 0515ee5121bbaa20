"""Usage history in snapshots: who held what, for how long."""

from __future__ import annotations

from math import inf

from tests.mirror.watch import Watch
from tests.support import builders as make
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.frozen import freeze
from vsched.model.history.holding import held_by
from vsched.model.history.records import CLUSTER, Decay, Holder
from vsched.model.jobs.spec import USER
from vsched.model.snapshot import Snapshot

WHOLE = Decay(inf)
NODE = make.node("n1", status={"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}})
ANN, NOBODY = Holder("q", "ns", "ann"), Holder("q", "ns")
NOW = 1_000_000.0


def world() -> Watch:
    found = Watch()
    found.cache.history.keep([WHOLE])
    ann = make.pod_group("ann", spec={"queue": "q"}, metadata={"annotations": {USER: "ann"}})
    for one in (NODE, make.queue("q"), ann, make.pod_group("plain", spec={"queue": "q"})):
        found.tell(one)
    return found


def running(name: str, group: str, cpu: str, phase: str = "Running") -> make.Fields:
    containers = [make.container(cpu)]
    return make.pod(name, group=group, node="n1", spec={"containers": containers}, status={"phase": phase})


def core_seconds(snapshot: Snapshot) -> dict[Holder, float]:
    history = snapshot.history
    used = history.used(WHOLE)[:, history.resources.index("cpu")].tolist()
    return {holder: amount / 1000 for holder, amount in zip(history.holders, used, strict=True) if amount}


def test_what_the_pods_of_users_and_namespaces_hold_is_counted_from_snapshot_to_snapshot() -> None:
    found = world()
    found.cache.snapshot(NOW)
    found.tell(running("a", "ann", "2"))
    found.tell(running("b", "plain", "1"))
    found.cache.snapshot(NOW + 5)
    found.tell(running("c", "ann", "1"))
    assert core_seconds(found.cache.snapshot(NOW + 15)) == {CLUSTER: 120, ANN: 20, NOBODY: 10}
    found.tell(running("a", "ann", "2", phase="Succeeded"))
    found.cache.snapshot(NOW + 15)
    assert core_seconds(found.cache.snapshot(NOW + 25)) == {CLUSTER: 200, ANN: 30, NOBODY: 20}


def test_a_job_that_moves_to_another_queue_is_counted_there_from_then_on() -> None:
    found = world()
    found.tell(make.queue("r"))
    found.tell(running("b", "plain", "1"))
    found.cache.snapshot(NOW)
    found.cache.snapshot(NOW + 10)
    found.tell(make.pod_group("plain", spec={"queue": "r"}))
    found.cache.snapshot(NOW + 10)
    assert core_seconds(found.cache.snapshot(NOW + 13)) == {CLUSTER: 80, NOBODY: 10}, "counted in steps"
    assert core_seconds(found.cache.snapshot(NOW + 20)) == {CLUSTER: 160, NOBODY: 10, Holder("r", "ns"): 10}


def test_what_is_held_agrees_with_the_jobs() -> None:
    found = world()
    for name, group in (("a", "ann"), ("b", "plain"), ("c", "ann")):
        found.tell(running(name, group, "1"))
    snapshot = found.cache.snapshot(NOW)
    assert snapshot.history.held == held_by(snapshot.jobs.values())
    found.tell(running("b", "plain", "1"), "DELETED")
    snapshot = found.cache.snapshot(NOW)
    assert snapshot.history.held == held_by(snapshot.jobs.values())
    assert NOBODY not in snapshot.history.held


def test_a_cluster_on_paper_goes_on_counting_where_the_snapshot_stopped() -> None:
    found = world()
    found.tell(running("a", "ann", "2"))
    found.tell(running("b", "plain", "1"))
    found.cache.snapshot(NOW)
    origin = freeze(found.cache.snapshot(NOW + 10))
    before = origin.history.record()
    paper = ClusterEditor(origin)
    assert core_seconds(paper.snapshot(NOW + 10)) == {CLUSTER: 80, ANN: 20, NOBODY: 10}
    gone = paper.task("uid-a")
    assert gone is not None
    paper.take_away(gone)
    paper.snapshot(NOW + 10)
    assert core_seconds(paper.snapshot(NOW + 7200)) == {CLUSTER: 57_600, ANN: 20, NOBODY: 7200}
    assert origin.history.record() == before
