"""The usage meter: load follows placement, and windows remember who was where."""

from __future__ import annotations

from typing import Any

import pytest

from vsched.sim.bootstrap import seed
from vsched.sim.client import LocalClient
from vsched.sim.controllers.nodes.usage_meter import Measured, UsageMeter
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.pod_usage import UsageSettings
from vsched.sim.fleet.nodes import uniform_fleet
from vsched.sim.store.store import key_of
from vsched.sim.writer import ObjectWriter

Obj = dict[str, Any]
WINDOW = 100.0


class World:
    """Three nodes of 32 cores and a clock that is set by hand."""

    def __init__(self, writer: ObjectWriter) -> None:
        seed(writer)
        self.client = LocalClient(writer)
        for node in uniform_fleet(3):
            self.client.create("nodes", node)
        self.now = writer.now().timestamp() + 10.0
        settings = UsageSettings(low=0.5, high=0.5, window_seconds=WINDOW)
        self.meter = UsageMeter(self.client, PodIndex(self.client), settings, lambda: self.now)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds

    def run(self, name: str, node: str = "node-0", cpu: str = "8") -> None:
        resources = {"requests": {"cpu": cpu, "memory": "32Gi"}}
        spec = {"nodeName": node, "containers": [{"name": "main", "image": "i", "resources": resources}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
        self.client.create("pods", pod)
        self.status(name, "Running")

    def status(self, name: str, phase: str) -> None:
        changed = self.client.patch_status(
            "pods", "default", name, lambda pod: {**pod, "status": {**pod["status"], "phase": phase}}
        )
        self.look(key_of(changed))

    def annotate(self, name: str, **annotations: str) -> None:
        told = {f"vsched.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
        self.client.patch(
            "pods", "default", name, lambda pod: {**pod, "metadata": {**pod["metadata"], "annotations": told}}
        )
        self.look(f"default/{name}")

    def delete(self, name: str) -> None:
        self.client.delete("pods", "default", name, grace_seconds=0)
        self.look(f"default/{name}")

    def look(self, key: str) -> None:
        assert self.meter.reconcile(key) == ()

    def used(self, node: str = "node-0", seconds: float = WINDOW) -> Measured:
        return self.meter.nodes(self.client.list("nodes"), seconds)[node]


@pytest.fixture
def world(writer: ObjectWriter) -> World:
    return World(writer)


def test_a_node_uses_what_its_running_pods_use(world: World) -> None:
    world.run("a")
    world.run("b", cpu="16")
    world.run("elsewhere", node="node-1")
    world.pass_by(WINDOW)
    assert world.used() == pytest.approx((12.0, 32 << 30, 12 / 32, 32 / 128, 0.0, 0.0))
    assert world.used("node-1").cpu == pytest.approx(4.0)
    assert world.used("node-2") == Measured(0.0, 0.0)


def test_a_window_remembers_pods_that_are_gone_until_it_has_passed(world: World) -> None:
    world.run("a")
    world.pass_by(WINDOW)
    world.delete("a")
    world.pass_by(WINDOW / 2)
    assert world.used().cpu == pytest.approx(2.0)
    assert world.used(seconds=WINDOW / 4).cpu == 0.0
    world.pass_by(WINDOW / 2)
    assert world.used().cpu == 0.0


def test_a_window_is_no_longer_than_the_time_since_the_beginning(world: World) -> None:
    world.run("a")
    world.pass_by(WINDOW / 10)
    assert world.used().cpu == pytest.approx(4.0)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_uses_nothing_more(world: World, phase: str) -> None:
    world.run("a")
    world.status("a", phase)
    world.pass_by(WINDOW + 1)
    assert world.used().cpu == 0.0


def test_a_pod_of_the_same_name_is_another_one(world: World) -> None:
    world.run("a")
    world.pass_by(WINDOW)
    world.client.delete("pods", "default", "a", grace_seconds=0)
    world.run("a", node="node-1")
    world.pass_by(WINDOW)
    assert world.used().cpu == 0.0
    assert world.used("node-1").cpu == pytest.approx(4.0)


def test_annotations_take_hold_while_the_pod_runs(world: World) -> None:
    world.run("a")
    world.pass_by(WINDOW)
    world.annotate("a", cpu_usage="8")
    world.pass_by(WINDOW / 2)
    assert world.used().cpu == pytest.approx((4.0 + 8.0) / 2)
    assert world.used().cpu_spread == pytest.approx(2.0 / 32)
    world.pass_by(WINDOW / 2)
    assert world.used().cpu == pytest.approx(8.0)


def test_a_node_uses_no_more_than_it_has(world: World) -> None:
    for number in range(10):
        world.run(f"p{number}", cpu="31")
    world.pass_by(WINDOW)
    assert world.used().cpu == 32.0
    assert world.used().cpu_share == 1.0
    assert world.used().memory_share == 1.0


def test_what_runs_besides_pods_counts(world: World) -> None:
    told = {"vsched.io/cpu-usage": "25%"}
    world.client.patch(
        "nodes", "", "node-0", lambda node: {**node, "metadata": {**node["metadata"], "annotations": told}}
    )
    world.run("a")
    world.pass_by(WINDOW)
    assert world.used().cpu == pytest.approx(12.0)


def test_of_a_node_that_is_silent_nothing_is_known(world: World) -> None:
    silent = [{"type": "Ready", "status": "Unknown"}]
    world.client.patch_status(
        "nodes", "", "node-0", lambda node: {**node, "status": {**node["status"], "conditions": silent}}
    )
    assert set(world.meter.nodes(world.client.list("nodes"), WINDOW)) == {"node-1", "node-2"}


def test_a_second_look_finds_pods_that_went_unnoticed(world: World) -> None:
    world.run("a")
    world.client.delete("pods", "default", "a", grace_seconds=0)
    world.run("b")
    assert list(world.meter.keys()) == ["default/b", "default/a"]


def test_pods_have_figures_while_they_run(world: World) -> None:
    world.run("a")
    world.run("b", cpu="16")
    world.status("b", "Succeeded")
    world.pass_by(WINDOW)
    assert world.meter.pods(world.client.list("pods"), WINDOW) == {
        "default/a": pytest.approx((4.0, 16 << 30, 0.0, 0.0, 0.0, 0.0))
    }
