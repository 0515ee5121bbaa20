"""consolidate where pods claim volumes and devices, against all ways to move pods on small clusters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.actions.device_plans import held, own
from tests.support import devices as d
from tests.support import volumes as v
from tests.support.examples import examples
from tests.support.plans import Manifest, decide, manifests, policy_from

POLICY = policy_from(
    """
actions: "allocate, consolidate"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}]
configurations:
- name: allocate
  arguments: {gangSearchSteps: 5000}
- name: consolidate
  arguments: {moveSearchSteps: 100000}
"""
)
ZONES = ("a", "b")
DEVICES = ("", "", "made", "named")


class Node(NamedTuple):
    """A node, how many volumes it may attach, and how many devices it has."""

    cpu: int
    zone: str
    attachable: int
    devices: int


class Pod(NamedTuple):
    """A pod, the zone of its volume, and whether a claim for a device was made for it or is one that it names.

    Empty without a volume or device.
    """

    cpu: int
    zone: str = ""
    device: str = ""
    node: int = -1
    """The node that it runs on; -1 for a pod of the gang."""


class Cluster(NamedTuple):
    """A small cluster, and a gang that waits."""

    nodes: tuple[Node, ...]
    running: tuple[Pod, ...]
    gang: tuple[Pod, ...]

    def manifests(self) -> list[Manifest]:
        """All objects."""
        lines, objects = [], list[Manifest]([v.storage_class(), d.device_class()])
        for at, node in enumerate(self.nodes):
            lines.append(f"node n{at} cpu={node.cpu} {v.ZONE}={node.zone}")
            objects.append(v.csi_node(f"n{at}", {v.DRIVER: node.attachable}))
            if node.devices:
                objects.append(d.resource_slice(f"n{at}", [d.device(f"d{one}") for one in range(node.devices)]))
        lines += ["job ns/old phase=Running min=1", f"job ns/want min={len(self.gang)} phase=Inqueue"]
        given = [0] * len(self.nodes)
        with_devices: list[str] = []
        for job, pods in (("old", self.running), ("want", self.gang)):
            for at, pod in enumerate(pods):
                name, words = f"{job}.{at}", f"pods ns/{job} 1 cpu={pod.cpu}"
                words += f" on=n{pod.node} started=3600 owned" if pod.node >= 0 else ""
                if pod.zone:
                    words += f" claim=c-{name}"
                    objects += [v.claim(f"c-{name}", volume=f"v-{name}")]
                    objects += [v.volume(f"v-{name}", zone=pod.zone, claim=f"ns/c-{name}")]
                if pod.device:
                    claim = own(name)[0] if pod.device == "made" else d.resource_claim(name)
                    if pod.node >= 0:
                        claim = held(claim, f"n{pod.node}", f"d{given[pod.node]}", by=[name])
                        given[pod.node] += 1
                    objects.append(claim)
                    with_devices.append(name)
                lines.append(words)
        found = manifests("\n".join(lines))
        for one in found:
            if one["kind"] == "Pod" and (name := one["metadata"]["name"]) in with_devices:
                one["spec"]["resourceClaims"] = d.pod_claims(**{name: name})
        return [*found, *objects]


Room = list[list[int]]
"""By node: cpu, volumes that may still be attached, and devices."""


def less(room: Room, node: int, pod: Pod, sign: int = -1) -> None:
    for at, amount in enumerate((pod.cpu, bool(pod.zone), bool(pod.device))):
        room[node][at] += sign * amount


def ways(cluster: Cluster, pods: Sequence[Pod], room: Room) -> Iterator[None]:
    """Each way to put these pods on other nodes than their own; ``room`` is what is left."""
    if not pods:
        yield
        return
    pod, *others = pods
    for at, node in enumerate(cluster.nodes):
        less(room, at, pod)
        if at != pod.node and pod.zone in ("", node.zone) and min(room[at]) >= 0:
            yield from ways(cluster, others, room)
        less(room, at, pod, 1)


def fits(cluster: Cluster, leaving: Sequence[Pod]) -> bool:
    """Whether the gang fits once these pods have left, with a place now for each of them."""
    idle = [[node.cpu, node.attachable, node.devices] for node in cluster.nodes]
    for pod in cluster.running:
        less(idle, pod.node, pod)
    for _ in ways(cluster, leaving, idle):
        room = [list(left) for left in idle]
        for pod in leaving:
            less(room, pod.node, pod, 1)
        if next(ways(cluster, cluster.gang, room), "none") is None:
            return True
    return False


def fewest(cluster: Cluster) -> int | None:
    """The fewest pods that have to be moved; None where no moves let the gang start.

    A claim that a pod names stays where its device is. One that was made for the pod is made again.
    """
    movable = [pod for pod in cluster.running if pod.device != "named"]
    sets = (leaving for number in range(len(movable) + 1) for leaving in combinations(movable, number))
    return next((len(leaving) for leaving in sets if fits(cluster, leaving)), None)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    nodes = draw(
        st.lists(
            st.builds(Node, st.integers(2, 5), st.sampled_from(ZONES), st.integers(0, 2), st.integers(0, 2)),
            min_size=2,
            max_size=4,
        )
    )
    room, running = [[node.cpu, node.attachable, node.devices] for node in nodes], list[Pod]()
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(nodes) - 1))
        zone = draw(st.sampled_from(("", nodes[at].zone)))
        pod = Pod(draw(st.integers(1, 3)), zone, draw(st.sampled_from(DEVICES)), at)
        less(room, at, pod)
        if min(room[at]) >= 0:
            running.append(pod)
        else:
            less(room, at, pod, 1)
    zones, devices = st.sampled_from(("", "", *ZONES)), st.sampled_from(DEVICES)
    pods = st.builds(Pod, st.integers(1, 4), zones, devices, st.just(-1))
    return Cluster(tuple(nodes), tuple(running), tuple(draw(st.lists(pods, min_size=1, max_size=2))))


@settings(max_examples=examples(150), deadline=None)
@given(clusters())
def test_as_few_pods_with_claims_are_moved_as_possible(cluster: Cluster) -> None:
    report = decide(cluster.manifests(), POLICY).reports[0]
    wanted = fewest(cluster)
    assert len(report.evictions) == (wanted or 0)
    gets_room = len(report.binds) + len(report.nominations)
    assert (gets_room >= len(cluster.gang)) is (wanted is not None)
