"""The catalogue of claims to JSON parts and back: records are tables, and refer to pods by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import TypeVar

import msgspec

from vsched.errors import BadInput
from vsched.model import words
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import (
    Attribute,
    CapacityPolicy,
    ClaimSpec,
    Device,
    DeviceClaim,
    DeviceClass,
    DeviceId,
    DeviceModel,
    DevicePool,
    DeviceTaint,
    DeviceTraits,
    Quantities,
    Version,
    device_model,
)
from vsched.model.claims.volumes import Attachment, CSIDriver, StorageCapacity, StorageClass, Volume, VolumeClaim
from vsched.model.dump.tables import Numbered, Parts, Piece, pieces, records
from vsched.model.pods.shape import NodeTerm
from vsched.model.pods.task import Task

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")


class PodsLine(msgspec.Struct, frozen=True):
    """The pods that use a claim, or that have claims and are on a node."""

    name: str
    """Of the claim or the node."""
    pods: tuple[int, ...]


class LimitsLine(msgspec.Struct, frozen=True):
    """How many volumes of each CSI driver a node can attach."""

    node: str
    limits: dict[str, int | None]


class PoolLine(msgspec.Struct, frozen=True):
    """A pool of devices; the devices of a pool are consecutive in the table of devices."""

    driver: str
    name: str
    generation: int
    devices: int
    counters: tuple[tuple[str, Quantities], ...] = ()
    complete: bool = True
    problem: str = ""


class DeviceLine(msgspec.Struct, frozen=True):
    """A device with its traits."""

    id: DeviceId
    model: DeviceModel
    node: str = ""
    nodes: tuple[NodeTerm, ...] | None = None
    taints: tuple[DeviceTaint, ...] = ()
    consumes: tuple[tuple[str, Quantities], ...] = ()
    policies: tuple[tuple[str, CapacityPolicy], ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failures: tuple[str, ...] = ()


class ModelLine(msgspec.Struct, frozen=True):
    """A model of devices with its series."""

    driver: str
    attributes: tuple[tuple[str, Attribute | Version], ...] = ()
    capacity: Quantities = ()
    shareable: bool = False


class VolumeParts(msgspec.Struct, frozen=True):
    """The fields of a ``VolumeCatalogue``."""

    claims: list[Piece]
    volumes: list[Piece]
    available: dict[str, list[int]]
    """By storage class: positions of volumes."""
    classes: list[Piece]
    drivers: list[Piece]
    limits: list[Piece]
    capacities: list[Piece]
    attachments: list[Piece]
    users: list[Piece]
    by_node: list[Piece]


class DeviceParts(msgspec.Struct, frozen=True):
    """The fields of a ``DeviceCatalogue``; claims refer to ``specs`` and devices to ``models``."""

    claims: list[Piece]
    classes: list[Piece]
    pools: list[Piece]
    devices: list[Piece]
    allocated: list[int]
    """Positions of claims."""
    users: list[Piece]
    extended: dict[int, str]
    specs: list[Piece]
    models: list[Piece]
    plugins: dict[int, frozenset[str]] = {}
    made: dict[str, str] = {}


class ClaimParts(msgspec.Struct, frozen=True):
    """The parts of a catalogue, for decoding."""

    volumes: VolumeParts
    devices: DeviceParts
    unread: dict[str, str] = {}


# -- writing --------------------------------------------------------------------------------------------------------


def claim_parts(found: ClaimCatalogue, tasks: Numbered[str]) -> Iterator[tuple[str, object]]:
    """Name and content of each part in turn; ``tasks`` has the positions of pods."""
    yield "volumes", Parts(_volume_parts(found.volumes, tasks))
    yield "devices", Parts(_device_parts(found.devices, tasks))
    yield "unread", found.unread


def users_of(found: ClaimCatalogue) -> Iterator[Task]:
    """All pods that the catalogue refers to; a pod may come more than once."""
    for by_name in (found.volumes.users, found.volumes.by_node, found.devices.users):
        for pods in by_name.values():
            yield from pods.values()


def _volume_parts(found: VolumeCatalogue, tasks: Numbered[str]) -> Iterator[tuple[str, object]]:
    positions = Numbered(found.volumes)
    yield "claims", pieces(found.claims.values())
    yield "volumes", pieces(found.volumes.values())
    yield "available", {kind: [positions.at(one.name) for one in some] for kind, some in found.available.items()}
    yield "classes", pieces(found.classes.values())
    yield "drivers", pieces(found.drivers.values())
    yield "limits", pieces(LimitsLine(node, dict(limits)) for node, limits in found.limits.items())
    yield "capacities", pieces(one for some in found.capacities.values() for one in some)
    yield "attachments", pieces(one for some in found.attachments.values() for one in some)
    yield "users", _pods(found.users, tasks)
    yield "by_node", _pods(found.by_node, tasks)


def _device_parts(found: DeviceCatalogue, tasks: Numbered[str]) -> Iterator[tuple[str, object]]:
    specs: Numbered[ClaimSpec] = Numbered()
    models: Numbered[DeviceModel] = Numbered()
    positions = Numbered(found.claims)
    yield "claims", pieces(found.claims.values(), {"spec": specs.at})
    yield "classes", pieces(found.classes.values())
    yield "pools", pieces(map(_pool_line, found.pools))
    devices = (_device_line(one) for pool in found.pools for one in pool.devices)
    yield "devices", pieces(devices, {"model": models.at})
    yield "allocated", [positions.at(key) for key in found.allocated]
    yield "users", _pods(found.users, tasks)
    yield "extended", found.extended
    yield "made", found.made
    yield "plugins", {column: sorted(nodes) for column, nodes in found.plugins.items()}
    yield "specs", pieces(iter(specs))
    yield "models", pieces(map(_model_line, models))


def _pool_line(pool: DevicePool) -> PoolLine:
    return PoolLine(
        pool.driver, pool.name, pool.generation, len(pool.devices), pool.counters, pool.complete, pool.problem
    )


def _model_line(model: DeviceModel) -> ModelLine:
    return ModelLine(model.driver, model.attributes, model.capacity, model.shareable)


def _device_line(device: Device) -> DeviceLine:
    return DeviceLine(device.id, device.model, device.node, *msgspec.structs.astuple(device.traits))


def _pods(found: Mapping[str, Mapping[str, Task]], tasks: Numbered[str]) -> Iterator[Piece]:
    return pieces(PodsLine(name, tuple(map(tasks.at, pods))) for name, pods in found.items())


# -- reading --------------------------------------------------------------------------------------------------------


def claim_catalogue(parts: ClaimParts, tasks: Sequence[Task]) -> ClaimCatalogue:
    """The catalogue of these parts; raises BadInput, or IndexError where a position is wrong."""
    return ClaimCatalogue(_volumes(parts.volumes, tasks), _devices(parts.devices, tasks), parts.unread)


def _volumes(parts: VolumeParts, tasks: Sequence[Task]) -> VolumeCatalogue:
    volumes = records(parts.volumes, Volume)
    return VolumeCatalogue(
        claims=_by("key", records(parts.claims, VolumeClaim)),
        volumes=_by("name", volumes),
        available={kind: tuple(_at(volumes, some)) for kind, some in parts.available.items()},
        classes=_by("name", records(parts.classes, StorageClass)),
        drivers=_by("name", records(parts.drivers, CSIDriver)),
        limits={line.node: line.limits for line in records(parts.limits, LimitsLine)},
        capacities=_grouped("storage_class", records(parts.capacities, StorageCapacity)),
        attachments=_grouped("node", records(parts.attachments, Attachment)),
        users=_users(parts.users, tasks),
        by_node=_users(parts.by_node, tasks),
    )


def _devices(parts: DeviceParts, tasks: Sequence[Task]) -> DeviceCatalogue:
    specs = records(parts.specs, ClaimSpec)
    models = [device_model(*msgspec.structs.astuple(line)) for line in records(parts.models, ModelLine)]
    claims = records(parts.claims, DeviceClaim, {"spec": specs.__getitem__})
    traits: dict[DeviceTraits, DeviceTraits] = {}
    devices = (_device(line, traits) for line in records(parts.devices, DeviceLine, {"model": models.__getitem__}))
    return DeviceCatalogue(
        claims=_by("key", claims),
        classes=_by("name", records(parts.classes, DeviceClass)),
        pools=tuple(_pool(line, devices) for line in records(parts.pools, PoolLine)),
        allocated=_by("key", _at(claims, parts.allocated)),
        users=_users(parts.users, tasks),
        extended=parts.extended,
        plugins=parts.plugins,
        made=parts.made,
    )


def _pool(line: PoolLine, devices: Iterator[Device]) -> DevicePool:
    mine = tuple(islice(devices, max(0, line.devices)))
    if len(mine) != line.devices:
        raise BadInput(words.pool_lacks_devices(line.name, line.driver, line.devices, len(mine)))
    return DevicePool(line.driver, line.name, line.generation, mine, line.counters, line.complete, line.problem)


def _device(line: DeviceLine, known: dict[DeviceTraits, DeviceTraits]) -> Device:
    """The device of a line; ``known`` has the traits of other devices, to be shared."""
    traits = DeviceTraits(
        line.nodes,
        line.taints,
        line.consumes,
        line.policies,
        line.binds_to_node,
        line.binding_conditions,
        line.binding_failures,
    )
    return Device(line.id, line.model, line.node, known.setdefault(traits, traits))


def _by(field: str, found: Iterable[R]) -> dict[str, R]:
    key = attrgetter(field)
    return {key(one): one for one in found}


def _grouped(field: str, found: Iterable[R]) -> dict[str, tuple[R, ...]]:
    grouped: dict[str, list[R]] = {}
    for one in found:
        grouped.setdefault(getattr(one, field), []).append(one)
    return {key: tuple(some) for key, some in grouped.items()}


def _users(found: Iterable[Piece], tasks: Sequence[Task]) -> dict[str, dict[str, Task]]:
    return {line.name: {task.uid: task for task in _at(tasks, line.pods)} for line in records(found, PodsLine)}


def _at(values: Sequence[T], positions: Sequence[int]) -> list[T]:
    if positions and min(positions) < 0:
        raise BadInput(words.claims_point_to(min(positions)))
    return [values[at] for at in positions]
