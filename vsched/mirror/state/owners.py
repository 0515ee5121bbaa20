"""The owners of pods, as far as they concern gangs, and the way from a pod to its owners."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from vsched import api
from vsched.api.resources import RESOURCES
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.gangs import (
    GANG,
    GangFacts,
    KnownGangs,
    OwnerRecord,
    PodOwner,
    facts_of,
    group_and_kind,
    record_of,
)
from vsched.mirror.ingest.implicit import controller_of
from vsched.mirror.ingest.rules import decoded
from vsched.mirror.ingest.workload_kinds import WorkloadKind, WorkloadTable
from vsched.mirror.state import words
from vsched.model.names import shared

OWNERS_MAX = 8
"""How many owners are followed from a pod."""


class OwnerStore:
    """Every owner that concerns gangs, by uid, and by kind and key."""

    def __init__(self, table: WorkloadTable) -> None:
        self.table = table
        self.known: KnownGangs = {}
        """Gangs that were worked out; empty again whenever an owner changes."""
        self._records: dict[str, OwnerRecord] = {}
        """By uid; those that are gone stay while pods need them."""
        self._uids: dict[tuple[str, str], str] = {}
        """By kind and key."""
        self._gone: set[str] = set()
        self._refused: set[str] = set()
        """Kinds that we may not read: nobody waits for them."""

    def __len__(self) -> int:
        return len(self._records)

    def get(self, uid: str) -> OwnerRecord | None:
        """The owner of this uid, also one that is gone as long as pods need it."""
        return self._records.get(uid)

    def uid(self, kind: str, key: str) -> str:
        """The uid of the owner of this name; empty where there is none."""
        return self._uids.get((kind, key), "")

    def is_gone(self, uid: str) -> bool:
        """Whether an owner is gone, and pods need it."""
        return uid in self._gone

    # -- taking in

    def read(self, kind: str, found: api.Object, remarks: Remarks) -> OwnerRecord:
        """What an object says of the gangs of its pods; raises BadObject."""
        entry, metadata = self.table.by_id.get(kind), found.metadata
        facts = GangFacts()
        if entry is not None and (not entry.annotated or GANG in (metadata.annotations or ())):
            try:
                facts = facts_of(entry, _document(found))
            except BadObject as error:
                raise BadObject(f"{api.named(kind, metadata)}: {error}") from None
        return record_of(_owner_of(kind, entry, found), entry, metadata, facts, remarks)

    def matters(self, record: OwnerRecord) -> bool:
        """Whether an owner forms gangs, or leads to one that may."""
        if record.entry is not None and (not record.entry.annotated or record.gang is not None):
            return True
        controller = record.controller
        return controller is not None and group_and_kind(controller) in self.table.by_owner

    def put(self, kind: str, key: str, record: OwnerRecord) -> bool:
        """Keep an owner; False where it is known as it is."""
        uid = record.owner.uid
        self._uids[kind, key] = uid
        self._gone.discard(uid)
        if self._records.get(uid) == record:
            return False
        self._records[uid] = record
        self.known.clear()
        return True

    def drop(self, kind: str, key: str, needed: Container[str]) -> OwnerRecord | None:
        """An owner is gone; it stays while pods need it. Returns it, None where it is not known."""
        uid = self._uids.pop((kind, key), "")
        record = self._records.get(uid)
        if record is not None and uid in needed:
            self._gone.add(uid)
        elif record is not None:
            del self._records[uid]
            self.known.clear()
        return record

    def remove(self, kind: str, key: str) -> OwnerRecord | None:
        """Forget an owner, whoever needs it. Returns it, None where it is not known."""
        record = self._records.pop(self._uids.pop((kind, key), ""), None)
        if record is not None:
            self.known.clear()
        return record

    def forget(self, uid: str) -> None:
        """No pod needs an owner any more."""
        if uid in self._gone:
            self._gone.discard(uid)
            self._records.pop(uid, None)
            self.known.clear()

    def set_refused(self, kind: str, *, refused: bool) -> bool:
        """Note whether we may not read a kind; False where that is known."""
        if (kind in self._refused) is refused:
            return False
        (self._refused.add if refused else self._refused.discard)(kind)
        return True

    def use_table(self, table: WorkloadTable) -> None:
        """Another table counts from now on."""
        self.table = table
        self._refused = {kind for kind in self._refused if kind in table.by_id or kind in RESOURCES}
        self.known.clear()

    def not_in_table(self) -> list[tuple[str, str]]:
        """Kind and key of the owners that say something by an entry that the table does not have any more."""
        found = ((name, self._records.get(uid)) for name, uid in self._uids.items())
        return [
            name
            for name, record in found
            if record is not None
            and (not self.matters(record) if record.entry is None else name[0] not in self.table.by_id)
        ]

    # -- from a pod to its owners

    def walk(self, metadata: api.Metadata) -> Iterator[tuple[OwnerRecord | None, str, str]]:
        """The owners of a pod from the inside out: each as it is, what it is known by, and why the pod waits for it."""
        labels, namespace = metadata.labels or {}, metadata.namespace or "default"
        reference = controller_of(metadata)
        labelled = not self.table.telling.isdisjoint(labels)
        for label in sorted(self.table.by_label.keys() & labels):
            kind = self.table.by_label[label]
            if kind.id in self._refused:
                continue
            name = labels[label]
            need = f"{kind.id} {namespace}/{name}"
            record = self._records.get(self._uids.get((kind.id, f"{namespace}/{name}"), ""))
            if record is None:
                yield None, need, _waits_for(kind.kind, name, words.which_label_names(label))
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
                if self._is_awaited(reference, labelled=labelled):
                    yield None, reference.uid, _waits_for(reference.kind, reference.name, words.OWNER_OF_IT)
                else:
                    yield None, reference.uid, ""
                return
            yield record, reference.uid, ""
            reference = record.controller

    def _is_awaited(self, reference: api.OwnerReference, *, labelled: bool) -> bool:
        """Whether a pod waits for an owner that has not been seen; ``labelled``: its labels speak of a gang."""
        entry = self.table.by_owner.get(group_and_kind(reference))
        if entry is not None:
            return (labelled or not entry.annotated) and entry.id not in self._refused
        known = RESOURCES.get(reference.kind)
        of_ours = known is not None and reference.api_version == known.api_version
        return labelled and of_ours and reference.kind not in self._refused


def _owner_of(kind: str, entry: WorkloadKind | None, found: api.Object) -> PodOwner:
    metadata = found.metadata
    if isinstance(found, api.WorkloadObject) and entry is not None:
        version, name = found.api_version or entry.api_versions[0], entry.kind
    else:
        version, name = RESOURCES[kind].api_version, kind
    return PodOwner(metadata.uid, shared(version), shared(name), metadata.namespace or "default", metadata.name)


def _document(found: api.Object) -> Mapping[str, Any]:
    """An object as far as the table may read it."""
    if isinstance(found, api.WorkloadObject):
        return found.document
    metadata = {"labels": found.metadata.labels, "annotations": found.metadata.annotations}
    spec: Any = {}
    if isinstance(found, api.Job):
        spec = decoded(found.spec, dict, "spec") or {}
    elif isinstance(found, api.Selecting):
        policy = decoded(found.spec.pod_management_policy, str, "spec.podManagementPolicy")
        spec = {"replicas": found.spec.replicas, "podManagementPolicy": policy}
    return {"metadata": metadata, "spec": spec}


def _waits_for(kind: str, name: str, how: str) -> str:
    return words.waits_for_owner(kind, name, how)
