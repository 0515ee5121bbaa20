"""What a cycle keeps of the one before it where little or nothing has changed."""

from __future__ import annotations

from itertools import count

import orjson

from tests.support.keeping import keeping
from tests.support.plans import DEFAULT_POLICY
from vsched import api
from vsched.framework.cycle import run_cycle
from vsched.lab.bench.world import MirrorFeeder, World, metadata_of
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY

SMALL = World(nodes=6, pods=0, running=24, gang=2, shapes=3, queues=3, namespaces=3)


class Cycles:
    """Cycles on a world that share what they keep; their decisions are assumed."""

    def __init__(self, world: World, waiting: int = 0) -> None:
        self.feeder = MirrorFeeder(world)
        self.feeder.fill()
        self.memo, self._numbers = keeping(), count()
        for _ in range(waiting):
            self.wait()
        for _ in range(4):
            self.run()

    def wait(self) -> None:
        """A pod comes that no node has room for."""
        name = f"waits-{next(self._numbers):03}"
        metadata = metadata_of("team-0", name)
        group = {"metadata": metadata, "spec": {"queue": "queue-0", "minMember": 1}, "status": {"phase": "Inqueue"}}
        container = {"name": "main", "resources": {"requests": {"cpu": "1000", "memory": "1Gi"}}}
        pod = {
            "metadata": metadata | {"annotations": {"scheduling.k8s.io/group-name": name}},
            "spec": {"schedulerName": "vsched", "containers": [container]},
            "status": {"phase": "Pending"},
        }
        for kind, found in (("PodGroup", group), ("Pod", pod)):
            self.feeder.mirror.intake.apply(kind, "ADDED", api.decode(kind, orjson.dumps(found)))

    def run(self) -> CycleReport:
        report = run_cycle(self.feeder.mirror.snapshot(0.0), DEFAULT_POLICY, REGISTRY, memo=self.memo)
        self.feeder.mirror.assumptions.assume(report)
        return report


def test_a_job_that_waits_is_not_told_anew_while_another_one_comes() -> None:
    cycles = Cycles(SMALL, waiting=5)
    before = cycles.run()
    cycles.wait()
    after = cycles.run()
    assert len(after.unschedulable) == 6
    assert all(after.unschedulable[name] is verdict for name, verdict in before.unschedulable.items())


def test_amounts_that_nodes_have_are_another_array_only_where_some_node_has_others() -> None:
    cycles = Cycles(SMALL)
    cache = cycles.feeder.mirror
    before = cache.snapshot(0.0).nodes.allocatable
    cycles.feeder.add_gangs(1, gang=1)
    cycles.run()
    cycles.run()
    assert cache.snapshot(0.0).nodes.allocatable is before
    node = {"metadata": {"name": "node-00000"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}}
    cache.intake.apply("Node", "MODIFIED", api.decode("Node", orjson.dumps(node)))
    after = cache.snapshot(0.0).nodes.allocatable
    assert after is not before
    assert (int(before[0, 0]), int(after[0, 0])) == (64_000, 1_000)
