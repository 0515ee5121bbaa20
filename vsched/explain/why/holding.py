"""Who holds what a waiting job lacks: on nodes, in queues and in namespaces. It is looked for where somebody asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from vsched.explain.records import Constraint
from vsched.explain.why import words
from vsched.framework.codes import Code
from vsched.framework.jobs import JobView
from vsched.framework.nodes.why import Failing
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.words.limits import in_words
from vsched.framework.words.lists import counted
from vsched.framework.words.nodes import resource_in
from vsched.kernels.podaffinity import term_matches
from vsched.kernels.ports import conflicting
from vsched.model.claims.quota import DeviceAmount, demand_of, device_amount
from vsched.model.jobs.job import Job, pledge_of
from vsched.model.nodes.table import Mask
from vsched.model.pods.shape import PodTerm
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.model.queues.tree import lineage, tree
from vsched.model.snapshot import Snapshot

HOLDERS_TOLD = 3
"""A sentence names at most this many holders, and sums up the others."""
RESOURCES_TOLD = 2
"""It is told of at most this many resources of nodes."""
PODS_MAX = 20_000
"""Rules about other pods are compared with at most this many."""
NOBODYS = ""
"""The key of pods without a job."""
OF_QUEUES = frozenset((Code.QUEUE_CAPABILITY, Code.QUEUE_SHARE, Code.QUEUE_ADMISSION, Code.ORDER))


def held_by(
    snapshot: Snapshot,
    found: Mapping[str, int],
    resource: str,
    verb: str = "holds",
    as_text: Callable[[str, int], str] = in_words,
) -> str:
    """``ns/o holds 3 cpu, x/p 2 and 4 others 7``, by key of the job; empty where nobody holds any."""
    ranked = _ranked(snapshot, found)
    if not ranked:
        return ""
    told = [
        (snapshot.called(key) if key else words.NO_JOB, as_text(resource, amount))
        for key, amount in ranked[:HOLDERS_TOLD]
    ]
    who, amount = told[0]
    text = ", ".join([f"{who} {verb} {amount} {resource}", *(f"{who} {amount}" for who, amount in told[1:])])
    more = ranked[HOLDERS_TOLD:]
    rest = as_text(resource, sum(amount for _, amount in more))
    return f"{text} and {counted(len(more), 'other', 'others')} {rest}" if more else text


def _ranked(snapshot: Snapshot, found: Mapping[str, int]) -> list[tuple[str, int]]:
    """Who holds any, the most first."""
    holding = ((key, amount) for key, amount in found.items() if amount > 0)
    return sorted(holding, key=lambda one: (-one[1], snapshot.by_name(one[0])))


def _is_alone(found: Mapping[str, int], key: str) -> bool:
    """Whether the job that waits holds all of it itself."""
    return all(one == key for one, amount in found.items() if amount > 0)


# -- queues and namespaces --------------------------------------------------------------------------------------------


def of_limit(session: Session, view: JobView, refusal: Refusal) -> Iterator[Constraint]:
    """Who holds what a queue or a namespace may hold; until a job is admitted, what others were admitted for counts."""
    snapshot, name = session.snapshot, refusal.subject
    if refusal.code is Code.QUOTA:
        yield from _of_quota(snapshot, view.namespace, refusal)
    if refusal.code is Code.RUNNING_JOBS:
        yield from _running(session, view)
    if refusal.code not in OF_QUEUES or (name and name not in snapshot.queues):
        return
    entering = view.waiting_to_enter
    parents = tree(snapshot.queues)
    branch = {one for one in snapshot.queues if not name or one == name or name in lineage(one, parents)}
    jobs = [job for job in snapshot.jobs.values() if job.spec.queue in branch]
    for short in refusal.shortages:
        column, devices = snapshot.axis.find(short.resource), device_amount(short.resource)
        if short.is_lasting:
            continue
        if devices is not None:
            found = _claimed(snapshot, jobs, devices)
        elif column is not None:
            found = {job.key: _held(session, job, column, entering=entering) for job in jobs}
        else:
            continue
        held = held_by(snapshot, found, short.resource, words.HOLDS_OR_RESERVES if entering else "holds")
        if held and not _is_alone(found, view.key):
            message = f"queue {name}: {held}" if name else held
            yield Constraint(refusal.code, message, resource=short.resource, subject=_ranked(snapshot, found)[0][0])


def _running(session: Session, view: JobView) -> Iterator[Constraint]:
    """The jobs that run, where no more may."""
    keys = session.plugins.running_within(view)
    if keys:
        names = [*map(session.snapshot.called, keys[:HOLDERS_TOLD])]
        more = len(keys) - len(names)
        others = f" and {counted(more, 'other', 'others')}" if more else ""
        yield Constraint(Code.RUNNING_JOBS, words.running_now(", ".join(names), others), subject=keys[0])


def _claimed(snapshot: Snapshot, jobs: Iterable[Job], amount: DeviceAmount) -> Mapping[str, int]:
    """How much of an amount of devices the claims of these jobs ask for that have devices, by job."""
    job_of = {uid: job.key for job in jobs for uid in job.tasks}
    found = Counter[str]()
    for claim in snapshot.claims.devices.allocated.values():
        owner = next((job_of[one.uid] for one in claim.consumers if one.uid in job_of), None)
        if owner is not None:
            found[owner] += dict(demand_of(claim.spec)).get(amount, 0)
    return found


def _held(session: Session, job: Job, column: int, *, entering: bool) -> int:
    state = session.job_state(job.key) or job
    return state.allocated.get(column, 0) + (dict(pledge_of(job)).get(column, 0) if entering else 0)


def of_namespace(snapshot: Snapshot, namespace: str, counted_name: str) -> str:
    """Who holds what a quota counts by this name, in a namespace; empty where that is not known."""
    resource = counted_name.removeprefix("requests.")
    column = snapshot.axis.find(resource)
    if column is None:
        return ""
    jobs = (job for job in snapshot.jobs.values() if job.spec.namespace == namespace)
    return held_by(snapshot, {job.key: job.allocated.get(column, 0) for job in jobs}, resource)


def _of_quota(snapshot: Snapshot, namespace: str, refusal: Refusal) -> Iterator[Constraint]:
    for short in refusal.shortages:
        held = of_namespace(snapshot, namespace, short.resource)
        if held and not short.is_lasting:
            yield Constraint(Code.QUOTA, f"namespace {namespace}: {held}", resource=short.resource, subject=namespace)


# -- devices ----------------------------------------------------------------------------------------------------------


def of_devices(snapshot: Snapshot, classes: Collection[str]) -> Iterator[Constraint]:
    """Who has devices of these classes by claims."""
    if not classes:
        return
    job_of = {uid: job.key for job in snapshot.jobs.values() for uid in job.tasks}
    found: dict[str, Counter[str]] = {}
    for claim in snapshot.claims.devices.claims.values():
        if claim.allocation is not None:
            owner = next((job_of[one.uid] for one in claim.consumers if one.uid in job_of), NOBODYS)
            class_of = {one.name: one.device_class for each in claim.spec.requests for one in each}
            for device in claim.allocation.devices:
                if (name := class_of.get(device.request, "")) in classes and not device.admin:
                    found.setdefault(name, Counter())[owner] += 1
    for name, holders in sorted(found.items()):
        held = held_by(snapshot, holders, words.of_class(name), as_text=lambda _, number: f"{number:,}")
        yield Constraint(Code.DEVICES, held, subject=_ranked(snapshot, holders)[0][0])


# -- nodes ------------------------------------------------------------------------------------------------------------


def on_nodes(session: Session, task: Task, wanted: int, failing: Sequence[Failing]) -> Iterator[Constraint]:
    """What is free of what nodes are short of and who holds the rest, for so many such tasks; and whose pods keep the
    task off nodes."""
    short = [one for one in failing if one.code is Code.RESOURCES and one.rows.any()]
    for one in short[:RESOURCES_TOLD]:
        yield from _amounts(session, task, wanted, one.rows, resource_in(one.reason))
    codes, snapshot, affinity = {one.code for one in failing}, session.snapshot, task.shape.affinity
    if Code.PORTS in codes:
        clash = conflicting(task.shape.ports)
        users = _jobs_with(snapshot, task, lambda other: bool(clash(other.shape.ports)))
        ports = ", ".join(str(one.port) for one in task.shape.ports[:HOLDERS_TOLD])
        yield from _by_pods(snapshot, Code.PORTS, words.host_port_used(ports), users)
    if Code.POD_AFFINITY in codes:
        own = () if affinity is None else affinity.anti_required
        avoided = _jobs_with(snapshot, task, lambda other: _meant(snapshot, own, other)) if own else {}
        yield from _by_pods(snapshot, Code.POD_AFFINITY, words.ANTI_AFFINITY, avoided)
        repelling = _jobs_with(snapshot, task, lambda other: _meant(snapshot, _terms(other), task))
        yield from _by_pods(snapshot, Code.POD_AFFINITY, words.ANTI_AFFINITY_OF, repelling)


def in_domain(session: Session, view: JobView, tasks: Sequence[Task]) -> Iterator[Constraint]:
    """Who holds what a job lacks of the resource that is shortest in the domain with most room for it."""
    topology, places = view.spec.topology, session.places
    allowed = () if topology is None or not tasks else places.allowed(topology)
    if isinstance(allowed, Refusal) or not allowed:
        return
    widest, task = allowed[-1], tasks[0]
    grouping = places.grouping(widest)
    if not grouping.sizes.any():
        return  # no node is in a domain of the tier
    fits = places.look(places.task_set(tasks, len(tasks)), widest, None, {}).counts.fits
    best = int(np.where(grouping.sizes > 0, fits, -1).argmax())
    rows: Mask = np.zeros(len(session.nodes), dtype=np.bool_)
    rows[grouping.rows(best)] = True
    idle = session.nodes.idle
    column = min(
        (column for column, amount in task.shape.request if amount),
        key=lambda column: int((idle[column][rows] // dict(task.shape.request)[column]).clip(0).sum()),
        default=None,
    )
    if column is not None:
        wanted = sum(one.shape is task.shape for one in tasks)
        yield from _amounts(session, task, wanted, rows, session.snapshot.axis.names[column])


def _amounts(session: Session, task: Task, wanted: int, rows: Mask, resource: str) -> Iterator[Constraint]:
    """What is free of a resource on these nodes, and who holds the rest."""
    snapshot, nodes = session.snapshot, session.nodes
    column = snapshot.axis.find(resource)
    asked = 0 if column is None else dict(task.shape.request).get(column, 0)
    if column is None or int(nodes.allocatable[column][rows].max()) < asked:
        return  # not even an empty node has so much
    idle = nodes.idle[column]
    if asked and int((idle[rows] // asked).clip(0).sum()) >= wanted:
        rows = rows & (idle < asked)  # what is free on the others is kept for others
        if not rows.any():
            return
    names = nodes.statics.names
    there = {names[row] for row in rows.nonzero()[0].tolist()}
    found = Counter[str]()
    for key, job in snapshot.jobs.items():
        state = session.job_state(key)
        moved = state.moved if isinstance(state, JobView) else {}
        for uid, each in job.tasks.items():
            status, node, _ = moved.get(uid) or (each.status, each.node, each)
            if node in there and HOLDS[status].uses:
                found[key] += dict(each.shape.request).get(column, 0)
    free = int(idle[rows].sum())
    found[NOBODYS] = int(nodes.allocatable[column][rows].sum()) - free - found.total()
    ranked = _ranked(snapshot, found)
    if not ranked or _is_alone(found, task.job):
        return
    best = max(there, key=lambda name: (int(idle[nodes.statics.row[name]]), name))
    most, number = max(0, int(idle[nodes.statics.row[best]])), len(there)
    where = f"node {best}" if number == 1 else f"{number} nodes"
    held = held_by(snapshot, found, resource)
    if resource == "pods":
        message = words.pod_slots_taken(where, held)
    else:
        amounts = in_words(resource, asked), resource, in_words(resource, max(0, free))
        at_most = words.at_most_on_one(in_words(resource, most), best) if most and number > 1 else ""
        message = words.too_little_free(wanted, *amounts, where, at_most, held)
    yield Constraint(Code.RESOURCES, message, resource=resource, subject=ranked[0][0])


def _jobs_with(snapshot: Snapshot, task: Task, holds: Callable[[Task], bool]) -> Mapping[str, int]:
    """By job: how many of its pods on nodes this is true of; the task itself left out."""
    placed = (
        (job.key, other)
        for job in snapshot.jobs.values()
        for other in job.tasks.values()
        if other.node and HOLDS[other.status].uses and other.uid != task.uid
    )
    return Counter(key for key, other in islice(placed, PODS_MAX) if holds(other))


def _terms(task: Task) -> Sequence[PodTerm]:
    return () if task.shape.affinity is None else task.shape.affinity.anti_required


def _meant(snapshot: Snapshot, terms: Iterable[PodTerm], task: Task) -> bool:
    """Whether one of the terms selects the task."""
    return any(term_matches(one, task.labels, snapshot.namespaces) for one in terms)


def _by_pods(snapshot: Snapshot, code: Code, begins: str, found: Mapping[str, int]) -> Iterator[Constraint]:
    """``host port 80 is used by ns/o (1 pod)``; nothing where it is nobody's."""
    ranked = _ranked(snapshot, found)
    told = [f"{snapshot.called(key)} ({counted(pods, 'pod', 'pods')})" for key, pods in ranked[:HOLDERS_TOLD]]
    more = len(ranked) - len(told)
    if told:
        others = f" and {counted(more, 'other job', 'other jobs')}" if more else ""
        yield Constraint(code, f"{begins} {', '.join(told)}{others}", subject=ranked[0][0])
