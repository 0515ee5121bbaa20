"""Trees of native PodGroups: which groups start together, where each goes, and that a tree starts if it can."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from tests.support.examples import examples
from tests.support.fitting_trees import CORES, fits, keyed, racks, trees
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
    for entry in session.decisions.committed:
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


@settings(max_examples=examples(300), deadline=None)
@given(CORES, trees())
def test_a_tree_starts_if_and_only_if_a_choice_of_its_groups_fits(cores: list[int], tree: Tree) -> None:
    cluster = racks(*cores)
    session = decided(cluster, tree)

    nodes = bound(session)
    assert bool(nodes) == fits(cluster, tree)
    assert not nodes or is_right(session.jobs["ns/root"], tree, nodes, cluster)
