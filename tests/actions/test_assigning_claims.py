"""A gang whose pods have claims starts wherever any choice of nodes, volumes and devices serves all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import devices, volumes
from tests.support.examples import examples
from tests.support.plans import Manifest, decide, manifests, policy_of

GANGS = policy_of("gang", "predicates nodeorder", actions="allocate")
TYPE = f"device.attributes['{devices.DRIVER}'].type"
PARTS = {"whole": 2, "half": 1}
"""What a part of a device takes of its counter, of which there are two."""


class Ask(NamedTuple):
    """An alternative of a request: so many devices of some types."""

    types: tuple[str, ...]
    count: int

    def manifest(self, name: str) -> Manifest:
        named = ", ".join(f"'{one}'" for one in self.types)
        return devices.request(name, self.count, f"{TYPE} in [{named}]")


Request = tuple[Ask, ...]


class Disk(NamedTuple):
    """A volume, or a claim of one."""

    size: int
    fast: bool


class Node(NamedTuple):
    """What a node has."""

    cpu: int
    devices: tuple[str, ...]
    """The type of each."""
    parted: int
    """So many devices can be taken whole or in halves."""
    disks: tuple[Disk, ...]


class Pod(NamedTuple):
    """What a pod asks for."""

    requests: tuple[Request, ...]
    """Of its claim, if there are any."""
    disks: tuple[Disk, ...]


class Gang(NamedTuple):
    """A gang on an empty cluster; all of its pods are needed."""

    nodes: list[Node]
    pods: list[Pod]

    def manifests(self) -> Iterator[Manifest]:
        nodes = "\n".join(f"node n{at} cpu={node.cpu} {volumes.HOSTNAME}=n{at}" for at, node in enumerate(self.nodes))
        lines = "\n".join("pods ns/a 1 cpu=1" for _ in self.pods)
        found = manifests(f"{nodes}\njob ns/a min={len(self.pods)}\n{lines}")
        pods = [one for one in found if one["kind"] == "Pod"]
        yield from (one for one in found if one["kind"] != "Pod")
        yield devices.device_class()
        yield volumes.storage_class(provisioner=volumes.NO_PROVISIONER)
        for at, node in enumerate(self.nodes):
            yield from _slices(f"n{at}", node)
            for number, disk in enumerate(node.disks):
                yield volumes.volume(
                    f"pv-{at}-{number}",
                    f"{disk.size}Gi",
                    node=f"n{at}",
                    metadata={"labels": {"kind": "fast"} if disk.fast else {}},
                )
        for at, (pod, wanted) in enumerate(zip(pods, self.pods, strict=True)):
            yield from _with_claims(pod, wanted, at)

    def fits(self) -> bool:
        """Whether it does, by trying all ways."""
        return any(map(self._is_way, product(range(len(self.nodes)), repeat=len(self.pods))))

    def _is_way(self, way: tuple[int, ...]) -> bool:
        for at, node in enumerate(self.nodes):
            here = [pod for pod, row in zip(self.pods, way, strict=True) if row == at]
            requests = list(chain.from_iterable(pod.requests for pod in here))
            disks = list(chain.from_iterable(pod.disks for pod in here))
            if len(here) > node.cpu or not _have_devices(node, requests) or not _have_disks(node.disks, disks):
                return False
        return True


def _slices(name: str, node: Node) -> Iterator[Manifest]:
    plain = [devices.device(f"d{at}", attributes={"type": one}) for at, one in enumerate(node.devices)]
    parts = [
        devices.device(
            f"{kind}-{at}-{number}",
            attributes={"type": kind},
            consumesCounters=[{"counterSet": f"c{at}", "counters": {"mem": {"value": str(share)}}}],
        )
        for at in range(node.parted)
        for kind, share in PARTS.items()
        for number in range(2 // share)
    ]
    counters = [{"name": f"c{at}", "counters": {"mem": {"value": "2"}}} for at in range(node.parted)]
    slices = 2 if node.parted else 1
    if node.parted:
        yield devices.resource_slice(name, [], name=f"{name}-counters", count=slices, spec={"sharedCounters": counters})
    if plain or parts:
        yield devices.resource_slice(name, [*plain, *parts], name=f"{name}-devices", count=slices)


def _with_claims(pod: Manifest, wanted: Pod, at: int) -> Iterator[Manifest]:
    spec = pod["spec"]
    if wanted.requests:
        asked = [_request(f"r{number}", one) for number, one in enumerate(wanted.requests)]
        yield devices.resource_claim(f"claim-{at}", *asked)
        spec["resourceClaims"] = devices.pod_claims(devices=f"claim-{at}")
    for number, disk in enumerate(wanted.disks):
        selector = {"spec": {"selector": {"matchLabels": {"kind": "fast"}}}} if disk.fast else {}
        yield volumes.claim(f"disk-{at}-{number}", f"{disk.size}Gi", **selector)
        spec.setdefault("volumes", []).append(
            {"name": f"disk{number}", "persistentVolumeClaim": {"claimName": f"disk-{at}-{number}"}}
        )
    yield pod


def _request(name: str, request: Request) -> Manifest:
    if len(request) == 1:
        return request[0].manifest(name)
    return devices.first_available(name, *(ask.manifest(f"a{place}") for place, ask in enumerate(request)))


def _have_devices(node: Node, requests: list[Request]) -> bool:
    """Whether the devices of a node are enough, by trying all choices."""
    every = [(kind, -1) for kind in node.devices]
    every += [(kind, at) for at in range(node.parted) for kind, share in PARTS.items() for _ in range(2 // share)]

    def serve(left: list[Request], free: frozenset[int], counters: tuple[int, ...]) -> bool:
        if not left:
            return True
        for ask in left[0]:
            usable = [number for number in free if every[number][0] in ask.types]
            for chosen in combinations(usable, ask.count):
                rest = list(counters)
                for number in chosen:
                    kind, at = every[number]
                    if at >= 0:
                        rest[at] -= PARTS[kind]
                if min(rest, default=0) >= 0 and serve(left[1:], free - set(chosen), tuple(rest)):
                    return True
        return False

    return serve(requests, frozenset(range(len(every))), (2,) * node.parted)


def _have_disks(disks: tuple[Disk, ...], wanted: list[Disk]) -> bool:
    """Whether the volumes of a node are enough, by trying all choices."""
    if not wanted:
        return True
    return any(
        disk.size >= wanted[0].size
        and disk.fast >= wanted[0].fast
        and _have_disks((*disks[:at], *disks[at + 1 :]), wanted[1:])
        for at, disk in enumerate(disks)
    )


@st.composite
def gangs(draw: st.DrawFn) -> Gang:
    disk = st.builds(Disk, st.integers(1, 3), st.booleans())
    types = st.sampled_from([("a",), ("b",), ("a", "b"), ("whole",), ("half",), ("a", "half")])
    ask = st.builds(Ask, types, st.sampled_from([1, 1, 2]))
    request = st.lists(ask, min_size=1, max_size=2).map(tuple)
    node = st.builds(
        Node,
        st.integers(2, 4),
        st.lists(st.sampled_from("ab"), max_size=4).map(tuple),
        st.integers(0, 2),
        st.lists(disk, max_size=4).map(tuple),
    )
    pod = st.builds(
        Pod,
        st.lists(request, max_size=2).map(tuple),
        st.lists(disk, max_size=1).map(tuple),
    )
    return Gang(draw(st.lists(node, min_size=1, max_size=2)), draw(st.lists(pod, min_size=2, max_size=3)))


def starts(gang: Gang) -> bool:
    found = decide(gang.manifests(), GANGS, proved=True)
    return found.jobs["ns/a"].ready >= found.jobs["ns/a"].min_member


WHOLE_OR_HALF: Request = (Ask(("whole",), 1), Ask(("half",), 1))


@pytest.mark.parametrize(
    ("nodes", "pods"),
    [
        pytest.param(
            [Node(4, (), 1, ())],
            [Pod((WHOLE_OR_HALF,), ())] * 2,
            id="two that would like a whole device each get a half of the only one",
        ),
        pytest.param(
            [Node(4, ("a", "b"), 0, ())],
            [Pod(((Ask(("a", "b"), 1),),), ()), Pod(((Ask(("a",), 1),),), ())],
            id="the first, which can use any, leaves the one that the other needs",
        ),
        pytest.param(
            [Node(4, (), 0, (Disk(1, True), Disk(2, False)))],
            [Pod((), (Disk(1, False),)), Pod((), (Disk(1, True),))],
            id="the first takes the larger volume, as only the other one is fast",
        ),
        pytest.param(
            [Node(4, (), 0, (Disk(1, True), Disk(2, False)))],
            [Pod((), (Disk(1, False), Disk(1, True))), Pod((), ())],
            id="two claims of one pod that only fit in the other order",
        ),
    ],
)
def test_claims_are_served_in_any_way_that_there_is(nodes: list[Node], pods: list[Pod]) -> None:
    gang = Gang(nodes, pods)
    assert gang.fits()
    assert starts(gang)


@settings(deadline=None, max_examples=examples(40))
@given(gangs())
def test_a_gang_with_claims_starts_if_and_only_if_it_fits(gang: Gang) -> None:
    assert starts(gang) is gang.fits()
