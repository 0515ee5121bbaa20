"""What a cycle touches in which little or nothing has changed: it is counted in calls, so that no clock matters."""

from __future__ import annotations

import sys
from itertools import count
from types import FrameType

import orjson
import pytest

from tests.support.plans import DEFAULT_POLICY
from tests.support.taking import taking
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.cycle import run_cycle
from vsched.framework.points.extension import JobReady, NoArgs
from vsched.framework.policy import Policy
from vsched.framework.reports.verdicts import Told
from vsched.lab.bench.world import MirrorFeeder, World, metadata_of
from vsched.mirror import wire
from vsched.model.plan import CycleReport
from vsched.settings.built_in import REGISTRY

SMALL = World(nodes=6, pods=0, running=24, gang=2, shapes=3, queues=3, namespaces=3)
LARGER = {
    "nodes": World(nodes=48, pods=0, running=24, gang=2, shapes=3, queues=3, namespaces=3),
    "running pods": World(nodes=6, pods=0, running=240, gang=2, shapes=3, queues=3, namespaces=3),
    "running pods in a job": World(nodes=6, pods=0, running=192, gang=16, shapes=3, queues=3, namespaces=3),
    "queues and namespaces": World(nodes=6, pods=0, running=24, gang=2, shapes=3, queues=24, namespaces=24),
}
ROUNDING = 4
"""Calls that come and go with sizes of caches."""


class Cycles:
    """Cycles on a world that share what they keep; their decisions are assumed."""

    def __init__(self, world: World, waiting: int = 0, policy: Policy = DEFAULT_POLICY) -> None:
        self.policy = policy
        self.feeder = MirrorFeeder(world)
        self.feeder.fill()
        self.told, self._numbers = Told(), count()
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
            self.feeder.cache.apply(kind, "ADDED", wire.decode(kind, orjson.dumps(found)))

    def run(self) -> CycleReport:
        report = run_cycle(self.feeder.cache.snapshot(0.0), self.policy, REGISTRY, told=self.told)
        self.feeder.cache.assume(report)
        return report

    def calls(self) -> int:
        """The calls of one more cycle, snapshot and assuming included."""
        made = 0

        def counting(frame: FrameType, event: str, _: object) -> None:
            nonlocal made
            made += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(counting)
        try:
            self.run()
        finally:
            sys.setprofile(before)
        return made


@pytest.mark.parametrize("world", LARGER.values(), ids=LARGER)
def test_an_idle_cycle_makes_no_more_calls_where_there_are_more(world: World) -> None:
    assert Cycles(world).calls() <= Cycles(SMALL).calls() + ROUNDING


def test_an_idle_cycle_makes_no_more_calls_where_more_jobs_wait() -> None:
    few, many = Cycles(SMALL, waiting=3), Cycles(SMALL, waiting=40)
    assert len(many.run().unschedulable) == 40
    assert many.calls() <= few.calls()
    assert many.calls() < 400, "nor does it open plugins, or ask them anything"


@pytest.mark.parametrize("name", ["nodes", "running pods"])
def test_a_new_pod_makes_no_more_calls_where_there_are_more(name: str) -> None:
    small, large = Cycles(SMALL), Cycles(LARGER[name])
    for cycles in (small, large):
        cycles.feeder.add_gangs(1, gang=1)
        assert len(cycles.run().binds) == 1
        cycles.feeder.add_gangs(1, gang=1)
    assert large.calls() <= small.calls() + ROUNDING


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(DEFAULT_POLICY, id="and no job takes from others"),
        pytest.param(
            taking("enqueue, allocate, reclaim, preempt, backfill", "priority gang", "drf-P predicates proportion"),
            id="and they take from others where they may",
        ),
    ],
)
def test_a_job_that_comes_makes_no_more_calls_where_more_of_its_kind_wait(policy: Policy) -> None:
    few, many = Cycles(SMALL, waiting=500, policy=policy), Cycles(SMALL, waiting=1500, policy=policy)
    for cycles in (few, many):
        cycles.wait()
    assert many.calls() < few.calls() + 1000, "all that depends on how many wait is how full parts of maps are"


def test_the_next_cycle_begins_with_plugins_that_are_as_new() -> None:
    cycles = Cycles(SMALL)
    plugins = cycles.told.memory.parts["plugins"]
    assert isinstance(plugins, PluginSet)
    assert [vars(one) for one in plugins.taking_part(JobReady)] == [{"args": NoArgs()}]
    cycles.feeder.add_gangs(1, gang=1)
    cycles.run()
    assert cycles.told.memory.parts["plugins"] is plugins, "and they are the same ones"


def test_a_job_that_waits_is_not_told_anew_while_another_one_comes() -> None:
    cycles = Cycles(SMALL, waiting=5)
    before = cycles.run()
    cycles.wait()
    after = cycles.run()
    assert len(after.unschedulable) == 6
    assert all(after.unschedulable[name] is verdict for name, verdict in before.unschedulable.items())


def test_amounts_that_nodes_have_are_another_array_only_where_some_node_has_others() -> None:
    cycles = Cycles(SMALL)
    cache = cycles.feeder.cache
    before = cache.snapshot(0.0).nodes.allocatable
    cycles.feeder.add_gangs(1, gang=1)
    cycles.run()
    cycles.run()
    assert cache.snapshot(0.0).nodes.allocatable is before
    node = {"metadata": {"name": "node-00000"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}}
    cache.apply("Node", "MODIFIED", wire.decode("Node", orjson.dumps(node)))
    after = cache.snapshot(0.0).nodes.allocatable
    assert after is not before
    assert (int(before[0, 0]), int(after[0, 0])) == (64_000, 1_000)
