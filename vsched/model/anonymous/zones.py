"""Makes a catalogue of NUMA zones with pseudonyms. Names of resources stay."""

from __future__ import annotations

from vsched.model.anonymous.rules import Renaming, Rule, counted, name, node, pairs, parts, shared, uid, word
from vsched.model.nodes.zones import NodeZones, Zone, ZoneCatalogue, ZonedPod

_AMOUNTS = pairs(counted)


def _shares(renaming: Renaming, found: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]) -> object:
    return tuple((zone, _AMOUNTS(renaming, amounts)) for zone, amounts in found)


ZONE_RULES: dict[type, dict[str, Rule]] = {
    Zone: {"free": _AMOUNTS, "allocatable": _AMOUNTS},
    NodeZones: {"node": node, "policy": word, "zones": parts, "pods": pairs(uid, _shares)},
    ZonedPod: {"uid": uid, "name": name, "request": shared, "shares": _shares},
}


def renamed_zones(renaming: Renaming, found: ZoneCatalogue) -> ZoneCatalogue:
    """The same catalogue with pseudonyms."""
    return ZoneCatalogue(pairs(node, parts)(renaming, found.nodes), pairs(node, parts)(renaming, found.pods))
