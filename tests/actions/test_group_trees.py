"""Trees of native PodGroups: which groups start together, where each goes, and that a tree starts if it can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.plans import policy_of
from tests.support.small import SmallCluster
from tests.support.trees import Leaf, Tree, leaves, tree_job
from vsched.framework.cycle import run_actions
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.status import HOLDS, Status
from vsched.settings.built_in import REGISTRY

PLAIN = policy_of("priority gang", "predicates")
RACKS = {"r1": "z1", "r2": "z1", "r3": "z2", "r4": "z2"}
"""Racks, each with its zone."""


def racks(*cores: int) -> SmallCluster:
    """A node of so many cores for each rack in turn: n1 is in r1 of z1."""
    cluster = SmallCluster()
    for number, amount in enumerate(cores, start=1):
        rack = f"r{(number - 1) % 4 + 1}"
        cluster.node(f"n{number}", cpu=1000 * amount, rack=rack, zone=RACKS[rack])
    return cluster


def decided(cluster: SmallCluster, tree: Tree) -> Session:
    tree_job(cluster, tree)
    return run_actions(cluster.snapshot(), PLAIN, REGISTRY, Trace())


def bound(session: Session) -> dict[str, list[str]]:
    """The nodes of pods that run, or that this session binds, by group."""
    found: dict[str, list[str]] = {}
    names = session.nodes.statics.names
    for job in session.jobs.values():
        for task in job.job.tasks.values():
            if HOLDS[task.status].allocated:
                found.setdefault(task.group, []).append(task.node)
    for entry in session.committed:
        if entry.status is Status.ALLOCATED:
            found.setdefault(entry.task.group, []).append(names[entry.row])
    return {group: sorted(nodes) for group, nodes in sorted(found.items())}


@pytest.mark.parametrize(
    ("cores", "tree", "expected"),
    [
        pytest.param([4], Tree("root", 2, [Leaf("a", 3), Leaf("b", 1)]), {"a": 3, "b": 1}, id="groups of unequal size"),
        pytest.param(
            [4],
            Tree("root", 2, [Leaf("a", 4), Leaf("b", 2), Leaf("c", 2)]),
            {"b": 2, "c": 2},
            id="two of three, where only the smaller ones fit together",
        ),
        pytest.param([4], Tree("root", 1, [Leaf("a", 5), Leaf("b", 2)]), {"b": 2}, id="one that fits is enough"),
        pytest.param([3], Tree("root", 2, [Leaf("a", 2), Leaf("b", 2)]), {}, id="not as many as it needs"),
        pytest.param(
            [5],
            Tree("root", 1, [Leaf("a", 2), Leaf("b", 4), Leaf("c", 3)]),
            {"a": 2, "c": 3},
            id="what fits besides starts as well, each group whole",
        ),
        pytest.param(
            [4],
            Tree("root", 1, [Tree("t", 2, [Leaf("a", 2), Leaf("b", 3)]), Tree("u", 1, [Leaf("c", 4)])]),
            {"c": 4},
            id="an inner tree counts once it has so many of its groups",
        ),
        pytest.param(
            [5],
            Tree("root", 1, [Leaf("a", 3), Tree("t", 2, [Leaf("b", 1), Leaf("c", 2)])]),
            {"a": 3},
            id="of an inner tree that the job can do without, all that it needs or nothing",
        ),
        pytest.param(
            [6],
            Tree("root", 1, [Leaf("a", 3), Tree("t", 2, [Leaf("b", 1), Leaf("c", 2)])]),
            {"a": 3, "b": 1, "c": 2},
            id="and all of it where there is room",
        ),
        pytest.param(
            [3],
            Tree("root", 1, [Tree("t", 1, [Tree("u", 2, [Leaf("a", 1), Leaf("b", 1)]), Leaf("c", 4)])]),
            {"a": 1, "b": 1},
            id="four levels",
        ),
        pytest.param(
            [2, 2, 2, 2],
            Tree("root", 2, [Leaf("a", 2, key="rack"), Leaf("b", 3)]),
            {"a": 2, "b": 3},
            id="one group in a rack, the other wherever",
        ),
        pytest.param(
            [1, 2, 3, 1],
            Tree("root", 2, [Leaf("a", 1, key="rack"), Tree("t", 2, [Leaf("b", 2), Leaf("c", 2)], key="zone")]),
            {"a": 1, "b": 2, "c": 2},
            id="an inner tree in a zone of its own",
        ),
        pytest.param(
            [1, 2, 2, 1],
            Tree("root", 1, [Tree("t", 2, [Leaf("b", 2), Leaf("c", 2)], key="zone")]),
            {},
            id="no zone has room for the inner tree",
        ),
        pytest.param(
            [2, 1, 2, 2],
            Tree("root", 1, [Tree("t", 2, [Leaf("b", 2, key="rack"), Leaf("c", 2, key="rack")], key="zone")]),
            {"b": 2, "c": 2},
            id="racks for its groups inside of the zone of an inner tree",
        ),
        pytest.param(
            [2, 2, 2, 3],
            Tree("root", 2, [Leaf("a", 3), Tree("t", 1, [Leaf("b", 2, key="rack")])], key="zone"),
            {"a": 3, "b": 2},
            id="all of it in the zone of the job",
        ),
        pytest.param(
            [3, 3],
            Tree("root", 1, [Leaf("a", 2, 4), Leaf("b", 3, 2)]),
            {"a": 4},
            id="more pods of a group follow its minimum; one with too few pods waits",
        ),
    ],
)
def test_which_groups_start(cores: list[int], tree: Tree, expected: Mapping[str, int]) -> None:
    session = decided(racks(*cores), tree)

    found = {group: len(nodes) for group, nodes in bound(session).items()}
    assert found == expected


# -- against brute force ------------------------------------------------------------------------------------------

KEYS = st.sampled_from(("", "", "rack", "zone"))


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """At most five groups in at most two inner trees."""
    names = iter("abcde")

    def group() -> Leaf:
        minimum = draw(st.integers(1, 3))
        return Leaf(next(names), minimum, draw(st.integers(minimum - 1, minimum + 1)), draw(KEYS))

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
    """Whether these groups fit on these nodes; sets of nodes contain each other or have nothing in common."""
    free = {node: amounts["cpu"] // 1000 for node, amounts in cluster.nodes.items()}
    for leaf, nodes in sorted(allowed.items(), key=lambda one: len(one[1])):
        left = leaf.minimum
        for node in nodes:
            taken = min(left, free[node])
            free[node] -= taken
            left -= taken
        if left:
            return False
    return True


def is_right(view: JobView, tree: Tree, nodes: Mapping[str, list[str]], cluster: SmallCluster) -> bool:
    """Whether the groups with pods on nodes are whole, also as parts of inner trees, and where they ask to be."""
    chosen = tuple(leaf for leaf in leaves(tree) if leaf.name in nodes)

    def whole(part: Leaf | Tree) -> bool:
        if isinstance(part, Leaf):
            return len(nodes.get(part.name, ())) >= part.minimum
        return sum(map(whole, part.parts)) >= part.minimum

    def right(part: Leaf | Tree) -> bool:
        if not any(leaf in chosen for leaf in leaves(part)):
            return True
        return whole(part) and (isinstance(part, Leaf) or all(map(right, part.parts)))

    for key, inside in keyed(tree, chosen):
        if len({cluster.labels[node][key] for leaf in inside for node in nodes[leaf.name]}) > 1:
            return False
    return view.is_ready and right(tree)


CORES = st.lists(st.integers(0, 3), min_size=2, max_size=4)


@settings(max_examples=examples(300), deadline=None)
@given(CORES, trees())
def test_a_tree_starts_if_and_only_if_a_choice_of_its_groups_fits(cores: list[int], tree: Tree) -> None:
    cluster = racks(*cores)
    session = decided(cluster, tree)

    nodes = bound(session)
    assert bool(nodes) == fits(cluster, tree)
    assert not nodes or is_right(session.jobs["ns/root"], tree, nodes, cluster)
