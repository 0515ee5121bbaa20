"""The kinds that the mirror follows, and how a reflector's events reach the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import partial
from typing import NamedTuple

from vsched import api
from vsched.api.resources import HEEDED, OLDER, RESOURCES, SELDOM_SERVED, VCJOB, VOLCANO_CRON_JOB
from vsched.kube.client import ApiClient
from vsched.kube.paths import ApiResource
from vsched.kube.watch.deltas import BrokenObject, Delta, PartsSink, ReadLine, Statistics, WatchState
from vsched.kube.watch.discovery import Discovery
from vsched.kube.watch.events import DELTAS
from vsched.kube.watch.reflector import Reflector, ReflectorSettings, WatchedKind
from vsched.kube.watch.streaming import StreamedLists
from vsched.mirror.ingest.users import rename_user
from vsched.mirror.ingest.workload_kinds import WorkloadKind, WorkloadTable
from vsched.mirror.mirror import Mirror
from vsched.model.jobs.spec import USER

ObjectSink = PartsSink[api.Object]


class Use(Enum):
    """What a kind is followed for."""

    BOTH = "both"
    SCHEDULING = "scheduling"
    ARBITRATION = "arbitration"


class Followed(NamedTuple):
    """A kind that the mirror follows."""

    resource: ApiResource
    required: bool = True
    """Whether decisions wait for the first list; they are possible without the other kinds, but less good."""
    use: Use = Use.BOTH


_TABLE: tuple[tuple[str, bool, Use], ...] = (
    ("Node", True, Use.BOTH),
    ("Queue", True, Use.SCHEDULING),
    ("PriorityClass", True, Use.BOTH),
    ("Namespace", True, Use.BOTH),
    ("ResourceQuota", True, Use.BOTH),
    # Without disruption budgets, evictions are tried and the API server refuses them.
    ("PodDisruptionBudget", False, Use.BOTH),
    # Default spread constraints need the selectors of these. Many schedulers' accounts may not read them.
    ("Service", False, Use.SCHEDULING),
    ("ReplicationController", False, Use.SCHEDULING),
    ("ReplicaSet", False, Use.SCHEDULING),
    ("StatefulSet", False, Use.SCHEDULING),
    # Annotations of workloads say how many of their pods start together, and in which queue.
    ("DaemonSet", False, Use.SCHEDULING),
    ("Job", False, Use.SCHEDULING),
    ("PodGroup", True, Use.SCHEDULING),
    # Kubernetes' own PodGroups. Most clusters do not serve them; then no pod names one.
    (api.NATIVE_POD_GROUP, False, Use.SCHEDULING),
    ("CompositePodGroup", False, Use.SCHEDULING),
    ("Workload", False, Use.SCHEDULING),
    ("Consumer", True, Use.ARBITRATION),
    ("Allocation", True, Use.ARBITRATION),
    ("Bucket", True, Use.ARBITRATION),
    # Volumes and devices: without them, pods that claim some wait. Storage that is not known is not divided.
    ("PersistentVolumeClaim", False, Use.BOTH),
    ("PersistentVolume", False, Use.BOTH),
    ("StorageClass", False, Use.BOTH),
    ("CSIStorageCapacity", False, Use.BOTH),
    ("CSINode", False, Use.SCHEDULING),
    ("CSIDriver", False, Use.SCHEDULING),
    ("VolumeAttachment", False, Use.SCHEDULING),
    ("ResourceClaim", False, Use.SCHEDULING),
    ("ResourceSlice", False, Use.SCHEDULING),
    ("DeviceClass", False, Use.SCHEDULING),
    # Clusters serve this kind only if it is switched on. Without it, only drivers taint devices.
    ("DeviceTaintRule", False, Use.SCHEDULING),
    # Which nodes are close to each other. Where the kind is not served, there are no HyperNodes.
    ("HyperNode", False, Use.SCHEDULING),
    # NUMA zones of nodes, as their agents report them. Few clusters have such agents.
    ("NodeResourceTopology", False, Use.SCHEDULING),
    ("Numatopology", False, Use.SCHEDULING),
    # What responders of pods say that were asked to end by themselves. Few clusters serve the kind.
    ("Eviction", False, Use.SCHEDULING),
    # All pods: those of other schedulers take room, and finished pods count for their gang.
    ("Pod", True, Use.BOTH),
)

FOLLOWED: dict[str, Followed] = {kind: Followed(RESOURCES[kind], required, use) for kind, required, use in _TABLE} | {
    # People open and close queues by Commands, and suspend and resume vcjobs; queues have an annotation, too.
    "Command": Followed(HEEDED["Command"], False, Use.SCHEDULING),
    VCJOB: Followed(HEEDED[VCJOB], False, Use.SCHEDULING),
    # What makes vcjobs: by schedule, and one after the other.
    VOLCANO_CRON_JOB: Followed(HEEDED[VOLCANO_CRON_JOB], False, Use.SCHEDULING),
    "JobFlow": Followed(HEEDED["JobFlow"], False, Use.SCHEDULING),
    "JobTemplate": Followed(HEEDED["JobTemplate"], False, Use.SCHEDULING),
    # Requests for nodes, where the policy asks by them. Clusters without cluster-autoscaler do not serve the kind.
    "ProvisioningRequest": Followed(HEEDED["ProvisioningRequest"], False, Use.SCHEDULING),
    # Idle room that autoscalers keep: it is shown.
    "CapacityBuffer": Followed(HEEDED["CapacityBuffer"], False, Use.SCHEDULING),
    # The nodes that Karpenter may add: menus of what would start a gang offer them.
    "NodePool": Followed(HEEDED["NodePool"], False, Use.SCHEDULING),
    # Which nodes are ours, where the flags ask for it.
    "NodeShard": Followed(HEEDED["NodeShard"], False, Use.SCHEDULING),
}
"""Every kind that is followed, and where it is."""


NOT_SERVED_SECONDS = 30.0
"""A kind of the table of workload kinds that is not served is asked for this often: there are many such kinds."""


def followed_workloads(table: WorkloadTable) -> dict[str, Followed]:
    """The kinds that are followed for the sake of this table alone."""
    return {kind.id: Followed(kind.resources[0], False, Use.SCHEDULING) for kind in table.followed}


class MirrorSink:
    """Passes the lists and events of one kind to the mirror."""

    def __init__(self, mirror: Mirror, kind: str) -> None:
        self._mirror = mirror
        self._kind = kind

    def restart(self) -> None:
        self._mirror.intake.restart(self._kind)

    def include(self, item: api.Object) -> None:
        self._mirror.intake.include(self._kind, item)

    def finish(self, resource_version: str) -> Iterator[None]:
        return self._mirror.intake.finish(self._kind)

    def apply(self, delta: Delta, item: api.Object) -> None:
        self._mirror.intake.apply(self._kind, delta, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """Nothing to do: not even the metadata could be read. The reflector counts it."""


class TwoSinks:
    """Passes everything on to two sinks."""

    def __init__(self, first: ObjectSink, second: ObjectSink) -> None:
        self._first = first
        self._second = second

    def restart(self) -> None:
        self._first.restart()
        self._second.restart()

    def include(self, item: api.Object) -> None:
        self._first.include(item)
        self._second.include(item)

    def finish(self, resource_version: str) -> Iterator[None]:
        yield from self._first.finish(resource_version)
        yield from self._second.finish(resource_version)

    def apply(self, delta: Delta, item: api.Object) -> None:
        self._first.apply(delta, item)
        self._second.apply(delta, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        self._first.broken(raw, error)
        self._second.broken(raw, error)


def reflectors(
    client: ApiClient,
    mirror: Mirror,
    others: Mapping[str, ObjectSink],
    on_state: Callable[[Statistics], None],
    *,
    scheduling: bool = True,
    arbitrating: bool = False,
    user_key: str = USER,
    streamed: StreamedLists | None = None,
    discovery: Discovery | None = None,
) -> dict[str, Reflector[api.Object]]:
    """A reflector for every kind that the mirror or one of the ``others`` needs, whatever table of workloads counts.

    With ``streamed``, lists come with the watches where the server offers that.
    """
    unused = {use for use, on in ((Use.SCHEDULING, scheduling), (Use.ARBITRATION, arbitrating)) if not on}
    found = {}
    for kind, followed in FOLLOWED.items():
        if followed.use in unused:
            continue
        sink = _sink(mirror, kind, others.get(kind))
        if sink is not None:
            told = partial(_tell, mirror, kind, on_state)
            found[kind] = reflector_of(client, kind, sink, told, user_key, streamed, discovery)
    return found


def reflector_of(
    client: ApiClient,
    kind: str,
    sink: ObjectSink,
    on_state: Callable[[Statistics], None],
    user_key: str = USER,
    streamed: StreamedLists | None = None,
    discovery: Discovery | None = None,
) -> Reflector[api.Object]:
    """A reflector for one of the kinds that are followed."""
    resource = FOLLOWED[kind].resource
    read = VersionedReader(kind, resource, user_key)
    return Reflector(
        client,
        WatchedKind(resource, read, older=OLDER.get(kind, ()), on_version=read.use_version, read_line=read.line),
        sink,
        settings=ReflectorSettings(seldom_served=kind in SELDOM_SERVED),
        on_state=on_state,
        streamed=streamed,
        discovery=discovery,
    )


def synced_of(found: Mapping[str, Reflector[api.Object]]) -> dict[str, bool]:
    """Whether each kind has been listed."""
    return {
        kind: reflector.synced.is_set() for kind, reflector in found.items() if is_expected(kind, reflector.statistics)
    }


def workload_reflector(
    client: ApiClient,
    mirror: Mirror,
    workload: WorkloadKind,
    on_state: Callable[[Statistics], None],
    user_key: str,
    discovery: Discovery | None,
) -> Reflector[api.Object]:
    """A reflector for a kind that only the table of workload kinds names."""
    newest, *older = workload.resources
    return Reflector(
        client,
        WatchedKind(newest, VersionedReader(workload.id, newest, user_key), older=older),
        MirrorSink(mirror, workload.id),
        # A server that fails for somebody else's kind must not keep sessions from starting; its pods wait.
        settings=ReflectorSettings(missing_seconds=NOT_SERVED_SECONDS, seldom_served=True, settles_on_errors=True),
        on_state=partial(_tell, mirror, workload.id, on_state),
        discovery=discovery,
    )


class VersionedReader:
    """Decodes the objects of a kind in the version that is listed; objects in lists do not say which one it is."""

    def __init__(self, kind: str, resource: ApiResource, user_key: str = USER) -> None:
        """``user_key`` is the annotation or label that names users."""
        self._kind = kind
        self._resource = resource
        self._user_key = user_key
        self._is_told_version = kind in (api.NATIVE_POD_GROUP, "CompositePodGroup")

    def use_version(self, resource: ApiResource) -> None:
        """The kind is listed in this version from now on."""
        self._resource = resource

    def __call__(self, data: bytes) -> api.Object:
        known = self._kind in api.KINDS or self._kind in api.HEEDED
        return self._as_told(api.read(self._kind, data) if known else api.read_workload(self._kind, data))

    def line(self, data: bytes) -> ReadLine[api.Object] | None:
        """A line of a watch; None where it is none of the usual ones."""
        found = api.read_line(self._kind, data)
        if found is None:
            return None
        return ReadLine(DELTAS[found.type], self._as_told(found.object), found.object.metadata.resource_version)

    def _as_told(self, found: api.Object) -> api.Object:
        if self._is_told_version and isinstance(found, api.NativePodGroup | api.CompositePodGroup):
            found.api_version = self._resource.api_version
        if self._user_key != USER:
            rename_user(found, self._user_key)
        return found


def _tell(mirror: Mirror, kind: str, on_state: Callable[[Statistics], None], statistics: Statistics) -> None:
    """Pass the state of a watch on; the mirror has to know which kinds were never listed, and why."""
    if is_expected(kind, statistics):
        on_state(statistics)
    if kind in RESOURCES or kind in mirror.intake.workloads.by_id:
        mirror.intake.set_refused(kind, refused=statistics.state is WatchState.REFUSED)
    if statistics.synced or statistics.problem:  # between two attempts there is no problem, and no list either
        none = kind in SELDOM_SERVED and statistics.state is WatchState.MISSING
        mirror.intake.set_unread(kind, "" if statistics.synced or none else statistics.problem)


def _sink(mirror: Mirror, kind: str, other: ObjectSink | None) -> ObjectSink | None:
    if kind not in api.KINDS and (kind != VCJOB or other is None):
        return other  # restarts of vcjobs matter to sessions, whoever looks after these
    sink = MirrorSink(mirror, kind)
    return sink if other is None else TwoSinks(sink, other)


def awaited(kind: str, reflector: Reflector[api.Object]) -> asyncio.Event:
    """The event that the first session waits for: the kind is listed, or (if optional) cannot be."""
    return reflector.synced if is_required(kind) else reflector.settled


def is_required(kind: str) -> bool:
    """Whether decisions wait for the first list of a kind."""
    return kind in FOLLOWED and FOLLOWED[kind].required


def is_expected(kind: str, statistics: Statistics) -> bool:
    """Whether a kind is worth a word where it is not served: not if only the table of workload kinds names it."""
    return kind in FOLLOWED or statistics.state is not WatchState.MISSING
