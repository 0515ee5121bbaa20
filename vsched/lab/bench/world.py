"""The objects for ``vsched bench``: made from numbers, and fed to the mirror as the API server would."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from random import Random
from typing import Any

import msgspec
import orjson

from vsched import api
from vsched.lab.bench.claims import Made, devices_a_node, node_objects, pod_objects, shared_objects, use_claims
from vsched.lab.bench.queue_trees import QueueTree
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings

NODE_CPU, NODE_MEMORY_GIB, NODE_PODS = 64, 256, 250
ZONES = 10
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
APART, SPREAD, NEAR = RULES = "apart", "spread", "near"
"""Required anti-affinity by host, hard topology spread by zone, preferred affinity by zone."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of the cluster, and of what is to be placed."""

    nodes: int = 5000
    pods: int = 50000
    gang: int = 20
    shapes: int = 20
    queues: int = 10
    namespaces: int = 10
    queue_levels: int = 1
    """Levels of the tree of which the queues are the leaves; 1: no tree."""
    nominated: int = 0
    """Pods with a nominated node, each a job of its own, besides those to place."""
    running: int = 0
    """Pods that run already, in gangs of the same size."""
    one_a_host: bool = False
    """Pods of a gang refuse to share a host (required anti-affinity)."""
    rule: str = ""
    """What pods of a gang ask of each other, one of ``RULES``; empty for nothing."""
    tiers: int = 0
    """Tiers of HyperNodes over the nodes, as a tree; each gang has to be in one domain. 0: none."""
    claims: str = ""
    """``volumes`` or ``devices``: each pod that waits has a claim of its own; empty for none."""
    seed: int = 1


class MirrorFeeder:
    """Feeds a mirror with these objects."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.mirror = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True))
        self._random = Random(world.seed)
        self._requests = [self._request(number) for number in range(world.shapes)]
        self._gangs = 0
        self._latest: dict[str, Any] = {}
        """The pod that came last."""
        self._latest_group: dict[str, Any] = {}
        """Its PodGroup."""

    def fill(self) -> None:
        """Create nodes, queues, running gangs and waiting ones."""
        world = self.world
        self._feed("Node", (self._node(number) for number in range(world.nodes)))
        self._feed("HyperNode", self._hypernodes())
        self._feed_claims()
        tree = QueueTree(
            world.queues, world.queue_levels, world.nodes * NODE_CPU * 1000, world.nodes * NODE_MEMORY_GIB * 1024
        )
        self._feed("Queue", tree.branches())
        self._feed("Queue", tree.leaves())
        self.add_gangs(world.running, running=True)
        self.add_gangs(world.pods)
        self._add_nominated()

    def add_gangs(self, pods: int, *, running: bool = False, gang: int | None = None) -> None:
        """Create so many pods in gangs; the last gang may be smaller."""
        size = gang or self.world.gang
        for first in range(0, pods, size):
            self._add_gang(min(size, pods - first), running)

    def show_bound(self, node: str) -> None:
        """The pod that came last runs on a node by now."""
        pod = self._latest
        pod["spec"]["nodeName"], pod["status"] = node, {"phase": "Running"}
        self._feed("Pod", [pod], "MODIFIED")

    def end_latest(self) -> None:
        """The pod that came last is gone, and its PodGroup with it, as the job that both belong to."""
        self._feed("Pod", [self._latest], "DELETED")
        self._feed("PodGroup", [self._latest_group], "DELETED")

    def _add_gang(self, size: int, running: bool) -> None:
        number, world = self._gangs, self.world
        self._gangs += 1
        namespace, name = f"team-{number % world.namespaces}", f"gang-{number}"
        request = self._requests[number % world.shapes]
        group: dict[str, Any] = {
            "metadata": metadata_of(namespace, name),
            "spec": {
                "queue": f"queue-{number % world.queues}",
                "minMember": size,
                "minResources": {"cpu": f"{request['millis'] * size}m", "memory": f"{request['mib'] * size}Mi"},
            },
            "status": {"phase": "Running" if running else "Pending"},
        }
        if world.tiers:
            group["spec"]["networkTopology"] = {"mode": "hard", "highestTierAllowed": world.tiers}
        self._feed("PodGroup", [group])
        pods = [self._pod(namespace, name, at, request, running) for at in range(size)]
        claiming = pods if world.claims and not running else ()
        for pod in claiming:
            use_claims(world.claims, pod)
        self._feed("Pod", pods)
        self._latest, self._latest_group = pods[-1], group
        for pod in claiming:  # as in a cluster, where claims are made for pods that are there
            self._feed_all(pod_objects(world.claims, number, min(ZONES, world.nodes), pod["metadata"]))

    def _feed_claims(self) -> None:
        """Create the classes and drivers for claims, and what drivers publish about nodes."""
        world = self.world
        self._feed_all(shared_objects(world.claims))
        devices = devices_a_node(world.pods, world.nodes)
        for number in range(world.nodes if world.claims else 0):
            self._feed_all(node_objects(world.claims, number, f"node-{number:05d}", devices))

    def _feed_all(self, objects: Made) -> None:
        for kind, found in objects:
            self._feed(kind, [found])

    def _feed(self, kind: str, objects: Any, delta: str = "ADDED") -> None:
        for found in objects:
            self.mirror.intake.apply(kind, delta, api.decode(kind, orjson.dumps(found)))

    def _request(self, number: int) -> dict[str, int]:
        """A request between 0.25 and 2.25 cores, and 0.5 and 4.5 GiB, that no other number has."""
        step = number / max(1, self.world.shapes)
        return {"millis": 250 + int(2000 * step), "mib": 512 + self._random.randrange(4096) // 4 * 4}

    def _node(self, number: int) -> dict[str, Any]:
        name = f"node-{number:05d}"
        labels = {HOST: name, ZONE: f"zone-{number % ZONES}"}
        return {
            "metadata": {"name": name, "uid": name, "labels": labels},
            "status": {"allocatable": {"cpu": str(NODE_CPU), "memory": f"{NODE_MEMORY_GIB}Gi", "pods": str(NODE_PODS)}},
        }

    def _hypernodes(self) -> Iterator[dict[str, Any]]:
        """A tree of HyperNodes with about as many members each."""
        world = self.world
        width = ceil(world.nodes ** (1 / (world.tiers + 1)))
        below = [f"node-{number:05d}" for number in range(world.nodes)]
        for tier in range(1, world.tiers + 1):
            kind, parts = "Node" if tier == 1 else "HyperNode", range(0, len(below), width)
            made = {f"tier-{tier}-{first // width:05d}": below[first : first + width] for first in parts}
            for name, members in made.items():
                selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
                yield {"metadata": {"name": name, "uid": name}, "spec": {"tier": tier, "members": selectors}}
            below = list(made)

    def _add_nominated(self) -> None:
        """Create the pods that have a nominated node."""
        request = {"millis": 250, "mib": 512}
        for number in range(self.world.nominated):
            name, namespace = f"kept-{number}", f"team-{number % self.world.namespaces}"
            group = {
                "metadata": metadata_of(namespace, name),
                "spec": {"queue": f"queue-{number % self.world.queues}", "minMember": 1},
                "status": {"phase": "Inqueue"},
            }
            pod = self._pod(namespace, name, 0, request, running=False)
            pod["status"]["nominatedNodeName"] = f"node-{number % self.world.nodes:05d}"
            self._feed("PodGroup", [group])
            self._feed("Pod", [pod])

    def _pod(self, namespace: str, gang: str, at: int, request: dict[str, int], running: bool) -> dict[str, Any]:
        metadata = metadata_of(namespace, f"{gang}-{at}")
        metadata["labels"] = {"gang": gang}
        metadata["annotations"] = {"scheduling.k8s.io/group-name": gang}
        amounts = {"cpu": f"{request['millis']}m", "memory": f"{request['mib']}Mi"}
        container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": amounts}}
        spec: dict[str, Any] = {"schedulerName": "vsched", "containers": [container]}
        spec |= rule_of(APART if self.world.one_a_host else self.world.rule, gang)
        if running:
            spec["nodeName"] = f"node-{self._random.randrange(self.world.nodes):05d}"
        return {"metadata": metadata, "spec": spec, "status": {"phase": "Running" if running else "Pending"}}


def rule_of(rule: str, gang: str) -> dict[str, Any]:
    """The fields of a pod's spec with one of ``RULES`` about its gang."""
    selector = {"matchLabels": {"gang": gang}}
    if rule == APART:
        term = {"labelSelector": selector, "topologyKey": HOST}
        return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    if rule == SPREAD:
        hard = {"whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector, "topologyKey": ZONE, "maxSkew": 1}
        return {"topologySpreadConstraints": [hard]}
    if rule == NEAR:
        term = {"labelSelector": selector, "topologyKey": ZONE}
        wish = {"weight": 100, "podAffinityTerm": term}
        return {"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}}
    return {}


def metadata_of(namespace: str, name: str) -> dict[str, Any]:
    """The metadata of an object created at the beginning of 2026."""
    return {
        "namespace": namespace,
        "name": name,
        "uid": f"{namespace}/{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
