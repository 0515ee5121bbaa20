"""Edits of the rules of pods, by which they go to some nodes only.

The spec of a pod is immutable, so commands delete the pod and create it again with a changed spec. There are none for
pods that a controller owns: their specs come from the template of the controller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec.structs import replace

from vsched.explain.edits.base import Before, JobEdit
from vsched.explain.edits.jobs import known_job
from vsched.explain.edits.pods import reshape
from vsched.explain.words import edits as words
from vsched.explain.words.lines import PODS_MAX, as_json, from_manifest, is_plain, line
from vsched.mirror.ingest.deviceshare import AVOID_TYPE, AVOID_UUID, MODE, USE_TYPE, USE_UUID
from vsched.mirror.ingest.implicit import GROUP_NAME
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.deviceshare.asking import without_wishes
from vsched.model.deviceshare.records import DeviceKind, SharedDeviceRequest
from vsched.model.nodes.table import Taint
from vsched.model.pods.shape import PodAffinity, Shape, Toleration
from vsched.model.snapshot import Snapshot

WHEN = "requiredDuringSchedulingIgnoredDuringExecution"
KEYS = (USE_TYPE, AVOID_TYPE, USE_UUID, AVOID_UUID, MODE)
"""Annotations of pods that accept only some devices."""


class ShapeEdit(JobEdit, frozen=True):
    """An edit of the shape of each pending pod."""

    def edited(self, shape: Shape) -> Shape:
        """The shape with the edit."""
        raise NotImplementedError

    def flags(self, shape: Shape) -> tuple[str, ...]:
        """The flags with which ``kubectl patch`` changes the manifest of a pod; empty if no patch can do it."""
        raise NotImplementedError

    def concerns(self, shape: Shape) -> bool:
        """Whether pods of this shape have to be made again."""
        return True

    def apply(self, cluster: EditableMirror) -> None:
        reshape(cluster, known_job(cluster, self.job), self.edited)

    def lines(self, snapshot: Snapshot) -> list[str]:
        """One line for each pod."""
        job = snapshot.jobs[self.job]
        pods = sorted((task for task in job.pending.values() if self.concerns(task.shape)), key=lambda task: task.name)
        if not pods or len(pods) > PODS_MAX or not is_plain(tuple(task.name for task in pods)):
            return []
        patches = [self.flags(task.shape) for task in pods]
        if any(task.owned for task in pods) or not all(patches):
            return []
        # A PodGroup that is made for a pod goes with it: the new pod is not to name it.
        alone = _NAMELESS if job.spec.made or job.spec.implicit else ""
        return [
            from_manifest(task.name, task.namespace, flags, "replace --force", alone)
            for task, flags in zip(pods, patches, strict=True)
        ]


_NAMELESS = line("kubectl", "annotate", "--local", "-f", "-", f"{GROUP_NAME}-", "-o", "json") + " | "


class Tolerate(ShapeEdit, frozen=True, tag="tolerate"):
    """Add a toleration of one taint to the pending pods of a job."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def edited(self, shape: Shape) -> Shape:
        toleration = Toleration(self.key, "Equal", self.value, self.effect)
        return replace(shape, rules=replace(shape.rules, tolerations=(*shape.rules.tolerations, toleration)))

    def sentence(self, before: Before) -> str:
        return words.toleration(Taint(self.key, self.value, self.effect).text)

    def flags(self, shape: Shape) -> tuple[str, ...]:
        said = {"key": self.key, "operator": "Equal", "value": self.value, "effect": self.effect}
        # JSON patch can append to an existing list only: without tolerations, add the whole list.
        at, value = ("/spec/tolerations/-", said) if shape.rules.tolerations else ("/spec/tolerations", [said])
        return "--type=json", "-p", as_json([{"op": "add", "path": at, "value": value}])


class TolerateDevices(JobEdit, frozen=True, tag="tolerateDevices"):
    """Add a toleration of one taint of devices to the claims of the pending pods of a job."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def apply(self, cluster: EditableMirror) -> None:
        toleration = Toleration(self.key, "Equal", self.value, self.effect)
        cluster.tolerate_devices(known_job(cluster, self.job).pending.values(), toleration)

    def sentence(self, before: Before) -> str:
        return words.toleration_in_claims(Taint(self.key, self.value, self.effect).text)


Rule = Literal["nodeSelector", "hostPorts", "podAffinity", "podAntiAffinity", "topologySpread", "deviceWishes"]
"""Scheduling constraints of a pod; ``nodeSelector`` stands for node selector, node affinity and node name together,
``deviceWishes`` for the types, uuids and the mode of shared devices that it accepts."""


class DropRule(ShapeEdit, frozen=True, tag="dropRule"):
    """Remove one kind of scheduling constraint from the pending pods of a job."""

    rule: Rule

    def edited(self, shape: Shape) -> Shape:
        affinity = shape.affinity or PodAffinity()
        match self.rule:
            case "nodeSelector":
                return replace(shape, rules=replace(shape.rules, node_name="", node_selector=(), required=None))
            case "hostPorts":
                return replace(shape, ports=())
            case "podAffinity":
                return replace(shape, affinity=_or_none(replace(affinity, required=())))
            case "podAntiAffinity":
                return replace(shape, affinity=_or_none(replace(affinity, anti_required=())))
            case "topologySpread":
                return replace(shape, spread=tuple(rule for rule in shape.spread if not rule.hard))
            case "deviceWishes":
                return shape if shape.devices is None else replace(shape, devices=without_wishes(shape.devices))

    def sentence(self, before: Before) -> str:
        return words.rule_dropped(self.rule)

    def concerns(self, shape: Shape) -> bool:
        return bool(self.flags(shape)) or self.rule in ("hostPorts", "topologySpread")

    def flags(self, shape: Shape) -> tuple[str, ...]:
        if self.rule == "deviceWishes":
            wished = {} if shape.devices is None else wished_by(shape.devices)
            return ("--type=merge", "-p", as_json({"metadata": {"annotations": wished}})) if wished else ()
        dropped = self._dropped(shape)
        return ("--type=merge", "-p", as_json({"spec": dropped})) if dropped else ()

    def _dropped(self, shape: Shape) -> Mapping[str, Any]:
        affinity = shape.affinity
        match self.rule:
            case "nodeSelector":
                selector: dict[str, Any] = {"nodeSelector": None} if shape.rules.node_selector else {}
                near = shape.rules.required is not None or shape.rules.node_name
                return selector | ({"affinity": {"nodeAffinity": {WHEN: None}}} if near else {})
            case "podAffinity" if affinity is not None and affinity.required:
                return {"affinity": {"podAffinity": {WHEN: None}}}
            case "podAntiAffinity" if affinity is not None and affinity.anti_required:
                return {"affinity": {"podAntiAffinity": {WHEN: None}}}
            case "topologySpread" if shape.spread and all(rule.hard for rule in shape.spread):
                return {"topologySpreadConstraints": None}
        return {}


def wished_by(request: SharedDeviceRequest) -> dict[str, Any]:
    """The annotations of vGPUs by which a pod accepts only some devices."""
    if request.kind != DeviceKind.VGPU:
        return {}
    values = (request.types, request.other_types, request.uuids, request.other_uuids, request.mode)
    return {key: None for key, value in zip(KEYS, values, strict=True) if value}


def _or_none(affinity: PodAffinity) -> PodAffinity | None:
    return None if affinity == PodAffinity() else affinity
