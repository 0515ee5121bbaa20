"""Random trees of PodGroups on small racks, and whether such a tree fits, by trying every choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from hypothesis import strategies as st

from tests.support.small import SmallCluster
from tests.support.trees import Leaf, Tree, leaves

CORES = st.lists(st.integers(0, 3), min_size=2, max_size=4)
"""Of the nodes of ``racks``."""
KEYS = st.sampled_from(("", "", "rack", "zone"))
RACKS = {"r1": "z1", "r2": "z1", "r3": "z2", "r4": "z2"}
"""Racks, each with its zone."""


def racks(*cores: int) -> SmallCluster:
    """A node of so many cores for each rack in turn: n1 is in r1 of z1."""
    cluster = SmallCluster()
    for number, amount in enumerate(cores, start=1):
        rack = f"r{(number - 1) % 4 + 1}"
        cluster.node(f"n{number}", cpu=1000 * amount, rack=rack, zone=RACKS[rack])
    return cluster


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """At most five groups in at most two inner trees."""
    names = iter("abcde")

    def group() -> Leaf:
        minimum = draw(st.integers(1, 3))
        count, cores = draw(st.integers(minimum - 1, minimum + 1)), draw(st.sampled_from((1, 1, 1, 2)))
        return Leaf(next(names), minimum, count, draw(KEYS), cores=cores)

    def tree(name: str, parts: list[Leaf | Tree]) -> Tree:
        return Tree(name, draw(st.integers(1, len(parts))), parts, draw(KEYS))

    parts: list[Leaf | Tree] = [group() for _ in range(draw(st.integers(1, 2)))]
    inner = draw(st.sampled_from(("", "t", "tu")))
    parts += [tree(name, [group() for _ in range(draw(st.integers(1, 2 if name == "t" else 1)))]) for name in inner]
    return tree("root", draw(st.permutations(parts)))


def choices(part: Leaf | Tree) -> Iterator[tuple[Leaf, ...]]:
    """The least sets of groups with which a part has its minimum."""
    if isinstance(part, Leaf):
        if part.count >= part.minimum:
            yield (part,)
        return
    for some in combinations(part.parts, part.minimum):
        for chosen in product(*(list(choices(one)) for one in some)):
            yield tuple(leaf for one in chosen for leaf in one)


def keyed(part: Leaf | Tree, chosen: tuple[Leaf, ...]) -> Iterator[tuple[str, list[Leaf]]]:
    """The labels that some of the chosen groups have to agree in."""
    inside = [leaf for leaf in leaves(part) if leaf in chosen]
    if part.key and inside:
        yield part.key, inside
    if isinstance(part, Tree):
        for one in part.parts:
            yield from keyed(one, chosen)


def fits(cluster: SmallCluster, tree: Tree) -> bool:
    """Whether some choice of groups fits, in some choice of racks and zones."""
    for chosen in choices(tree):
        asks = list(keyed(tree, chosen))
        values = [sorted({labels[key] for labels in cluster.labels.values()}) for key, _ in asks]
        for domains in product(*values):
            allowed = {leaf: set(cluster.nodes) for leaf in chosen}
            for (key, inside), value in zip(asks, domains, strict=True):
                for leaf in inside:
                    allowed[leaf] &= {node for node, labels in cluster.labels.items() if labels[key] == value}
            if has_room(cluster, allowed):
                return True
    return False


def has_room(cluster: SmallCluster, allowed: Mapping[Leaf, set[str]]) -> bool:
    """Whether these groups fit on these nodes, by trying all ways; large pods first, which have the fewest."""
    pods = [leaf for leaf in sorted(allowed, key=lambda leaf: -leaf.cores) for _ in range(leaf.minimum)]

    def place(at: int, free: tuple[int, ...]) -> bool:
        if at == len(pods):
            return True
        for number, node in enumerate(cluster.nodes):
            left = free[number] - pods[at].cores
            rest = (*free[:number], left, *free[number + 1 :])
            if node in allowed[pods[at]] and left >= 0 and place(at + 1, rest):
                return True
        return False

    return place(0, tuple(amounts["cpu"] // 1000 for amounts in cluster.nodes.values()))
