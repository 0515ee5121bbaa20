"""Within some nodes, what is chosen, counted and said is what a cluster of these nodes alone would say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.selecting import World
from vsched.framework.words.nodes import available

JOBS = """
    job ns/a pods=8 cpu=1
    job ns/b pods=8 cpu=500m memory=1Gi
    job ns/c pods=8 cpu=2 selector=zone:a
"""


def line(name: str, number: int) -> str:
    return f"node {name} cpu={1 + number % 5} memory={1 + number % 3}Gi zone={'ab'[number % 2]}"


def rows(world: World, names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([world.names.index(name) for name in names], dtype=np.int64)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 29), min_size=1, max_size=10, unique=True), st.data())
def test_within_some_nodes_all_is_as_in_a_cluster_of_these_nodes(numbers: list[int], data: st.DataObject) -> None:
    names = [f"n{number:02}" for number in numbers]
    inside = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    steps = data.draw(st.lists(st.sampled_from("abc"), max_size=16))
    leaving = f"\npods ns/old 1 cpu=1 on={inside[0]} leaving"
    text = [line(name, number) for name, number in zip(names, numbers, strict=True)]
    world = World("\n".join(text) + leaving + JOBS)
    alone = World("\n".join(one for one in text if one.split()[1] in inside) + leaving + JOBS)
    placed = dict.fromkeys("abc", 0)
    with world.node_selection.within(rows(world, inside)):
        for job in steps:
            number = placed[job]
            if number == 8:
                continue
            task, other = world.tasks(job)[number], alone.tasks(job)[number]
            assert world.node_selection.room(task) == alone.node_selection.room(other)
            assert world.node_selection.explain(task) == alone.node_selection.explain(other)
            assert world.node_selection.has_failed(task) == alone.node_selection.has_failed(other)
            for row, name in enumerate(world.names):
                fits = name in inside and alone.node_selection.fits_at(other, alone.names.index(name))
                assert world.node_selection.fits_at(task, row) == fits
            assert int(world.node_selection.rooms(task).sum()) == int(alone.node_selection.rooms(other).sum())
            node = world.place(job, number)
            assert node == alone.place(job, number)
            placed[job] += node is not None


def test_what_is_found_under_a_restriction_is_forgotten_with_it() -> None:
    world = World("node n1 cpu=1\nnode n2 cpu=8\nnode n3 cpu=8\njob ns/a pods=4 cpu=2")
    selection, (task, *_) = world.node_selection, world.tasks("a")
    with selection.within(rows(world, ["n1"])):
        assert selection.choose(task) is None
        assert (selection.has_failed(task), selection.is_short) == (True, True)
        assert selection.explain(task).message == available(1, {"Insufficient cpu": 1})
        assert selection.room(task).tasks == 0

    assert (selection.has_failed(task), selection.is_short) == (False, False)
    assert selection.room(task).tasks == 8
    assert selection.explain(task).reasons == {"Insufficient cpu": 1}


def test_what_was_found_before_says_nothing_about_fewer_nodes() -> None:
    world = World("node n1 cpu=1\nnode n2 cpu=1\njob ns/a pods=1 cpu=2")
    selection, (task,) = world.node_selection, world.tasks("a")
    assert selection.choose(task) is None
    with selection.within(rows(world, ["n2"])):
        assert (selection.has_failed(task), selection.is_short) == (False, False)

    assert (selection.has_failed(task), selection.is_short) == (True, True)


@pytest.mark.parametrize(
    ("outer", "inner", "node"),
    [
        pytest.param(["n1", "n2", "n3"], ["n2", "n4"], "n2", id="the inner holds for the rows of both"),
        pytest.param(["n3", "n4"], ["n3", "n4"], "n3", id="the same rows are the same"),
        pytest.param(["n1"], ["n2"], None, id="rows apart leave nothing"),
        pytest.param(["n1", "n2"], [], None, id="no rows leave nothing"),
    ],
)
def test_restrictions_nest(outer: list[str], inner: list[str], node: str | None) -> None:
    world = World("node n1\nnode n2\nnode n3\nnode n4\njob ns/a pods=3 cpu=1")
    selection, tasks = world.node_selection, world.tasks("a")
    with selection.within(rows(world, outer)):
        with selection.within(rows(world, inner)):
            choice = selection.choose(tasks[0])
            assert (None if choice is None else world.names[choice.row]) == node
        choice = selection.choose(tasks[0])
        assert choice is not None
        assert world.names[choice.row] == outer[0]
    choice = selection.choose(tasks[0])
    assert choice is not None
    assert world.names[choice.row] == "n1"


def test_a_restriction_may_add_to_the_scores_of_nodes() -> None:
    world = World("node n1\nnode n2\nnode n3\njob ns/a pods=1 cpu=1")
    selection, (task,) = world.node_selection, world.tasks("a")
    scores = np.array([0.0, 0.0, 50.0])
    with selection.within(rows(world, ["n1", "n2", "n3"]), scores):
        best = selection.choose(task)
        with selection.within(rows(world, ["n1", "n3"])):
            still = selection.choose(task)
    plain = selection.choose(task)

    assert best is not None
    assert still is not None
    assert plain is not None
    assert [world.names[one.row] for one in (best, still, plain)] == ["n3", "n3", "n1"]


def test_a_nominated_node_outside_is_not_taken() -> None:
    world = World("node n1\nnode n2\njob ns/a pods=1 cpu=1")
    selection, (task,) = world.node_selection, world.tasks("a")
    with selection.within(rows(world, ["n1"])):
        choice = selection.choose(task, 1)
        assert (choice is not None and choice.row, selection.can_hold(task, 1)) == (0, False)
        assert selection.candidates(task, {}).tolist() == [True, False]
        assert np.isinf(selection.ranking(task, np.ones(2, dtype=np.bool_))).tolist() == [False, True]
