"""Attaches the volumes of CSI drivers to the nodes of the pods that use them, up to the limits of CSINodes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import is_finished, split_key
from vsched.apimachinery.meta.times import format_time, utc_now
from vsched.apimachinery.workloads.actions import Action, Create, Tell, delete, set_status
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.pod_claims import volume_claims
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.volumes.objects import (
    ATTACHMENTS,
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    VOLUMES,
    claim_key_of,
    is_bound,
)
from vsched.sim.store.store import key_of

ATTACHER = "attachdetach-controller"
_SHARED_MODES = frozenset({"ReadWriteMany", "ReadOnlyMany"})


def needs_attachment(volume: Obj, driver: Obj | None) -> bool:
    """Whether a volume has to be attached to a node; ``driver`` is the CSIDriver, if there is one."""
    return "csi" in volume["spec"] and (driver is None or bool(driver["spec"].get("attachRequired", True)))


def attachment_name(volume: Obj, node: str) -> str:
    csi = volume["spec"]["csi"]
    digest = hashlib.sha256(f"{csi['volumeHandle']}{csi['driver']}{node}".encode()).hexdigest()
    return f"csi-{digest}"


def limit_of(csi_node: Obj | None, driver: str) -> int | None:
    """How many volumes of a driver can be attached to a node; None for any number."""
    for each in ((csi_node or {}).get("spec") or {}).get("drivers") or ():
        if each["name"] == driver:
            count: int | None = (each.get("allocatable") or {}).get("count")
            return count
    return None


class Attacher(Controller):
    """Its keys are ``node/volume``."""

    name: ClassVar[str] = "attacher"
    primary: ClassVar[str] = ATTACHMENTS
    component: ClassVar[str] = ATTACHER
    only_pods_with_claims: ClassVar[bool] = True
    watches: ClassVar[tuple[str, ...]] = ("pods", CLAIMS, ATTACHMENTS, CSI_NODES)

    def __init__(self, client: LocalClient, pod_index: PodIndex) -> None:
        super().__init__(client, pod_index)
        self._attached: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
        """The attachments of a node and a driver."""
        self._nodes_of: dict[str, dict[str, None]] = defaultdict(dict)
        """The nodes that a volume is attached to, or is about to be."""
        self._refused: dict[str, dict[str, None]] = defaultdict(dict)
        """The keys that wait for room on a node, or for a volume to be detached elsewhere; by node or volume."""

    def keys(self) -> Iterable[str]:
        places = (each["spec"] for each in self.client.list(ATTACHMENTS))
        wanted = (key for pod in self.client.list("pods") for key in self._keys_of(pod))
        return [*(f"{spec['nodeName']}/{_volume_of(spec)}" for spec in places), *wanted]

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == "pods":
            if not obj["spec"].get("volumes"):
                return ()
            same = old is not None and not gone and _is_user(obj) == _is_user(old)
            return () if same else self._keys_of(obj)
        if resource == CLAIMS:
            if gone or not is_bound(obj) or (old is not None and is_bound(old)):
                return ()
            users = self.pod_index.of_volume_claim(key_of(obj))
            return [f"{pod['spec']['nodeName']}/{obj['spec']['volumeName']}" for pod in users if _is_user(pod)]
        if resource == CSI_NODES:
            return self._wake(obj["metadata"]["name"])
        return self._note(obj, gone=gone)

    def _keys_of(self, pod: Obj) -> Iterator[str]:
        node, namespace = pod["spec"].get("nodeName"), pod["metadata"]["namespace"]
        for name in volume_claims(pod).values() if node else ():
            claim = self.client.get(CLAIMS, namespace, name)
            if claim is not None and is_bound(claim):
                yield f"{node}/{claim['spec']['volumeName']}"

    def _note(self, attachment: Obj, *, gone: bool) -> Iterable[str]:
        spec, name = attachment["spec"], attachment["metadata"]["name"]
        node, volume = spec["nodeName"], _volume_of(spec)
        if gone:
            self._attached[node, spec["attacher"]].pop(name, None)
            self._nodes_of[volume].pop(node, None)
            return [f"{node}/{volume}", *self._wake(node), *self._wake(volume)]
        self._nodes_of[volume][node] = None
        if attachment["status"].get("attached"):
            self._attached[node, spec["attacher"]][name] = None
        return (f"{node}/{volume}",)

    def _wake(self, place: str) -> Iterable[str]:
        return self._refused.pop(place, ())

    def reconcile(self, key: str) -> Sequence[Action]:
        node, volume_name = split_key(key)
        volume = self.client.get(VOLUMES, "", volume_name)
        if volume is None or "csi" not in volume["spec"]:
            return self._detach_lost(node, volume_name)
        attachment = self.client.get(ATTACHMENTS, "", attachment_name(volume, node))
        pods = [pod for pod in self.pod_index.of_volume_claim(claim_key_of(volume)) if _is_on(pod, node)]
        if not pods:
            return [] if attachment is None else [delete(ATTACHMENTS, attachment)]
        if attachment is None:
            return self._begin(key, volume, node, pods)
        return [] if attachment["status"].get("attached") else self._finish(key, volume, attachment, pods)

    def _detach_lost(self, node: str, volume_name: str) -> list[Action]:
        """Removes the attachment of a volume that is gone."""
        if node not in self._nodes_of.get(volume_name, ()):
            return []
        found = (each for each in self.client.list(ATTACHMENTS) if _volume_of(each["spec"]) == volume_name)
        return [delete(ATTACHMENTS, each) for each in found if each["spec"]["nodeName"] == node]

    def _begin(self, key: str, volume: Obj, node: str, pods: Sequence[Obj]) -> list[Action]:
        driver, name = volume["spec"]["csi"]["driver"], volume["metadata"]["name"]
        if not needs_attachment(volume, self.client.get(CSI_DRIVERS, "", driver)):
            return []
        elsewhere = [other for other in self._nodes_of.get(name, ()) if other != node]
        if elsewhere and not _SHARED_MODES & set(volume["spec"].get("accessModes") or ()):
            self._refused[name][key] = None
            why = (
                f'Multi-Attach error for volume "{name}" Volume is already exclusively attached to one node and '
                "can't be attached to another"
            )
            return [Tell("pods", pod, "FailedAttachVolume", why, warning=True) for pod in pods]
        self._nodes_of[name][node] = None
        spec = {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": name}}
        metadata = {"name": attachment_name(volume, node)}
        api_version = self.client.kind(ATTACHMENTS).api_version
        body = {"apiVersion": api_version, "kind": "VolumeAttachment", "metadata": metadata, "spec": spec}
        return [Create(ATTACHMENTS, body)]

    def _finish(self, key: str, volume: Obj, attachment: Obj, pods: Sequence[Obj]) -> list[Action]:
        """Attaches the volume, if the node has room for it; else says so, until there is some."""
        spec, name = attachment["spec"], volume["metadata"]["name"]
        node, driver = spec["nodeName"], spec["attacher"]
        limit = limit_of(self.client.get(CSI_NODES, "", node), driver)
        attached = self._attached[node, driver]
        if limit is not None and len(attached) >= limit:
            self._refused[node][key] = None
            error = f"rpc error: code = ResourceExhausted desc = node {node} has all {limit} volumes that it can have"
            refused = {"attached": False, "attachError": {"time": format_time(utc_now()), "message": error}}
            known = (attachment["status"].get("attachError") or {}).get("message") == error
            why = f'AttachVolume.Attach failed for volume "{name}" : {error}'
            told = [Tell("pods", pod, "FailedAttachVolume", why, warning=True) for pod in pods]
            return [] if known else [*set_status(ATTACHMENTS, attachment, refused), *told]
        attached[attachment["metadata"]["name"]] = None
        why = f'AttachVolume.Attach succeeded for volume "{name}" '
        told = [Tell("pods", pod, "SuccessfulAttachVolume", why) for pod in pods]
        return [*set_status(ATTACHMENTS, attachment, {"attached": True}), *told]


def _volume_of(spec: Obj) -> str:
    return str((spec.get("source") or {}).get("persistentVolumeName") or "")


def _is_user(pod: Obj) -> bool:
    """Whether the pod needs its volumes on its node."""
    return bool(pod["spec"].get("nodeName")) and not is_finished(pod)


def _is_on(pod: Obj, node: str) -> bool:
    return _is_user(pod) and pod["spec"]["nodeName"] == node
