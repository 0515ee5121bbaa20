"""A snapshot with one job edited: the job itself, and all sums that it counts in."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

import msgspec

from vsched.errors import BadInput
from vsched.explain.edits import (
    AddPods,
    CreatePodGroup,
    CreatePriorityClass,
    DropRule,
    JobEdit,
    RemoveGates,
    SetJobQueue,
    SetMinMember,
    SetMinResources,
    SetPriority,
    SetRequest,
    SetRoleMinimum,
    SetVictimMinimum,
    Tolerate,
)
from vsched.model.job import Job, JobSpec, JobUsage, Judgement, claim_of, pledge_of
from vsched.model.queue import PriorityClass
from vsched.model.resources import Amounts, ResourceAxis, Vector, add, subtract
from vsched.model.shape import PodAffinity, Shape, Toleration
from vsched.model.snapshot import QueueUsage, Snapshot
from vsched.model.status import Status
from vsched.model.task import Task

EditTask = Callable[[Task], Task]


def edit_job(snapshot: Snapshot, edit: JobEdit) -> Snapshot:
    """The snapshot with the job edited; raises BadInput where there is no such job."""
    job = snapshot.jobs.get(edit.job)
    if job is None:
        raise BadInput(f"job {edit.job}: there is none of this name")
    return with_job(snapshot, _edited(snapshot, job, edit))


def make_group(snapshot: Snapshot, edit: CreatePodGroup) -> Snapshot:
    """The snapshot with the PodGroup that stray pods name; raises BadInput where none does."""
    stray = snapshot.strays.get(edit.job)
    if stray is None:
        raise BadInput(f"job {edit.job}: no pods name a PodGroup of this name that does not exist")
    namespace, _, name = edit.job.partition("/")
    job = stray.clone()
    job.spec = JobSpec(namespace, name, created=snapshot.now, queue=edit.queue, min_member=edit.minimum)
    strays = {key: one for key, one in snapshot.strays.items() if key != edit.job}
    return replace(with_job(snapshot, job), strays=strays)


def lower_victim(snapshot: Snapshot, edit: SetVictimMinimum) -> Snapshot:
    """The snapshot with the minimum of another job lowered; raises BadInput where there is no such job."""
    return edit_job(snapshot, SetMinMember(edit.job, edit.minimum, edit.min_resources))


def make_class(snapshot: Snapshot, edit: CreatePriorityClass) -> Snapshot:
    """The snapshot with a priority class, and the jobs that name it in its priority already."""
    if edit.name in snapshot.priority_classes:
        return snapshot
    classes = {**snapshot.priority_classes, edit.name: PriorityClass(edit.name, edit.value)}
    named = {
        key: job.clone()
        for key, job in snapshot.jobs.items()
        if edit.name in (job.spec.priority_class, job.awaits_class)
    }
    for job in named.values():
        job.judgement = _judged(job, edit, classes)
    awaited = [(snapshot.jobs[key], job) for key, job in named.items() if snapshot.jobs[key].awaits_class]
    books, shares = _booked(
        snapshot, [shift for before, after in awaited for shift in ((claim_of(before), -1), (claim_of(after), 1))]
    )
    admitted = sorted({*snapshot.admitted, *(after.key for _, after in awaited if pledge_of(after))})
    holders = {
        queue: {key: named.get(key, job) for key, job in held.items()} for queue, held in snapshot.holders.items()
    }
    return replace(
        snapshot,
        jobs={**snapshot.jobs, **named},
        holders=holders,
        priority_classes=classes,
        admitted=admitted,
        books=books,
        shares=shares,
    )


def _judged(job: Job, edit: CreatePriorityClass, classes: Container[str]) -> Judgement:
    """What a job is once the class is there: it may name another one besides that its queue does."""
    if not job.awaits_class:
        return Judgement(edit.value, job.unsupported)
    own = job.spec.priority_class
    if edit.value or not own or own in classes or job.spec.class_only_named:
        return Judgement(edit.value)
    return Judgement(edit.value, job.unsupported.replace(edit.name, own), awaits_class=own)


def let_in(snapshot: Snapshot, key: str) -> Snapshot:
    """The snapshot once the gates of the job's queue have been opened for all of its pods."""
    return with_job(snapshot, _each_pending(snapshot.jobs[key], _let_in))


def with_job(snapshot: Snapshot, job: Job) -> Snapshot:
    """The snapshot with a job in the place of its earlier record, and every sum as it is with it."""
    key, before = job.key, snapshot.jobs.get(job.key)
    shifts = [] if before is None else [(claim_of(before), -1)]
    books, shares = _booked(snapshot, [*shifts, (claim_of(job), 1)])
    jobs = {**snapshot.jobs, key: job}
    if before is not None and before.spec.queue != job.spec.queue:
        left = (before.spec.queue, before.spec.namespace)
        if all((other.spec.queue, other.spec.namespace) != left for other in jobs.values()):
            del shares[left]
    return replace(
        snapshot,
        jobs=jobs,
        active=_listed(snapshot.active, key, job.waits),
        changed=_listed(snapshot.changed, key, True),
        nominated=_listed(snapshot.nominated, key, bool(job.nominated)),
        admitted=_listed(snapshot.admitted, key, bool(pledge_of(job))),
        reserving=_listed(snapshot.reserving, key, bool(job.reserving and not job.kept_out)),
        holders=_holders(snapshot.holders, before, job),
        books=books,
        shares=shares,
    )


# -- the job ----------------------------------------------------------------------------------------------------------


def _edited(snapshot: Snapshot, job: Job, edit: JobEdit) -> Job:
    axis = snapshot.axis
    match edit:
        case SetMinMember():
            stated = _stated(job.spec, edit.min_resources, axis)
            return _respecified(job, min_member=edit.minimum, min_resources=stated)
        case SetMinResources():
            return _respecified(job, min_resources=_stated(job.spec, edit.amounts, axis))
        case SetRoleMinimum():
            minima = {**dict(job.spec.min_task_member), edit.role: edit.minimum}
            return _respecified(job, min_task_member=tuple(sorted(minima.items())), min_member=edit.members)
        case SetJobQueue():
            return _respecified(job, queue=edit.queue)
        case SetPriority():
            name = edit.priority_class or job.spec.priority_class
            other = _respecified(job, priority_class=name)
            other.priority = edit.priority
            return other
        case SetRequest():
            return _asking_less(job, axis.find(edit.resource), edit.amount)
        case Tolerate():
            toleration = Toleration(edit.key, "Equal", edit.value, edit.effect)
            return _reshaped(job, lambda shape: _tolerating(shape, toleration))
        case DropRule():
            return _reshaped(job, lambda shape: _without(shape, edit))
        case RemoveGates():
            return _each_pending(job, _ungated)
        case AddPods():
            return _enlarged(job, edit)


def _respecified(job: Job, **fields: object) -> Job:
    other = job.clone()
    other.spec = msgspec.structs.replace(job.spec, **fields)
    return other


def _stated(spec: JobSpec, less: Mapping[str, int], axis: ResourceAxis) -> Amounts | None:
    if spec.min_resources is None or not less:
        return spec.min_resources
    lowered = {axis.find(name): amount for name, amount in less.items()}
    return tuple((column, lowered.get(column, amount)) for column, amount in spec.min_resources)


def _each_pending(job: Job, edit: EditTask) -> Job:
    """The job with each waiting pod edited, in their order."""
    other = job.clone()
    for task in job.pending.values():
        other.put(edit(task))
    return other


def _reshaped(job: Job, edit: Callable[[Shape], Shape]) -> Job:
    """The job with the shapes of waiting pods edited; pods of one shape stay of one shape."""
    shapes: dict[Shape, Shape] = {}

    def reshape(task: Task) -> Task:
        shape = shapes.get(task.shape)
        if shape is None:
            shape = shapes[task.shape] = edit(task.shape)
        return msgspec.structs.replace(task, shape=shape)

    return _each_pending(job, reshape)


def _asking_less(job: Job, column: int | None, amount: int) -> Job:
    """What the pods' minimum is cut by follows from what each of them asks less."""
    if column is None:
        return job
    other = _reshaped(job, lambda shape: with_request(shape, column, min(amount, dict(shape.request).get(column, 0))))
    spec = job.spec
    stated = dict(spec.min_resources or ())
    if not stated.get(column):
        return other
    asked = sorted((dict(task.shape.request).get(column, 0) for task in job.pending.values()), reverse=True)
    less = sum(max(0, one - amount) for one in asked[: max(1, spec.min_member)])
    stated[column] = max(0, stated[column] - less)
    other.spec = msgspec.structs.replace(spec, min_resources=tuple((one, value) for one, value in stated.items()))
    return other


def with_request(shape: Shape, column: int, amount: int) -> Shape:
    """The shape with one amount of its request set."""
    asked = {**dict(shape.request), column: amount}
    cpu, memory = shape.scoring_cpu, shape.scoring_memory
    return msgspec.structs.replace(
        shape,
        request=tuple(sorted((one, value) for one, value in asked.items() if value)),
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


def _or_none(affinity: PodAffinity) -> PodAffinity | None:
    return None if affinity == PodAffinity() else affinity


def _ungated(task: Task) -> Task:
    """Without the gates of others; the gate of its queue stays, where it waits at that."""
    if not task.at_gate or task.awaits_queue:
        return task
    return msgspec.structs.replace(task, gated=False)


def _let_in(task: Task) -> Task:
    if not task.awaits_queue:
        return task
    return msgspec.structs.replace(task, gated=False, awaits_queue=False, reserves=True)


def _enlarged(job: Job, edit: AddPods) -> Job:
    like = next((task for task in job.tasks.values() if task.name == edit.like), None)
    if like is None:
        raise BadInput(f"pod {job.spec.namespace}/{edit.like}: there is none of this name in {job.key}")
    other = job.clone()
    for number in range(edit.count):
        uid, name = (f"{whose}-more{edit.role and '-'}{edit.role}-{number}" for whose in (like.uid, like.name))
        fresh = like.moved(Status.PENDING, "")
        other.put(msgspec.structs.replace(fresh, uid=uid, name=name, role=edit.role, nominated="", condition=""))
    return other


# -- the sums ---------------------------------------------------------------------------------------------------------


def _listed(keys: Sequence[str], key: str, wanted: bool) -> Sequence[str]:
    """Sorted keys with this one among them, or not."""
    if (key in keys) is wanted:
        return keys
    return tuple(sorted([*keys, key])) if wanted else tuple(one for one in keys if one != key)


def _booked(
    snapshot: Snapshot, shifts: Sequence[tuple[JobUsage, int]]
) -> tuple[dict[str, QueueUsage], dict[tuple[str, str], Vector]]:
    """Sums by queue, and by namespace in a queue, with claims added (1) and taken away (-1)."""
    books, shares = dict(snapshot.books), dict(snapshot.shares)
    for claim, sign in shifts:
        sums = books.get(claim.queue, QueueUsage()).copy()
        held = dict(shares.get((claim.queue, claim.namespace), {}))
        shift = add if sign > 0 else subtract
        sums.jobs += sign
        for total, amounts in (
            (sums.allocated, claim.allocated),
            (sums.pending, claim.pending),
            (sums.elastic, claim.elastic),
            (sums.inqueue, claim.inqueue),
            (sums.promised, claim.promised),
            (held, claim.allocated),
        ):
            shift(total, amounts)
        books[claim.queue], shares[claim.queue, claim.namespace] = sums, held
    return {queue: _without_zeros(sums) for queue, sums in books.items() if sums.jobs}, shares


def _without_zeros(sums: QueueUsage) -> QueueUsage:
    parts = (sums.allocated, sums.pending, sums.elastic, sums.inqueue, sums.promised)
    if all(all(part.values()) for part in parts):
        return sums
    kept = ({column: value for column, value in sorted(part.items()) if value} for part in parts)
    return QueueUsage(sums.jobs, *kept)


def _holders(holders: Mapping[str, Mapping[str, Job]], before: Job | None, job: Job) -> Mapping[str, Mapping[str, Job]]:
    """Who holds what by queue, with the job as it is now."""
    now = dict(holders)
    if before is not None and before.holding:
        listed = {key: one for key, one in now.get(before.spec.queue, {}).items() if key != job.key}
        now[before.spec.queue] = listed
        if not listed:
            del now[before.spec.queue]
    if job.holding:
        now[job.spec.queue] = {**now.get(job.spec.queue, {}), job.key: job}
    return now
