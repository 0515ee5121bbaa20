"""The devices of nodes as people see them: of each, what part is taken, and by whom. A pure view of a snapshot.

Three ways to devices are shown together: shared devices, which pods use whole or in parts; devices that drivers publish
for ResourceClaims; and resources that only count devices, such as ``nvidia.com/gpu``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from vsched.model.amounts.resources import CPU, MEMORY, PODS, scale_of
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import Device, DeviceId, uuids_of
from vsched.model.deviceshare.records import (
    DEVICES_MAX,
    NPU_PREFIX,
    WHOLE,
    DeviceKind,
    NodeDevices,
)
from vsched.model.deviceshare.uses import DeviceUse, device_uses
from vsched.model.pods.status import HOLDS
from vsched.model.snapshot import Snapshot
from vsched.web.overview.document import unit_of

NODES_SHOWN = 200
"""How many nodes one answer has, by name."""
HOLDERS_SHOWN = 8
"""How many pods or claims of one device an answer names."""
RESOURCE_HOLDERS_SHOWN = 50
"""How many jobs an answer names that hold some of a resource."""
RESOURCES_SHOWN = 16
"""Of how many resources an answer says who holds them."""
FIRST = "nvidia.com/gpu"
"""The resource that is told first."""
CLAIM = "claim"
"""The kind of devices that drivers publish for ResourceClaims."""
MODELS = ("productName", "model", "type")
"""Attributes of published devices that say the model, the first that is there."""
VOLCANO = "volcano.sh/"
"""Begins resources that are sums of shared devices."""


class DeviceHolderShown(msgspec.Struct, frozen=True):
    """Who holds a device, or a part of it."""

    name: str
    """``namespace/name`` of a pod, or of a ResourceClaim."""
    memory: int = 0
    """MiB."""
    cores: float = 0.0
    """Per cent of its computing power."""
    leaving: bool = False


class DeviceShown(msgspec.Struct, frozen=True):
    """One device of a node."""

    kind: str
    """``vgpu``, ``gpu``, ``npu``; ``claim`` where a driver publishes it."""
    name: str
    """Its uuid, else its kind and number; of a published one ``driver/pool/device``."""
    model: str = ""
    healthy: bool = True
    taken: int = 0
    """Per cent: of its memory or of its computing power, whichever is more; 100 where one container has all of it."""
    memory: int = 0
    """MiB; 0 where that is not known."""
    memory_held: int = 0
    cores: float = 100.0
    cores_held: float = 0.0
    sharers: int = 0
    """How many containers may use it at a time; 0 for no bound."""
    parts: int = 0
    """How many containers use it."""
    mode: str = ""
    """How it is divided."""
    holders: tuple[DeviceHolderShown, ...] = ()
    """Some of them."""
    holder_count: int = 0


class JobHolderShown(msgspec.Struct, frozen=True):
    """Who holds some of a resource."""

    job: str
    """Empty for pods without a job, such as those of other schedulers."""
    queue: str
    held: int
    called: str = ""
    """How people know the job; empty where by its key."""


class CountedDevices(msgspec.Struct, frozen=True):
    """Whole devices of which only the number is known."""

    resource: str
    total: int
    held: int
    holders: tuple[JobHolderShown, ...] = ()
    """Those that hold most, by queue and job where they hold as many; pods without a job come last."""
    holder_count: int = 0


class HeldResource(msgspec.Struct, frozen=True):
    """A resource of several nodes and who holds it, in base units."""

    resource: str
    unit: str
    """That of its amounts, as in ``document.Resource``."""
    total: int
    held: int
    holders: tuple[JobHolderShown, ...] = ()
    """In the same order."""
    holder_count: int = 0


class NodeDevicesShown(msgspec.Struct, frozen=True):
    """The devices of one node."""

    node: str
    devices: tuple[DeviceShown, ...] = ()
    counted: tuple[CountedDevices, ...] = ()


class DevicesShown(msgspec.Struct, frozen=True):
    """An answer of ``/devices``."""

    at: float
    """The time of the session, seconds since the epoch."""
    nodes: tuple[NodeDevicesShown, ...]
    """Those that were asked for, else the first with devices by name."""
    total: int
    """How many there are."""
    resources: tuple[HeldResource, ...] = ()
    """Who holds what of the nodes that were asked for together, else of the cluster: ``nvidia.com/gpu`` first, then
    other devices, cpu, memory, and what else there is."""


def devices_shown(snapshot: Snapshot, names: Sequence[str] = ()) -> DevicesShown:
    """The devices of these nodes; without names, of the first nodes that have some."""
    published = _Published(snapshot.claims.devices)
    if names:
        wanted = list(dict.fromkeys(names))
    else:
        wanted = sorted({*dict(snapshot.device_shares.nodes), *published.nodes, *_counting(snapshot)})
    named = wanted[:NODES_SHOWN]
    counts = {name: list(_counts(snapshot, name)) for name in named}
    held = _Held(snapshot, {name for name in named if counts[name]}, set(wanted) if names else None)
    shown = tuple(_of_node(snapshot, name, published, counts[name], held) for name in named)
    return DevicesShown(snapshot.now, shown, len(wanted), tuple(_resources(snapshot, wanted if names else (), held)))


def resources_held(snapshot: Snapshot, names: Sequence[str] = ()) -> tuple[HeldResource, ...]:
    """Who holds each resource of these nodes together; without names, of all nodes."""
    return tuple(_resources(snapshot, names, _Held(snapshot, (), set(names) if names else None)))


def _of_node(
    snapshot: Snapshot, name: str, published: _Published, counts: Sequence[_Count], held: _Held
) -> NodeDevicesShown:
    uses = device_uses(snapshot.device_shares, name)
    # A device that plugin and driver offer is shown once: in parts where pods hold some, else as claims get it.
    by_claims = {uuid for device in published.nodes.get(name, ()) for uuid in uuids_of(device)}
    in_parts = {use.device.uuid for _, some in uses for use in some if use.parts}
    shared = [
        _shared(found, use) for found, some in uses for use in some if use.parts or use.device.uuid not in by_claims
    ]
    claimed = [
        published.shown(device)
        for device in published.nodes.get(name, ())[:DEVICES_MAX]
        if published.is_held(device) or in_parts.isdisjoint(uuids_of(device))
    ]
    counted = tuple(_counted(one, held.by_node.get((name, one.resource), {})) for one in counts)
    return NodeDevicesShown(name, (*shared, *claimed), counted)


# -- shared devices ---------------------------------------------------------------------------------------------------


def _shared(found: NodeDevices, use: DeviceUse) -> DeviceShown:
    device = use.device
    holders = tuple(
        DeviceHolderShown(one.pod, one.memory, _per_cent(one.thousandths), one.leaving)
        for one in use.holders[:HOLDERS_SHOWN]
    )
    parts = [use.thousandths / max(1, device.thousandths)]
    if device.memory:
        parts.append(use.memory / device.memory)
    taken = min(100, round(100 * max(parts)))
    return DeviceShown(
        found.kind,
        device.uuid or f"{found.kind} {device.index}",
        device.type,
        device.healthy,
        max(1, taken) if use.parts else 0,
        device.memory,
        use.memory,
        _per_cent(device.thousandths),
        _per_cent(use.thousandths),
        device.sharers,
        use.parts,
        found.mode,
        holders,
        len(use.holders),
    )


def _per_cent(thousandths: int) -> float:
    return thousandths * 100 / WHOLE


# -- devices that drivers publish -------------------------------------------------------------------------------------


class _Published:
    """Devices for ResourceClaims by node, and which claims have them."""

    def __init__(self, found: DeviceCatalogue) -> None:
        self.nodes: dict[str, list[Device]] = {}
        for pool in found.pools:
            for device in pool.devices:
                if device.node:
                    self.nodes.setdefault(device.node, []).append(device)
        self._holders: dict[DeviceId, list[str]] = {}
        for key, claim in sorted(dict(found.allocated).items()) if self.nodes else ():
            for one in claim.allocation.devices if claim.allocation is not None else ():
                if not one.admin:
                    self._holders.setdefault(one.device, []).append(key)

    def is_held(self, device: Device) -> bool:
        """Whether a claim has it."""
        return device.id in self._holders

    def shown(self, device: Device) -> DeviceShown:
        """A device with its claims: it is held whole."""
        holders = self._holders.get(device.id, [])
        attributes = {name.rpartition("/")[2]: value for name, value in device.model.attributes}
        model = next((str(attributes[name]) for name in MODELS if name in attributes), "")
        return DeviceShown(
            CLAIM,
            device.id.path,
            model,
            taken=100 if holders else 0,
            cores_held=100.0 if holders else 0.0,
            parts=len(holders),
            holders=tuple(DeviceHolderShown(key, cores=100.0) for key in holders[:HOLDERS_SHOWN]),
            holder_count=len(holders),
        )


# -- devices that are only counted ------------------------------------------------------------------------------------


def _columns(snapshot: Snapshot) -> Iterator[tuple[int, str]]:
    """The resources that count devices, by column: those with a domain, but for sums of shared devices."""
    for column, name in enumerate(snapshot.axis.names[: snapshot.nodes.width]):
        if "/" in name and scale_of(name) == WHOLE and not name.startswith(VOLCANO):
            yield column, name


def _counting(snapshot: Snapshot) -> Iterator[str]:
    """The nodes that have some."""
    table = snapshot.nodes
    for column, _ in _columns(snapshot):
        has = table.allocatable[column]
        rows = ((has > 0) & (has <= DEVICES_MAX * WHOLE)).nonzero()[0].tolist()
        yield from (table.statics.names[row] for row in rows if _is_counted(snapshot, column, row))


class _Count(NamedTuple):
    """How many devices of a resource there are, and are held."""

    resource: str
    total: int
    held: int


_Holders = Mapping[tuple[str, str, str], int]
"""How much each holds, by queue, job, and how people know the job."""


class _Held:
    """Which jobs hold how much, of some nodes."""

    def __init__(self, snapshot: Snapshot, counting: Container[str], asked: Container[str] | None) -> None:
        self.by_node: dict[tuple[str, str], Counter[tuple[str, str, str]]] = {}
        """Devices that are only counted, by node of ``counting`` and resource."""
        self.by_column: dict[int, Counter[tuple[str, str, str]]] = {}
        """Base units of all nodes that are ``asked`` for, by column; None asks for all."""
        counted = dict(_columns(snapshot))
        for job in (*snapshot.jobs.values(), *snapshot.strays.values()):
            # The spec of a stray is empty: nobody says its queue.
            queue = job.spec.queue if job.key in snapshot.jobs else ""
            holder = queue, job.key, job.called if job.spec.made_for else ""
            for task in job.tasks.values():
                if not HOLDS[task.status].uses or (asked is not None and task.node not in asked):
                    continue
                for column, amount in task.shape.request:
                    self.by_column.setdefault(column, Counter())[holder] += amount
                    if column in counted and task.node in counting and (number := amount // WHOLE):
                        self.by_node.setdefault((task.node, counted[column]), Counter())[holder] += number


def _resources(snapshot: Snapshot, nodes: Sequence[str], held: _Held) -> Iterator[HeldResource]:
    """Who holds what of these nodes together; of all where none are named."""
    table, names = snapshot.nodes, snapshot.axis.names
    rows = [table.statics.row[name] for name in nodes if name in table.statics.row]

    def rank(column: int) -> tuple[bool, bool, bool, int, str]:
        name, plain = names[column], (CPU, MEMORY)
        place = plain.index(column) if column in plain else len(plain)
        return name != FIRST, "/" not in name, name.startswith(VOLCANO), place, name

    for column in sorted((column for column in range(table.width) if column != PODS), key=rank)[:RESOURCES_SHOWN]:
        there, idle = table.allocatable[column], table.idle[column]
        if nodes:
            there, idle = there[rows], idle[rows]
        total, used = int(there.sum()), int((there - idle).sum())
        if total or used:
            name = names[column]
            yield HeldResource(
                *(name, unit_of(name), total, used),
                *_ordered(held.by_column.get(column, {}), used, RESOURCE_HOLDERS_SHOWN),
            )


def _counted(count: _Count, holders: _Holders) -> CountedDevices:
    """These devices of one node with who holds them."""
    return CountedDevices(*count, *_ordered(holders, count.held, HOLDERS_SHOWN))


def _ordered(holders: _Holders, held: int, most: int) -> tuple[tuple[JobHolderShown, ...], int]:
    """The first of those who hold so much, and how many there are; what no job holds, pods without one hold."""
    shown = [
        JobHolderShown(job, queue, amount, called)
        for (queue, job, called), amount in sorted(holders.items(), key=lambda one: (-one[1], one[0]))
        if amount
    ]
    rest = held - sum(holders.values())
    shown += [JobHolderShown("", "", rest)] if rest > 0 else []
    return tuple(shown[:most]), len(shown)


def _counts(snapshot: Snapshot, name: str) -> Iterator[_Count]:
    """The counted devices of a node; no NPUs where it registers them as shared devices."""
    table, row = snapshot.nodes, snapshot.nodes.statics.row.get(name)
    if row is None:
        return
    kinds = {found.kind for found in snapshot.device_shares.nodes.get(name, ())}
    for column, resource in _columns(snapshot):
        total = int(table.allocatable[column, row]) // WHOLE
        registered = resource.startswith(NPU_PREFIX) and DeviceKind.NPU in kinds
        if 0 < total <= DEVICES_MAX and not registered and _is_counted(snapshot, column, row):
            idle = max(0, int(table.idle[column, row])) // WHOLE
            yield _Count(resource, total, total - idle)


def _is_counted(snapshot: Snapshot, column: int, row: int) -> bool:
    """Whether a device plugin of the node offers the resource, and not the devices of a class."""
    devices = snapshot.claims.devices
    plugins = devices.plugins.get(column, frozenset())
    return column not in devices.extended or snapshot.nodes.statics.names[row] in plugins
