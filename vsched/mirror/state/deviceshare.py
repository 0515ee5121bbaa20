"""Shared devices that nodes register, and the pods there that hold some."""

from __future__ import annotations

from typing import TypeVar

from vsched.errors import BadObject
from vsched.mirror.ingest.deviceshare import parts_of
from vsched.model.deviceshare.geometries import USUAL_DIVISIONS, Divisions
from vsched.model.deviceshare.records import (
    NO_SHARED_DEVICES,
    DevicePod,
    DeviceShareCatalogue,
    NodeDevices,
    is_assignment,
)
from vsched.model.plan import Bind
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task

T = TypeVar("T")


class DeviceShareStore:
    """Devices and pods by node. What a pod costs that asks for no shared device is a look-up."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[NodeDevices, ...]] = {}
        self._pods: dict[str, dict[str, DevicePod]] = {}
        """By node, then by uid."""
        self._decided: dict[str, str] = {}
        """By uid: what was decided for pods whose annotation the watch does not show yet."""
        self._shown_nodes: dict[str, tuple[NodeDevices, ...]] = {}
        self._shown: dict[str, tuple[DevicePod, ...]] = {}
        self._dirty: set[str] = set()
        """Nodes whose devices or whose pods have changed."""
        self._published = NO_SHARED_DEVICES
        self._divisions = USUAL_DIVISIONS
        self._divisions_changed = False
        """Whether they have changed."""

    def __len__(self) -> int:
        return len(self._nodes)

    def of(self, node: str) -> tuple[NodeDevices, ...]:
        """What a node registers."""
        return self._nodes.get(node, ())

    def put(self, node: str, found: tuple[NodeDevices, ...]) -> bool:
        """Take in what a node registers; True where that has changed."""
        if self._nodes.get(node, ()) == found:
            return False
        if found:
            self._nodes[node] = found
        else:
            self._nodes.pop(node, None)
        self._dirty.add(node)
        return True

    def move(self, before: Task | None, after: Task | None) -> None:
        """A pod has changed, has come (``before`` is None) or is gone; those without a request are passed over."""
        task = before if after is None else after
        if task is None or task.shape.devices is None:
            return
        if before is not None and before.node and (after is None or after.node != before.node or not _holds(after)):
            self._leave(before)
        if after is None:
            self._decided.pop(task.uid, None)
        elif after.node and _holds(after):
            self._add_pod(after)

    def decide(self, bind: Bind) -> None:
        """A pod is about to be bound."""
        text = next((text for name, text in bind.annotations if is_assignment(name)), "")
        if text:
            self._decided[bind.uid] = text

    def use(self, divisions: Divisions) -> bool:
        """Take over how devices may be divided; True where that has changed."""
        changed = divisions != self._divisions
        if changed:
            self._divisions, self._divisions_changed = divisions, True
        return changed

    def adopt(self, found: DeviceShareCatalogue) -> None:
        """Take over what another mirror has published."""
        self._nodes, self._shown_nodes = dict(found.nodes), dict(found.nodes)
        self._pods = {node: {pod.uid: pod for pod in pods} for node, pods in found.pods.items()}
        self._shown, self._published = dict(found.pods), found
        self._divisions = Divisions(found.geometries, found.chips)

    def publish(self) -> DeviceShareCatalogue:
        """What snapshots show; the same object while nothing changes.

        Pods count on nodes that register no devices too: a driver may publish there what a device plugin gave them.
        """
        dirty, self._dirty = self._dirty, set()
        divisions_changed, self._divisions_changed = self._divisions_changed, False
        for node in sorted(dirty):
            pods = self._pods.get(node, {}).values()
            _show(self._shown_nodes, node, self._nodes.get(node, ()))
            _show(self._shown, node, tuple(sorted(pods, key=lambda pod: (pod.name, pod.uid))))
        if dirty or divisions_changed:
            known, shown = self._shown_nodes, self._shown
            found = DeviceShareCatalogue(
                known, shown, geometries=self._divisions.geometries, chips=self._divisions.chips
            )
            self._published = found if known or shown else NO_SHARED_DEVICES
        return self._published

    def _add_pod(self, task: Task) -> None:
        """Note what a pod holds of its node, as far as that is known."""
        request = task.shape.devices
        assert request is not None, "the caller has looked"
        if task.devices and task.status is not Status.BINDING:
            self._decided.pop(task.uid, None)
        text = self._decided.get(task.uid) or task.devices
        known = self._pods.get(task.node, {}).get(task.uid)
        if text:
            try:
                parts = parts_of(text, request)
            except BadObject:
                return  # ingest has said so; the pod waits or runs without devices that anybody knows of
        elif known is not None:
            parts = known.parts
        else:
            return
        leaving = task.status is Status.RELEASING
        pod = DevicePod(task.uid, task.key, request.kind, parts, leaving, task.job, task.labels.pairs)
        if pod != known:
            self._pods.setdefault(task.node, {})[task.uid] = pod
            self._dirty.add(task.node)

    def _leave(self, task: Task) -> None:
        pods = self._pods.get(task.node)
        if pods is not None and pods.pop(task.uid, None) is not None:
            self._dirty.add(task.node)
            if not pods:
                del self._pods[task.node]


def _show(shown: dict[str, tuple[T, ...]], node: str, found: tuple[T, ...]) -> None:
    """Show what a node has now; a node that has nothing is left out."""
    if found:
        shown[node] = found
    else:
        shown.pop(node, None)


def _holds(task: Task) -> bool:
    """Whether the pod keeps its devices; a pod that is leaving does until it has left."""
    return HOLDS[task.status].allocated or task.status in (Status.RELEASING, Status.UNKNOWN)
