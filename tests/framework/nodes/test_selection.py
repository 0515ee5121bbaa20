"""Feasible and best node: what is remembered by shape is, after any placements, what a fresh look would say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.selecting import World
from vsched.framework.nodes.node_plugins import NodePlugins
from vsched.framework.nodes.selection import Choice, NodeSelection


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        pytest.param("node n1\nnode n2\njob ns/a pods=1 cpu=1", ["n1"], id="among equals, the first by name"),
        pytest.param("node n2\nnode n1\njob ns/a pods=1 cpu=1", ["n1"], id="whatever order nodes came in"),
        pytest.param("node n1 cpu=1\njob ns/a pods=2 cpu=1", ["n1", None], id="a node that is full is out"),
        pytest.param(
            "node n1 cpu=1\npods ns/old 1 cpu=1 on=n1 leaving\njob ns/a pods=2 cpu=1",
            ["n1*", None],
            id="what is being left can be waited for, once",
        ),
        pytest.param(
            "node n1 cpu=4\nnode n2 cpu=1\npods ns/old 1 cpu=4 on=n1 leaving\njob ns/a pods=3 cpu=1",
            ["n2", "n1*", "n1*"],
            id="a node with room now goes before one with room later",
        ),
        pytest.param(
            "node n1 cpu=2\npods ns/old 1 cpu=1 on=n1 leaving\njob ns/a\npods ns/a 1 cpu=2\npods ns/a 1 cpu=1",
            ["n1*", None],
            id="what a waiting task counts on is not idle any more",
        ),
        pytest.param("job ns/a pods=1 cpu=1", [None], id="without nodes there is no choice"),
    ],
)
def test_where_tasks_go_one_after_another(text: str, placed: list[str | None]) -> None:
    world = World(text)

    assert [world.place("a", number) for number in range(len(placed))] == placed


class Move(NamedTuple):
    """One step: which job tries, and whether the try is taken back."""

    job: str
    undone: bool


moves = st.lists(st.builds(Move, st.sampled_from("abc"), st.booleans()), min_size=1, max_size=24)
JOBS = """
    job ns/a pods=24 cpu=1
    job ns/b pods=24 cpu=500m memory=1Gi
    job ns/c pods=24 cpu=2 selector=zone:a
"""


@st.composite
def nodes(draw: st.DrawFn) -> str:
    cores, memory, zones = st.integers(1, 6), st.integers(1, 4), st.sampled_from("ab")
    lines = [
        f"node n{number:02} cpu={draw(cores)} memory={draw(memory)}Gi zone={draw(zones)}"
        for number in range(draw(st.integers(1, 12)))
    ]
    if draw(st.booleans()):
        lines.append(f"pods ns/old {draw(st.integers(1, 3))} cpu={draw(st.integers(1, 2))} on=n00 leaving")
    return "\n".join(lines)


@settings(max_examples=examples(35), deadline=None)
@given(nodes(), moves)
def test_what_is_remembered_is_what_a_fresh_look_says(text: str, steps: Sequence[Move]) -> None:
    world = World(text + JOBS)
    placed = dict.fromkeys("abc", 0)
    for step in steps:
        task = world.tasks(step.job)[placed[step.job]]
        choice: Choice | None = world.node_selection.choose(task)
        fresh = world.fresh()
        assert choice == fresh.choose(task)
        if choice is None:
            assert world.node_selection.has_failed(task)
            assert world.node_selection.explain(task) == fresh.explain(task)
            continue
        assert world.node_selection.fits_at(task, choice.row)
        assert world.node_selection.choose(task, choice.row) == choice
        with world.session.statement() as statement:
            place = statement.pipeline if choice.waits else statement.allocate
            place(world.session.jobs[task.job], task, choice.row)
            if not step.undone:
                statement.keep()
                placed[step.job] += 1


@settings(max_examples=examples(35), deadline=None)
@given(nodes(), st.sampled_from("abc"))
def test_there_is_never_less_room_than_can_be_placed(text: str, job: str) -> None:
    world = World(text + JOBS)
    room = world.node_selection.room(world.tasks(job)[0])
    placed = 0
    while placed < 24 and world.place(job, placed) is not None:
        placed += 1

    assert placed == min(24, room.tasks), "exact for one shape alone"
    if placed < 24:
        assert sum(room.full.reasons.values()) >= len(world.names)


def test_room_shrinks_with_each_placement() -> None:
    world = World("node n1 cpu=3\njob ns/a pods=3 cpu=1")
    task = world.tasks("a")[0]
    before = world.node_selection.room(task).tasks
    world.place("a", 1)

    assert (before, world.node_selection.room(task).tasks) == (3, 2)


def test_a_nominated_node_is_taken_only_where_the_task_may_go() -> None:
    world = World(
        "node n1 cpu=1\nnode n2 cpu=4\nnode n3 cpu=4\nnode n4 cpu=4\n"
        "pods ns/old 1 cpu=4 on=n4 leaving\njob ns/a pods=1 cpu=2"
    )
    (task,) = world.tasks("a")

    assert [world.node_selection.fits_at(task, row) for row in range(4)] == [False, True, True, True]
    assert [world.node_selection.choose(task, row) for row in range(4)] == [
        Choice(1, waits=False),
        Choice(1, waits=False),
        Choice(2, waits=False),
        Choice(3, waits=True),
    ]


def test_without_filters_and_scores_every_node_with_room_will_do() -> None:
    world = World("node n1 cpu=1\nnode n2 cpu=4 cordoned\njob ns/a pods=1 cpu=2")
    fitting = NodeSelection(world.session.nodes, [], NodePlugins(), lambda task: "default")
    (task,) = world.tasks("a")

    assert fitting.choose(task) == Choice(1, waits=False)
    assert np.count_nonzero(world.session.nodes.pipelined) == 0
