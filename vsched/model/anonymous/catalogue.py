"""Makes a catalogue of claims with pseudonyms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vsched.model.anonymous.rules import Renaming, name, node, pairs, parts, uid
from vsched.model.claims.catalogue import ClaimCatalogue, DeviceCatalogue, VolumeCatalogue
from vsched.model.pods.task import Task


def renamed_catalogue(renaming: Renaming, found: ClaimCatalogue) -> ClaimCatalogue:
    """The same catalogue with pseudonyms."""
    return ClaimCatalogue(_volumes(renaming, found.volumes), _devices(renaming, found.devices))


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


def _devices(renaming: Renaming, found: DeviceCatalogue) -> DeviceCatalogue:
    claims = pairs(name, parts)(renaming, found.claims)
    return DeviceCatalogue(
        claims=claims,
        classes={key: renaming.record(one) for key, one in found.classes.items()},
        pools=parts(renaming, found.pools),
        allocated={(key := name(renaming, each)): claims[key] for each in found.allocated},
        users=pairs(name, _tasks)(renaming, found.users),
        extended=found.extended,
    )


def _tasks(renaming: Renaming, found: Mapping[str, Task]) -> Any:
    return {uid(renaming, key): renaming.once(task) for key, task in found.items()}
