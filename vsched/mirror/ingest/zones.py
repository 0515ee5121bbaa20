"""NUMA zones of nodes from the two kinds of reports, and what pods ask of zones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from vsched import api
from vsched.api.base import seconds_of
from vsched.api.volumes import Quantity
from vsched.api.zones import CpuPlace, NumatopologySpec, PodAllocation, Report, ZoneFields
from vsched.errors import UNREADABLE, BadObject, BadQuantity
from vsched.mirror.ingest.bounds import OFFERED_MAX, read, short
from vsched.mirror.ingest.metadata import naming
from vsched.mirror.ingest.words import fields
from vsched.mirror.ingest.words import nodes as words
from vsched.model.amounts.resources import is_schedulable, parse_amount
from vsched.model.names import shared
from vsched.model.nodes.zones import ZONE_AMOUNT_MAX, ZONES_MAX, Named, NodeZones, Zone, ZonePolicy, ZoneShares

POLICY, SCOPE, CPU_MANAGER = "topologyManagerPolicy", "topologyManagerScope", "cpuManagerPolicy"
POLICIES = tuple(ZonePolicy)
SCOPES = {"container": False, "pod": True}
"""Whether pods are aligned as a whole."""
OLD_POLICIES = {
    "None": ZonePolicy.NONE,
    "BestEffort": ZonePolicy.BEST_EFFORT,
    "Restricted": ZonePolicy.RESTRICTED,
    "SingleNUMANode": ZonePolicy.SINGLE,
}
"""The beginnings of ``topologyPolicies``; the rest says the scope."""
CPUS_MAX = 4096
"""The most cpus of a node that are read, and the most pods of a Numatopology."""


class ZoneDecision(msgspec.Struct):
    """The annotation ``volcano.sh/topology-decision``: amounts by resource, by number of the zone."""

    numa: dict[int, dict[str, Quantity]] = {}


def zones_of(found: api.NodeResourceTopology) -> NodeZones:
    """What a NodeResourceTopology says of its node. Raises BadObject."""
    with naming("NodeResourceTopology", found.metadata):
        read(found.attributes, OFFERED_MAX, "attributes")
        attributes = {one.name: one.value for one in found.attributes or ()}
        policy, per_pod = _old_policy(found.topology_policies or ())
        policy = _word(attributes.get(POLICY, policy), POLICIES, f"attributes[{POLICY}]")
        scope = _word(attributes.get(SCOPE, "pod" if per_pod else "container"), SCOPES, f"attributes[{SCOPE}]")
        fields = [(at, one) for at, one in enumerate(found.zones or ()) if one.type == "Node"]
        if len(fields) > ZONES_MAX:
            raise BadObject(words.too_many_zones(len(fields), ZONES_MAX))
        zones = [_zone(one, f"zones[{at}]") for at, one in fields]
        if len({zone.number for zone in zones}) < len(zones):
            raise BadObject(words.TWO_ZONES_OF_ONE_NUMBER)
        return NodeZones(
            node=shared(found.metadata.name),
            policy=policy,
            per_pod=SCOPES[scope],
            static_cpus=attributes.get(CPU_MANAGER, "static") == "static",
            zones=tuple(sorted(zones, key=lambda zone: zone.number)),
            reported=_written(found),
        )


def volcano_zones_of(found: api.Numatopology) -> NodeZones:
    """What a Numatopology says of its node. Raises BadObject."""
    spec = found.spec
    with naming("Numatopology", found.metadata):
        policies = spec.policies or {}
        name = "TopologyManagerPolicy"
        policy = _word(policies.get(name) or ZonePolicy.NONE, POLICIES, f"spec.policies[{name}]")
        places = _places(spec)
        return NodeZones(
            node=shared(found.metadata.name),
            policy=policy,
            static_cpus=policies.get("CPUManagerPolicy") == "static",
            zones=_cpu_zones(spec, places),
            reported=_written(found),
            pods=_allocations(spec.pod_allocations, places),
        )


def shares_of(text: str) -> ZoneShares:
    """What the annotation ``volcano.sh/topology-decision`` says; nothing where it cannot be read."""
    try:
        zones = msgspec.json.decode(text, type=ZoneDecision, strict=False).numa
        if len(zones) > ZONES_MAX:
            return ()
        return tuple((zone, _named(sorted(amounts.items()), "")) for zone, amounts in sorted(zones.items()))
    except (BadObject, *UNREADABLE):
        return ()


def _old_policy(names: Iterable[str]) -> tuple[str, bool]:
    for word in names:
        for beginning, policy in OLD_POLICIES.items():
            if word.startswith(beginning):
                return policy, word.endswith("PodLevel")
        raise BadObject(words.unknown_topology_policy(word[:40]))
    return ZonePolicy.NONE, False


def _word(word: str, known: Iterable[str], at: str) -> str:
    if word not in known:
        raise BadObject(fields.unknown_word(at, word[:40], ", ".join(known)))
    return str(word)


def _zone(found: ZoneFields, at: str) -> Zone:
    number = found.name.rpartition("-")[2]
    if not number.isdecimal() or len(number) > 4:
        raise BadObject(words.no_zone_number(at, found.name[:40]))
    read(found.resources, OFFERED_MAX, f"{at}.resources")
    every = found.resources or ()
    offered = [(one.name, one.capacity if one.allocatable is None else one.allocatable) for one in every]
    free = [
        (one.name, most if one.available is None else one.available)
        for one, (_, most) in zip(every, offered, strict=True)
    ]
    return Zone(int(number), _named(free, f"{at}.resources"), _named(offered, f"{at}.resources"))


def _named(amounts: Iterable[tuple[str, Quantity]], at: str) -> Named:
    """Amounts in base units, zeros included: none free is not unknown."""
    found: dict[str, int] = {}
    for name, quantity in amounts:
        short(name, at)
        if is_schedulable(name):
            try:
                found[shared(name)] = min(max(0, parse_amount(name, quantity)), ZONE_AMOUNT_MAX)
            except BadQuantity as error:
                raise BadObject(f"{at}.{error}") from None
    return tuple(sorted(found.items()))


def _written(found: Report) -> float:
    """When the object was last written, 0 where it does not say."""
    return max((seconds_of(one.time) for one in found.metadata.managed_fields or ()), default=0.0)


# -- cpus by number ---------------------------------------------------------------------------------------------------


def _places(spec: NumatopologySpec) -> dict[int, CpuPlace]:
    read(spec.cpu_detail, CPUS_MAX, "spec.cpuDetail")
    detail = spec.cpu_detail or {}
    for name in detail:
        if not name.isdecimal():
            raise BadObject(words.no_cpu_number(name[:40]))
    places = {int(name): place for name, place in detail.items()}
    if len({place.numa for place in places.values()}) > ZONES_MAX:
        raise BadObject(words.too_many_numa_nodes(ZONES_MAX))
    return places


def _cpu_zones(spec: NumatopologySpec, places: Mapping[int, CpuPlace]) -> tuple[Zone, ...]:
    """The cpus of each zone, without those that the system keeps: the kubelet keeps the first ones."""
    given = (spec.numares or {}).get("cpu")
    free = set() if given is None else _cpus(given.allocatable or "", "spec.numares[cpu].allocatable")
    order = sorted(places, key=lambda cpu: (places[cpu].numa, places[cpu].socket, places[cpu].core, cpu))
    try:
        kept = math.ceil(parse_amount("cpu", (spec.res_reserved or {}).get("cpu", 0)) / 1000)
    except BadQuantity as error:
        raise BadObject(f"spec.resReserved.{error}") from None
    usable = order[max(0, kept) :]
    return tuple(
        Zone(
            number,
            (("cpu", 1000 * sum(cpu in free and places[cpu].numa == number for cpu in usable)),),
            (("cpu", 1000 * sum(places[cpu].numa == number for cpu in usable)),),
        )
        for number in sorted({place.numa for place in places.values()})
    )


def _allocations(
    found: list[PodAllocation] | None, places: Mapping[int, CpuPlace]
) -> tuple[tuple[str, ZoneShares], ...] | None:
    if found is None:
        return None
    read(found, CPUS_MAX, "spec.podAllocations")
    pods: dict[str, ZoneShares] = {}
    for position, pod in enumerate(found):
        counts: dict[int, int] = {}
        for container in pod.container_allocations or ():
            text = (container.allocations or {}).get("cpu", "")
            for cpu in _cpus(text, f"spec.podAllocations[{position}]"):
                if cpu in places:
                    zone = places[cpu].numa
                    counts[zone] = counts.get(zone, 0) + 1000
        pods[pod.uid] = tuple((zone, (("cpu", count),)) for zone, count in sorted(counts.items()))
    return tuple(sorted(pods.items()))


def _cpus(text: str, at: str) -> set[int]:
    """The numbers of a list of cpus, such as ``0-3,8``."""
    cpus: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or not (last if dash else first).isdecimal() or max(len(first), len(last)) > 6:
            raise BadObject(words.no_cpu_numbers(at, part[:40]))
        if int(last or first) - int(first) >= CPUS_MAX:
            raise BadObject(words.too_many_cpus(at, part[:40], CPUS_MAX))
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus
