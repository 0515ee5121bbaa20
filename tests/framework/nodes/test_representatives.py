"""The best node by representatives is the one that a look at all nodes finds, whatever was placed and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.selecting import World
from vsched.framework.nodes import representatives
from vsched.framework.nodes.representatives import SHAPES_WITHOUT, RepresentativeNodes, RepresentativeScores
from vsched.framework.nodes.selection import Choice, NodeSelection
from vsched.framework.points.nodes import NodeScore
from vsched.model.amounts.resources import CPU
from vsched.model.nodes.masks import NodeMask
from vsched.model.nodes.table import Floats, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

SHAPES = 12
JOBS = "\n".join(
    f"job ns/j{number:02} pods=40 cpu={250 * (number + 1)}m memory={1 + number % 5}Gi" for number in range(SHAPES)
)


class Move(NamedTuple):
    """One step: which job tries on which row (the best where it is negative), and whether the try is taken back."""

    job: int
    row: int
    undone: bool


moves = st.lists(
    st.builds(Move, st.integers(0, SHAPES - 1), st.integers(-60, 59), st.booleans()), min_size=1, max_size=30
)


@st.composite
def nodes(draw: st.DrawFn) -> str:
    sizes = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(2, 8)), min_size=1, max_size=3))
    lines = []
    for number in range(draw(st.integers(16, 60))):
        cores, memory = sizes[number % len(sizes)]
        lines.append(f"node n{number:02} cpu={cores} memory={memory}Gi")
    if draw(st.booleans()):
        lines.append(f"pods ns/old {draw(st.integers(1, 3))} cpu=1 on=n00 leaving")
    return "\n".join([*lines, ""])


def look_at_all(world: World, task: Task) -> Choice | None:
    """The choice of a selection that has scored nothing before."""
    return world.fresh().choose(task)


def ready(world: World) -> NodeSelection:
    """A selection that has scored so many shapes that it looks for representatives."""
    for number in range(SHAPES_WITHOUT):
        world.node_selection.choose(world.tasks(f"j{number:02}")[0])
    return world.node_selection


shards = st.just(()) | st.sets(st.integers(0, 59), min_size=4).map(
    lambda rows: (NodeMask(tuple(f"n{row:02}" for row in sorted(rows))),)
)
"""The nodes of one shard, where the others belong to another one."""


@settings(max_examples=examples(60), deadline=None)
@given(nodes(), moves, shards)
def test_representatives_show_the_node_that_a_look_at_all_nodes_finds(
    text: str, steps: Sequence[Move], masks: Sequence[NodeMask]
) -> None:
    world = World(text + JOBS, masks)
    selection, left = ready(world), {number: world.tasks(f"j{number:02}") for number in range(SHAPES)}
    for step in steps:
        task = left[step.job][0]
        choice = selection.choose(task)
        assert choice == look_at_all(world, task)
        if 0 <= step.row < len(world.names) and selection.fits_at(task, step.row):
            choice = selection.choose(task, step.row)
        if choice is None:
            assert selection.has_failed(task)
            continue
        with world.session.statement() as statement:
            place = statement.pipeline if choice.waits else statement.allocate
            place(world.session.jobs[task.job], task, choice.row)
            if not step.undone:
                statement.keep()
                left[step.job].pop(0)
        assert selection.choose(left[step.job][0]) == look_at_all(world, left[step.job][0])


def test_in_a_shard_its_nodes_are_represented_and_no_others() -> None:
    text = "\n".join(f"node n{number:02} cpu={4 if number % 2 else 3}" for number in range(60))
    ours = range(20, 60, 2)
    world = World(f"{text}\n{JOBS}", [NodeMask(tuple(f"n{row}" for row in ours))])
    selection, task = ready(world), world.tasks(f"j{SHAPES - 1:02}")[0]
    asked = selection.choose(task)
    assert asked is not None
    assert asked.row in ours
    scorer = Emptiest()
    only = world.shards.ours
    by_representatives = RepresentativeNodes(world.session.nodes, (journal := list[int]()), [scorer], only)
    shape, scores = task.shape, RepresentativeScores()
    assert [by_representatives.represent(shape) for _ in range(SHAPES_WITHOUT)][-1]
    assert by_representatives.best(shape, scores, lambda _, row: True) == 20
    assert scorer.asked == [1]
    journal += [1, 20]  # a node of another shard, and one of ours
    world.session.nodes.idle[CPU, [1, 20]] = [9000, 100]
    assert by_representatives.best(shape, scores, lambda _, row: True) == 22


class Emptiest(NodeScore):
    """Scores nodes by their idle cpu, and notes how many rows it was asked about at a time."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats:
        found = nodes.idle[CPU, rows if isinstance(rows, slice) else np.asarray(rows)].astype(np.float64)
        self.asked.append(len(found))
        return found

    def scores_by_amounts(self, shape: Shape, nodes: NodeTable) -> bool:
        return True


def by_emptiness(nodes: NodeTable, journal: list[int], shape: Shape, scorer: Emptiest) -> tuple[list[int], bool]:
    """The rows chosen one after the other, each full from then on; and whether representatives still show the best."""
    by_representatives, scores = RepresentativeNodes(nodes, journal, [scorer]), RepresentativeScores()
    assert [by_representatives.represent(shape) for _ in range(SHAPES_WITHOUT)] == [False] * (SHAPES_WITHOUT - 1) + [
        True
    ]
    chosen = list[int]()
    while (row := by_representatives.best(shape, scores, lambda _, row: bool(nodes.idle[CPU, row] > 0))) is not None:
        if row < 0:
            break
        chosen.append(row)
        nodes.idle[CPU, row] = 0
        journal.append(row)
    return chosen, by_representatives.represent(shape)


BEST_FIRST = [*range(1, 161, 2), *range(0, 160, 2)]
"""The rows of 160 nodes of which every other one has more cpu."""


def test_few_nodes_are_looked_at_until_half_of_them_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(representatives, "FEW_ROWS", 60)
    nodes, shape, scorer = nodes_of_two_kinds()
    chosen, shown = by_emptiness(nodes, [], shape, scorer)
    assert not shown
    assert chosen == BEST_FIRST[: len(chosen)]
    assert len(chosen) > 60
    assert [rows for rows in scorer.asked if rows > 1] == [2, 34, 66]


def test_where_all_nodes_are_few_representatives_show_the_best_until_all_are_full() -> None:
    nodes, shape, scorer = nodes_of_two_kinds()
    assert by_emptiness(nodes, [], shape, scorer) == (BEST_FIRST, True)


def nodes_of_two_kinds() -> tuple[NodeTable, Shape, Emptiest]:
    text = "\n".join(f"node n{number:03} cpu={4 if number % 2 else 3}" for number in range(160))
    world = World(f"{text}\n{JOBS}")
    return world.session.nodes, world.tasks("j00")[0].shape, Emptiest()


def test_scores_that_see_more_than_amounts_need_a_look_at_all_nodes() -> None:
    world = World("\n".join(f"node n{number:02}" for number in range(16)) + "\njob ns/a pods=1 cpu=1")
    scorer = Emptiest()
    by_representatives = RepresentativeNodes(world.session.nodes, [], [scorer, Named()])
    assert not any(by_representatives.represent(world.tasks("a")[0].shape) for _ in range(2 * SHAPES_WITHOUT))


class Named(NodeScore):
    """Scores nodes by their names."""

    def score(self, shape: Shape, nodes: NodeTable, rows: slice | Sequence[int]) -> Floats:
        names = np.array([float(name[1:]) for name in nodes.statics.names])
        return names[rows if isinstance(rows, slice) else np.asarray(rows)]
