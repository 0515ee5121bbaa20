"""The pretended device plugins register the devices of nodes, and take back what they no longer have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj, without
from vsched.apimachinery.meta.objects import is_deleting
from vsched.apimachinery.meta.times import format_time, utc_now
from vsched.apimachinery.workloads.actions import Action, Update, set_status
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.devices.fleet import DeviceFleet
from vsched.sim.controllers.devices.plugins import UNHEALTHY, Registration, handshake_of, registration_of
from vsched.sim.controllers.pod_index import PodIndex

CONTENT = "vsched.io/registered-content"
"""Annotation of nodes: a digest of what was registered, so that changes by hand stay until the file changes."""
RESOURCES = "vsched.io/registered-resources"
"""Annotation of nodes: the resources that plugins have served."""


class DevicePlugins(Controller):
    """Registers the devices of every node as the fleet says."""

    name: ClassVar[str] = "device plugins"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes",)

    def __init__(self, client: LocalClient, pod_index: PodIndex, fleet: DeviceFleet) -> None:
        super().__init__(client, pod_index)
        self._fleet = fleet
        fleet.changed.append(self.resync)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if gone or not (self._fleet.plugins and _has_kubelet(obj)):
            return ()
        return () if old is not None and _has_kubelet(old) else (obj["metadata"]["name"],)

    def reconcile(self, key: str) -> Sequence[Action]:
        node = self.find(key)
        if node is None or is_deleting(node) or not _has_kubelet(node):
            return ()
        annotations, wanted = node["metadata"].get("annotations") or {}, registration_of(self._fleet.plugins, key)
        if annotations.get(CONTENT, "") == wanted.content:
            return ()
        # Without its resourceVersion, which the write of the status changes.
        metadata = without(node["metadata"], ("resourceVersion",))
        told = Update("nodes", {**node, "metadata": {**metadata, "annotations": _annotated(annotations, wanted)}})
        return [*set_status("nodes", node, _with_amounts(node, wanted)), told]


def _has_kubelet(node: Obj) -> bool:
    """Whether the kubelet has written the amounts of the node, to which those of plugins are added."""
    return bool((node.get("status") or {}).get("allocatable"))


def _annotated(before: dict[str, str], wanted: Registration) -> dict[str, str]:
    """The annotations of a node; a plugin that has left says so in its handshake."""
    kept = without(before, (UNHEALTHY, CONTENT, RESOURCES))
    now = format_time(utc_now())
    for resource in before.get(RESOURCES, "").split(","):
        if handshake := handshake_of(resource):
            kept[handshake] = f"Deleted_{now}"
    for resource in wanted.capacity:
        if handshake := handshake_of(resource):
            kept[handshake] = f"Reported {now}"
    ours = {CONTENT: wanted.content, RESOURCES: ",".join(wanted.capacity)} if wanted.capacity else {}
    return {**kept, **wanted.annotations, **ours}


def _with_amounts(node: Obj, wanted: Registration) -> Obj:
    """The status of a node; of the resources of plugins that have left there is nothing, as kubelets say."""
    before = (node["metadata"].get("annotations") or {}).get(RESOURCES, "")
    none = dict.fromkeys((name for name in before.split(",") if name), "0")
    status = node["status"]
    capacity = status.get("capacity") or status["allocatable"]
    return {
        **status,
        "capacity": {**capacity, **none, **_quantities(wanted.capacity)},
        "allocatable": {**status["allocatable"], **none, **_quantities(wanted.allocatable)},
    }


def _quantities(amounts: dict[str, int]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
