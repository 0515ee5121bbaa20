"""Makes catalogues with pseudonyms: of claims, HyperNodes, NUMA zones and shared devices.

Selectors of devices are CEL expressions over names, so an expression does not work under pseudonyms. It is replaced by
one that reads a new attribute of the device, in which each device model has what the original expression says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace as copy_with
from typing import Any

from msgspec.structs import replace

from vsched.model.anonymous.rules import Renaming, name, node, pairs, parts, sentence, uid, word
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.claims.devices import Attribute, Device, DeviceModel, Version, device_model
from vsched.model.deviceshare.records import DeviceShareCatalogue
from vsched.model.nodes.zones import ZoneCatalogue
from vsched.model.pods.task import Task
from vsched.model.topology.hypernodes import HyperNode, TopologyCatalogue

Selects = Callable[[str, DeviceModel], bool | None]
"""What an expression says of a device model; None where it cannot be evaluated."""
DOMAIN = "selected.vsched.io"
"""The domain of the new attributes."""


def renamed_catalogue(renaming: Renaming, found: ClaimCatalogue, selects: Selects) -> ClaimCatalogue:
    """The same catalogue with pseudonyms; the same devices are selected in it."""
    unread = pairs(word, sentence)(renaming, found.unread)
    return ClaimCatalogue(_volumes(renaming, found.volumes), _devices(renaming, found.devices, selects), unread)


def _volumes(renaming: Renaming, found: VolumeCatalogue) -> VolumeCatalogue:
    by_name = pairs(name, parts)
    volumes = by_name(renaming, found.volumes)
    return VolumeCatalogue(
        claims=by_name(renaming, found.claims),
        volumes=volumes,
        available={
            name(renaming, kind): tuple(volumes[name(renaming, one.name)] for one in some)
            for kind, some in found.available.items()
        },
        classes=by_name(renaming, found.classes),
        drivers=by_name(renaming, found.drivers),
        limits=pairs(node, pairs(name))(renaming, found.limits),
        capacities=by_name(renaming, found.capacities),
        attachments=pairs(node, parts)(renaming, found.attachments),
        users=pairs(name, _tasks)(renaming, found.users),
        by_node=pairs(node, _tasks)(renaming, found.by_node),
    )


def _devices(renaming: Renaming, found: DeviceCatalogue, selects: Selects) -> DeviceCatalogue:
    numbers = {text: number for number, text in enumerate(sorted(set(_expressions(found))))}
    renaming.expressions = {text: f'device.attributes["{DOMAIN}"].s{number}' for text, number in numbers.items()}
    claims = pairs(name, parts)(renaming, found.claims)
    models: dict[int, DeviceModel] = {}

    def of_device(original: Device, renamed: Device) -> Device:
        model = models.get(id(original.model))
        if model is None:
            said = {text: selects(text, original.model) for text in numbers}
            values: dict[str, Attribute | Version] = {
                f"{DOMAIN}/s{numbers[text]}": holds for text, holds in said.items() if holds is not None
            }
            like = renamed.model
            attributes = tuple(sorted((dict(like.attributes) | values).items()))
            model = device_model(like.driver, attributes, like.capacity, like.shareable)
            models[id(original.model)] = model
        return replace(renamed, model=model)

    return DeviceCatalogue(
        claims=claims,
        classes={key: renaming.record(one) for key, one in found.classes.items()},
        pools=tuple(
            replace(renamed, devices=tuple(map(of_device, original.devices, renamed.devices)))
            for original, renamed in ((pool, renaming.record(pool)) for pool in found.pools)
        ),
        allocated={(key := name(renaming, each)): claims[key] for each in found.allocated},
        users=pairs(name, _tasks)(renaming, found.users),
        extended=found.extended,
        made=pairs(uid, name)(renaming, found.made),
        plugins={column: frozenset(node(renaming, one) for one in nodes) for column, nodes in found.plugins.items()},
    )


def _tasks(renaming: Renaming, found: Mapping[str, Task]) -> Any:
    return {uid(renaming, key): renaming.once(task) for key, task in found.items()}


def _expressions(found: DeviceCatalogue) -> Iterator[str]:
    """All selectors of classes and claims."""
    for kind in found.classes.values():
        yield from (selector.expression for selector in kind.selectors)
    for spec in {id(claim.spec): claim.spec for claim in found.claims.values()}.values():
        for alternatives in spec.requests:
            for request in alternatives:
                yield from (selector.expression for selector in request.selectors)


def renamed_topology(renaming: Renaming, found: TopologyCatalogue) -> TopologyCatalogue:
    """The same catalogue with pseudonyms."""
    return TopologyCatalogue(
        tuple(sorted((_hypernode(renaming, one) for one in found.hypernodes), key=lambda one: one.name)),
        pairs(name, sentence)(renaming, found.unread),
        sentence(renaming, found.problem),
    )


def _hypernode(renaming: Renaming, original: HyperNode) -> HyperNode:
    renamed = renaming.record(original)
    members = tuple(
        replace(made, name=node(renaming, member.name)) if member.is_node and member.name else made
        for member, made in zip(original.members, renamed.members, strict=True)
    )
    return replace(renamed, members=members)


def renamed_zones(renaming: Renaming, found: ZoneCatalogue) -> ZoneCatalogue:
    """The same catalogue with pseudonyms."""
    return ZoneCatalogue(pairs(node, parts)(renaming, found.nodes), pairs(node, parts)(renaming, found.pods))


def renamed_devices(renaming: Renaming, found: DeviceShareCatalogue) -> DeviceShareCatalogue:
    """The same catalogue with pseudonyms."""
    renamed = pairs(node, parts)
    return copy_with(found, nodes=renamed(renaming, found.nodes), pods=renamed(renaming, found.pods))
