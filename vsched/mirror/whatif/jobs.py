"""Applies edits of jobs: of the PodGroup's spec, and of the job's pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from vsched.errors import BadInput
from vsched.mirror.whatif import words
from vsched.mirror.whatif.edits import (
    AddPods,
    CreatePodGroup,
    CreatePriorityClass,
    DropRule,
    EndJobs,
    JobEdit,
    OtherEdit,
    RemoveGates,
    SetDeviceAmount,
    SetHighestTier,
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetMinSubGroups,
    SetPriority,
    SetRequest,
    SetRoleMinimum,
    SetSubGroupSize,
    SetSubGroupTier,
    SetVictimMinimum,
    SubGroupEdit,
    Tolerate,
    TolerateDevices,
)
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.resources import Amounts, ResourceAxis, scale_of, without_zeros
from vsched.model.deviceshare.asking import capped, sums_of, without_wishes
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import PodAffinity, Shape, Toleration
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import PriorityClass
from vsched.model.queues.quota import asked_by, exceeded
from vsched.model.topology.constraints import NetworkTopology

EditTask = Callable[[Task], Task]


def edit_job(cluster: EditableMirror, edit: JobEdit) -> None:
    """Apply an edit of a job; raises BadInput if the job does not exist."""
    job, axis = _known(cluster, edit.job), cluster.axis
    spec = job.spec
    match edit:
        case SetMinMember():
            _set_minimum(cluster, spec, edit)
        case SetMinResources():
            _restate(cluster, job, min_resources=_stated(spec, edit.amounts, axis))
        case SetRoleMinimum():
            minima = {**dict(spec.min_task_member), edit.role: edit.minimum}
            _restate(cluster, job, min_task_member=tuple(sorted(minima.items())), min_member=edit.members)
        case SetJobQueue():
            _restate(cluster, job, queue=edit.queue)
        case SetPriority():
            other = msgspec.structs.replace(spec, priority_class=edit.priority_class or spec.priority_class)
            cluster.restate(edit.job, other, edit.priority)
        case SetRequest():
            _ask_less(cluster, job, axis.find(edit.resource), edit.amount)
        case SetDeviceAmount():
            _ask_less_of_devices(cluster, job, edit)
        case Tolerate():
            toleration = Toleration(edit.key, "Equal", edit.value, edit.effect)
            _reshape(cluster, job, lambda shape: _tolerating(shape, toleration))
        case TolerateDevices():
            toleration = Toleration(edit.key, "Equal", edit.value, edit.effect)
            cluster.tolerate_devices(job.pending.values(), toleration)
        case DropRule():
            _reshape(cluster, job, lambda shape: _without(shape, edit))
        case SetHighestTier():
            if spec.topology is None:
                raise BadInput(words.no_network_topology(edit.job))
            _restate(cluster, job, topology=_wider(spec.topology, edit.tier))
        case SetSubGroupTier() | SetMinSubGroups() | SetSubGroupSize():
            _edit_policy(cluster, job, edit)
        case RemoveGates():
            cluster.put_tasks([_ungated(task) for task in job.pending.values()])
        case AddPods():
            _enlarge(cluster, job, edit)


def edit_other(cluster: EditableMirror, edit: OtherEdit) -> None:
    """Apply an edit of another job or of a missing object; raises BadInput if the job does not exist."""
    match edit:
        case SetVictimMinimum():
            _set_minimum(cluster, _known(cluster, edit.job).spec, edit)
        case EndJobs():
            for key in edit.jobs:
                tasks = _known(cluster, key).tasks.values()
                cluster.put_tasks([task.moved(Status.SUCCEEDED, task.node) for task in tasks])
        case CreatePriorityClass():
            cluster.put_class(PriorityClass(edit.name, edit.value))
        case CreatePodGroup():
            if cluster.stray(edit.job) is None:
                raise BadInput(words.no_pods_without_podgroup(edit.job))
            namespace, _, name = edit.job.partition("/")
            now = cluster.origin.now
            group = JobSpec(namespace, name, created=now, queue=edit.queue, min_member=edit.minimum)
            cluster.restate(edit.job, group)


def let_in(cluster: EditableMirror, key: str) -> None:
    """Open the queue's gate for all pending pods of a job."""
    cluster.put_tasks([_let_in(task) for task in _known(cluster, key).pending.values()])


def _known(cluster: EditableMirror, key: str) -> Job:
    job = cluster.job(key)
    if job is None:
        raise BadInput(words.no_job(key))
    return job


# -- its spec --------------------------------------------------------------------------------------------------------


def _restate(cluster: EditableMirror, job: Job, **fields: object) -> None:
    cluster.restate(job.key, msgspec.structs.replace(job.spec, **fields))


def _set_minimum(cluster: EditableMirror, spec: JobSpec, edit: SetMinMember | SetVictimMinimum) -> None:
    stated = _stated(spec, edit.min_resources, cluster.axis)
    # The annotation that states the minimum of a job which follows from its pods takes the place of minima of roles.
    roles = () if spec.follows else spec.min_task_member
    fields = {"min_member": edit.minimum, "min_task_member": roles, "min_resources": stated}
    cluster.restate(edit.job, msgspec.structs.replace(spec, **fields))


def _wider(topology: NetworkTopology, tier: int) -> NetworkTopology:
    return msgspec.structs.replace(topology, highest_tier=tier, tier_name="")


def _edit_policy(cluster: EditableMirror, job: Job, edit: SubGroupEdit) -> None:
    """Change one policy of sub-groups, and the gang's minimum with it; raises BadInput if there is no such policy."""
    spec, with_ = job.spec, msgspec.structs.replace
    policies = list(spec.sub_groups)
    if edit.policy >= len(policies):
        raise BadInput(words.no_sub_group_policy(edit.job, edit.policy))
    found = policies[edit.policy]
    if isinstance(edit, SetSubGroupTier):
        if found.topology is None:
            raise BadInput(words.no_sub_group_topology(edit.job, edit.policy))
        policies[edit.policy] = with_(found, topology=_wider(found.topology, edit.tier))
        _restate(cluster, job, sub_groups=tuple(policies))
        return
    smaller = {"minimum": edit.minimum} if isinstance(edit, SetMinSubGroups) else {"size": edit.size}
    policies[edit.policy] = with_(found, **smaller)
    stated = _stated(spec, edit.min_resources, cluster.axis)
    _restate(cluster, job, sub_groups=tuple(policies), min_member=edit.members, min_resources=stated)


def _stated(spec: JobSpec, less: Mapping[str, int], axis: ResourceAxis) -> Amounts | None:
    if spec.min_resources is None or not less:
        return spec.min_resources
    lowered = {axis.find(name): amount for name, amount in less.items()}
    return tuple((column, lowered.get(column, amount)) for column, amount in spec.min_resources)


# -- its pods ---------------------------------------------------------------------------------------------------------


def _reshape(cluster: EditableMirror, job: Job, edit: Callable[[Shape], Shape]) -> None:
    """Edit the shapes of pending pods; pods that share a shape share the edited one."""
    shapes: dict[Shape, Shape] = {}
    for task in job.pending.values():
        if task.shape not in shapes:
            shapes[task.shape] = edit(task.shape)
    cluster.put_tasks([msgspec.structs.replace(task, shape=shapes[task.shape]) for task in job.pending.values()])


def _ask_less(cluster: EditableMirror, job: Job, column: int | None, amount: int) -> None:
    """Cap the requests of the pending pods, and lower ``minResources`` by what the pods of the minimum ask less."""
    if column is None:
        return
    spec, pending = job.spec, list(job.pending.values())
    _reshape(cluster, job, lambda shape: with_request(shape, column, min(amount, dict(shape.request).get(column, 0))))
    stated = dict(spec.min_resources or ())
    if not stated.get(column):
        return
    asked = sorted((dict(task.shape.request).get(column, 0) for task in pending), reverse=True)
    less = sum(max(0, one - amount) for one in asked[: max(1, spec.min_member)])
    stated[column] = max(0, stated[column] - less)
    _restate(cluster, job, min_resources=tuple(stated.items()))


def _ask_less_of_devices(cluster: EditableMirror, job: Job, edit: SetDeviceAmount) -> None:
    """Cap what containers of the pending pods ask of shared devices, and lower ``minResources`` accordingly."""
    before, axis = [task.shape for task in job.pending.values()], cluster.axis
    _reshape(cluster, job, lambda shape: with_devices(shape, edit, axis))
    after = [task.shape for uid in job.pending if (task := cluster.task(uid)) is not None]
    spec, stated = job.spec, dict(job.spec.min_resources or ())
    for column in [column for column in stated if stated[column]]:
        less = sorted(
            (
                dict(old.request).get(column, 0) - dict(new.request).get(column, 0)
                for old, new in zip(before, after, strict=True)
            ),
            reverse=True,
        )
        stated[column] = max(0, stated[column] - sum(less[: max(1, spec.min_member)]))
    if tuple(stated.items()) != (spec.min_resources or ()):
        _restate(cluster, job, min_resources=tuple(stated.items()))


def with_devices(shape: Shape, edit: SetDeviceAmount, axis: ResourceAxis) -> Shape:
    """The shape where no container asks for more of shared devices."""
    request = shape.devices
    if request is None:
        return shape
    less = capped(request, edit.what, edit.amount)
    sums, asked = dict(sums_of(request)), dict(shape.request)
    for resource, amount in sums_of(less):
        column = axis.find(resource)
        if column in asked:
            asked[column] = max(0, asked[column] - (sums[resource] - amount) * scale_of(resource))
    return msgspec.structs.replace(shape, devices=less, request=without_zeros(asked))


def with_request(shape: Shape, column: int, amount: int) -> Shape:
    """The shape with one amount of its request replaced."""
    asked = {**dict(shape.request), column: amount}
    cpu, memory = shape.scoring_cpu, shape.scoring_memory
    return msgspec.structs.replace(
        shape,
        request=without_zeros(asked),
        scoring_cpu=min(cpu, amount) if column == 0 else cpu,
        scoring_memory=min(memory, amount) if column == 1 else memory,
    )


def _tolerating(shape: Shape, toleration: Toleration) -> Shape:
    rules = msgspec.structs.replace(shape.rules, tolerations=(*shape.rules.tolerations, toleration))
    return msgspec.structs.replace(shape, rules=rules)


def _without(shape: Shape, edit: DropRule) -> Shape:
    with_ = msgspec.structs.replace
    affinity = shape.affinity or PodAffinity()
    match edit.rule:
        case "nodeSelector":
            return with_(shape, rules=with_(shape.rules, node_name="", node_selector=(), required=None))
        case "hostPorts":
            return with_(shape, ports=())
        case "podAffinity":
            return with_(shape, affinity=_or_none(with_(affinity, required=())))
        case "podAntiAffinity":
            return with_(shape, affinity=_or_none(with_(affinity, anti_required=())))
        case "topologySpread":
            return with_(shape, spread=tuple(rule for rule in shape.spread if not rule.hard))
        case "deviceWishes":
            return shape if shape.devices is None else with_(shape, devices=without_wishes(shape.devices))


def _or_none(affinity: PodAffinity) -> PodAffinity | None:
    return None if affinity == PodAffinity() else affinity


def _ungated(task: Task) -> Task:
    """The pod without its scheduling gates; a pod that waits at the gate of its queue stays as it is."""
    if not task.at_gate or task.awaits_queue:
        return task
    return msgspec.structs.replace(task, gated=False)


def _let_in(task: Task) -> Task:
    if not task.awaits_queue:
        return task
    return msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True)


def _enlarge(cluster: EditableMirror, job: Job, edit: AddPods) -> None:
    """Add pending copies of a pod to its job, as many as quotas allow; raises BadInput if there is no such pod."""
    like = next((task for task in job.tasks.values() if task.name == edit.like), None)
    if like is None:
        raise BadInput(words.no_pod_in_job(job.spec.namespace, edit.like, job.key))
    fresh = []
    for number in range(_allowed(cluster, like, edit.count)):
        uid, name = (f"{whose}-more{edit.role and '-'}{edit.role}-{number}" for whose in (like.uid, like.name))
        one = like.moved(Status.PENDING, "")
        new = msgspec.structs.replace(one, uid=uid, name=name, role=edit.role, nominated="", condition="")
        fresh.append(new if like.claims is None else cluster.with_own_claims(new, like))
    cluster.put_tasks(fresh)


def _allowed(cluster: EditableMirror, like: Task, count: int) -> int:
    """How many more pods like one the API server lets anybody make, ``count`` at most."""
    quotas, names = cluster.quotas(like.namespace), cluster.axis.names
    while count and any(exceeded(quotas, asked_by(like.shape, names, count))):
        count -= 1
    return count
