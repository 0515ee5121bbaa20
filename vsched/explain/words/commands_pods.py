"""Renders edits of pod specs as shell commands.

The spec of a pod is immutable, so the commands delete the pod and create it again with a changed spec. There are no
commands for pods that a controller owns: their specs come from the template of the controller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vsched.explain.words.lines import as_json, is_plain, line
from vsched.mirror.ingest.deviceshare import AVOID_TYPE, AVOID_UUID, MODE, USE_TYPE, USE_UUID
from vsched.mirror.ingest.implicit import GROUP_NAME
from vsched.mirror.whatif.edits import AddPods, DropRule, Tolerate
from vsched.model.deviceshare.records import DeviceKind, SharedDeviceRequest
from vsched.model.jobs.job import Job
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

PODS_MAX = 16
"""The most pods for which commands are made, one command for each pod."""
WHEN = "requiredDuringSchedulingIgnoredDuringExecution"
ROLE = "volcano.sh/task-spec"
KEYS = (USE_TYPE, AVOID_TYPE, USE_UUID, AVOID_UUID, MODE)
"""Annotations of pods that accept only some devices."""


def of_pods(snapshot: Snapshot, edit: Tolerate | DropRule | AddPods) -> list[str]:
    """The commands that make an edit, one line for each pod; empty if commands cannot make it."""
    job = snapshot.jobs[edit.job]
    if isinstance(edit, AddPods):
        return _more(job, edit)
    pods = sorted(
        (task for task in job.pending.values() if _is_concerned(task.shape, edit)), key=lambda task: task.name
    )
    if not pods or len(pods) > PODS_MAX or not is_plain(tuple(task.name for task in pods)):
        return []
    patches = [_patch(task.shape, edit) for task in pods]
    if any(task.owned for task in pods) or not all(patches):
        return []
    # A PodGroup that is made for a pod goes with it: the new pod is not to name it.
    alone = _NAMELESS if job.spec.made or job.spec.implicit else ""
    return [_made_again(task, patch, alone) for task, patch in zip(pods, patches, strict=True)]


def _is_concerned(shape: Shape, edit: Tolerate | DropRule) -> bool:
    return isinstance(edit, Tolerate) or bool(_patch(shape, edit)) or edit.rule in ("hostPorts", "topologySpread")


def _patch(shape: Shape, edit: Tolerate | DropRule) -> tuple[str, ...]:
    """The flags with which ``kubectl patch`` changes the manifest of a pod; empty if no patch can do it."""
    if isinstance(edit, Tolerate):
        said = {"key": edit.key, "operator": "Equal", "value": edit.value, "effect": edit.effect}
        # JSON patch can append to an existing list only: without tolerations, add the whole list.
        at, value = ("/spec/tolerations/-", said) if shape.rules.tolerations else ("/spec/tolerations", [said])
        return "--type=json", "-p", as_json([{"op": "add", "path": at, "value": value}])
    if edit.rule == "deviceWishes":
        wished = {} if shape.devices is None else wished_by(shape.devices)
        return ("--type=merge", "-p", as_json({"metadata": {"annotations": wished}})) if wished else ()
    dropped = _dropped(shape, edit)
    return ("--type=merge", "-p", as_json({"spec": dropped})) if dropped else ()


def wished_by(request: SharedDeviceRequest) -> dict[str, Any]:
    """The annotations of vGPUs by which a pod accepts only some devices."""
    if request.kind != DeviceKind.VGPU:
        return {}
    values = (request.types, request.other_types, request.uuids, request.other_uuids, request.mode)
    return {key: None for key, value in zip(KEYS, values, strict=True) if value}


def _dropped(shape: Shape, edit: DropRule) -> Mapping[str, Any]:
    affinity = shape.affinity
    match edit.rule:
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


def _made_again(task: Task, flags: Sequence[str], also: str) -> str:
    get = line("kubectl", "get", "pod", task.name, "-n", task.namespace, "-o", "json")
    patch = line("kubectl", "patch", "--local", "-f", "-", *flags, "-o", "json")
    return f"{get} | {patch} | {also}kubectl replace --force -f -"


_NAMELESS = line("kubectl", "annotate", "--local", "-f", "-", f"{GROUP_NAME}-", "-o", "json") + " | "


def _more(job: Job, edit: AddPods) -> list[str]:
    """Commands that create copies of a pod under new names."""
    like = next((task for task in job.tasks.values() if task.name == edit.like), None)
    if like is None or like.owned or edit.count > PODS_MAX:
        return []
    names = {task.name for task in job.tasks.values()}
    fresh = (f"{like.name}-more{edit.role and '-'}{edit.role}-{number}" for number in range(edit.count + len(names)))
    lines = []
    for name in [name for name in fresh if name not in names][: edit.count]:
        metadata: dict[str, Any] = {"name": name, "uid": None, "resourceVersion": None}
        if edit.role and edit.role != like.role:
            metadata["annotations"] = {ROLE: edit.role}
        body = {"metadata": metadata, "spec": {"nodeName": None}}
        get = line("kubectl", "get", "pod", like.name, "-n", like.namespace, "-o", "json")
        patch = line("kubectl", "patch", "--local", "-f", "-", "--type=merge", "-p", as_json(body), "-o", "json")
        lines.append(f"{get} | {patch} | kubectl create -f -")
    return lines
