"""A gang of sub-groups whose pods have rules about each other starts wherever any assignment to nodes exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.hypernodes import hypernode_object
from tests.support.plans import Manifest, decide, manifests, policy_from

GANGS = policy_from("""
actions: allocate
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
configurations:
- name: allocate
  arguments: {gangSearchSteps: 4000}
""")
"""So many steps are more than a search in a cluster as small as these takes: none is cut."""
HOSTNAME = "kubernetes.io/hostname"
WHEN = "requiredDuringSchedulingIgnoredDuringExecution"


class Node(NamedTuple):
    """A node; zones and racks are independent of each other."""

    cpu: int
    zone: str
    rack: str


class Pod(NamedTuple):
    """A pod of a sub-group, and its rules about other pods."""

    cpu: int
    kind: str
    near: str = ""
    """The kind of which there has to be one in its zone, where there is one."""
    apart: str = ""
    """The kind of which there may be none in its zone, or on its node."""
    apart_by: str = HOSTNAME
    skew: int = 0
    """By how many more than in another zone there may be in its zone of the pods that are spread; 0 for any."""
    spread: bool = False
    """Whether it counts there."""

    def add_rules(self, pod: Manifest) -> None:
        affinity = pod["spec"].setdefault("affinity", {})
        if self.near:
            term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"kind": self.near}}}
            affinity["podAffinity"] = {WHEN: [term]}
        if self.apart:
            term = {"topologyKey": self.apart_by, "labelSelector": {"matchLabels": {"kind": self.apart}}}
            affinity["podAntiAffinity"] = {WHEN: [term]}
        if self.skew:
            pod["spec"]["topologySpreadConstraints"] = [
                {
                    "maxSkew": self.skew,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "nodeAffinityPolicy": "Ignore",
                    "labelSelector": {"matchLabels": {"spread": "yes"}},
                }
            ]


class Gang(NamedTuple):
    """A gang on an empty cluster."""

    nodes: list[Node]
    groups: list[list[Pod]]
    """Each is a sub-group, unless ``needed`` is 0: then all pods are needed, and there are no sub-groups."""
    needed: int
    """How many of the sub-groups it needs."""
    close: bool
    """Whether the pods of each sub-group have to be in one rack."""

    @property
    def pods(self) -> list[tuple[int, Pod]]:
        """Each pod with the number of its sub-group."""
        return [(at, pod) for at, group in enumerate(self.groups) for pod in group]

    def manifests(self) -> Iterator[Manifest]:
        nodes = [f"node n{at} cpu={node.cpu} zone={node.zone}" for at, node in enumerate(self.nodes)]
        size = len(self.groups[0])
        minimum = self.needed * size if self.needed else len(self.pods)
        job = f"job ns/a min={minimum}" + (f" subGroups=part:{size}:{self.needed}" if self.needed else "")
        pods = [
            f"pods ns/a 1 cpu={pod.cpu} role=r{at} labels=part:p{at},kind:{pod.kind}"
            + (",spread:yes" if pod.spread else "")
            for at, pod in self.pods
        ]
        left = [pod for _, pod in self.pods]
        for one in manifests("\n".join([*nodes, job, *pods])):
            if one["kind"] == "PodGroup" and self.needed and self.close:
                one["spec"]["subGroupPolicy"][0]["networkTopology"] = {"mode": "hard", "highestTierAllowed": 1}
            if one["kind"] == "Pod":
                left.pop(0).add_rules(one)
            yield one
        for rack in sorted({node.rack for node in self.nodes}):
            yield hypernode_object(rack, 1, *(f"n{at}" for at, node in enumerate(self.nodes) if node.rack == rack))

    def fits(self) -> bool:
        """Whether it does, by placing the pods in all orders and ways."""
        pods = [pod for _, pod in self.pods]
        seen: set[tuple[int, ...]] = set()

        def goes_on(way: tuple[int, ...]) -> bool:
            """``way``: the node of each pod, -1 for none."""
            if way in seen:
                return False
            seen.add(way)
            if self._is_whole(way):
                return True
            return any(
                goes_on((*way[:at], number, *way[at + 1 :]))
                for at, node in enumerate(way)
                if node < 0
                for number in range(len(self.nodes))
                if self._may_come(pods, way, at, number)
            )

        return goes_on((-1,) * len(pods))

    def _is_whole(self, way: tuple[int, ...]) -> bool:
        if not self.needed:
            return min(way) >= 0
        placed = [
            [at for (one, _), at in zip(self.pods, way, strict=True) if one == group and at >= 0]
            for group in range(len(self.groups))
        ]
        if self.close and any(len({self.nodes[at].rack for at in mine}) > 1 for mine in placed):
            return False
        size = len(self.groups[0])
        return all(len(mine) in (0, size) for mine in placed) and sum(map(bool, placed)) >= self.needed

    def _may_come(self, pods: list[Pod], way: tuple[int, ...], at: int, number: int) -> bool:
        pod, node = pods[at], self.nodes[number]
        there = [(one, row) for one, row in zip(pods, way, strict=True) if row >= 0]
        if sum(one.cpu for one, row in there if row == number) + pod.cpu > node.cpu:
            return False
        zone = [one for one, row in there if self.nodes[row].zone == node.zone]
        is_first = pod.near == pod.kind and not any(one.kind == pod.near for one, _ in there)
        if pod.near and not is_first and not any(one.kind == pod.near for one in zone):
            return False

        def together(row: int, key: str) -> bool:
            return row == number if key == HOSTNAME else self.nodes[row].zone == node.zone

        if any(one.kind == pod.apart and together(row, pod.apart_by) for one, row in there):
            return False
        if any(one.apart == pod.kind and together(row, one.apart_by) for one, row in there):
            return False
        if pod.skew:
            counts = {one.zone: 0 for one in self.nodes}
            for one, row in there:
                counts[self.nodes[row].zone] += one.spread
            if counts[node.zone] + pod.spread - min(counts.values()) > pod.skew:
                return False
        return True


@st.composite
def gangs(draw: st.DrawFn) -> Gang:
    kinds = st.sampled_from(("k0", "k1"))
    pod = st.builds(
        Pod,
        st.integers(1, 3),
        kinds,
        st.one_of(st.just(""), st.just(""), kinds),
        st.one_of(st.just(""), st.just(""), kinds),
        st.sampled_from((HOSTNAME, "zone")),
        st.sampled_from((0, 0, 1, 2)),
        st.booleans(),
    )
    nodes = draw(
        st.lists(
            st.builds(Node, st.integers(1, 6), st.sampled_from("ab"), st.sampled_from("xy")), min_size=1, max_size=4
        )
    )
    size, count = draw(st.integers(1, 2)), draw(st.integers(2, 3))
    # Pods of a sub-group are often alike.
    groups = [[draw(pod)] * size if draw(st.booleans()) else [draw(pod) for _ in range(size)] for _ in range(count)]
    return Gang(nodes, groups, draw(st.integers(0, count)), draw(st.booleans()))


@settings(deadline=None, max_examples=examples(40))
@given(gangs())
def test_a_gang_of_sub_groups_with_rules_about_pods_starts_if_and_only_if_it_fits(gang: Gang) -> None:
    found = decide(gang.manifests(), GANGS, proved=True)
    assert (found.jobs["ns/a"].ready >= found.jobs["ns/a"].min_member) is gang.fits()
