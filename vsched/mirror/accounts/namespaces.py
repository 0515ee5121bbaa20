"""The accounts of namespaces for arbitration: what each uses, waits for, and is allocated.

A change costs the same however large the cluster is; the cost of ``publish`` follows the namespaces that changed. What
is published never changes later, so that another thread can use it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, TypeVar

import msgspec

from vsched import api
from vsched.mirror.accounts.kept_out import KeptOut
from vsched.mirror.accounts.pod_sums import CountedNames, EmptyNodes, PodSums, put_sums, waiting_of
from vsched.mirror.accounts.storage import (
    ClaimSums,
    CountedClaim,
    StorageIndex,
    counted,
    is_static,
    left_of,
    size_of,
)
from vsched.mirror.ingest.arbitration import allocation_of, bucket_of, claim_of, limits_of_quota
from vsched.mirror.ingest.volumes import capacity_of, storage_class_of, volume_claim_of, volume_of
from vsched.model.amounts.counted import NOTHING, Counted, lesser
from vsched.model.amounts.resources import Amounts, ResourceAxis, Vector
from vsched.model.arbitration.records import AllocationRecord, Arbitration, Bucket, Claim, NamespaceAccount
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task

T = TypeVar("T")


class _Record:
    """One namespace."""

    __slots__ = ("allocations", "claims", "exists", "pods", "quotas", "terminating", "unreadable", "volumes")

    def __init__(self) -> None:
        self.pods = PodSums()
        self.volumes = ClaimSums()
        self.claims: dict[str, Claim] = {}
        """By ``namespace/name``, like all below."""
        self.unreadable: set[str] = set()
        self.allocations: dict[str, AllocationRecord] = {}
        self.quotas: dict[str, Counted] = {}
        self.exists = False
        """Whether there is a Namespace object."""
        self.terminating = False

    @property
    def is_empty(self) -> bool:
        held = self.pods.tasks or self.volumes.claims
        return not (held or self.exists or self.claims or self.unreadable or self.allocations or self.quotas)


class NamespaceAccounts:
    """Every namespace with any objects, the buckets, and the storage there is."""

    def __init__(self, axis: ResourceAxis, weight_of: Callable[[str], int]) -> None:
        self._weight_of = weight_of
        """The weight that quotas give a namespace."""
        self._names = CountedNames(axis)
        self._nodes = EmptyNodes()
        self._nodes_version = 0
        self._records: dict[str, _Record] = {}
        self._buckets: dict[str, Bucket] = {}
        self._storage = StorageIndex()
        self._kept_out = KeptOut()
        self._dirty: set[str] = set()
        """Namespaces that changed since the last publication."""
        self._buckets_changed = False
        self._published = Arbitration({}, {})
        self._kept: dict[str, Vector] = {}
        self._kept_limits: dict[str, Counted] = {}
        self._kept_changed: set[str] = set()
        self.kept_version = 0
        """Grows whenever ``publish_kept`` shows something else."""
        self._moved: set[str] = set()
        """Namespaces whose usage has changed since ``take_moved``."""
        self._kinds: Mapping[str, tuple[Callable[[str, Any], Any], Callable[[str, Any], bool]]] = {
            "Consumer": (lambda _, found: claim_of(found), self._put_claim),
            "Allocation": (lambda _, found: allocation_of(found), self._put_allocation),
            "Bucket": (lambda _, found: bucket_of(found), self._put_bucket),
            "PersistentVolumeClaim": (lambda key, found: counted(volume_claim_of(found, key)), self._put_volume_claim),
            "PersistentVolume": (lambda _, found: size_of(volume_of(found)), self._storage.put_volume),
            "CSIStorageCapacity": (lambda key, found: left_of(capacity_of(found, key)), self._storage.put_left),
            "StorageClass": (lambda _, found: is_static(storage_class_of(found)), self._storage.put_class),
            "Namespace": (lambda _, found: is_terminating(found), self._put_namespace),
            "ResourceQuota": (lambda _, found: limits_of_quota(found), self._put_quota),
        }
        """How each kind is read, and where what was read is kept; None is kept of an object that is gone."""

    # What the watch says

    @property
    def kinds(self) -> Iterable[str]:
        """The kinds that count, besides pods."""
        return self._kinds

    def put(self, key: str, found: api.Object) -> bool:
        """Take in an object of one of these kinds; True where it can change a division. Raises BadObject."""
        read, keep = self._kinds[type(found).__name__]
        return keep(key, read(key, found))

    def drop(self, kind: str, key: str) -> bool:
        """An object is gone; True where it was known."""
        return self._kinds[kind][1](key, None)

    def leave_out(self, kind: str, key: str) -> None:
        """Note that an object cannot be read: for such a Consumer none is created."""
        if kind == "Consumer":
            self._noted(_namespace(key)).unreadable.add(key)

    def move(self, old: Task | None, new: Task | None) -> None:
        """Replace a pod as it was by the pod as it is now."""
        self._move(self._kept_out.counted(old), self._kept_out.counted(new))

    def see_job(self, key: str, job: Job | None) -> None:
        """Take in a job, None where it is gone."""
        self._kept_out.see(key, job, self._move)

    def _move(self, old: Task | None, new: Task | None) -> None:
        task = old if new is None else new
        if task is None:
            return
        namespace = task.namespace
        record = self._noted(namespace)
        if record.pods.move(old, new):
            self._kept_changed.add(namespace)
            self._moved.add(namespace)
        if not record.pods.tasks:
            self._discard_empty(namespace, record)

    def see_nodes(self, version: int, allocatable: Ints) -> None:
        """Set the allocatable amounts of nodes, ``int64[column, node]``: pods that fit none do not wait."""
        if version == self._nodes_version:
            return
        self._nodes_version = version
        waiting = {name: {request for request, _ in found.pods.waiting} for name, found in self._waiting()}
        requests: set[Amounts] = set().union(*waiting.values())
        changed = self._nodes.see(allocatable, requests)
        if changed:
            self._dirty.update(name for name, asked in waiting.items() if not changed.isdisjoint(asked))

    # Views

    def publish(self) -> Arbitration:
        """The input of arbitration; the same object while nothing changed."""
        before, storage = self._published, self._storage.totals()
        if not self._dirty and not self._buckets_changed and storage == before.storage:
            return before
        buckets = {name: self._buckets[name] for name in sorted(self._buckets)} if self._buckets_changed else None
        self._published = Arbitration(
            self._accounts(before.parties),
            before.buckets if buckets is None else buckets,
            storage,
            before.version + 1,
        )
        self._dirty.clear()
        self._buckets_changed = False
        return self._published

    def publish_kept(self) -> tuple[Mapping[str, Vector], Mapping[str, Counted]]:
        """Usage by namespace: requests by column, and limits by name. Both maps are updated in place."""
        self.kept_version += bool(self._kept_changed)
        for namespace in sorted(self._kept_changed):
            record = self._records.get(namespace)
            put_sums(self._kept, namespace, {} if record is None else record.pods.kept())
            put_sums(self._kept_limits, namespace, {} if record is None else record.pods.kept_limits())
        self._kept_changed.clear()
        return self._kept, self._kept_limits

    def kept(self, namespace: str) -> dict[str, int]:
        """The usage of one namespace by counted name; pods that are leaving do not count."""
        record = self._records.get(namespace)
        return {} if record is None else {**self._names.named(record.pods.kept()), **record.pods.kept_limits()}

    def take_moved(self) -> set[str]:
        """Namespaces whose usage has changed since the last call."""
        moved, self._moved = self._moved, set()
        return moved

    def describe(self) -> Mapping[str, int]:
        """Sizes, for metrics."""
        records = self._records.values()
        return {
            "parties": len(records),
            "consumers": sum(len(record.claims) for record in records),
            "allocations": sum(len(record.allocations) for record in records),
            "buckets": len(self._buckets),
            "volume_claims": sum(len(record.volumes.claims) for record in records),
            "storage": len(self._storage),
        }

    # One object

    def _put_namespace(self, name: str, terminating: bool | None) -> bool:
        record = self._records.get(name)
        if record is None and terminating is None:
            return False
        now = (terminating is not None, bool(terminating))
        if record is not None and (record.exists, record.terminating) == now:
            return False
        record = self._noted(name)
        record.exists, record.terminating = now
        self._discard_empty(name, record)
        return True

    def _put_quota(self, key: str, limits: Counted | None) -> bool:
        namespace = _namespace(key)
        if namespace in self._records:
            self._dirty.add(namespace)  # quotas give weights, too
        return self._put(key, lambda record: record.quotas, limits)

    def _put_claim(self, key: str, claim: Claim | None) -> bool:
        namespace = _namespace(key)
        record = self._records.get(namespace)
        if record is not None and key in record.unreadable:
            self._noted(namespace).unreadable.discard(key)
            self._discard_empty(namespace, record)
        before = None if record is None else record.claims.get(key)
        return self._put(key, lambda record: record.claims, claim) and (
            before is None or claim is None or _as_asked(before) != _as_asked(claim)
        )

    def _put_allocation(self, key: str, found: AllocationRecord | None) -> bool:
        # The arbitrator writes these itself: only one that is gone has to be looked at before its time.
        return self._put(key, lambda record: record.allocations, found) and found is None

    def _put_bucket(self, name: str, bucket: Bucket | None) -> bool:
        before = self._buckets.get(name)
        if before == bucket:
            return False
        self._buckets_changed = True
        if bucket is None:
            del self._buckets[name]
            return True
        self._buckets[name] = bucket
        return before is None or _as_asked(before) != _as_asked(bucket)

    def _put_volume_claim(self, key: str, claim: CountedClaim | None) -> bool:
        namespace = _namespace(key)
        record = self._records.get(namespace)
        before = None if record is None else record.volumes.claims.get(key)
        if before == claim:
            return False
        record = self._noted(namespace)
        self._storage.use(record.volumes.put(key, claim), claim)
        self._discard_empty(namespace, record)
        return True

    def _put(self, key: str, table_of: Callable[[_Record], dict[str, T]], item: T | None) -> bool:
        """Put an object in one table of its namespace, None where it is gone; True where it has changed."""
        namespace = _namespace(key)
        record = self._records.get(namespace)
        if (None if record is None else table_of(record).get(key)) == item:
            return False
        record = self._noted(namespace)
        items = table_of(record)
        if item is None:
            del items[key]
            self._discard_empty(namespace, record)
        else:
            items[key] = item
        return True

    # One namespace

    def _noted(self, namespace: str) -> _Record:
        """The record of a namespace that is about to change."""
        self._dirty.add(namespace)
        record = self._records.get(namespace)
        if record is None:
            record = self._records[namespace] = _Record()
        return record

    def _discard_empty(self, namespace: str, record: _Record) -> None:
        if record.is_empty:
            del self._records[namespace]

    def _waiting(self) -> Iterator[tuple[str, _Record]]:
        return ((name, record) for name, record in self._records.items() if record.pods.waiting)

    def _accounts(self, before: Mapping[str, NamespaceAccount]) -> Mapping[str, NamespaceAccount]:
        if not self._dirty:
            return before
        accounts = dict(before)
        came = False
        for namespace in sorted(self._dirty):
            record = self._records.get(namespace)
            if record is None:
                accounts.pop(namespace, None)
            else:
                came |= namespace not in accounts
                accounts[namespace] = self._account(namespace, record)
        return dict(sorted(accounts.items())) if came else accounts

    def _account(self, namespace: str, record: _Record) -> NamespaceAccount:
        pods, volumes, named = record.pods, record.volumes, self._names.named
        claims = sorted(record.claims.values(), key=lambda claim: (claim.created, claim.name))
        return NamespaceAccount(
            namespace,
            weight=self._weight_of(namespace),
            quota=reduce(lesser, record.quotas.values(), NOTHING),
            held={**named(pods.held), **_there(pods.limits), **volumes.asked},
            leaving={**named(pods.leaving), **_there(pods.limits_leaving), **volumes.leaving},
            waiting=waiting_of(pods, self._names, self._nodes),
            tasks=pods.tasks.copy(),
            pending=pods.pending.copy(),
            claim=claims[0] if claims else None,
            idle_claims=tuple(claims[1:]),
            allocations=tuple(record.allocations[key] for key in sorted(record.allocations)),
            terminating=record.terminating,
            unreadable=bool(record.unreadable),
        )


def is_terminating(found: api.Namespace) -> bool:
    """Whether a namespace is being deleted."""
    return found.metadata.deletion_timestamp is not None or found.status.phase == "Terminating"


def _as_asked(found: Claim | Bucket) -> Claim | Bucket:
    """The part that people write, without what the arbitrator and the API server add."""
    if isinstance(found, Bucket):
        return msgspec.structs.replace(
            found, version="", generation=0, deserved={}, allocated={}, conditions=(), observed=0
        )
    return msgspec.structs.replace(found, version="", generation=0, conditions=(), observed=0)


def _there(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in amounts.items() if value}


def _namespace(key: str) -> str:
    return key.partition("/")[0]
