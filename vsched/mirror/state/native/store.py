"""Kubernetes' own PodGroups as jobs.

A group becomes a job once one of its pods names one of our schedulers: all other groups are none of our business. The
queue of a job follows from several objects, and pods may speak against a group: each change of one of them computes the
job again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

import msgspec

from vsched import api
from vsched.api.base import NO_BYTES
from vsched.mirror.ingest.metadata import IMPLIED
from vsched.mirror.ingest.native import (
    NO_QUEUE,
    NativeRecord,
    QueueNames,
    group_of_pod,
    in_group,
    queue_names_of,
)
from vsched.mirror.state import words
from vsched.mirror.state.native.members import GroupMembers
from vsched.mirror.state.native.subgroups import SubGroupParts, sub_groups_of
from vsched.mirror.state.native.trees import GroupTrees
from vsched.model.jobs.native import OLDEST_VERSION, ChildGroup, native_key, native_name
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.task import Task


class NativeGroupStore:
    """Every native PodGroup and CompositePodGroup, and the jobs that they are."""

    def __init__(
        self,
        served: Collection[str],
        show: Callable[[str, JobSpec | None], None],
        owner_queue: Callable[[str], QueueNames],
        default_queue_of: Callable[[str], str],
        rejoin: Callable[[Collection[str]], None],
    ) -> None:
        """``rejoin`` is called with the uids of pods whose job is another one now."""
        self._members = GroupMembers(served)
        self._trees = GroupTrees()
        self._show = show
        self._owner_queue = owner_queue
        """What the workload says whose pods would form this implicit PodGroup."""
        self._default_queue_of = default_queue_of
        self._rejoin = rejoin
        self._workloads: dict[str, QueueNames] = {}
        """Workloads that name a queue, by ``namespace/name``."""
        self._roots: dict[str, str] = {}
        """The job of each PodGroup."""
        self._jobs: dict[str, set[str]] = {}
        """The PodGroups of each job."""
        self._shown: set[str] = set()
        self._named: dict[str, set[str]] = {}
        """Jobs by the Workload and the controller that may name their queue."""
        self._names: dict[str, tuple[str, str]] = {}
        """The same by job."""

    def __len__(self) -> int:
        return len(self._trees.groups)

    def put(self, key: str, record: NativeRecord) -> bool:
        """Take in a PodGroup or a CompositePodGroup; True where that can matter to scheduling."""
        return self._set(key, record, composite=record.native.composite)

    def drop(self, key: str, *, composite: bool) -> bool:
        """A group is gone; True where that can matter."""
        return self._set(key, None, composite=composite)

    def put_workload(self, key: str, found: api.SchedulingWorkload | None) -> bool:
        """Take in a Workload, None where it is gone; True where it names another queue than before."""
        queue = NO_QUEUE if found is None else queue_names_of(found.metadata)
        if self._workloads.get(key, NO_QUEUE) == queue:
            return False
        if queue is NO_QUEUE:
            del self._workloads[key]
        else:
            self._workloads[key] = queue
        for job in tuple(self._named.get(f"workload {key}", ())):
            self._tell(job)
        return True

    def see(self, uid: str, pod: api.Pod) -> bool:
        """Take in a pod of any scheduler; True where that changes a job."""
        raw = pod.spec.scheduling_group
        if raw is NO_BYTES and not len(self._members):
            return False
        name = group_of_pod(raw)
        if not name:
            return self.lose(uid)
        return self._refresh(self._members.put(uid, f"{pod.metadata.namespace or 'default'}/{name}", pod))

    def lose(self, uid: str) -> bool:
        """A pod is gone; True where that changes a job."""
        return bool(len(self._members)) and self._refresh(self._members.drop(uid))

    def joined(self, task: Task) -> Task:
        """A pod with the job that its group belongs to, and the claims that it shares with its group.

        It preempts only if its group may.
        """
        if not task.group or not task.job:
            return task
        leaf = f"{task.namespace}/{task.group}"
        job = self._roots.get(leaf) or native_key(task.namespace, task.group)
        preempts = (
            self._members.preempts(task.uid, leaf)
            and _preempts(self._trees.groups.get(leaf))
            and _preempts(self._record(job))
        )
        claims = in_group(task.claims, self._trees.groups.get(leaf))
        if (job, preempts) == (task.job, task.preempts) and claims is task.claims:
            return task
        return msgspec.structs.replace(task, job=job, preempts=preempts, claims=claims)

    def requeue_of(self, implicit: str) -> None:
        """The workload of this implicit PodGroup says something else: so it may be about queues."""
        for job in tuple(self._named.get(f"owner {implicit}", ())):
            self._tell(job)

    def requeueing(self) -> Iterator[None]:
        """Default queues of namespaces have changed: compute all jobs again, one a step."""
        for job in tuple(self._jobs):
            if job in self._jobs:
                self._tell(job)
            yield

    def uid(self, key: str) -> str:
        """The uid of the object of a job, empty where there is none."""
        record = self._record(key)
        return "" if record is None else record.spec.uid

    def _record(self, job: str) -> NativeRecord | None:
        """The group that a job stands for: of a tree its root. None where there is none."""
        name = native_name(job)
        if name is None:
            return None
        nodes = self._trees.composites if name.composite else self._trees.groups
        return nodes.get(f"{name.namespace}/{name.name}")

    # -- changes ------------------------------------------------------------------------------------------------------

    def _set(self, key: str, record: NativeRecord | None, *, composite: bool) -> bool:
        before = (self._trees.composites if composite else self._trees.groups).get(key)
        if before == record:
            return False
        moved, jobs = list[str](), self._jobs_above(key, composite)
        leaves = self._trees.put(key, record, composite=composite)
        jobs |= self._jobs_above(key, composite)
        for leaf in leaves:
            known = self._roots.get(leaf, "")
            root = self._trees.root(leaf, composite=False) if leaf in self._trees.groups else ""
            jobs |= {job for job in (known, root) if job}
            if root != known or (leaf == key and _of_pods(before) != _of_pods(record)):
                self._move(leaf, root)
                moved += self._members.uids(leaf)
        self._rejoin(moved)
        for job in jobs:
            self._tell(job)
        return record is None or before is None or _asks_otherwise(before, record)

    def _jobs_above(self, key: str, composite: bool) -> set[str]:
        """The job that a CompositePodGroup is part of, even if it has no PodGroups."""
        return {self._trees.root(key, composite=True)} if composite and key in self._trees.composites else set()

    def _move(self, leaf: str, root: str) -> None:
        """A PodGroup belongs to another job, or to none."""
        before = self._roots.pop(leaf, "")
        if before:
            self._jobs[before].discard(leaf)
            if not self._jobs[before]:
                del self._jobs[before]
        if root:
            self._roots[leaf] = root
            self._jobs.setdefault(root, set()).add(leaf)

    def _refresh(self, leaves: Iterable[str]) -> bool:
        jobs = {self._roots[leaf] for leaf in leaves if leaf in self._roots}
        for job in jobs:
            self._tell(job)
        return bool(jobs)

    def _tell(self, job: str) -> None:
        spec = self._spec_of(job)
        self._name(job, self._record(job))
        if spec is not None:
            self._shown.add(job)
            self._show(job, spec)
        elif job in self._shown:
            self._shown.discard(job)
            self._show(job, None)

    def _name(self, job: str, record: NativeRecord | None) -> None:
        """Keep in mind whose changes may change the queue of a job."""
        names = ("", "") if record is None else (_workload_of(record), _owner_of(record))
        before = self._names.get(job, ("", ""))
        if names == before:
            return
        for name in filter(None, before):
            self._named[name].discard(job)
            if not self._named[name]:
                del self._named[name]
        for name in filter(None, names):
            self._named.setdefault(name, set()).add(job)
        if any(names):
            self._names[job] = names
        else:
            del self._names[job]

    # -- what a job is ------------------------------------------------------------------------------------------------

    def _spec_of(self, job: str) -> JobSpec | None:
        """The job of a tree of groups; None where none of its pods is ours."""
        leaves, record = self._jobs.get(job, set()), self._record(job)
        if record is None or not any(map(self._members.has_ours, leaves)):
            return None
        key, native = f"{record.spec.namespace}/{record.spec.name}", record.native
        parts = SubGroupParts((), record.spec.min_member)
        if native.composite:
            # What one group of a tree asks for holds for the whole tree: a job leaves as one unit, or pod by pod.
            whole = native.whole or any(one.native.whole for _, one, _ in self._trees.nodes(key))
            native = msgspec.structs.replace(
                native, children=self._children(key), invalid=self._trees.invalid(key), whole=whole
            )
            parts = sub_groups_of(native, record.spec.name)
        return msgspec.structs.replace(
            record.spec,
            queue=self._queue_of(record, leaves),
            native=native,
            min_member=parts.minimum,
            sub_groups=parts.sub_groups,
            unsupported=native.invalid or self._objection(key, record, leaves),
        )

    def _queue_of(self, record: NativeRecord, leaves: Collection[str]) -> str:
        namespace = record.spec.namespace
        named = (
            record.queue,
            self._workloads.get(_workload_of(record).removeprefix("workload "), NO_QUEUE),
            self._owner_queue(_owner_of(record).removeprefix("owner ")),
            self._members.queue(leaves),
        )
        annotation = next((each.annotation for each in named if each.annotation), "")
        return annotation or next((each.label for each in named if each.label), "") or self._default_queue_of(namespace)

    def _objection(self, key: str, record: NativeRecord, leaves: Collection[str]) -> str:
        """Why no pod of a job is placed; empty where nothing speaks against it."""
        native = record.native
        if record.deleting:
            return words.TAKES_NO_NEW_PODS
        lost = self._trees.lost_parent(key, record)
        if lost:
            return words.no_parent_group(lost)
        return self._members.objection(leaves, None if native.version == OLDEST_VERSION else native.priority)

    def _children(self, root: str) -> tuple[ChildGroup, ...]:
        return tuple(_child_of(record) for _, record, _ in self._trees.nodes(root))


def _child_of(record: NativeRecord) -> ChildGroup:
    spec, native = record.spec, record.native
    said = spec.scheduling_condition
    return ChildGroup(
        spec.name,
        spec.uid,
        native.version,
        native.generation,
        spec.min_member,
        native.started,
        native.composite,
        record.parent,
        *((said.reason, said.message, said.since) if said is not None else ("", "", 0.0)),
        native.gang,
        "" if spec.topology is None else spec.topology.key,
    )


def _workload_of(record: NativeRecord) -> str:
    """The Workload of a group, as ``workload namespace/name``."""
    return f"workload {record.spec.namespace}/{record.workload}" if record.workload else ""


def _owner_of(record: NativeRecord) -> str:
    """The controller of a group, as ``owner`` and the implicit PodGroup that its pods would form."""
    return f"owner {record.spec.namespace}/{IMPLIED}{record.owner}" if record.owner else ""


def _preempts(record: NativeRecord | None) -> bool:
    return record is None or record.native.preempts


def _of_pods(record: NativeRecord | None) -> tuple[object, ...]:
    """What a group says about its pods."""
    return () if record is None else (record.native.preempts, record.claims, record.spec.uid)


def _asks_otherwise(before: NativeRecord, after: NativeRecord) -> bool:
    """Whether a group changed in more than its status."""
    spec = msgspec.structs.replace(after.spec, conditions=before.spec.conditions)
    native = msgspec.structs.replace(after.native, started=before.native.started)
    return before != msgspec.structs.replace(after, spec=spec, native=native)
