"""``vsched bench --mixed``: gangs whose first pods take room that only others of the gang can use.

Each gang is alone on nodes that all have different room, in sessions of its own: the first one, and one in which
nothing has changed since. Decisions are dropped, so that each session decides the same again.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import orjson

from vsched import api
from vsched.daemon.system.tuning import listed
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.lab.bench.words import core as words
from vsched.lab.bench.world import metadata_of
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.memo import Memo
from vsched.settings.built_in import REGISTRY

REPEATS = 5
SEED = 1
GPUS = "nvidia.com/gpu"
ROLES = 12
CORE = 1000
LARGE = range(40 * CORE, 80 * CORE)
"""Millicores of a node; it has as many MiB."""
SMALL = range(2 * CORE, 8 * CORE)

Manifest = dict[str, Any]


class MixedRole(NamedTuple):
    """Pods of one kind."""

    pods: int
    cpu: int
    """Millicores."""
    memory: int = 0
    """MiB."""
    gpus: int = 0
    apart: bool = False
    """Whether none of the gang's pods may be beside it."""


class MixedGang(NamedTuple):
    """A gang, and nodes for it."""

    nodes: list[tuple[int, int, int]]
    """Millicores, MiB and GPUs of each."""
    roles: list[MixedRole]

    def mirror(self) -> Mirror:
        """A cluster of these nodes where the gang waits."""
        mirror = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
        for kind, found in self._manifests():
            mirror.intake.apply(kind, "ADDED", api.decode(kind, orjson.dumps(found)))
        return mirror

    def _manifests(self) -> Iterator[tuple[str, Manifest]]:
        for at, (cpu, memory, gpus) in enumerate(self.nodes):
            room = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": "110", GPUS: str(gpus)}
            name = f"node-{at:05d}"
            labels = {"kubernetes.io/hostname": name}
            yield "Node", {"metadata": {"name": name, "uid": name, "labels": labels}, "status": {"allocatable": room}}
        total = sum(role.pods for role in self.roles)
        group = {"metadata": metadata_of("mixed", "gang"), "spec": {"minMember": total}, "status": {"phase": "Inqueue"}}
        yield "PodGroup", group
        numbers = count()
        for role in self.roles:
            for _ in range(role.pods):
                yield "Pod", _pod(role, next(numbers))


def launchers(nodes: int, random: Random) -> MixedGang:
    """Launchers like the nodes with GPUs best, because they fill them, and there is a worker for each of these."""
    with_gpus = max(1, nodes // 10)
    sizes = sorted(random.sample(LARGE, nodes))
    found = [(cpu, cpu, 8 if at < with_gpus else 0) for at, cpu in enumerate(sizes)]
    return MixedGang(found, [MixedRole(2, LARGE.start), MixedRole(with_gpus, LARGE.start, gpus=8)])


def one_too_many(nodes: int, random: Random) -> MixedGang:
    """The same with a launcher for each other node, and one more."""
    gang = launchers(nodes, random)
    few, workers = gang.roles
    return gang._replace(roles=[few._replace(pods=nodes - workers.pods + 1), workers])


def twelve_roles(nodes: int, random: Random) -> MixedGang:
    """Two pods of each of twelve roles that fill two dozen nodes nearly, beside smaller ones."""
    amounts = sorted(random.sample(LARGE, 2 * ROLES)), random.sample(LARGE, 2 * ROLES)
    large = [(cpu, memory, 0) for cpu, memory in zip(*amounts, strict=True)]
    pairs = list(zip(large[::2], large[1::2], strict=True))
    roles = [MixedRole(2, min(one[0], other[0]), min(one[1], other[1])) for one, other in pairs]
    small = [(size, size, 0) for size in random.choices(SMALL, k=max(0, nodes - len(large)))]
    return MixedGang([*large, *small], random.sample(roles, ROLES))


def packed(nodes: int, random: Random) -> MixedGang:
    """Twelve roles that, well packed, fill a hundred nodes to nine tenths, beside smaller ones."""
    asked = [(CORE * random.randrange(1, 16), CORE * random.randrange(1, 16)) for _ in range(ROLES)]
    counts = [0] * ROLES
    found = []
    for _ in range(min(nodes, 100)):
        mine = random.choices(range(ROLES), k=random.randrange(1, 5))
        for role in mine:
            counts[role] += 1
        cpu, memory = (sum(asked[role][at] for role in mine) * 10 // 9 for at in range(2))
        found.append((cpu + random.randrange(50), memory + random.randrange(50), 0))
    found += [(CORE // 2, CORE // 2, 0)] * (nodes - len(found))
    return MixedGang(found, [MixedRole(pods, *amounts) for pods, amounts in zip(counts, asked, strict=True) if pods])


def apart(nodes: int, random: Random) -> MixedGang:
    """A pod that wants the node with the GPU alone, after others that like it best."""
    sizes = sorted(random.sample(LARGE, nodes))
    found = [(cpu, cpu, 0 if at else 1) for at, cpu in enumerate(sizes)]
    return MixedGang(found, [MixedRole(min(20, nodes - 1), LARGE.start // 2), MixedRole(1, CORE, gpus=1, apart=True)])


GANGS = {
    "launchers": launchers,
    "one_too_many": one_too_many,
    "twelve_roles": twelve_roles,
    "packed": packed,
    "apart": apart,
}
LABELS = {
    "launchers": words.MIXED_LAUNCHERS,
    "one_too_many": words.MIXED_ONE_TOO_MANY,
    "twelve_roles": words.MIXED_ROLES,
    "packed": words.MIXED_PACKED,
    "apart": words.MIXED_APART,
}


def measure_mixed(nodes: int, policy: Policy) -> dict[str, Any]:
    """For each gang: sessions in milliseconds of processor time, the steps of the search, and whether it starts."""
    return {name: _cost(gang(nodes, Random(SEED)).mirror(), policy) for name, gang in GANGS.items()}


def _cost(mirror: Mirror, policy: Policy) -> dict[str, Any]:
    mirror.snapshot(0.0)
    listed()
    first, again = list[float](), list[float]()
    for _ in range(REPEATS):
        memo = Memo()
        for seconds in (first, again):
            snapshot = mirror.snapshot(0.0)
            begin = process_time()
            session = run_actions(snapshot, policy, REGISTRY, Trace(), memo=memo)
            seconds.append(process_time() - begin)
    return {
        "first_ms": round(float(np.median(first)) * 1000, 3),
        "again_ms": round(float(np.median(again)) * 1000, 3),
        "steps": session.node_selection.searched,
        "starts": bool(session.decisions.committed),
    }


def rows(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The rows of the result's table."""
    for name, found in result.get("mixed", {}).items():
        yield words.mixed(LABELS[name]), words.mixed_cost(**found)


def _pod(role: MixedRole, at: int) -> Manifest:
    metadata = metadata_of("mixed", f"gang-{at}")
    metadata["annotations"] = {"scheduling.k8s.io/group-name": "gang"}
    metadata["labels"] = {"gang": "mixed"}
    amounts = {"cpu": f"{role.cpu}m", "memory": f"{role.memory}Mi", GPUS: str(role.gpus)}
    container = {"name": "main", "resources": {"requests": amounts}}
    spec: Manifest = {"schedulerName": "vsched", "containers": [container]}
    if role.apart:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"gang": "mixed"}}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}
