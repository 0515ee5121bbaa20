"""Thousands of objects that no API server lets in, and some that all do: none keeps a good gang from being placed.

Every field of every kind that is followed is replaced by every value that ever ended a scheduler; here a part of these,
spread evenly over fields and values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.exemplars import EXEMPLARS
from tests.support.spoiling import VALUES, spoilt
from vsched import api
from vsched.arbitrator.ceilings import ceilings_of
from vsched.arbitrator.division.divide import divide
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.settings import load_text
from vsched.settings.built_in import REGISTRY

POLICIES = ("volcano-default", "capacity", "taking-back", "usage", "packing")
CHOSEN = {"Pod": 83}
"""One object of so many; of kinds with fewer fields one of eleven."""
BATCH = 40
NOW = 1_800_000_000.0
ROOM = {
    "cpu": "64",
    "memory": "256Gi",
    "pods": "1000",
    "nvidia.com/gpu": "100",
    "ephemeral-storage": "1Ti",
    "hugepages-2Mi": "10Gi",
}


@cache
def policy(name: str) -> Policy:
    path = Path(__file__).parents[2] / "config" / "policies" / f"{name}.yaml"
    return load_text(path.read_text(encoding="utf-8"), name, REGISTRY).policy


class Tenancy:
    """A mirror with some nodes and queues, to which objects come and go in rising versions."""

    def __init__(self) -> None:
        self.cache = Mirror(MirrorSettings(frozenset({"vsched"}), open_without_state=True, arbitrating=True))
        self.version = 100
        for number in range(3):
            metadata = {"name": f"n{number}", "labels": {"zone": "a"}}
            self.put("Node", {"metadata": metadata, "status": {"allocatable": ROOM}})
        amounts = {"cpu": "1", "memory": "1Gi"}
        spec = {"weight": 65535, "guarantee": {"resource": amounts}, "deserved": amounts}
        self.put("Queue", {"metadata": {"name": "good"}, "spec": spec})
        self.put("Queue", {"metadata": {"name": "default"}, "spec": {"weight": 1}})

    def put(self, kind: str, obj: object, type: str = "ADDED") -> api.Object:
        return self.put_bytes(kind, orjson.dumps(obj), type)

    def put_bytes(self, kind: str, data: bytes, type: str = "ADDED") -> api.Object:
        found = api.read(kind, data)
        self.apply(kind, found, type)
        return found

    def apply(self, kind: str, found: api.Object, type: str) -> None:
        self.version += 1
        found.metadata.resource_version = str(self.version)
        self.cache.intake.apply(kind, type, found)

    def gang(self, name: str) -> Iterator[tuple[str, api.Object]]:
        """A PodGroup of two and its pods, in a namespace and a queue of their own."""
        metadata = {"name": name, "namespace": "good", "uid": name}
        group = {"metadata": metadata, "spec": {"minMember": 2, "queue": "good"}, "status": {"phase": "Inqueue"}}
        yield "PodGroup", self.put("PodGroup", group)
        amounts = {"requests": {"cpu": "10m", "memory": "1Mi"}}
        spec = {"schedulerName": "vsched", "containers": [{"name": "c", "resources": amounts}]}
        for number in range(2):
            pod: dict[str, Any] = {"name": f"{name}-{number}", "namespace": "good", "uid": f"{name}-{number}"}
            pod["annotations"] = {"scheduling.k8s.io/group-name": name}
            yield "Pod", self.put("Pod", {"metadata": pod, "spec": spec})

    def decide(self, chosen: Policy) -> set[str]:
        """The uids of the pods that are bound in a session after a round of arbitration."""
        snapshot = replace(self.cache.snapshot(NOW + self.version), arbitration=self.cache.arbitration())
        ceilings_of(divide(snapshot), snapshot.axis, lends=True)
        return {bind.uid for bind in run_cycle(snapshot, chosen, REGISTRY).binds}


def batches(kind: str, start: int) -> Iterator[list[tuple[str, bytes]]]:
    found = islice(spoilt(kind), start, None, CHOSEN.get(kind, 11))
    while batch := list(islice(found, BATCH)):
        yield batch


def renamed(data: bytes, number: int) -> bytes:
    """One of many, where neither its name nor its ports are what is wrong with it."""
    for old, new in ((b'"name":"x"', b'"name":"x-%d"'), (b'"uid":"uid-x"', b'"uid":"uid-x-%d"'), (b"8080", b"80%02d")):
        data = data.replace(old, new % number)
    return data


@pytest.mark.parametrize("kind", [kind for kind in EXEMPLARS if kind in api.KINDS])
def test_no_object_keeps_a_good_gang_from_being_placed(kind: str) -> None:
    tenancy, number = Tenancy(), 0
    sizes: dict[str, int] = {}
    for number, batch in enumerate(batches(kind, len(kind))):
        told = [what for what, _ in batch]
        bad = [tenancy.put_bytes(kind, renamed(data, at)) for at, (_, data) in enumerate(batch)]
        good = list(tenancy.gang(f"good{number}"))
        bound = tenancy.decide(policy(POLICIES[number % len(POLICIES)]))
        assert {f"good{number}-0", f"good{number}-1"} <= bound, told
        for found in bad:
            tenancy.apply(kind, found, "DELETED")
        for known, found in good:
            tenancy.apply(known, found, "DELETED")
        if number == 2:
            tenancy.cache.snapshot(NOW)
            sizes = dict(tenancy.cache.describe())
    tenancy.cache.snapshot(NOW)
    kept = {"broken", "blemished", "snapshots", "shapes", "learnt_durations"}
    if sizes:
        left = {name: size for name, size in tenancy.cache.describe().items() if name not in kept}
        assert left == {name: size for name, size in sizes.items() if name not in kept}
    assert number, "there is more than one batch"


@pytest.mark.parametrize("value", [b'"\xff\xfe"', b"[" * 2000 + b"]" * 2000, b'"\\ud800"', b"9" * 5000, b"NaN"])
def test_whatever_cannot_be_read_of_an_object_it_is_known_which_one_it_is(value: bytes) -> None:
    tenancy = Tenancy()
    data = orjson.dumps(EXEMPLARS["Queue"][0]).replace(b'"weight":2', b'"weight":' + value)
    tenancy.put_bytes("Queue", data)
    [broken] = tenancy.cache.broken.values()
    assert (broken.kind, broken.name, broken.uid) == ("Queue", "x", "uid-x")
    assert "spec.weight" in broken.message or "UTF-8" in broken.message
    assert len(broken.message) < 300


NAMES = {
    "nothing": "",
    "a dot": ".",
    "two dots": "..",
    "a query": "?x=1",
    "a fragment": "a#b",
    "a slash": "a/b",
    "an escape": "a%2Fb",
    "a control character": "a\x01b",
    "an emoji": "\U0001f4a5",
    "a quote": 'a"b',
    "a blank": "a b",
    "letters without end": "x" * 10_000,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("kind", ["PodGroup", "Queue", "Node", "PersistentVolumeClaim"])
def test_a_name_that_cannot_stand_in_a_url_is_left_out_with_a_reason(kind: str, name: str) -> None:
    tenancy = Tenancy()
    tenancy.put(kind, {"metadata": {"name": name, "namespace": "ns"}})
    [broken] = tenancy.cache.broken.values()
    assert broken.message.startswith(kind)
    assert "cannot be in a URL (expected 1 to 253 letters" in broken.message
    assert broken.message.isascii()
    assert broken.message.isprintable()


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_pod_that_cannot_be_named_is_not_placed_and_takes_its_room_on_a_node(name: str) -> None:
    tenancy = Tenancy()
    containers = [{"name": "c", "resources": {"requests": {"cpu": "60"}}}]
    waiting = {"schedulerName": "vsched", "containers": containers}
    tenancy.put("Pod", {"metadata": {"name": name, "namespace": "ns", "uid": "waiting"}, "spec": waiting})
    running = {**waiting, "nodeName": "n1"}
    tenancy.put("Pod", {"metadata": {"name": name, "namespace": "ns", "uid": "running"}, "spec": running})
    assert tenancy.decide(policy("volcano-default")) == set()
    assert {broken.uid for broken in tenancy.cache.broken.values()} == {"waiting", "running"}
    nodes = tenancy.cache.snapshot(NOW).nodes
    assert nodes.idle[0].tolist() == [64_000, 4_000, 64_000]


def test_amounts_without_end_are_no_more_than_can_be_counted() -> None:
    """Tenants name nodes themselves, so that what a node holds has no bound: neither sums nor evictions overflow."""
    tenancy = Tenancy()
    exact = {"cpu": "1Ei", "memory": "1Ei", "nvidia.com/gpu": "9223372036854775807", "pods": "9" * 90}
    tenancy.put("Node", {"metadata": {"name": "vast", "labels": {"zone": "b"}}, "status": {"allocatable": exact}})
    limits = {"requests": {"memory": "1Ei", "cpu": "1Ei", "nvidia.com/gpu": "9" * 90}}
    containers = [{"name": str(number), "resources": limits} for number in range(9)]
    for number in range(300):
        spec = {"schedulerName": "vsched", "containers": containers, "nodeName": "n0", "overhead": {"memory": "1Ei"}}
        metadata = {"name": f"p{number}", "namespace": "ns", "uid": f"p{number}"}
        tenancy.put("Pod", {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})
    one = {"schedulerName": "vsched", "priority": 9, "containers": [{"resources": {"requests": {"memory": "1Ei"}}}]}
    for number in range(2):
        metadata = {"name": f"one{number}", "namespace": "ns", "uid": f"one{number}"}
        tenancy.put("Pod", {"metadata": metadata, "spec": one})
    for name in POLICIES:
        list(tenancy.gang(name))
        bound = tenancy.decide(policy(name))
        assert {f"{name}-0", f"{name}-1"} <= bound
    assert len(tenancy.decide(policy("gang-only")) & {"one0", "one1"}) == 1, "1Ei fits where there is as much, once"
    idle = tenancy.cache.snapshot(NOW).nodes.idle[:, 0]
    assert (idle[:2] < 0).all(), "a node that holds too much of cpu and memory has none to give"
    assert not tenancy.cache.broken


def test_memory_stays_bounded_while_objects_come_and_go() -> None:
    tenancy = Tenancy()
    kinds = [kind for kind in EXEMPLARS if kind in api.KINDS]
    for kind in kinds:
        for number, (_, data) in enumerate(islice(spoilt(kind), 0, None, 61)):
            found = tenancy.put_bytes(kind, renamed(data, number % 40))
            tenancy.apply(kind, found, "DELETED")
    tenancy.cache.snapshot(NOW)
    assert len(tenancy.cache.broken) == 0
    assert len(tenancy.cache.axis) < 100
    assert len(VALUES) > 60
