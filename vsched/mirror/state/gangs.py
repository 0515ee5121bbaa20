"""Pods that belong to gangs by their owners, the owners, and what the gangs are.

Objects arrive in any order. A pod of an owner that has not been seen waits: alone it would be placed alone, and named
after another PodGroup. A pod keeps its gang when its owner goes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from vsched import api
from vsched.api.base import NO_BYTES
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.gangs import (
    OwnedGang,
    OwnerRecord,
    group_and_kind,
    membership_of,
)
from vsched.mirror.ingest.implicit import controller_of
from vsched.mirror.ingest.metadata import IMPLIED
from vsched.mirror.ingest.native import group_of_pod
from vsched.mirror.ingest.workload_kinds import WorkloadTable
from vsched.mirror.state.gang_pods import GangPod, Gathered, OwnerlessPod, cut_metadata
from vsched.mirror.state.owners import OwnerStore
from vsched.model.jobs.spec import JobSpec
from vsched.model.names import shared
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task


class GangStore:
    """Every owner that concerns gangs, and every pod that it concerns."""

    def __init__(
        self,
        table: WorkloadTable,
        scheduler_names: Collection[str],
        show: Callable[[str, OwnedGang | None], None],
        rejoin: Callable[[Collection[str]], None],
    ) -> None:
        """``rejoin`` is called with the uids of pods whose gang is another one now."""
        self._owners = OwnerStore(table)
        self._names = scheduler_names
        self._show = show
        self._rejoin = rejoin
        self._pods: dict[str, GangPod] = {}
        self._needed: dict[str, set[str]] = {}
        """Pods by what they need."""
        self._members: dict[str, set[str]] = {}
        """Pods by gang."""
        self._gangs: dict[str, OwnedGang] = {}

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        return {"owned_pods": len(self._pods), "pod_owners": len(self._owners), "owned_gangs": len(self._gangs)}

    # -- pods ---------------------------------------------------------------------------------------------------------

    def see(self, uid: str, pod: api.Pod) -> None:
        """Take in a pod of any scheduler."""
        if not self._concerns(pod):
            if self._pods:
                self.lose(uid)
            return
        known = self._pods.get(uid)
        metadata = cut_metadata(pod.metadata, self._owners.table.labels)
        found = GangPod(metadata, self._gather(metadata))
        if known is not None:
            found.alone, found.implicit, found.waited = known.alone, known.implicit, known.waited
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
        pod.alone = OwnerlessPod(task.job, task.role, task.gated, task.unsupported)
        pod.implicit, pod.waited = implicit, False
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
        if pod.implicit is not None and pod.implicit.name != (name := job.partition("/")[2]):
            pod.implicit = msgspec.structs.replace(pod.implicit, name=name)
        waits = "" if pod.named or task.status is not Status.PENDING else pod.gathered.awaits
        gated, unsupported = task.gated, task.unsupported
        if waits:
            gated, unsupported = True, shared(waits)
        elif pod.waited:
            gated, unsupported = alone.gated, alone.unsupported
        pod.waited = bool(waits)
        if (job, role, gated, unsupported) != (task.job, task.role, task.gated, task.unsupported):
            task = msgspec.structs.replace(task, job=job, role=role, gated=gated, unsupported=unsupported)
        return task, None if explicit else pod.implicit

    def _concerns(self, pod: api.Pod) -> bool:
        metadata = pod.metadata
        controller = controller_of(metadata)
        table = self._owners.table
        if not table.kinds or (pod.spec.scheduler_name or "") not in self._names:
            return False
        labelled = metadata.labels is not None and not table.telling.isdisjoint(metadata.labels)
        if not labelled:
            if controller is None:
                return False
            kind = table.by_owner.get(group_and_kind(controller))
            if (kind is None or kind.annotated) and self._owners.get(controller.uid) is None:
                return False
        if pod.spec.scheduling_group is NO_BYTES:
            return True
        try:
            return not group_of_pod(pod.spec.scheduling_group)
        except BadObject:
            return False

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
        """Forget what only this pod needed."""
        key = pod.key()
        if key and key not in self._members:
            self._set_gang(key, self._unasked(key))
        for need in pod.gathered.needs:
            if need not in self._needed:
                self._owners.forget(need)

    def _gather(self, metadata: api.Metadata) -> Gathered:
        chain, needs = list[OwnerRecord](), list[str]()
        awaits = ""
        for record, need, missing in self._owners.walk(metadata):
            needs.append(need)
            if record is not None:
                chain.append(record)
            awaits = missing
        if awaits:
            return Gathered(None, awaits, tuple(needs))
        return Gathered(membership_of(metadata, chain, self._owners.known), "", tuple(needs))

    # -- owners -------------------------------------------------------------------------------------------------------

    def put(self, kind: str, key: str, found: api.Object, remarks: Remarks) -> bool:
        """Take in an owner; True where that changes the gang of a pod. Raises BadObject."""
        owners = self._owners
        if not owners.table.kinds:
            return False
        record = owners.read(kind, found, remarks)
        if owners.uid(kind, key) not in ("", record.owner.uid):
            self.drop(kind, key)  # another one of the same name
        if not owners.matters(record):
            return self._withdraw(kind, key)
        if not owners.put(kind, key, record):
            return False
        self._show_own(record)
        return self._regather((record.owner.uid, f"{kind} {key}"))

    def drop(self, kind: str, key: str) -> bool:
        """An owner is gone; its pods keep their gang."""
        record = self._owners.drop(kind, key, self._needed)
        if record is not None:
            self._hide_own(record)
        return False

    def _withdraw(self, kind: str, key: str) -> bool:
        """An owner no longer says anything about gangs; True where that changes the gang of a pod."""
        record = self._owners.remove(kind, key)
        if record is None:
            return False
        self._hide_own(record)
        return self._regather((record.owner.uid, f"{kind} {key}"))

    def set_refused(self, kind: str, *, refused: bool) -> bool:
        """Note whether we may not read a kind; True where that changes the gang of a pod."""
        if not self._owners.set_refused(kind, refused=refused):
            return False
        return self._gather_again([uid for uid, pod in self._pods.items() if pod.gathered.awaits or not refused])

    def use_table(self, table: WorkloadTable) -> bool:
        """Another table counts from now on; True where that changes the gang of a pod at once.

        Owners of kinds that it does not have say nothing any more. Those of other kinds say what they did until they
        are put again, and pods belong where they did until they are seen again.
        """
        self._owners.use_table(table)
        changed = [self._withdraw(kind, key) for kind, key in self._owners.not_in_table()]
        return any([*changed, self._gather_again([uid for uid, pod in self._pods.items() if pod.gathered.awaits])])

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
        self._rejoin(moved)
        return changed

    # -- gangs --------------------------------------------------------------------------------------------------------

    def _show_own(self, record: OwnerRecord) -> None:
        """Show the gang of a Job or the like, whose pods may have come before its annotation."""
        own = _own_key(record)
        if own not in self._members and record.entry is not None and record.entry.annotated:
            self._set_gang(own, self._unasked(own))

    def _hide_own(self, record: OwnerRecord) -> None:
        own = _own_key(record)
        if own not in self._members:
            self._set_gang(own, None)

    def _unasked(self, key: str) -> OwnedGang | None:
        """The gang of this key that an owner states whether there are pods or not."""
        record = self._owners.get(key.partition("/")[2].removeprefix(IMPLIED))
        if record is None or record.entry is None or not record.entry.annotated or not record.forms_gangs:
            return None
        if self._owners.is_gone(record.owner.uid):
            return None
        found = membership_of(api.Metadata(uid=""), (record,))
        return found.gang if found is not None and found.name == IMPLIED + record.owner.uid else None

    def _set_gang(self, key: str, gang: OwnedGang | None) -> None:
        if self._gangs.get(key) == gang:
            return
        if gang is None:
            del self._gangs[key]
        else:
            self._gangs[key] = gang
        self._show(key, gang)


def _own_key(record: OwnerRecord) -> str:
    return f"{record.owner.namespace}/{IMPLIED}{record.owner.uid}"


def _discard(table: dict[str, set[str]], key: str, uid: str) -> None:
    found = table.get(key)
    if found is not None:
        found.discard(uid)
        if not found:
            del table[key]
