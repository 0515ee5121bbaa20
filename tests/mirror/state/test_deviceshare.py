"""Shared devices in the mirror: what nodes register, and pods that hold what was decided for them."""

from __future__ import annotations

from typing import Any

from tests.support import builders as make
from tests.support.deviceshare import HANDSHAKE, IDS, asking, devices, part, pods, vgpu_node
from tests.support.mirrors import World
from tests.support.plans import NOW, mirror
from vsched.mirror.whatif.editor import ClusterEditor
from vsched.model.deviceshare.geometries import DEFAULT_GEOMETRIES, UNKNOWN_DIVISIONS
from vsched.model.deviceshare.records import NO_SHARED_DEVICES
from vsched.model.dump.cycle import Recording, decode, encode
from vsched.model.plan import Bind, CycleReport, Evict

Obj = dict[str, Any]
TEXT = "GPU-0,NVIDIA,100,10:"


def pod(name: str = "p", node: str = "", **annotations: str) -> Obj:
    fields = make.pod(name, node=node, metadata={"annotations": annotations}, spec={"schedulerName": "volcano"})
    fields["spec"]["containers"] = [asking(vgpu_number=1, vgpu_memory=100, vgpu_cores=10)]
    return fields


def held(world: World, node: str = "n1") -> list[tuple[str, str, bool]]:
    """The pods of a node, the device of each, and whether it is leaving."""
    pods = world.snapshot().device_shares.pods.get(node, ())
    return [(one.name, one.parts[0][0].uuid, one.leaving) for one in pods]


def bind(world: World, fields: Obj) -> None:
    uid = fields["metadata"]["uid"]
    world.cache.assumptions.assume(CycleReport(binds=(Bind(uid, "ns", "p", "n1", "ns/pg", None, ((IDS, TEXT),)),)))


def test_without_devices_and_pods_that_hold_some_nothing_is_shown() -> None:
    assert World(make.node(), pod(node="n1")).snapshot().device_shares is NO_SHARED_DEVICES


def test_pods_hold_devices_of_nodes_whose_plugin_has_left() -> None:
    world = World(vgpu_node("n1", devices(1)), pod(node="n1", **{IDS: TEXT}))
    world.add(vgpu_node("n1", devices(1), "Deleted_2026"))
    assert dict(world.snapshot().device_shares.nodes) == {}
    assert held(world) == [("ns/p", "GPU-0", False)]
    world.delete(pod(node="n1"))
    assert world.snapshot().device_shares is NO_SHARED_DEVICES


def test_pods_hold_what_their_annotation_says_until_they_are_gone() -> None:
    world = World(vgpu_node("n1", devices(1)), pod(node="n1", **{IDS: TEXT}), pod("q", node="n1"))
    assert held(world) == [("ns/p", "GPU-0", False)]
    assert world.snapshot().device_shares is world.snapshot().device_shares
    world.delete(pod(node="n1"))
    assert held(world) == []


def test_an_assumed_binding_holds_devices_until_it_fails() -> None:
    world, found = World(vgpu_node("n1", devices(1)), pod()), pod()
    bind(world, found)
    assert held(world) == [("ns/p", "GPU-0", False)]
    world.cache.assumptions.forget(found["metadata"]["uid"])
    assert held(world) == []


def test_the_annotation_that_the_watch_shows_counts_from_then_on() -> None:
    world, found = World(vgpu_node("n1", devices(2)), pod()), pod()
    bind(world, found)
    world.add(pod(node="n1", **{IDS: TEXT.replace("GPU-0", "GPU-1")}))
    assert held(world) == [("ns/p", "GPU-1", False)]


def test_a_pod_that_is_evicted_is_leaving() -> None:
    found = pod(node="n1", **{IDS: TEXT})
    world = World(vgpu_node("n1", devices(1)), make.merged(found, {"status": {"phase": "Running"}}))
    uid = found["metadata"]["uid"]
    world.cache.assumptions.assume(CycleReport(evictions=(Evict(uid, "ns", "p", "n1", "", "reclaim", "ns/other"),)))
    assert held(world) == [("ns/p", "GPU-0", True)]


def test_devices_go_with_their_plugin_and_with_their_node() -> None:
    world = World(vgpu_node("n1", devices(1)), vgpu_node("n2", devices(1)))
    assert sorted(world.snapshot().device_shares.nodes) == ["n1", "n2"]
    world.add(vgpu_node("n1", devices(1), "Deleted_2026"))
    assert sorted(world.snapshot().device_shares.nodes) == ["n2"]
    world.delete(vgpu_node("n2", devices(1)))
    assert world.snapshot().device_shares is NO_SHARED_DEVICES


def test_a_handshake_alone_is_no_reason_for_a_session() -> None:
    world = World(vgpu_node("n1", devices(1)))
    assert not world.wakes_for(vgpu_node("n1", devices(1), "Reported_later"))
    assert world.wakes_for(vgpu_node("n1", devices(2)))
    statics = world.snapshot().nodes.statics
    world.add(make.merged(vgpu_node("n1", devices(2)), {"metadata": {"annotations": {HANDSHAKE: "Reported_again"}}}))
    assert world.snapshot().nodes.statics is statics


def test_what_cannot_be_read_is_a_remark_on_the_node() -> None:
    world = World(vgpu_node("n1", "GPU-0,x:"))
    assert world.snapshot().device_shares is NO_SHARED_DEVICES
    (problem,) = world.cache.blemished.values()
    assert "its devices are left out" in str(problem)


def test_a_mirror_on_paper_and_a_recording_show_the_same() -> None:
    asked = asking(vgpu_number=1, vgpu_memory=100, vgpu_cores=10)
    found = pods("job ns/a\npods ns/a 1 on=n1", asked, **{IDS: part(0, 100, 10)})
    snapshot = mirror([vgpu_node("n1", devices(2)), *found]).snapshot(NOW)
    shares = snapshot.device_shares
    assert len(shares.pods["n1"]) == 1

    again = decode(encode(Recording(snapshot, "", None)))
    assert (again.snapshot.device_shares.nodes, again.snapshot.device_shares.pods) == (shares.nodes, shares.pods)
    (task,) = again.snapshot.jobs["ns/a"].tasks.values()
    assert (task.devices, task.shape.devices) == (part(0, 100, 10), snapshot.jobs["ns/a"].tasks[task.uid].shape.devices)
    assert ClusterEditor(snapshot).edited(()).device_shares.pods == shares.pods


def test_geometries_are_shown_with_the_devices() -> None:
    world = World(vgpu_node("n1", devices(1)))
    assert world.snapshot().device_shares.geometries == DEFAULT_GEOMETRIES
    wakes = world.wakes
    assert world.cache.inputs.use_divisions(UNKNOWN_DIVISIONS)
    assert world.snapshot().device_shares.geometries == ()
    assert not world.cache.inputs.use_divisions(UNKNOWN_DIVISIONS), "nothing new"
    assert world.wakes == wakes + 1
    assert world.snapshot().device_shares is world.snapshot().device_shares
