"""The objects for ``vsched bench-arbitrate``: namespaces with running and waiting pods, and a mirror that has them.

With overused namespaces the running pods fill all nodes: these namespaces use several times as much as the others, and
each of the others waits for as much as it uses. Without them there is room for all pods that wait.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, pairwise
from random import Random
from typing import Any

import msgspec
import orjson

from vsched import api
from vsched.arbitrator.effects import DropAllocation, Effect, MakeConsumer, WriteAllocation, WriteStatus
from vsched.controllers.allocation_bodies import (
    ALLOCATION,
    BUCKET,
    CONSUMER,
    allocation_create,
    consumer_create,
    spec_write,
    status_write,
)
from vsched.lab.bench.world import metadata_of
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.arbitration.records import DEFAULT_CONSUMER, SYSTEM_NAMESPACE

SCHEDULERS = ("default-scheduler", "vsched", "another-scheduler")
SLOT_MILLIS = 4000
"""The mean request of a pod. A node has so much for each of its pods, which together request all of it."""
LESS_MILLIS = range(0, SLOT_MILLIS - 500, 250)
"""Requests of pods differ from the mean by these amounts, up and down in pairs."""
POD_MIB_PER_CPU, NODE_MIB_PER_CPU = 3072, 4096
SPARE_SLOTS = 110
"""Pods that fit on a node beyond those running there: the number of pods is not what is scarce."""
GPU, GPU_NODES = "nvidia.com/gpu", 10
"""Every tenth node has a GPU for each of its pods."""
SYSTEM_PODS = 100
"""One of so many pods belongs to kube-system."""
NEWCOMER = "newcomer"
"""A namespace that uses nothing yet."""
FULL = "full"
"""A namespace with a limit of zero."""

Manifest = dict[str, Any]
Key = tuple[str, str, str]
"""Kind, namespace, name."""


class NamespaceWorld(msgspec.Struct, frozen=True, kw_only=True):
    """The sizes of such a cluster."""

    nodes: int = 5000
    namespaces: int = 1000
    pods: int = 50_000
    """Pods that run."""
    waiting: int = 5000
    buckets: int = 10
    """Every other namespace is in a bucket."""
    overused: int = 100
    """Namespaces that use several times as much as the others; nearly all use more than they deserve."""
    seed: int = 1

    @property
    def weights(self) -> list[int]:
        """The weight of each namespace, by number."""
        return [1 + number // 2 % 3 for number in range(self.namespaces)]

    def running(self) -> list[int]:
        """The number of running pods by namespace; namespaces that are not overused have at most half of their part."""
        weights, pods = self.weights, self.pods - self.pods // SYSTEM_PODS
        if not self.overused:
            return dealt(pods, weights)
        modest = weights[self.overused :]
        few = dealt(min(self.waiting, pods * sum(modest) // sum(weights) // 2), modest)
        return dealt(pods - sum(few), weights[: self.overused]) + few

    def asking(self) -> list[int]:
        """The number of waiting pods by namespace."""
        return [0] * self.overused + dealt(self.waiting, self.weights[self.overused :])

    def parent(self, number: int) -> str:
        """The bucket of a namespace, empty for none. Neighbours share one; the overused share none with others."""
        if number % 2 or not self.buckets:
            return ""
        at = number * self.buckets // self.namespaces
        first, end = (-(-self.namespaces * each // self.buckets) for each in (at, at + 1))
        return "" if first < self.overused < end else f"bucket-{at}"

    def slots(self, node: int) -> int:
        """The number of pods that run on a node."""
        return self.pods // self.nodes + (node < self.pods % self.nodes)


def dealt(total: int, weights: Sequence[int]) -> list[int]:
    """A whole number divided by weight, without remainder."""
    ends = [total * weight // sum(weights) for weight in accumulate(weights, initial=0)]
    return [end - begin for begin, end in pairwise(ends)]


def namespace_name(number: int) -> str:
    return f"team-{number:04d}"


def node_name(number: int) -> str:
    """A name as long as clouds make them."""
    return f"ip-10-{number >> 16}-{number >> 8 & 255}-{number & 255}.eu-central-1.compute.internal"


def pod_of(namespace: str, number: int, millis: int, *, gpu: bool = False, node: str = "") -> Manifest:
    """A pod of one of three schedulers; it waits unless it has a node."""
    amounts = {"cpu": f"{millis}m", "memory": f"{millis * POD_MIB_PER_CPU // 1000}Mi"} | ({GPU: "1"} if gpu else {})
    resources = {"requests": amounts, "limits": amounts}
    return {
        "metadata": metadata_of(namespace, f"work-{number}"),
        "spec": {
            "schedulerName": SCHEDULERS[number % len(SCHEDULERS)],
            "containers": [{"name": "main", "image": "registry.example/work:1", "resources": resources}],
            **({"nodeName": node} if node else {}),
        },
        "status": {"phase": "Running" if node else "Pending"},
    }


def as_asked(pod: Manifest) -> Manifest:
    """A pod with all the usual fields that kube-scheduler sends, though the extender reads few of them."""
    spec = pod["spec"]
    mounts = [{"name": name, "mountPath": f"/mnt/{name}", "readOnly": True} for name in ("data", "results", "token")]
    settings = [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(20)]
    more = {"env": settings, "volumeMounts": mounts, "terminationMessagePath": "/dev/termination-log"}
    untouched = [
        {"key": f"node.kubernetes.io/{why}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for why in ("not-ready", "unreachable")
    ]
    whole = {
        "containers": [{**container, **more} for container in spec["containers"]],
        "volumes": [{"name": mount["name"], "configMap": {"name": mount["name"]}} for mount in mounts],
        "tolerations": untouched,
        "serviceAccountName": "default",
        "restartPolicy": "Always",
    }
    return {**pod, "apiVersion": "v1", "kind": "Pod", "spec": {**spec, **whole}}


class NamespaceFeeder:
    """Feeds a mirror with the objects, creates and deletes pods, and carries out the arbitrator's writes."""

    def __init__(self, crowd: NamespaceWorld) -> None:
        self.crowd = crowd
        self.mirror = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True, arbitrating=True))
        self.waiting: list[Manifest] = []
        """Pods without a node, oldest first."""
        self.staying: set[str] = set()
        """Uids of pods that ``renew`` leaves alone."""
        self._random = Random(crowd.seed)
        self._written: dict[Key, Manifest] = {}
        """Consumers, Allocations and Buckets as they are now."""
        self._numbers: Counter[str] = Counter()
        """How many pods each namespace has had."""
        for number in range(crowd.nodes):
            self._feed("Node", self._node(number))
        self._claim()
        self._run()
        for number, pods in enumerate(crowd.asking()):
            for _ in range(pods):
                self.ask(namespace_name(number))

    # -- what there is

    def _node(self, number: int) -> Manifest:
        crowd, name, slots = self.crowd, node_name(number), self.crowd.slots(number)
        if not crowd.overused:
            slots += 2 * -(-crowd.waiting // crowd.nodes)
        cpu = slots * SLOT_MILLIS // 1000
        room = {"cpu": str(cpu), "memory": f"{cpu * NODE_MIB_PER_CPU}Mi", "pods": str(slots + SPARE_SLOTS)}
        gpus = {} if number % GPU_NODES else {GPU: str(slots)}
        return {"metadata": {"name": name, "uid": name}, "status": {"allocatable": room | gpus}}

    def _claim(self) -> None:
        """Create the namespaces, their Consumers, and buckets with the sum of their weights."""
        crowd = self.crowd
        weights: Counter[str] = Counter()
        for number, weight in enumerate(crowd.weights):
            weights[crowd.parent(number)] += weight
            self._feed("Namespace", {"metadata": metadata_of("", namespace_name(number))})
            # Every tenth namespace gets its Consumer from the arbitrator.
            if number % 10 != 9:
                self._write((CONSUMER, namespace_name(number), DEFAULT_CONSUMER), {"spec": self._promised(number)})
        for name in sorted(weights.keys() - {""}):
            self._write((BUCKET, "", name), {"spec": {"weight": weights[name], "reserved": {"cpu": "1"}}})
        self._write((CONSUMER, FULL, DEFAULT_CONSUMER), {"spec": {"hard": {"cpu": "0", "memory": "0"}}})

    def _promised(self, number: int) -> Manifest:
        """The spec of a Consumer: every other has a parent, every fourth a reservation, every fifth a limit."""
        crowd, spec = self.crowd, dict[str, Any]()
        spec["weight"] = crowd.weights[number]
        if crowd.parent(number):
            spec["parent"] = crowd.parent(number)
        cpu = SLOT_MILLIS * crowd.pods // crowd.namespaces // 1000
        if number % 4 == 1:
            spec["reserved"] = {"cpu": str(cpu // 4), "memory": f"{cpu // 4}Gi"}
        if number % 5 == 2:
            total = SLOT_MILLIS * crowd.pods // 1000
            spec["hard"] = {"requests.cpu": str(total), "limits.cpu": str(2 * total), "persistentvolumeclaims": "10"}
        return spec

    def _run(self) -> None:
        crowd = self.crowd
        owners = [SYSTEM_NAMESPACE] * (crowd.pods // SYSTEM_PODS)
        for number, pods in enumerate(crowd.running()):
            owners += [namespace_name(number)] * pods
        self._random.shuffle(owners)
        for node in range(crowd.nodes):
            slots, less = crowd.slots(node), LESS_MILLIS[node % len(LESS_MILLIS)]
            for at in range(slots):
                sign = 0 if at == slots - 1 and slots % 2 else (-1, 1)[at % 2]
                self._add(owners.pop(), SLOT_MILLIS + sign * less, node % GPU_NODES == 0, node_name(node))

    # -- pods that come and go

    def ask(self, namespace: str) -> Manifest:
        """Create a pod that waits; each of them would fit on some node."""
        at = self._numbers[namespace]
        pod = self._add(namespace, SLOT_MILLIS - LESS_MILLIS[at % len(LESS_MILLIS)], at % GPU_NODES == 9)
        self.waiting.append(pod)
        return pod

    def withdraw(self, pod: Manifest) -> None:
        """Delete a pod that waits."""
        self.waiting.remove(pod)
        self._feed("Pod", pod, "DELETED")

    def renew(self, pods: int) -> None:
        """Replace the oldest waiting pods by others like them, so that no sum changes."""
        going = (pod for pod in tuple(self.waiting) if pod["metadata"]["uid"] not in self.staying)
        for pod in islice(going, pods):
            self.withdraw(pod)
            namespace = pod["metadata"]["namespace"]
            self._numbers[namespace] += 1
            again = {**pod, "metadata": metadata_of(namespace, f"work-{self._numbers[namespace]}")}
            self._feed("Pod", again)
            self.waiting.append(again)

    def _add(self, namespace: str, millis: int, gpu: bool, node: str = "") -> Manifest:
        self._numbers[namespace] += 1
        pod = pod_of(namespace, self._numbers[namespace], millis, gpu=gpu, node=node)
        self._feed("Pod", pod)
        return pod

    # -- what is written

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Carry out writes of the arbitrator, as the API server would."""
        for effect in effects:
            match effect:
                case MakeConsumer():
                    made = orjson.loads(consumer_create(effect).body)
                    self._write((CONSUMER, effect.namespace, DEFAULT_CONSUMER), made)
                case WriteAllocation():
                    key = (ALLOCATION, effect.namespace, effect.name)
                    if not effect.uid:
                        self._write(key, orjson.loads(allocation_create(effect).body))
                    elif effect.spec is not None:
                        self._patch(key, spec_write(*key, "", effect.spec).body)
                    if effect.status is not None:
                        self._patch(key, status_write(*key, "", effect.status).body)
                case WriteStatus():
                    key = (effect.kind, effect.namespace, effect.name)
                    self._patch(key, status_write(*key, "", effect.status).body)
                case DropAllocation():
                    key = (ALLOCATION, effect.namespace, effect.name)
                    self._feed(ALLOCATION, self._written.pop(key), "DELETED")

    def _write(self, key: Key, content: Manifest) -> None:
        metadata = {**metadata_of(*key[1:]), "generation": 1, "resourceVersion": "1"}
        self._written[key] = {**content, "metadata": metadata}
        self._feed(key[0], self._written[key])

    def _patch(self, key: Key, body: bytes) -> None:
        found = self._written[key]
        for change in orjson.loads(body):
            found[change["path"].removeprefix("/")] = change["value"]
        found["metadata"]["resourceVersion"] = str(int(found["metadata"]["resourceVersion"]) + 1)
        self._feed(key[0], found, "MODIFIED")

    def _feed(self, kind: str, found: Manifest, change: str = "ADDED") -> None:
        self.mirror.intake.apply(kind, change, api.decode(kind, orjson.dumps(found)))
