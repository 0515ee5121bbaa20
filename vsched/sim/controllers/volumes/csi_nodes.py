"""The CSINodes of nodes that say, by an annotation, how many volumes of a driver they can have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.manifests.node_groups import VOLUME_LIMITS
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_deleting
from vsched.apimachinery.workloads.actions import Action, Create, Update
from vsched.errors import BadInput
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.volumes.objects import CSI_NODES, annotation


def volume_limits(text: str) -> dict[str, int]:
    """How many volumes of each driver can be attached; raises BadInput."""
    found: dict[str, int] = {}
    for part in text.split(","):
        driver, _, count = part.strip().partition("=")
        if not driver or not count.isdecimal():
            raise BadInput(f"{text!r}: expected drivers and counts, such as csi.example.com=8")
        found[driver] = int(count)
    return found


class CsiNodes(Controller):
    """Makes the CSINode of a node, as its kubelet does; it goes with the node."""

    name: ClassVar[str] = "CSI nodes"
    primary: ClassVar[str] = "nodes"
    watches: ClassVar[tuple[str, ...]] = ("nodes",)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        limits = annotation(obj, VOLUME_LIMITS)
        changed = old is None or annotation(old, VOLUME_LIMITS) != limits
        return (obj["metadata"]["name"],) if limits and changed and not gone else ()

    def reconcile(self, key: str) -> Sequence[Action]:
        node = self.find(key)
        if node is None or is_deleting(node):
            return ()
        try:
            limits = volume_limits(annotation(node, VOLUME_LIMITS))
        except BadInput:
            return ()
        drivers = [{"name": name, "nodeID": key, "allocatable": {"count": count}} for name, count in limits.items()]
        found = self.client.get(CSI_NODES, "", key)
        if found is not None:
            return [Update(CSI_NODES, {**found, "spec": {"drivers": drivers}})]
        owner = {"apiVersion": "v1", "kind": "Node", "name": key, "uid": node["metadata"]["uid"]}
        api_version = self.client.kind(CSI_NODES).api_version
        metadata = {"name": key, "ownerReferences": [owner]}
        body = {"apiVersion": api_version, "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}
        return [Create(CSI_NODES, body)]
