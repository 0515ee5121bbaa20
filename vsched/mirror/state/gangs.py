"""Pods that belong to gangs by their owners, the owners, and what the gangs are.

Objects arrive in any order. A pod of an owner that has not been seen waits: alone it would be placed alone, and named
after another PodGroup. A pod keeps its gang when its owner goes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from vsched.errors import BadObject
from vsched.mirror import wire
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.gangs import (
    GANG,
    GANG_NAME,
    Gang,
    GangFacts,
    KnownGangs,
    Membership,
    Owner,
    OwnerRecord,
    facts_of,
    group_and_kind,
    membership_of,
    record_of,
)
from vsched.mirror.ingest.implicit import GROUP_NAME, GROUP_NAME_ALIAS, controller_of, group_named
from vsched.mirror.ingest.metadata import IMPLIED
from vsched.mirror.ingest.native import group_of_pod
from vsched.mirror.ingest.pods import TASK_SPEC
from vsched.mirror.ingest.rules import decoded
from vsched.mirror.ingest.workload_kinds import WorkloadKind, WorkloadTable
from vsched.mirror.resources import RESOURCES
from vsched.mirror.wire.base import NO_BYTES
from vsched.model.jobs.job import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.shared import shared

ANNOTATIONS = (GROUP_NAME, GROUP_NAME_ALIAS, GANG_NAME, TASK_SPEC)
"""The annotations of pods that matter here."""
OWNERS_MAX = 8
"""How many owners are followed from a pod."""


class Gathered(NamedTuple):
    """What is known of the gang of a pod."""

    membership: Membership | None = None
    """None where its owners say nothing, or while one of them has not been seen."""
    awaits: str = ""
    """Why it waits for an owner."""
    needs: tuple[str, ...] = ()
    """The owners that this depends on, seen or not."""

    @property
    def place(self) -> tuple[object, ...]:
        """What concerns the pod alone: another gang of the same name is no move."""
        found = self.membership
        return None if found is None else (found.name, found.role), self.awaits, self.needs


class Alone(NamedTuple):
    """A pod as it would be without its owners."""

    job: str
    role: str
    gated: bool
    unsupported: str


class GangPod:
    """A pod whose owners may say something about its gang."""

    __slots__ = ("alone", "gathered", "metadata", "named", "said", "waited")

    def __init__(self, metadata: wire.Metadata, gathered: Gathered) -> None:
        self.metadata = metadata
        self.named = group_named(metadata)
        self.gathered = gathered
        self.alone: Alone | None = None
        self.said: JobSpec | None = None
        """What it says of its job, under whatever name."""
        self.waited = False
        """Whether it was last shown as waiting for an owner."""

    def key(self) -> str:
        """The key of the gang that it joins, empty where it joins none."""
        membership = self.gathered.membership
        if membership is None or self.named not in ("", membership.name):
            return ""
        return shared(f"{self.metadata.namespace or 'default'}/{membership.name}")


class GangStore:
    """Every owner that concerns gangs, and every pod that it concerns."""

    def __init__(
        self, table: WorkloadTable, scheduler_names: Collection[str], show: Callable[[str, Gang | None], None]
    ) -> None:
        self._table = table
        self._names = scheduler_names
        self._show = show
        self.rejoin: Callable[[Collection[str]], None] = lambda uids: None
        """Called with the uids of pods whose gang is another one now."""
        self._records: dict[str, OwnerRecord] = {}
        """By uid; those that are gone stay while pods need them."""
        self._uids: dict[tuple[str, str], str] = {}
        """By kind and key."""
        self._gone: set[str] = set()
        self._refused: set[str] = set()
        """Kinds that we may not read: nobody waits for them."""
        self._pods: dict[str, GangPod] = {}
        self._needed: dict[str, set[str]] = {}
        """Pods by what they need."""
        self._members: dict[str, set[str]] = {}
        """Pods by gang."""
        self._gangs: dict[str, Gang] = {}
        self._known: KnownGangs = {}

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {"owned_pods": len(self._pods), "pod_owners": len(self._records), "owned_gangs": len(self._gangs)}

    # -- pods ---------------------------------------------------------------------------------------------------------

    def see(self, uid: str, pod: wire.Pod) -> None:
        """Take in a pod of any scheduler."""
        if not self._concerns(pod):
            if self._pods:
                self.lose(uid)
            return
        known = self._pods.get(uid)
        metadata = self._cut(pod.metadata)
        found = GangPod(metadata, self._gather(metadata))
        if known is not None:
            found.alone, found.said, found.waited = known.alone, known.said, known.waited
            self._leave(uid, known)
        self._pods[uid] = found
        self._enter(uid, found)
        if known is not None:
            self._settle(known)

    def lose(self, uid: str) -> None:
        """A pod is gone."""
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._leave(uid, pod)
            self._settle(pod)

    def has(self, uid: str) -> bool:
        """Whether owners may say something about the gang of this pod."""
        return uid in self._pods

    def of(self, uid: str) -> GangPod | None:
        """What is known of the gang of a pod; None for a pod whose owners do not matter."""
        return self._pods.get(uid)

    def placed(self, task: Task, implicit: JobSpec | None) -> tuple[Task, JobSpec | None]:
        """A pod as read, in its gang, and what it says of the job."""
        pod = self._pods.get(task.uid)
        if pod is None:
            return task, implicit
        pod.alone = Alone(task.job, task.role, task.gated, task.unsupported)
        pod.said, pod.waited = implicit, False
        return self.again(task)

    def again(self, task: Task) -> tuple[Task, JobSpec | None]:
        """A pod as it is now, in the gang that it belongs to now."""
        pod = self._pods.get(task.uid)
        if pod is None or pod.alone is None:
            return task, None
        alone = pod.alone
        key, membership = pod.key(), pod.gathered.membership
        job, role, explicit = alone.job, alone.role, False
        if key and membership is not None:
            job, role = key, alone.role or shared(membership.role)
        elif pod.named and pod.named != alone.job.partition("/")[2]:
            job, explicit = shared(f"{task.namespace}/{pod.named}"), True
        if pod.said is not None and pod.said.name != (name := job.partition("/")[2]):
            pod.said = msgspec.structs.replace(pod.said, name=name)
        waits = "" if pod.named or task.status is not Status.PENDING else pod.gathered.awaits
        gated, unsupported = task.gated, task.unsupported
        if waits:
            gated, unsupported = True, shared(waits)
        elif pod.waited:
            gated, unsupported = alone.gated, alone.unsupported
        pod.waited = bool(waits)
        if (job, role, gated, unsupported) != (task.job, task.role, task.gated, task.unsupported):
            task = msgspec.structs.replace(task, job=job, role=role, gated=gated, unsupported=unsupported)
        return task, None if explicit else pod.said

    def _concerns(self, pod: wire.Pod) -> bool:
        metadata = pod.metadata
        controller = controller_of(metadata)
        if not self._table.kinds or (pod.spec.scheduler_name or "") not in self._names:
            return False
        told = metadata.labels is not None and not self._table.telling.isdisjoint(metadata.labels)
        if not told:
            if controller is None:
                return False
            kind = self._table.by_owner.get(group_and_kind(controller))
            if (kind is None or kind.annotated) and controller.uid not in self._records:
                return False
        if pod.spec.scheduling_group is NO_BYTES:
            return True
        try:
            return not group_of_pod(pod.spec.scheduling_group)
        except BadObject:
            return False

    def _cut(self, metadata: wire.Metadata) -> wire.Metadata:
        """The part of a pod's metadata that matters here: it is kept for every pod of a gang."""
        labels, annotations = metadata.labels or {}, metadata.annotations or {}
        told, controller = self._table.labels, controller_of(metadata)
        owners = None
        if controller is not None:
            kind, name, version = map(shared, (controller.kind, controller.name, controller.api_version))
            owners = [wire.OwnerReference(shared(controller.uid), True, kind, name, version)]
        return wire.Metadata(
            metadata.name,
            metadata.namespace,
            metadata.uid,
            labels={key: shared(labels[key]) for key in labels if key in told or key == TASK_SPEC} or None,
            annotations={key: shared(annotations[key]) for key in ANNOTATIONS if key in annotations} or None,
            owner_references=owners,
        )

    def _enter(self, uid: str, pod: GangPod) -> None:
        for need in pod.gathered.needs:
            self._needed.setdefault(need, set()).add(uid)
        key, membership = pod.key(), pod.gathered.membership
        if key and membership is not None:
            self._members.setdefault(key, set()).add(uid)
            self._set_gang(key, membership.gang)

    def _leave(self, uid: str, pod: GangPod) -> None:
        for need in pod.gathered.needs:
            _discard(self._needed, need, uid)
        _discard(self._members, pod.key(), uid)

    def _settle(self, pod: GangPod) -> None:
        """Forget what only this pod kept."""
        key = pod.key()
        if key and key not in self._members:
            self._set_gang(key, self._unasked(key))
        for need in pod.gathered.needs:
            if need in self._gone and need not in self._needed:
                self._gone.discard(need)
                self._records.pop(need, None)
                self._known.clear()

    def _gather(self, metadata: wire.Metadata) -> Gathered:
        chain, needs = list[OwnerRecord](), list[str]()
        awaits = ""
        for record, need, missing in self._walk(metadata):
            needs.append(need)
            if record is not None:
                chain.append(record)
            awaits = missing
        if awaits:
            return Gathered(None, awaits, tuple(needs))
        return Gathered(membership_of(metadata, chain, self._known), "", tuple(needs))

    def _walk(self, metadata: wire.Metadata) -> Iterator[tuple[OwnerRecord | None, str, str]]:
        """The owners of a pod from the inside out: each as it is, what it is known by, and why the pod waits for it."""
        labels, namespace = metadata.labels or {}, metadata.namespace or "default"
        reference = controller_of(metadata)
        told = not self._table.telling.isdisjoint(labels)
        for label in sorted(self._table.by_label.keys() & labels):
            kind = self._table.by_label[label]
            if kind.id in self._refused:
                continue
            name = labels[label]
            need = f"{kind.id} {namespace}/{name}"
            record = self._records.get(self._uids.get((kind.id, f"{namespace}/{name}"), ""))
            if record is None:
                yield None, need, _waits_for(kind.kind, name, f"which its label {label} names")
                return
            yield record, need, ""
            yield record, record.owner.uid, ""
            reference = record.controller
            break
        for _ in range(OWNERS_MAX):
            if reference is None:
                return
            record = self._records.get(reference.uid)
            if record is None:
                if self._is_awaited(reference, told=told):
                    yield None, reference.uid, _waits_for(reference.kind, reference.name, "an owner of it")
                else:
                    yield None, reference.uid, ""
                return
            yield record, reference.uid, ""
            reference = record.controller

    def _is_awaited(self, reference: wire.OwnerReference, *, told: bool) -> bool:
        """Whether a pod waits for an owner that has not been seen; ``told``: its labels say that there is a gang."""
        entry = self._table.by_owner.get(group_and_kind(reference))
        if entry is not None:
            return (told or not entry.annotated) and entry.id not in self._refused
        known = RESOURCES.get(reference.kind)
        of_ours = known is not None and reference.api_version == known.api_version
        return told and of_ours and reference.kind not in self._refused

    # -- owners -------------------------------------------------------------------------------------------------------

    def put(self, kind: str, key: str, found: wire.Object, remarks: Remarks) -> bool:
        """Take in an owner; True where that changes the gang of a pod. Raises BadObject."""
        if not self._table.kinds:
            return False
        entry, metadata = self._table.by_id.get(kind), found.metadata
        facts = GangFacts()
        if entry is not None and (not entry.annotated or GANG in (metadata.annotations or ())):
            try:
                facts = facts_of(entry, _document(found))
            except BadObject as error:
                raise BadObject(f"{wire.named(kind, metadata)}: {error}") from None
        record = record_of(_owner_of(kind, entry, found), entry, metadata, facts, remarks)
        known = self._uids.get((kind, key))
        if known is not None and known != metadata.uid:
            self.drop(kind, key)  # another one of the same name
        if not self._matters(record):
            return self._unsay(kind, key)
        self._uids[kind, key] = metadata.uid
        self._gone.discard(metadata.uid)
        if self._records.get(metadata.uid) == record:
            return False
        self._records[metadata.uid] = record
        self._known.clear()
        self._show_own(record)
        return self._regather((metadata.uid, f"{kind} {key}"))

    def drop(self, kind: str, key: str) -> bool:
        """An owner is gone; its pods keep their gang."""
        uid = self._uids.pop((kind, key), "")
        record = self._records.get(uid)
        if record is None:
            return False
        if uid in self._needed:
            self._gone.add(uid)
        else:
            del self._records[uid]
            self._known.clear()
        own = _own_key(record)
        if own not in self._members:
            self._set_gang(own, None)
        return False

    def _unsay(self, kind: str, key: str) -> bool:
        """An owner no longer says anything about gangs; True where that changes the gang of a pod."""
        record = self._records.pop(self._uids.pop((kind, key), ""), None)
        if record is None:
            return False
        self._known.clear()
        own = _own_key(record)
        if own not in self._members:
            self._set_gang(own, None)
        return self._regather((record.owner.uid,))

    def set_refused(self, kind: str, *, refused: bool) -> bool:
        """Note whether we may not read a kind; True where that changes the gang of a pod."""
        if (kind in self._refused) is refused:
            return False
        (self._refused.add if refused else self._refused.discard)(kind)
        return self._gather_again([uid for uid, pod in self._pods.items() if pod.gathered.awaits or not refused])

    def _matters(self, record: OwnerRecord) -> bool:
        """Whether an owner forms gangs, or leads to one that may."""
        if record.entry is not None and (not record.entry.annotated or record.gang is not None):
            return True
        controller = record.controller
        return controller is not None and group_and_kind(controller) in self._table.by_owner

    def _regather(self, needs: Collection[str]) -> bool:
        return self._gather_again({uid for need in needs for uid in self._needed.get(need, ())})

    def _gather_again(self, uids: Collection[str]) -> bool:
        moved, changed = list[str](), False
        for uid in uids:
            pod = self._pods[uid]
            gathered = self._gather(pod.metadata)
            if gathered == pod.gathered:
                continue
            changed = True
            if gathered.place == pod.gathered.place:
                pod.gathered = gathered
                if pod.key() and gathered.membership is not None:
                    self._set_gang(pod.key(), gathered.membership.gang)
                continue
            before = GangPod(pod.metadata, pod.gathered)
            self._leave(uid, pod)
            pod.gathered = gathered
            self._enter(uid, pod)
            self._settle(before)
            moved.append(uid)
        self.rejoin(moved)
        return changed

    # -- gangs --------------------------------------------------------------------------------------------------------

    def _show_own(self, record: OwnerRecord) -> None:
        """Show the gang of a Job or the like, whose pods may have come before its annotation."""
        own = _own_key(record)
        if own not in self._members and record.entry is not None and record.entry.annotated:
            self._set_gang(own, self._unasked(own))

    def _unasked(self, key: str) -> Gang | None:
        """The gang of this key that an owner states whether there are pods or not."""
        record = self._records.get(key.partition("/")[2].removeprefix(IMPLIED))
        if record is None or record.entry is None or not record.entry.annotated or not record.forms_gangs:
            return None
        if record.owner.uid in self._gone:
            return None
        found = membership_of(wire.Metadata(uid=""), (record,))
        return found.gang if found is not None and found.name == IMPLIED + record.owner.uid else None

    def _set_gang(self, key: str, gang: Gang | None) -> None:
        if self._gangs.get(key) == gang:
            return
        if gang is None:
            del self._gangs[key]
        else:
            self._gangs[key] = gang
        self._show(key, gang)


def _owner_of(kind: str, entry: WorkloadKind | None, found: wire.Object) -> Owner:
    metadata = found.metadata
    if isinstance(found, wire.WorkloadObject) and entry is not None:
        version, name = found.api_version or entry.api_versions[0], entry.kind
    else:
        version, name = RESOURCES[kind].api_version, kind
    return Owner(metadata.uid, shared(version), shared(name), metadata.namespace or "default", metadata.name)


def _own_key(record: OwnerRecord) -> str:
    return f"{record.owner.namespace}/{IMPLIED}{record.owner.uid}"


def _document(found: wire.Object) -> Mapping[str, Any]:
    """An object as far as the table may read it."""
    if isinstance(found, wire.WorkloadObject):
        return found.document
    metadata = {"labels": found.metadata.labels, "annotations": found.metadata.annotations}
    spec: Any = {}
    if isinstance(found, wire.Job):
        spec = decoded(found.spec, dict, "spec") or {}
    elif isinstance(found, wire.Selecting):
        policy = decoded(found.spec.pod_management_policy, str, "spec.podManagementPolicy")
        spec = {"replicas": found.spec.replicas, "podManagementPolicy": policy}
    return {"metadata": metadata, "spec": spec}


def _waits_for(kind: str, name: str, how: str) -> str:
    return f"it waits for {kind} {name}, {how}, which has not been seen yet"


def _discard(table: dict[str, set[str]], key: str, uid: str) -> None:
    found = table.get(key)
    if found is not None:
        found.discard(uid)
        if not found:
            del table[key]
