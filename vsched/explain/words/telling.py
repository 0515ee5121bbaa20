"""Renders edits as noun phrases for people; a page puts "would start with" before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vsched.explain.records import Change
from vsched.explain.situation import Situation, apply
from vsched.explain.words import edits
from vsched.explain.words.commands import command, consumer_of, taint_of
from vsched.explain.words.owners import noted_by, told_of
from vsched.framework.points.levers import argument_of, is_duration
from vsched.framework.policy import Policy
from vsched.framework.words.lists import counted
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
from vsched.model.amounts.resources import format_amount
from vsched.model.deviceshare.asking import most_asked, resources_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.queues.limits import exactly
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology
from vsched.model.topology.subgroups import title_of

NAMED_MAX = 3
"""A phrase names at most this many nodes, and counts the others."""


def change_of(situation: Situation, made: Sequence[Edit]) -> Change:
    """The edits as one change, in this order: a later edit may need an object that an earlier one creates."""
    sentences, commands = [], []
    refused = any(isinstance(edit, SetQuota) for edit in made)
    for edit in made:
        if not (refused and isinstance(edit, AddPods) and _is_made_by_controller(situation.snapshot, edit)):
            sentences.append(told(situation, edit))
            commands.append(command(situation.snapshot, edit))
        situation = apply(situation, edit)
    return Change(" and ".join(sentences), tuple(made), "\n".join(commands) if all(commands) else "")


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
            named = _jobs(snapshot, (edit.job,))
            phrase = edits.minimum_of_job(_minimum_of(spec), edit.minimum, named, spec.min_member)
            return f"{phrase}{_with_less(spec, edit.min_resources)}"
        case SetHighestTier():
            return edits.highest_tier(edit.tier, _limit_of(snapshot.jobs[edit.job].spec.topology))
        case SetSubGroupTier() | SetMinSubGroups() | SetSubGroupSize():
            return _of_sub_groups(snapshot.jobs[edit.job].spec, edit)
        case EndJobs():
            return edits.end_of(_jobs(snapshot, edit.jobs))
        case CreatePriorityClass():
            return edits.priority_class_created(edit.name, edit.value)
        case SetJobQueue():
            return edits.as_its_queue(edit.queue)
        case Tolerate():
            return edits.toleration(taint_of(edit))
        case TolerateDevices():
            return edits.toleration_in_claims(taint_of(edit))
        case DropRule():
            return edits.rule_dropped(edit.rule)
        case RemoveGates():
            return edits.GATES_REMOVED
        case CreatePodGroup():
            return edits.podgroup_created(edit.job, edit.queue)
        case CreateQueue():
            return edits.queue_created(edit.queue)
        case OpenQueue():
            return edits.queue_opened(edit.queue)
        case SetQueueAmount() | SetQueueWeight() | SetGroupLimit():
            return _of_queue(snapshot, edit)
        case LowerGuarantee():
            column = snapshot.axis.find(edit.resource)
            has = 0 if column is None else dict(snapshot.queues[edit.queue].guarantee).get(column, 0)
            less, left = (format_amount(edit.resource, amount) for amount in (has - edit.amount, edit.amount))
            return edits.less_guaranteed(less, edit.resource, edit.queue, left)
        case SetJobLimit():
            limits = snapshot.queues[edit.queue].limits
            most = limits.running_jobs_per_user if edit.per_user else limits.running_jobs
            return edits.running_jobs(edit.most, edit.queue, most, per_user=edit.per_user)
        case SetWallTime():
            now = snapshot.queues[edit.queue].limits.wall_time or 0.0
            return edits.wall_time(exactly(edit.seconds), edit.queue, exactly(now))
        case SetReclaimable():
            return edits.queue_made_reclaimable(edit.queue)
        case AddNodeGroup():
            return edits.node_group_added(edit.group, edit.queue)
        case SetQuota() | SetConsumerLimit() | AllowDisruptions():
            return _of_namespace(snapshot, edit)
        case Uncordon():
            return edits.uncordoned(_nodes(edit.nodes))
        case RemoveTaint():
            return edits.taint_removed(taint_of(edit), _nodes(edit.nodes))
        case LabelNodes():
            return edits.labelled(_nodes(edit.nodes), _pairs(edit.labels))
        case AddNodes():
            return edits.more_nodes(edit.count, edit.like)
        case AddPoolNodes():
            return edits.more_of_pool(edit.count, edit.pool)
        case AddVolumes():
            claim = snapshot.claims.volumes.claims[edit.claim]
            return edits.more_volumes(edit.count, claim.storage_class, claim.request)
        case CreateVolumeClaims():
            return edits.claims_created(_claims([key.partition("/")[2] for key in edit.claims]))
        case SetStorage():
            found = snapshot.claims.volumes.capacities.values()
            one = next(each for some in found for each in some if each.key == edit.capacity)
            return edits.more_storage(edit.amount - (one.capacity or 0), one.storage_class, one.key)
        case AddDevices():
            return edits.more_devices(edit.count, edit.device_class, edit.node)
        case SetNodeAmount():
            row, column = snapshot.nodes.statics.row[edit.node], snapshot.axis.find(edit.resource)
            has = 0 if column is None else int(snapshot.nodes.allocatable[column, row])
            more = _more(edit.resource, has, edit.amount)
            if edit.resource == "pods":
                more = counted(edit.amount - has, "more pod slot", "more pod slots")
            return edits.more_on_node(more, edit.node)
        case SetThreshold():
            return edits.usage_threshold(edit.name, edit.percent)
        case SetOvercommit():
            return edits.overcommit_factor(edit.factor)
        case SetArgument():
            return edits.argument(edit.key, _written(situation.policy, edit), edit.plugin)
        case UseAction():
            return edits.action(edit.action)


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
            return edits.min_resources(_amounts(edit.amounts))
        case SetMinMember():
            fewer = job.spec.min_member - edit.minimum
            return edits.minimum(_minimum_of(job.spec), edit.minimum, fewer) + _with_less(job.spec, edit.min_resources)
        case SetRoleMinimum():
            fewer = dict(job.spec.min_task_member).get(edit.role, 0) - edit.minimum
            if job.spec.written_for:
                return edits.minimum_of_task(edit.minimum, edit.role, fewer)
            return edits.minimum_of_role(edit.minimum, edit.role, fewer, edit.members)
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
            return edits.request_of_pods(then, edit.resource, now) + _with_less(job.spec, with_it)
        case AddPods():
            return edits.more_pods(edit.count, role=edit.role, like=edit.like if job.spec.sub_groups else "")
        case SetPriority():
            if edit.priority_class:
                return edits.priority_class(edit.priority_class)
            return edits.priority(edit.priority, job.priority)


def _of_devices(situation: Situation, edit: SetDeviceAmount) -> str:
    """What a container then asks for, by the resource that says it."""
    shapes = (task.shape for task in situation.snapshot.jobs[edit.job].pending.values())
    requests = [shape.devices for shape in shapes if shape.devices is not None]
    able = [one for one in requests if edit.what in resources_of(one)]
    asked = max((most_asked(one, edit.what) for one in able), default=0)
    resource = next((resources_of(one)[edit.what] for one in able), edit.what)
    return edits.request_of_containers(edit.amount, resource, asked)


def _limit_of(topology: NetworkTopology | None) -> str:
    return edits.NO_LIMIT if topology is None else topology.tier_name or str(topology.highest_tier)


def _of_sub_groups(spec: JobSpec, edit: SubGroupEdit) -> str:
    policy = spec.sub_groups[edit.policy]
    title = title_of(spec.sub_groups, edit.policy)
    if isinstance(edit, SetSubGroupTier):
        return edits.highest_tier_of_sub_groups(edit.tier, title, _limit_of(policy.topology))
    if isinstance(edit, SetMinSubGroups):
        phrase = edits.minimum_of_sub_groups(edit.minimum, title, policy.minimum - edit.minimum)
    else:
        phrase = edits.size_of_sub_groups(edit.size, title, policy.size - edit.size)
    members = edits.and_min_member(edit.members) if edit.members != spec.min_member else ""
    return f"{phrase}{members}{_with_less(spec, edit.min_resources)}"


def _of_queue(snapshot: Snapshot, edit: SetQueueAmount | SetQueueWeight | SetGroupLimit) -> str:
    queue = snapshot.queues[edit.queue]
    if isinstance(edit, SetQueueWeight):
        return edits.weight(edit.weight, edit.queue, queue.weight)
    column, amount = snapshot.axis.find(edit.resource), format_amount(edit.resource, edit.amount)
    if isinstance(edit, SetGroupLimit):
        limit = dict(dict(queue.group_limits or ()).get(edit.group, ()))
    else:
        limit = dict(getattr(queue, edit.field))
    more = _more(edit.resource, limit.get(column, 0) if column is not None else 0, edit.amount)
    if isinstance(edit, SetGroupLimit):
        return edits.more_on_node_group(more, edit.queue, edit.group, amount)
    return edits.more_in_queue(more, edit.queue, edit.field, amount)


def _of_namespace(snapshot: Snapshot, edit: SetQuota | SetConsumerLimit | AllowDisruptions) -> str:
    match edit:
        case SetQuota():
            lines = (
                line for quota in snapshot.quotas[edit.namespace] if quota.name == edit.quota for line in quota.lines
            )
            has = next((line.hard for line in lines if line.name == edit.resource), 0)
            whole = format_counted(edit.resource.removeprefix("requests."), edit.hard)
            more = _more(edit.resource, has, edit.hard)
            return edits.more_in_quota(more, f"{edit.namespace}/{edit.quota}", whole)
        case SetConsumerLimit():
            name, amount = consumer_of(snapshot, edit.namespace), format_counted(edit.resource, edit.amount)
            return edits.limit_of_consumer(amount, edit.resource, f"{edit.namespace}/{name}")
        case AllowDisruptions():
            budgets = snapshot.budgets[edit.namespace]
            has = next((one.allowed for one in budgets if one.name == edit.budget), 0)
            return edits.more_evictions(edit.allowed - has, f"{edit.namespace}/{edit.budget}")


def _with_less(spec: JobSpec, stated: Mapping[str, int]) -> str:
    """The change of ``minResources`` that goes with an edit, without which admission would use the old amounts.

    Those of a vcjob follow by themselves.
    """
    return edits.and_min_resources(_amounts(stated)) if stated and not spec.written_for else ""


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
