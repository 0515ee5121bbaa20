"""The data of the PodGroup controller: pods that name no PodGroup, the PodGroups made for them, and their workloads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from vsched import api
from vsched.api.objects import NetworkTopologySpec
from vsched.controllers.podgroups import (
    PodGroupContent,
    PodGroupOwner,
    PodGroupState,
    TopologyWish,
    amounts_of,
    passed_on,
)
from vsched.controllers.queue_records import ObjectFeed
from vsched.errors import UNREADABLE, BadObject, BadQuantity
from vsched.handlers import Handlers
from vsched.kube.paths import is_name
from vsched.mirror.ingest.alike import TASK_SPEC
from vsched.mirror.ingest.gangs import group_and_kind
from vsched.mirror.ingest.implicit import controller_of, group_named, implied_name, plain_name
from vsched.mirror.ingest.metadata import IMPLIED, QUEUE_NAME, is_made, scheduling_annotations
from vsched.mirror.ingest.native import group_of_pod
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadTable
from vsched.mirror.state.gang_pods import GangPod
from vsched.model.names import shared

WORKLOADS = ("ReplicationController", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")
ENDED = ("Succeeded", "Failed")


class PodGroupMember(NamedTuple):
    """A pod of ours that names no PodGroup, or the one made for it."""

    group: str
    """Key of that PodGroup, ``namespace/name``."""
    uid: str
    named: bool
    """Whether it names it already."""
    live: bool
    """Whether it is neither finished nor terminating."""
    owner: PodGroupOwner
    role: str = ""
    """The role to be written to it."""
    single: bool = False
    """Whether it has no controller, and so stands for itself alone."""


class PodWorkload(NamedTuple):
    """A workload (the controller of pods), as far as it matters to their PodGroup."""

    group: str
    idle: bool
    """It is to have no pods at all."""
    lone: bool
    """It is a Job of one pod."""
    said: tuple[tuple[str, str], ...]


class PodGroupRecords:
    """The feeds together; they call ``touched`` with the key of each PodGroup that may have to be written."""

    def __init__(
        self,
        scheduler_names: frozenset[str],
        touched: Callable[[str], None],
        workloads: Callable[[], WorkloadTable] = lambda: NO_WORKLOADS,
        gang_pod: Callable[[str], GangPod | None] = lambda uid: None,
    ) -> None:
        """``workloads`` is the table in force, ``gang_pod`` what the mirror knows of the gang of a pod."""
        self.complete = asyncio.Event()
        """Set once pods and PodGroups are listed; before that nothing can be decided."""
        self.nameless: dict[str, dict[str, PodGroupMember]] = {}
        """Live pods that have yet to be given the name of their PodGroup, by its key and their own."""
        self.on_named: Handlers[[str]] = Handlers()
        """Called with the key of a pod that need not be given the name of its PodGroup any more."""
        self._names = scheduler_names
        self._touched = touched
        self._gang_pod = gang_pod
        self._members: dict[str, dict[str, PodGroupMember]] = {}
        self._idle: set[str] = set()
        """PodGroups whose workloads are to have no pods."""
        self.lone: set[str] = set()
        """PodGroups of Jobs of one pod."""
        self._pods: ObjectFeed[PodGroupMember] = ObjectFeed(self._member_of, self._pod_changed, self._note_listed)
        self._groups: ObjectFeed[PodGroupState] = ObjectFeed(
            lambda item: standing_of(item, workloads()), self._group_changed, self._note_listed
        )
        self._namespaces: ObjectFeed[str] = ObjectFeed(queue_of, self._namespace_changed, lambda: None)
        self._workloads = {kind: ObjectFeed(workload_of, self._workload_changed, lambda: None) for kind in WORKLOADS}

    @property
    def feeds(self) -> Mapping[str, ObjectFeed[Any]]:
        """The sinks of the watched kinds."""
        return {"Pod": self._pods, "PodGroup": self._groups, "Namespace": self._namespaces, **self._workloads}

    def group(self, key: str) -> PodGroupState | None:
        """The PodGroup of this key as its object is."""
        return self._groups.found.get(key)

    def members(self, key: str) -> Mapping[str, PodGroupMember]:
        """The pods of a PodGroup, by key."""
        return self._members.get(key, {})

    def member(self, key: str) -> PodGroupMember | None:
        """A pod by key, None where it is gone or names another PodGroup."""
        return self._pods.found.get(key)

    def is_known(self, key: str) -> bool:
        """Whether there is a PodGroup or a pod of this key."""
        return key in self._members or key in self._groups.found

    def is_stale(self, key: str) -> bool:
        """Whether a PodGroup has no pods left, and none are to come, or would come as a new group."""
        if key in self._members:
            return False
        group = self.group(key)
        return key in self._idle or (group is not None and group.of_gang)

    def regather(self, uid: str) -> None:
        """A pod belongs to another gang now."""
        gang = self._gang_pod(uid)
        if gang is None:
            return
        key = f"{gang.metadata.namespace or 'default'}/{gang.metadata.name}"
        before = self._pods.found.get(key)
        if before is None or before.uid != gang.metadata.uid:
            return
        after = self._pods.found[key] = _in_gang(gang, before.live)
        if after != before:
            self._pod_changed(key, before, after)

    def _note_listed(self) -> None:
        if self._pods.listed and self._groups.listed:
            self.complete.set()

    def _pod_changed(self, key: str, before: PodGroupMember | None, after: PodGroupMember | None) -> None:
        if before is not None:
            _take(self._members, before.group, key)
            _take(self.nameless, before.group, key)
            if not before.named and (after is None or after.named):
                self.on_named(key)
        if after is not None and after.group:
            self._members.setdefault(after.group, {})[key] = after
            if after.live and not after.named:
                self.nameless.setdefault(after.group, {})[key] = after
        for member in (before, after):
            if member is not None and member.group:
                self._touched(member.group)

    def _group_changed(self, key: str, before: PodGroupState | None, after: PodGroupState | None) -> None:
        self._touched(key)

    def _workload_changed(self, key: str, before: PodWorkload | None, after: PodWorkload | None) -> None:
        for workload in (before, after):
            if workload is not None:
                for is_one, groups in ((workload.idle, self._idle), (workload.lone, self.lone)):
                    (groups.add if workload is after and is_one else groups.discard)(workload.group)
                self._touched(workload.group)

    def _namespace_changed(self, name: str, before: str | None, after: str | None) -> None:
        if (before or "") != (after or ""):
            for key in self._members:
                if key.startswith(f"{name}/"):
                    self._touched(key)

    def _member_of(self, item: api.Object) -> PodGroupMember | None:
        if not isinstance(item, api.Pod) or (item.spec.scheduler_name or "") not in self._names:
            return None
        metadata = item.metadata
        gang = self._gang_pod(api.uid_of(metadata))
        name = implied_name(metadata) if gang is None else ""
        if gang is None and not name:
            return None  # asked of every pod: most name their PodGroup, which is cheap to see
        if not is_name(metadata.name) or not is_name(metadata.namespace or "default"):
            return None
        live = metadata.deletion_timestamp is None and item.status.phase not in ENDED
        if gang is not None:
            return _in_gang(gang, live)
        if _has_native_group(item):
            return None
        group = shared(f"{metadata.namespace or 'default'}/{name}")
        single = controller_of(metadata) is None
        return PodGroupMember(
            group, metadata.uid, bool(group_named(metadata)), live, _owner_of(metadata), single=single
        )


def _in_gang(pod: GangPod, live: bool) -> PodGroupMember:
    """A pod whose owners say which gang it belongs to; without a PodGroup while they have not been seen."""
    metadata, membership = pod.metadata, pod.gathered.membership
    namespace = metadata.namespace or "default"
    owner, role, named = _owner_of(metadata), "", bool(pod.named)
    if pod.key() and membership is not None:
        name, gang = membership.name, membership.gang
        if gang.owner is not None:
            owner = PodGroupOwner(gang.owner.api_version, gang.owner.kind, gang.owner.name, gang.owner.uid)
        elif name == IMPLIED + api.uid_of(metadata):
            owner = _as_owner(metadata)
        said = TASK_SPEC in (metadata.annotations or ()) or TASK_SPEC in (metadata.labels or ())
        role = membership.role if gang.roles and not said else ""
    elif pod.named:
        name = pod.named if pod.named.startswith(IMPLIED) else ""
    else:
        name = "" if pod.gathered.awaits else plain_name(metadata)
    group = shared(f"{namespace}/{name}") if name else ""
    return PodGroupMember(group, metadata.uid, named, live, owner, role)


def _has_native_group(pod: api.Pod) -> bool:
    """Whether a pod names a PodGroup of Kubernetes itself, or says something there that nobody can read."""
    try:
        return bool(group_of_pod(pod.spec.scheduling_group))
    except BadObject:
        return True


def _owner_of(pod: api.Metadata) -> PodGroupOwner:
    controller = controller_of(pod)
    if controller is None:
        return _as_owner(pod)
    return PodGroupOwner(
        shared(controller.api_version), shared(controller.kind), shared(controller.name), controller.uid
    )


def _as_owner(pod: api.Metadata) -> PodGroupOwner:
    return PodGroupOwner("v1", "Pod", pod.name, pod.uid)


def standing_of(item: api.Object, workloads: WorkloadTable = NO_WORKLOADS) -> PodGroupState | None:
    """The fields of a PodGroup that matter here; None if it was not made for pods that name none."""
    if not isinstance(item, api.PodGroup) or not item.metadata.name.startswith(IMPLIED):
        return None
    metadata, spec = item.metadata, item.spec
    try:
        amounts = amounts_of(spec.min_resources)
    except BadQuantity:
        amounts = ()
    content = PodGroupContent(
        spec.queue or "",
        spec.min_member or 0,
        spec.priority_class_name or "",
        amounts,
        _topology_of(spec.network_topology),
        passed_on(metadata.annotations or {}),
        tuple(sorted((spec.min_task_member or {}).items())),
    )
    controller = controller_of(metadata)
    kind = None if controller is None else workloads.by_owner.get(group_and_kind(controller))
    return PodGroupState(
        metadata.uid,
        metadata.resource_version,
        is_made(metadata),
        bool(metadata.owner_references),
        content,
        kind is not None and not kind.annotated,
    )


def _topology_of(found: NetworkTopologySpec | None) -> TopologyWish | None:
    return None if found is None else TopologyWish(found.mode or "", found.highest_tier_allowed)


def workload_of(item: api.Object) -> PodWorkload | None:
    """The fields of a workload that matter here."""
    if not isinstance(item, api.Workload):
        return None
    metadata = item.metadata
    idle = isinstance(item, api.Selecting) and item.spec.replicas == 0
    group = f"{metadata.namespace or 'default'}/{IMPLIED}{metadata.uid}"
    return PodWorkload(group, idle, isinstance(item, api.Job) and _has_one_pod(item), scheduling_annotations(metadata))


class JobSize(msgspec.Struct):
    """How many pods a Job has, at once and in all."""

    parallelism: int | None = None
    completions: int | None = None


def _has_one_pod(job: api.Job) -> bool:
    try:
        size = msgspec.json.decode(job.spec or b"{}", type=JobSize)
    except UNREADABLE:
        return False
    return max(size.parallelism or 0, size.completions or 0) <= 1


def queue_of(item: api.Object) -> str | None:
    """The queue that a namespace names for its pods."""
    return (item.metadata.annotations or {}).get(QUEUE_NAME) if isinstance(item, api.Namespace) else None


def _take(table: dict[str, dict[str, PodGroupMember]], group: str, key: str) -> None:
    members = table.get(group)
    if members is not None and members.pop(key, None) is not None and not members:
        del table[group]
