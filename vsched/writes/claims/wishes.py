"""What a gang needs before it can be bound: worked out once, from the placements and the cycle's snapshot."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import msgspec

from vsched.kube.paths import NAME_LIMIT
from vsched.model.claims.catalogue import ClaimCatalogue
from vsched.model.claims.devices import AllocationResult, ClaimConsumer
from vsched.model.claims.plan import ClaimPlan
from vsched.model.jobs.native import native_name
from vsched.model.plan import Bind
from vsched.model.snapshot import Snapshot

NOTHING = ClaimPlan()
_DIGITS = 10
HoldKey = tuple[str, str]
"""A kind, and ``namespace/name`` or the name of an object."""


class ClaimedDevices(msgspec.Struct, frozen=True):
    """A ResourceClaim that is to have these devices and be reserved for these pods, or for their PodGroup."""

    key: str
    uid: str
    allocation: AllocationResult | None
    """None where any will do, because the cycle did not know it."""
    allocate: bool
    """Whether the transaction allocates the devices; otherwise the claim has them already."""
    consumers: tuple[ClaimConsumer, ...]
    classes: tuple[str, ...] = ()
    """The DeviceClasses of its requests; only needed where the devices are allocated."""
    group: str = ""
    """The name of the gang's PodGroup: what somebody reserved for it, its pods may use."""


class VolumeWish(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim that has to be bound, and what is done so that it will be."""

    key: str
    uid: str
    node: str
    """The node of the first pod that uses it."""
    volume: str = ""
    """The static volume that it is to get."""
    selected_node: str = ""
    """The node for which a volume is to be made."""
    choose: bool = False
    """Whether the transaction makes the choice; otherwise it was made before."""


class ExtendedWish(msgspec.Struct, frozen=True):
    """A ResourceClaim for the extended resources of a pod: it is to be made, or it was made before."""

    namespace: str
    pod: ClaimConsumer
    allocation: AllocationResult
    """The results have the name of the resource as their ``request``; those of a claim that was made before have the
    name of its request."""
    classes: tuple[tuple[str, str], ...]
    """The DeviceClass of each resource, sorted."""
    made: str = ""
    """The name of the claim that was made before; empty where none was."""

    @property
    def pod_key(self) -> str:
        return f"{self.namespace}/{self.pod.name}"

    @property
    def claim_name(self) -> str:
        """The name of the claim: always the same for one pod, so that a repeat finds the claim that there is."""
        if self.made:
            return self.made
        ending = f"-extended-resources-{hashlib.sha256(self.pod.uid.encode()).hexdigest()[:_DIGITS]}"
        return self.pod.name[: NAME_LIMIT - len(ending)].rstrip("-.") + ending

    @property
    def key(self) -> str:
        """The claim as ``namespace/name``."""
        return f"{self.namespace}/{self.claim_name}"


@dataclass(frozen=True, slots=True)
class GangWish:
    """All that one gang needs."""

    job: str
    binds: tuple[Bind, ...]
    devices: tuple[ClaimedDevices, ...] = ()
    volumes: tuple[VolumeWish, ...] = ()
    extended: tuple[ExtendedWish, ...] = ()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of the nodes that volumes are made for."""

    def holds(self) -> frozenset[HoldKey]:
        """The objects that the transaction reads and writes."""
        return frozenset(
            chain(
                (("ResourceClaim", wish.key) for wish in self.devices),
                (("ResourceClaim", wish.key) for wish in self.extended),
                (("PersistentVolumeClaim", wish.key) for wish in self.volumes),
                (("PersistentVolume", wish.volume) for wish in self.volumes if wish.volume),
            )
        )

    def users(self, kind: str, key: str) -> list[Bind]:
        """The placements whose pods use an object."""
        return [bind for bind in self.binds if _uses(bind, kind, key)]


def _uses(bind: Bind, kind: str, key: str) -> bool:
    plan = bind.claims or NOTHING
    if kind == "ResourceClaim":
        return key in plan.reserve
    if kind == "PersistentVolumeClaim":
        return key in plan.wait or any(choice.claim == key for choice in plan.volumes)
    if kind == "PersistentVolume":
        return any(choice.volume == key for choice in plan.volumes)
    if kind == "Node":
        return bind.node == key
    return kind == "Pod" and key == f"{bind.namespace}/{bind.name}"


def claiming(binds: Sequence[Bind]) -> dict[str, list[Bind]]:
    """The placements of each gang of a cycle that claims something, by the key of its job."""
    jobs = {bind.job for bind in binds if bind.claims is not None}
    gangs: dict[str, list[Bind]] = {}
    for bind in binds if jobs else ():
        if bind.job in jobs:
            gangs.setdefault(bind.job, []).append(bind)
    return gangs


def gang_wish(job: str, binds: Sequence[Bind], snapshot: Snapshot) -> GangWish:
    """What one gang needs; ``snapshot`` is the one that its placements were decided on."""
    catalogue = snapshot.claims
    volumes = _volumes(binds, catalogue)
    statics = snapshot.nodes.statics
    nodes = {wish.node for wish in volumes}
    return GangWish(
        job,
        tuple(binds),
        _devices(job, binds, catalogue),
        volumes,
        _extended(binds, snapshot),
        {name: statics.attributes[statics.row[name]].labels for name in nodes if name in statics.row},
    )


def _devices(job: str, binds: Sequence[Bind], catalogue: ClaimCatalogue) -> tuple[ClaimedDevices, ...]:
    chosen = {choice.claim: choice for bind in binds for choice in (bind.claims or NOTHING).devices}
    users: dict[str, dict[ClaimConsumer, None]] = {}
    for bind in binds:
        plan = bind.claims or NOTHING
        for key in plan.reserve:
            if key == catalogue.devices.made.get(bind.uid):
                continue
            users.setdefault(key, {})[plan.consumer(key, bind.uid, bind.name)] = None
    native = native_name(job)
    name = job.rpartition("/")[2] if native is None else native.name
    found = []
    for key, consumers in users.items():
        choice, known = chosen.get(key), catalogue.devices.claims.get(key)
        uid = choice.uid if choice is not None else known.uid if known is not None else ""
        allocation = choice.allocation if choice is not None else known.allocation if known is not None else None
        requests = () if known is None or choice is None else known.spec.requests
        classes = dict.fromkeys(request.device_class for alternatives in requests for request in alternatives)
        found.append(ClaimedDevices(key, uid, allocation, choice is not None, tuple(consumers), tuple(classes), name))
    return tuple(found)


def _volumes(binds: Sequence[Bind], catalogue: ClaimCatalogue) -> tuple[VolumeWish, ...]:
    found: dict[str, VolumeWish] = {}
    for bind in binds:
        plan = bind.claims or NOTHING
        for choice in plan.volumes:
            selected = "" if choice.volume else bind.node
            wish = VolumeWish(choice.claim, choice.uid, bind.node, choice.volume, selected, choose=True)
            found.setdefault(choice.claim, wish)
    for bind in binds:
        for key in (bind.claims or NOTHING).wait:
            known = catalogue.volumes.claims.get(key)
            if known is None:
                found.setdefault(key, VolumeWish(key, "", bind.node))
            else:
                found.setdefault(key, VolumeWish(key, known.uid, bind.node, known.volume, known.selected_node))
    return tuple(found.values())


def _extended(binds: Sequence[Bind], snapshot: Snapshot) -> tuple[ExtendedWish, ...]:
    names, known = snapshot.axis.names, snapshot.claims.devices
    classes = tuple(sorted((names[column], name) for column, name in known.extended.items()))
    found = []
    for bind in binds:
        plan, made = bind.claims or NOTHING, known.made.get(bind.uid, "")
        chosen = next((choice.allocation for choice in plan.devices if choice.claim in ("", made)), None)
        if chosen is None and made in plan.reserve and made in known.claims:
            chosen = known.claims[made].allocation
        if chosen is not None:
            pod = ClaimConsumer(bind.uid, bind.name)
            found.append(ExtendedWish(bind.namespace, pod, chosen, classes, made.partition("/")[2]))
    return tuple(found)
