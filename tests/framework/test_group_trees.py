"""Trees of native PodGroups: whether they have what they need, what they lack, and what they can lose."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.small import SmallCluster
from tests.support.trees import Leaf, Tree, tree_job
from vsched.framework.jobs import JobView
from vsched.framework.subgroups import SubGroups
from vsched.framework.surplus import Surplus
from vsched.model.pods.status import Status

P, W, A, R, L = Status.PENDING, Status.PIPELINED, Status.ALLOCATED, Status.RUNNING, Status.RELEASING
INNER = Tree("t", 1, [Leaf("b", 2), Leaf("c", 3)])
MIXED = Tree("root", 2, [Leaf("a", 1), INNER, Leaf("d", 4)])
BOTH = Tree("root", 1, [Leaf("a", 3), Tree("t", 2, [Leaf("b", 1), Leaf("c", 1)])])


def running(tree: Tree, text: str) -> Tree:
    """The tree with so many running pods by group: ``a=2 b=1``; its groups have as many pods or their minimum."""
    counts = dict(word.split("=") for word in text.split())

    def put(part: Leaf | Tree) -> Leaf | Tree:
        if isinstance(part, Tree):
            return part._replace(parts=[put(one) for one in part.parts])
        return part._replace(on=" ".join(["n1"] * int(counts.get(part.name, 0))))

    found = put(tree)
    assert isinstance(found, Tree)
    return found


def view_of(tree: Tree) -> JobView:
    return JobView(tree_job(SmallCluster().node("n1"), tree))


def groups_of(view: JobView) -> SubGroups:
    assert view.sub_groups is not None
    return view.sub_groups


@pytest.mark.parametrize(
    ("tree", "text", "ready", "missing"),
    [
        pytest.param(MIXED, "", False, 3, id="nothing runs: the two smallest parts"),
        pytest.param(MIXED, "a=1", False, 2, id="an inner tree lacks what its smallest group lacks"),
        pytest.param(MIXED, "a=1 c=2", False, 1, id="or the group that lacks fewest"),
        pytest.param(MIXED, "a=1 c=3", True, 0, id="any group of the inner tree"),
        pytest.param(MIXED, "b=2 c=3", False, 1, id="two groups of an inner tree count as one part"),
        pytest.param(MIXED, "a=1 d=4", True, 0, id="without the inner tree"),
        pytest.param(BOTH, "b=1", False, 1, id="half of an inner tree is no part"),
        pytest.param(Tree("root", 3, [Leaf("a", 1), Leaf("b", 2)]), "a=1 b=2", False, 1, id="a group to come"),
    ],
)
def test_what_a_tree_has_and_lacks(tree: Tree, text: str, ready: bool, missing: int) -> None:
    view = view_of(running(tree, text))

    assert (view.is_ready, groups_of(view).tasks_missing()) == (ready, missing)


@pytest.mark.parametrize(
    ("tree", "text", "lost"),
    [
        pytest.param(MIXED, "a=1 b=2", "", id="a tree at its minimum loses nothing"),
        pytest.param(MIXED, "a=1 b=2 c=3", "b b", id="a group that its inner tree can do without"),
        pytest.param(MIXED, "a=1 b=2 d=4", "a", id="one part more than needed: one of them"),
        pytest.param(MIXED, "b=2 d=5", "d", id="a pod beyond the minimum of its group"),
        pytest.param(MIXED, "a=1 b=1 d=4", "b", id="pods of a group that is not whole"),
        pytest.param(BOTH, "a=3 b=1 c=1", "a a a", id="all of a group, where the inner tree is enough"),
        pytest.param(BOTH, "b=1 c=1 a=2", "a a", id="not the inner tree that is needed"),
        pytest.param(Tree("root", 1, [INNER, Leaf("a", 1)]), "b=2 a=1", "b b", id="an inner tree breaks as a whole"),
    ],
)
def test_what_a_tree_can_lose(tree: Tree, text: str, lost: str) -> None:
    view = view_of(running(tree, text))
    surplus = Surplus(view)

    tasks = [task for task in view.job.tasks.values() if task.status is R]
    assert " ".join(task.group for task in tasks if surplus.lose(task)) == lost


def counts_of(groups: SubGroups) -> object:
    places = range(len(groups.policies))
    placed = [part.placed for part in (*groups.groups.values(), *groups.composites)]
    return [groups.ready_of(at) for at in places], [groups.pipelined_of(at) for at in places], placed


def has_minimum(part: Leaf | Tree, counts: dict[str, int]) -> bool:
    if isinstance(part, Leaf):
        return counts.get(part.name, 0) >= part.minimum
    return sum(has_minimum(one, counts) for one in part.parts) >= part.minimum


def counted(groups: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in groups:
        found[group] = found.get(group, 0) + 1
    return found


@settings(max_examples=examples(60))
@given(
    st.sampled_from((MIXED, BOTH, Tree("root", 1, [Tree("t", 2, [INNER._replace(name="u"), Leaf("a", 1)])]))),
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from((P, W, A, R, L))), max_size=25),
)
def test_counts_follow_every_move_and_going_back_restores_them(tree: Tree, moves: list[tuple[int, Status]]) -> None:
    view = view_of(tree)
    groups, tasks, steps = groups_of(view), list(view.job.tasks.values()), []
    before = counts_of(groups)
    now = {task.uid: task.status for task in tasks}
    for at, status in moves:
        task = tasks[at % len(tasks)]
        steps.append((task, now[task.uid], status))
        view.move(task, now[task.uid], status, "n1")
        now[task.uid] = status

    assert counts_of(groups) == counts_of(SubGroups(groups.policies, [one.moved(now[one.uid], "n1") for one in tasks]))
    placed = counted(task.group for task in tasks if now[task.uid] in (A, R))
    assert groups.are_ready == has_minimum(tree, placed)
    assert (groups.tasks_missing() == 0) == groups.are_ready
    for task, was, status in reversed(steps):
        view.move(task, status, was, "n1")
    assert counts_of(groups) == before
