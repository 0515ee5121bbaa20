"""Room for trees of native PodGroups: for as many groups as they need, each where it may be; and trees as victims."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings

from tests.support.examples import examples
from tests.support.fitting_trees import CORES, fits, racks, trees
from tests.support.small import SmallCluster
from tests.support.taking import taking
from tests.support.trees import Leaf, Tree, tree_job
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.status import Status
from vsched.settings.built_in import REGISTRY

PREEMPT = taking("allocate, preempt", "priority gang", "predicates")
GANG_PREEMPT = taking("allocate, gangpreempt", "priority gang", "predicates")


def full(cluster: SmallCluster) -> SmallCluster:
    """The same cluster, full of pods that may leave one by one."""
    for node, amounts in list(cluster.nodes.items()):
        if amounts["cpu"]:
            cluster.running(f"old-{node}", amounts["cpu"] // 1000, node=node)
    return cluster


def decided(cluster: SmallCluster, policy: Policy) -> Session:
    cluster.priority_range = (0, 9)
    return run_actions(cluster.snapshot(), policy, REGISTRY, Trace())


def evicted(session: Session) -> list[str]:
    """The nodes of evicted pods, or their groups where they have one."""
    left = (entry.task for entry in session.decisions.committed if entry.status is Status.RELEASING)
    return sorted(task.group or task.node for task in left)


@pytest.mark.parametrize(
    ("cores", "tree", "victims"),
    [
        pytest.param([3], Tree("root", 2, [Leaf("a", 1), Leaf("b", 2)]), "n1 n1 n1", id="groups of unequal size"),
        pytest.param([2], Tree("root", 1, [Leaf("a", 3), Leaf("b", 2)]), "n1 n1", id="for one that can get room"),
        pytest.param([2], Tree("root", 2, [Leaf("a", 1), Leaf("b", 2)]), "", id="nobody leaves where it is not enough"),
        pytest.param(
            [3],
            Tree("root", 2, [Leaf("a", 3), Leaf("b", 1), Leaf("c", 1)]),
            "n1 n1",
            id="for the smaller ones, where the others leave too little",
        ),
        pytest.param(
            [1, 1, 2, 2],
            Tree("root", 1, [Tree("t", 2, [Leaf("b", 2), Leaf("c", 2)], key="zone")]),
            "n3 n3 n4 n4",
            id="in the zone that can be freed for an inner tree",
        ),
        pytest.param(
            [3, 1, 2, 2],
            Tree("root", 1, [Tree("t", 2, [Leaf("b", 2, key="rack"), Leaf("c", 2, key="rack")], key="zone")]),
            "n3 n3 n4 n4",
            id="and in racks of that zone for its groups",
        ),
        pytest.param(
            [2, 1],
            Tree("root", 2, [Leaf("a", 1), Leaf("b", 2, key="rack")]),
            "n1 n1 n2",
            id="a small group does not take the rack that a large one needs",
        ),
        pytest.param(
            [3, 1, 2, 1],
            Tree("root", 1, [Tree("t", 2, [Leaf("b", 2, key="rack"), Leaf("c", 2, key="rack")], key="zone")]),
            "",
            id="nobody where no zone has two such racks",
        ),
    ],
)
@pytest.mark.parametrize("policy", [PREEMPT, GANG_PREEMPT], ids=["preempt", "gangpreempt"])
def test_where_room_is_made(policy: Policy, cores: list[int], tree: Tree, victims: str) -> None:
    cluster = full(racks(*cores))
    tree_job(cluster, tree, priority=9)

    assert " ".join(evicted(decided(cluster, policy))) == victims


def parts_of(part: Leaf | Tree) -> Iterator[Leaf | Tree]:
    yield part
    if isinstance(part, Tree):
        for one in part.parts:
            yield from parts_of(one)


@settings(max_examples=examples(100), deadline=None)
@given(CORES, trees())
def test_nobody_leaves_unless_a_choice_of_groups_has_room_then(cores: list[int], tree: Tree) -> None:
    cluster = full(racks(*cores))
    tree_job(cluster, tree, priority=9)
    session = decided(cluster, PREEMPT)

    gone = evicted(session)
    assert not gone or (fits(cluster, tree) and session.plugins.job_pipelined(session.jobs["ns/root"]))
    if not any(part.key for part in parts_of(tree)):
        assert bool(gone) == fits(cluster, tree)


TWO_AND_TWO = Tree("root", 1, [Leaf("a", 1, on="n1 n1"), Leaf("b", 1, on="n1 n1")])


def taken(tree: Tree, wanted: int, policy: Policy) -> str:
    """The groups of the pods of a running tree that leave for so many pods of a higher priority; n1 has four cores."""
    cluster = racks(4)
    tree_job(cluster, tree, phase="Running")
    job = cluster.job("high", 0, min_member=wanted)
    job.priority = 9
    for number in range(wanted):
        cluster.task(job, f"high-{number}", cluster.shape(), priority=9)
    return " ".join(evicted(decided(cluster, policy)))


@pytest.mark.parametrize(
    ("tree", "wanted", "victims"),
    [
        pytest.param(
            Tree("root", 1, [Leaf("a", 2, on="n1 n1"), Leaf("b", 2, on="n1 n1")]), 2, "b b", id="a group to spare"
        ),
        pytest.param(
            Tree("root", 2, [Leaf("a", 2, on="n1 n1"), Leaf("b", 2, on="n1 n1")]), 1, "", id="no group that it needs"
        ),
        pytest.param(
            Tree("root", 1, [Leaf("a", 1, on="n1"), Tree("t", 2, [Leaf("b", 1, on="n1"), Leaf("c", 2, on="n1 n1")])]),
            3,
            "b c c",
            id="an inner tree to spare",
        ),
        pytest.param(TWO_AND_TWO, 1, "b", id="a pod beyond the minimum of its group"),
    ],
)
def test_what_a_tree_gives_up(tree: Tree, wanted: int, victims: str) -> None:
    assert taken(tree, wanted, PREEMPT) == victims
