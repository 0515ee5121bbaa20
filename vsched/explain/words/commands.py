"""Renders edits as shell commands, one command on each line.

A command changes only the field that the edit is about. Amounts are entries of maps, so a merge patch is enough. For a
list, a JSON patch tests first that the list is still the one in the snapshot. All words are quoted for the shell. There
is no command for names that Kubernetes would not accept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vsched.explain.words.commands_pods import PODS_MAX, of_pods
from vsched.explain.words.commands_subgroups import PODGROUPS, of_sub_groups
from vsched.explain.words.lines import as_json, is_plain, line
from vsched.explain.words.owners import noted_by
from vsched.mirror.ingest.metadata import QUEUE_NAME
from vsched.mirror.whatif.edits import (
    AddNodeGroup,
    AddPods,
    CreatePodGroup,
    CreatePriorityClass,
    CreateQueue,
    DropRule,
    Edit,
    LabelNodes,
    LowerGuarantee,
    OpenQueue,
    RemoveGates,
    RemoveTaint,
    SetConsumerLimit,
    SetGroupLimit,
    SetHighestTier,
    SetJobLimit,
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetMinSubGroups,
    SetPriority,
    SetQueueAmount,
    SetQueueWeight,
    SetQuota,
    SetReclaimable,
    SetRoleMinimum,
    SetSubGroupSize,
    SetSubGroupTier,
    SetVictimMinimum,
    SetWallTime,
    SubGroupEdit,
    Tolerate,
    TolerateDevices,
    Uncordon,
)
from vsched.model.amounts.counted import format_counted
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import API_GROUP, NativeGroup, native_name, with_minimum
from vsched.model.jobs.spec import JobSpec
from vsched.model.nodes.table import Taint
from vsched.model.queues.limits import MAX_WALL_TIME, exactly
from vsched.model.queues.queue import NodeGroups
from vsched.model.snapshot import Snapshot

GATED_MAX = 16
"""The most gated pods for which commands are made, one command for each pod."""
QUEUES = "queues.scheduling.volcano.sh"
NATIVE_PODGROUPS, COMPOSITES = f"podgroups.{API_GROUP}", f"compositepodgroups.{API_GROUP}"
VOLCANO_JOBS = "jobs.batch.volcano.sh"
CONSUMERS = "consumers.kube-arbitrator.incubator.k8s.io"
GROUP_LIMITS = "volcano.sh/nodegroup-resource-limits"
GROUPS_AT = "/spec/affinity/nodeGroupAffinity/requiredDuringSchedulingIgnoredDuringExecution"
AVOIDED_AT = "/spec/affinity/nodeGroupAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution"


def command(snapshot: Snapshot, edit: Edit) -> str:
    """The commands that make an edit; empty if commands cannot make it."""
    return "\n".join(_lines(snapshot, edit)) if is_plain(msgspec.structs.astuple(edit)) else ""


def taint_of(edit: Tolerate | TolerateDevices | RemoveTaint) -> str:
    """The taint in the notation of kubectl: ``key=value:effect``."""
    return Taint(edit.key, edit.value, edit.effect).text


def consumer_of(snapshot: Snapshot, namespace: str) -> str:
    """The name of the Consumer of a namespace: ``defaults``, unless the namespace has another one."""
    party = None if snapshot.arbitration is None else snapshot.arbitration.parties.get(namespace)
    return "defaults" if party is None or party.claim is None else party.claim.name


def _lines(snapshot: Snapshot, edit: Edit) -> list[str]:
    match edit:
        case (
            SetMinMember()
            | SetVictimMinimum()
            | SetMinResources()
            | SetPriority()
            | SetJobQueue()
            | SetRoleMinimum()
            | SetHighestTier()
            | SetSubGroupTier()
            | SetMinSubGroups()
            | SetSubGroupSize()
        ):
            return _of_group(snapshot, edit)
        case CreatePriorityClass():
            return [line("kubectl", "create", "priorityclass", edit.name, f"--value={edit.value}")]
        case Tolerate() | DropRule() | AddPods():
            return of_pods(snapshot, edit)
        case RemoveGates():
            return _ungated(snapshot, edit.job)
        case CreateQueue():
            return [_created("Queue", {"name": edit.queue}, {"weight": 1, "reclaimable": True})]
        case CreatePodGroup() if native_name(edit.job) is not None:
            return []  # whoever makes the pods makes it
        case CreatePodGroup():
            namespace, _, name = edit.job.partition("/")
            spec = {"queue": edit.queue, "minMember": edit.minimum}
            return [_created("PodGroup", {"namespace": namespace, "name": name}, spec)]
        case OpenQueue():
            return [line("vsched", "queue", "open", edit.queue)]
        case (
            SetQueueAmount() | LowerGuarantee() | SetQueueWeight() | SetReclaimable() | AddNodeGroup() | SetGroupLimit()
        ):
            return _of_queue(snapshot, edit)
        case SetJobLimit():
            wanted = f"{edit.annotation}={edit.most}"
            return [line("kubectl", "annotate", QUEUES, edit.queue, wanted, "--overwrite")]
        case SetWallTime():
            wanted = f"{MAX_WALL_TIME}={exactly(edit.seconds)}"
            return [line("kubectl", "annotate", QUEUES, edit.queue, wanted, "--overwrite")]
        case SetQuota():
            hard = {edit.resource: format_counted(edit.resource, edit.hard)}
            return [_patch("resourcequota", f"{edit.namespace}/{edit.quota}", {"spec": {"hard": hard}})]
        case SetConsumerLimit():
            hard = {edit.resource: format_counted(edit.resource, edit.amount)}
            name = consumer_of(snapshot, edit.namespace)
            return [_patch(CONSUMERS, f"{edit.namespace}/{name}", {"spec": {"hard": hard}})] if is_plain(name) else []
        case Uncordon():
            return [line("kubectl", "uncordon", *edit.nodes)]
        case RemoveTaint():
            return [line("kubectl", "taint", "nodes", *edit.nodes, f"{taint_of(edit)}-")]
        case LabelNodes():
            pairs = [f"{key}={value}" for key, value in sorted(edit.labels.items())]
            return [line("kubectl", "label", "nodes", *edit.nodes, *pairs, "--overwrite")]
    return []


# -- jobs --------------------------------------------------------------------------------------------------------------


OfGroup = (
    SetMinMember
    | SetVictimMinimum
    | SetMinResources
    | SetPriority
    | SetJobQueue
    | SetRoleMinimum
    | SetHighestTier
    | SubGroupEdit
)


def _of_group(snapshot: Snapshot, edit: OfGroup) -> list[str]:
    """Commands for an edit of a PodGroup; of one that follows from pods and their owner, a change would not last."""
    spec = snapshot.jobs[edit.job].spec
    if spec.follows:
        return _annotated(snapshot.jobs[edit.job], edit)
    if spec.native is not None:
        return _of_native(edit, spec.native)
    if spec.written_for and not isinstance(edit, SetJobQueue):
        return _of_volcano_job(snapshot, f"{spec.namespace}/{spec.written_for}", edit)
    match edit:
        case SetMinMember() | SetVictimMinimum():
            amounts = _quantities(edit.min_resources)
            fields: dict[str, Any] = {"minMember": edit.minimum} | ({"minResources": amounts} if amounts else {})
        case SetMinResources():
            fields = {"minResources": _quantities(edit.amounts)}
        case SetRoleMinimum():
            fields = {"minMember": edit.members, "minTaskMember": {edit.role: edit.minimum}}
        case SetPriority():
            if not edit.priority_class:
                return []
            fields = {"priorityClassName": edit.priority_class}
        case SetJobQueue():
            fields = {"queue": edit.queue}
        case SetHighestTier():
            fields = _highest_tier(spec, edit)
        case SetSubGroupTier() | SetMinSubGroups() | SetSubGroupSize():
            return of_sub_groups(spec, edit)
    return [_patch(PODGROUPS, edit.job, {"spec": fields})]


def _annotated(job: Job, edit: OfGroup) -> list[str]:
    """The command that sets the annotation of the owner, or of the pods, that makes the edit."""
    noted = noted_by(job.spec, edit)
    if noted is None:
        return []
    kind, _, name = noted.owner.partition(" ")
    names = [name] if name else sorted(task.name for task in job.tasks.values())
    if len(names) > PODS_MAX or not is_plain((kind, *names)):
        return []
    wanted = f"{noted.annotation}={noted.value}"
    return [line("kubectl", "annotate", kind.lower() or "pod", *names, "-n", job.spec.namespace, wanted, "--overwrite")]


def _of_native(edit: OfGroup, native: NativeGroup) -> list[str]:
    """Commands for an edit of a native PodGroup, of which little can change."""
    name = native_name(edit.job)
    if name is None:
        return []
    kind = COMPOSITES if name.composite else NATIVE_PODGROUPS
    match edit:
        case SetMinMember() | SetVictimMinimum() if native.has_mutable_minimum:
            return [_patch(kind, f"{name.namespace}/{name.name}", with_minimum(edit.minimum))]
        case SetJobQueue():
            wanted = f"{QUEUE_NAME}={edit.queue}"
            return [line("kubectl", "annotate", kind, name.name, "-n", name.namespace, wanted, "--overwrite")]
    return []


def _of_volcano_job(snapshot: Snapshot, key: str, edit: OfGroup) -> list[str]:
    """Commands for the Volcano Job whose controller writes the PodGroup, with ``minResources`` from the Job's tasks."""
    match edit:
        case SetMinMember() | SetVictimMinimum():
            fields: dict[str, Any] = {"minAvailable": edit.minimum}
        case SetPriority() if edit.priority_class:
            fields = {"priorityClassName": edit.priority_class}
        case SetHighestTier():
            fields = _highest_tier(snapshot.jobs[edit.job].spec, edit)
        case _:
            return []
    return [_patch(VOLCANO_JOBS, key, {"spec": fields})] if is_plain(key) else []


def _highest_tier(spec: JobSpec, edit: SetHighestTier) -> dict[str, Any]:
    """The tier by its number; a tier that was given by name goes, because both together are refused."""
    named = spec.topology is not None and bool(spec.topology.tier_name)
    limit: dict[str, Any] = {"highestTierAllowed": edit.tier} | ({"highestTierName": None} if named else {})
    return {"networkTopology": limit}


def _ungated(snapshot: Snapshot, key: str) -> list[str]:
    gated = sorted(task.name for task in snapshot.jobs[key].pending.values() if task.at_gate and not task.awaits_queue)
    if len(gated) > GATED_MAX or not is_plain(tuple(gated)):
        return []
    namespace = snapshot.jobs[key].spec.namespace
    return [_patch("pod", f"{namespace}/{name}", {"spec": {"schedulingGates": None}}) for name in gated]


# -- queues ------------------------------------------------------------------------------------------------------------


OfQueue = SetQueueAmount | LowerGuarantee | SetQueueWeight | SetReclaimable | AddNodeGroup | SetGroupLimit


def _of_queue(snapshot: Snapshot, edit: OfQueue) -> list[str]:
    match edit:
        case SetQueueAmount() | LowerGuarantee():
            amounts = _quantities({edit.resource: edit.amount})
            field = edit.field if isinstance(edit, SetQueueAmount) else "guarantee"
            spec: dict[str, Any] = {field: {"resource": amounts} if field == "guarantee" else amounts}
        case SetQueueWeight():
            spec = {"weight": edit.weight}
        case SetReclaimable():
            spec = {"reclaimable": True}
        case AddNodeGroup():
            return [_with_group(snapshot.queues[edit.queue].affinity or NodeGroups(), edit)]
        case SetGroupLimit():
            return _limited(dict(snapshot.queues[edit.queue].annotations).get(GROUP_LIMITS, ""), edit)
    return [line("kubectl", "patch", QUEUES, edit.queue, "--type", "merge", "-p", as_json({"spec": spec}))]


def _with_group(groups: NodeGroups, edit: AddNodeGroup) -> str:
    """Adds a node group to the required ones of a queue; fails if the lists have changed since the snapshot."""
    steps: list[dict[str, Any]] = []
    if edit.group in groups.anti_required:
        at = f"{AVOIDED_AT}/{groups.anti_required.index(edit.group)}"
        steps += [{"op": "test", "path": at, "value": edit.group}, {"op": "remove", "path": at}]
    if groups.required:
        steps += [
            {"op": "test", "path": GROUPS_AT, "value": groups.required},
            {"op": "add", "path": f"{GROUPS_AT}/-", "value": edit.group},
        ]
    elif not steps:
        name = GROUPS_AT.rpartition("/")[2]
        spec = {"affinity": {"nodeGroupAffinity": {name: [edit.group]}}}
        return line("kubectl", "patch", QUEUES, edit.queue, "--type", "merge", "-p", as_json({"spec": spec}))
    else:
        steps.append({"op": "add", "path": GROUPS_AT, "value": [edit.group]})
    return line("kubectl", "patch", QUEUES, edit.queue, "--type", "json", "-p", as_json(steps))


def _limited(stated: str, edit: SetGroupLimit) -> list[str]:
    """Changes one amount in the annotation with the limits on node groups."""
    limits: dict[str, dict[str, Any]] = msgspec.json.decode(stated or "{}", type=dict[str, dict[str, Any]])
    amount = format_counted(edit.resource, edit.amount)
    limits[edit.group] = {**limits.get(edit.group, {}), edit.resource: amount}
    if not stated.isascii() or not stated.isprintable():
        return []
    annotation = f"{GROUP_LIMITS}={as_json(limits)}"
    return [line("kubectl", "annotate", QUEUES, edit.queue, annotation, "--overwrite")]


# -- building blocks ---------------------------------------------------------------------------------------------------


def _created(kind: str, metadata: Mapping[str, str], spec: Mapping[str, Any]) -> str:
    """Creates an object with ``create``, not ``apply``, so that it never changes an existing one."""
    manifest = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind, "metadata": metadata, "spec": spec}
    return f"{line('echo', as_json(manifest))} | kubectl create -f -"


def _patch(kind: str, key: str, body: Mapping[str, Any]) -> str:
    namespace, _, name = key.partition("/")
    return line("kubectl", "patch", kind, name, "-n", namespace, "--type", "merge", "-p", as_json(body))


def _quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: format_counted(name, amount) for name, amount in amounts.items()}
