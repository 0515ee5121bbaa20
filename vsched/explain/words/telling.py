"""Renders edits as noun phrases for people; a page puts "would start with" before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.explain.records import Change
from vsched.explain.situation import Situation, apply
from vsched.explain.words.commands import command, consumer_of, taint_of
from vsched.explain.words.owners import noted_by, told_of
from vsched.framework.points.levers import argument_of, is_duration
from vsched.framework.policy import Policy
from vsched.framework.wording import counted
from vsched.mirror.whatif.edits import (
    AddDevices,
    AddNodeGroup,
    AddNodes,
    AddPods,
    AddPoolNodes,
    AddVolumes,
    AllowDisruptions,
    CreatePodGroup,
    CreatePriorityClass,
    CreateQueue,
    CreateVolumeClaims,
    DropRule,
    Edit,
    EndJobs,
    LabelNodes,
    LowerGuarantee,
    OpenQueue,
    RemoveGates,
    RemoveTaint,
    SetArgument,
    SetConsumerLimit,
    SetDeviceAmount,
    SetGroupLimit,
    SetHighestTier,
    SetJobLimit,
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetMinSubGroups,
    SetNodeAmount,
    SetOvercommit,
    SetPriority,
    SetQueueAmount,
    SetQueueWeight,
    SetQuota,
    SetReclaimable,
    SetRequest,
    SetRoleMinimum,
    SetStorage,
    SetSubGroupSize,
    SetSubGroupTier,
    SetThreshold,
    SetVictimMinimum,
    SetWallTime,
    SubGroupEdit,
    Tolerate,
    TolerateDevices,
    Uncordon,
    UseAction,
)
from vsched.model.amounts.counted import format_counted
from vsched.model.amounts.quantity import format_bytes
from vsched.model.amounts.resources import format_amount
from vsched.model.deviceshare.asking import most_asked, resources_of
from vsched.model.jobs.job import JobSpec
from vsched.model.queues.limits import exactly
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.subgroups import title_of

NAMED_MAX = 3
"""A phrase names at most this many nodes, and counts the others."""
RULES = {
    "nodeSelector": "its node selector and node affinity",
    "hostPorts": "its host ports",
    "podAffinity": "its required pod affinity",
    "podAntiAffinity": "its required pod anti-affinity",
    "topologySpread": "its topology spread constraints",
    "deviceWishes": "its annotations that choose types, uuids or the mode of devices",
}


def change_of(situation: Situation, edits: Sequence[Edit]) -> Change:
    """The edits as one change, in this order: a later edit may need an object that an earlier one creates."""
    sentences, commands = [], []
    refused = any(isinstance(edit, SetQuota) for edit in edits)
    for edit in edits:
        if not (refused and isinstance(edit, AddPods) and _is_made_by_controller(situation.snapshot, edit)):
            sentences.append(told(situation, edit))
            commands.append(command(situation.snapshot, edit))
        situation = apply(situation, edit)
    return Change(" and ".join(sentences), tuple(edits), "\n".join(commands) if all(commands) else "")


def _is_made_by_controller(snapshot: Snapshot, edit: AddPods) -> bool:
    """Whether a controller makes the pods by itself, once nothing refuses them any more."""
    tasks = snapshot.jobs[edit.job].tasks.values()
    return any(one.name == edit.like and one.owned for one in tasks)


def told(situation: Situation, edit: Edit) -> str:
    """The edit as a noun phrase, with the amounts that it adds or removes."""
    snapshot = situation.snapshot
    match edit:
        case SetMinMember() | SetJobQueue() | SetHighestTier() if noted := noted_by(snapshot.jobs[edit.job].spec, edit):
            spec = snapshot.jobs[edit.job].spec
            fewer = f" ({spec.min_member - edit.minimum} fewer)" if isinstance(edit, SetMinMember) else ""
            return f"{told_of(noted, spec.namespace)}{fewer}"
        case SetDeviceAmount():
            return _of_devices(situation, edit)
        case SetMinMember() | SetMinResources() | SetRoleMinimum() | SetRequest() | AddPods() | SetPriority():
            return _of_job(situation, edit)
        case SetVictimMinimum():
            spec = snapshot.jobs[edit.job].spec
            whose = f"{edit.minimum} of {_jobs(snapshot, (edit.job,))} (now {spec.min_member})"
            return f"{_minimum_of(spec)} {whose}{_with_less(spec, edit.min_resources)}"
        case SetHighestTier():
            return f"highestTierAllowed {edit.tier} (now {_limit_of(snapshot.jobs[edit.job].spec.topology)})"
        case SetSubGroupTier() | SetMinSubGroups() | SetSubGroupSize():
            return _of_sub_groups(snapshot.jobs[edit.job].spec, edit)
        case EndJobs():
            return f"the end of {_jobs(snapshot, edit.jobs)}"
        case CreatePriorityClass():
            return f"priority class {edit.name} created with value {edit.value}"
        case SetJobQueue():
            return f"queue {edit.queue} as its queue"
        case Tolerate():
            return f"a toleration of the taint {taint_of(edit)}"
        case TolerateDevices():
            return f"a toleration of the taint {taint_of(edit)} in its ResourceClaims"
        case DropRule():
            return f"{RULES[edit.rule]} dropped"
        case RemoveGates():
            return "the scheduling gates of its pods removed"
        case CreatePodGroup():
            return f"PodGroup {edit.job} created in queue {edit.queue}"
        case CreateQueue():
            return f"queue {edit.queue} created"
        case OpenQueue():
            return f"queue {edit.queue} opened"
        case SetQueueAmount() | SetQueueWeight() | SetGroupLimit():
            return _of_queue(snapshot, edit)
        case LowerGuarantee():
            column = snapshot.axis.find(edit.resource)
            has = 0 if column is None else dict(snapshot.queues[edit.queue].guarantee).get(column, 0)
            less, left = (format_amount(edit.resource, amount) for amount in (has - edit.amount, edit.amount))
            return f"{less} less {edit.resource} guaranteed to queue {edit.queue} (guarantee {left})"
        case SetJobLimit():
            limits = snapshot.queues[edit.queue].limits
            most = limits.running_jobs_per_user if edit.per_user else limits.running_jobs
            who = " of each user" if edit.per_user else ""
            return f"{counted(edit.most, 'running job', 'running jobs')}{who} in queue {edit.queue} (now {most})"
        case SetWallTime():
            now = snapshot.queues[edit.queue].limits.wall_time or 0.0
            return f"a wall time of {exactly(edit.seconds)} in queue {edit.queue} (now {exactly(now)})"
        case SetReclaimable():
            return f"queue {edit.queue} made reclaimable"
        case AddNodeGroup():
            return f"node group {edit.group} added to those of queue {edit.queue}"
        case SetQuota() | SetConsumerLimit() | AllowDisruptions():
            return _of_namespace(snapshot, edit)
        case Uncordon():
            return f"{_nodes(edit.nodes)} uncordoned"
        case RemoveTaint():
            return f"the taint {taint_of(edit)} removed from {_nodes(edit.nodes)}"
        case LabelNodes():
            return f"{_nodes(edit.nodes)} labelled {_pairs(edit.labels)}"
        case AddNodes():
            return "1 more node like " + edit.like if edit.count == 1 else f"{edit.count} more nodes like {edit.like}"
        case AddPoolNodes():
            return f"{edit.count} more of pool {edit.pool}"
        case AddVolumes():
            claim = snapshot.claims.volumes.claims[edit.claim]
            more = counted(edit.count, "more volume", "more volumes")
            return f"{more} of class {claim.storage_class or 'none'} with {format_bytes(claim.request)}"
        case CreateVolumeClaims():
            return f"{_claims([key.partition('/')[2] for key in edit.claims])} created"
        case SetStorage():
            found = snapshot.claims.volumes.capacities.values()
            one = next(each for some in found for each in some if each.key == edit.capacity)
            more = format_bytes(edit.amount - (one.capacity or 0))
            return f"{more} more free storage of class {one.storage_class} in CSIStorageCapacity {one.key}"
        case AddDevices():
            more = counted(edit.count, "more device", "more devices")
            return f"{more} of class {edit.device_class} on a node like {edit.node}"
        case SetNodeAmount():
            row, column = snapshot.nodes.statics.row[edit.node], snapshot.axis.find(edit.resource)
            has = 0 if column is None else int(snapshot.nodes.allocatable[column, row])
            more = _more(edit.resource, has, edit.amount)
            if edit.resource == "pods":
                more = counted(edit.amount - has, "more pod slot", "more pod slots")
            return f"{more} on a node like {edit.node}"
        case SetThreshold():
            return f"usage threshold {edit.name} at {edit.percent:g} %"
        case SetOvercommit():
            return f"overcommit-factor {edit.factor:g} in the policy"
        case SetArgument():
            return f"{edit.key} {_written(situation.policy, edit)} of plugin {edit.plugin} in the policy"
        case UseAction():
            return f"action {edit.action} in the policy"


def _written(policy: Policy, edit: SetArgument) -> str:
    """The value in the notation of a policy file; durations have the unit ``s``."""
    conf = policy.plugin(edit.plugin)
    argument = None if conf is None else argument_of(conf.args, edit.key)
    unit = "s" if argument is not None and is_duration(argument) else ""
    return f"{edit.value:.10g}{unit}"


# -- phrases -----------------------------------------------------------------------------------------------------------


def _minimum_of(spec: JobSpec) -> str:
    """What the object that states it calls the minimum of a job."""
    return "minAvailable" if spec.written_for else "minMember" if spec.native is None else "minCount"


def _of_job(
    situation: Situation, edit: SetMinMember | SetMinResources | SetRoleMinimum | SetRequest | AddPods | SetPriority
) -> str:
    snapshot = situation.snapshot
    job = snapshot.jobs[edit.job]
    match edit:
        case SetMinResources():
            return f"minResources {_amounts(edit.amounts)}"
        case SetMinMember():
            fewer = job.spec.min_member - edit.minimum
            return f"{_minimum_of(job.spec)} {edit.minimum} ({fewer} fewer){_with_less(job.spec, edit.min_resources)}"
        case SetRoleMinimum():
            fewer = dict(job.spec.min_task_member).get(edit.role, 0) - edit.minimum
            if job.spec.written_for:
                return f"minAvailable {edit.minimum} of task {edit.role} ({fewer} fewer)"
            return f"minTaskMember {edit.minimum} of {edit.role} ({fewer} fewer), and minMember {edit.members}"
        case SetRequest():
            column = snapshot.axis.find(edit.resource)
            asked, overhead = max(
                (dict(shape.request).get(column or 0, 0), dict(shape.overhead).get(column or 0, 0))
                for shape in {task.shape for task in job.pending.values()}
            )
            now, then = (format_amount(edit.resource, amount - overhead) for amount in (asked, edit.amount))
            stated = apply(situation, edit).snapshot.jobs[edit.job].spec.min_resources or ()
            less = dict(stated).get(column or 0)
            with_it = {} if less is None else {edit.resource: less}
            return f"{then} {edit.resource} a pod instead of {now}{_with_less(job.spec, with_it)}"
        case AddPods():
            of_role = f" of role {edit.role}" if edit.role else f" like {edit.like}" if job.spec.sub_groups else ""
            return f"{counted(edit.count, 'more pod', 'more pods')}{of_role}"
        case SetPriority():
            if edit.priority_class:
                return f"priority class {edit.priority_class}"
            return f"a priority of {edit.priority} (now {job.priority})"


def _of_devices(situation: Situation, edit: SetDeviceAmount) -> str:
    """What a container then asks for, by the resource that says it."""
    shapes = (task.shape for task in situation.snapshot.jobs[edit.job].pending.values())
    requests = [shape.devices for shape in shapes if shape.devices is not None]
    able = [one for one in requests if edit.what in resources_of(one)]
    asked = max((most_asked(one, edit.what) for one in able), default=0)
    resource = next((resources_of(one)[edit.what] for one in able), edit.what)
    return f"{edit.amount} {resource} a container instead of {asked}"


def _limit_of(topology: NetworkTopology | None) -> str:
    return "no limit" if topology is None else topology.tier_name or str(topology.highest_tier)


def _of_sub_groups(spec: JobSpec, edit: SubGroupEdit) -> str:
    policy = spec.sub_groups[edit.policy]
    whose = f"of sub-group policy {title_of(spec.sub_groups, edit.policy)}"
    if isinstance(edit, SetSubGroupTier):
        return f"highestTierAllowed {edit.tier} {whose} (now {_limit_of(policy.topology)})"
    if isinstance(edit, SetMinSubGroups):
        phrase = f"minSubGroups {edit.minimum} {whose} ({policy.minimum - edit.minimum} fewer)"
    else:
        phrase = f"subGroupSize {edit.size} {whose} ({policy.size - edit.size} fewer)"
    members = f", and minMember {edit.members}" if edit.members != spec.min_member else ""
    return f"{phrase}{members}{_with_less(spec, edit.min_resources)}"


def _of_queue(snapshot: Snapshot, edit: SetQueueAmount | SetQueueWeight | SetGroupLimit) -> str:
    queue = snapshot.queues[edit.queue]
    if isinstance(edit, SetQueueWeight):
        return f"weight {edit.weight} for queue {edit.queue} (now {queue.weight})"
    column = snapshot.axis.find(edit.resource)
    if isinstance(edit, SetGroupLimit):
        limit = dict(dict(queue.group_limits or ()).get(edit.group, ()))
        where, field = f"queue {edit.queue} on node group {edit.group}", "limit"
    else:
        limit = dict(getattr(queue, edit.field))
        where, field = f"queue {edit.queue}", edit.field
    has = limit.get(column, 0) if column is not None else 0
    return f"{_more(edit.resource, has, edit.amount)} in {where} ({field} {format_amount(edit.resource, edit.amount)})"


def _of_namespace(snapshot: Snapshot, edit: SetQuota | SetConsumerLimit | AllowDisruptions) -> str:
    match edit:
        case SetQuota():
            lines = (
                line for quota in snapshot.quotas[edit.namespace] if quota.name == edit.quota for line in quota.lines
            )
            has = next((line.hard for line in lines if line.name == edit.resource), 0)
            whole = format_counted(edit.resource.removeprefix("requests."), edit.hard)
            more = _more(edit.resource, has, edit.hard)
            return f"{more} in resource quota {edit.namespace}/{edit.quota} ({whole} in all)"
        case SetConsumerLimit():
            name, amount = consumer_of(snapshot, edit.namespace), format_counted(edit.resource, edit.amount)
            return f"a limit of {amount} {edit.resource} in Consumer {edit.namespace}/{name}"
        case AllowDisruptions():
            budgets = snapshot.budgets[edit.namespace]
            has = next((one.allowed for one in budgets if one.name == edit.budget), 0)
            count, budget = edit.allowed - has, f"{edit.namespace}/{edit.budget}"
            return f"{counted(count, 'more eviction', 'more evictions')} allowed by disruption budget {budget}"


def _with_less(spec: JobSpec, stated: Mapping[str, int]) -> str:
    """The change of ``minResources`` that goes with an edit, without which admission would use the old amounts.

    Those of a vcjob follow by themselves.
    """
    return f", and minResources {_amounts(stated)}" if stated and not spec.written_for else ""


def _amounts(amounts: Mapping[str, int]) -> str:
    """``cpu 4, memory 8Gi``."""
    return ", ".join(f"{name} {format_amount(name, amount)}" for name, amount in sorted(amounts.items()))


def _more(resource: str, has: int, amount: int) -> str:
    """The difference as ``2 more nvidia.com/gpu``; ``resource`` may be a name in a quota, as ``requests.cpu``."""
    if resource == "pods":
        return counted(amount - has, "more pod", "more pods")
    return f"{format_counted(resource.removeprefix('requests.'), amount - has)} more {resource}"


def _claims(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"PersistentVolumeClaim {names[0]}"
    shown = ", ".join(names[:NAMED_MAX])
    others = len(names) - NAMED_MAX
    return f"PersistentVolumeClaims {shown} and {others} more" if others > 0 else f"PersistentVolumeClaims {shown}"


def _jobs(snapshot: Snapshot, keys: Sequence[str]) -> str:
    called = [*map(snapshot.called, keys[:NAMED_MAX])]
    shown = ", ".join(called)
    others = len(keys) - NAMED_MAX
    noun = "" if any(" " in one for one in called) else "job " if len(keys) == 1 else "jobs "
    return f"{noun}{shown}{f' and {others} more' if others > 0 else ''}"


def _nodes(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"node {names[0]}"
    shown = ", ".join(names[:NAMED_MAX])
    others = len(names) - NAMED_MAX
    return f"nodes {shown} and {others} more" if others > 0 else f"nodes {shown}"


def _pairs(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(labels.items()))
