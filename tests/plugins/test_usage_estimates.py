"""usage: load that is placed and not measured yet, as estimated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.usage_world import EVEN, ONE_NODE, POD, TWO_NODES, opened, place, scores, usage_args
from tests.support.worlds import World
from vsched.plugins.load.loads import Estimates

ONE_AND_8_GIB = "cpu=1 memory=8Gi"


@pytest.mark.parametrize(
    ("placed", "arguments", "cpu", "memory"),
    [
        pytest.param(f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 bound", {}, 0.07, 0.056, id="a pod that does not run yet"),
        pytest.param(f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 started=0", {}, 0.07, 0.056, id="one that has just started"),
        pytest.param(
            f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 started=60", {}, 0.056, 0.0448, id="a minute of five is measured"
        ),
        pytest.param(f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 started=300", {}, 0.0, 0.0, id="all of it is measured"),
        pytest.param(f"pods ns/x 1 {ONE_AND_8_GIB} on=n1", {}, 0.0, 0.0, id="one that started nobody knows when"),
        pytest.param(f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 leaving started=0", {}, 0.0, 0.0, id="one that is leaving"),
        pytest.param(f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 failed started=0", {}, 0.0, 0.0, id="one that is over"),
        pytest.param(f"pods ns/x 3 {ONE_AND_8_GIB} on=n1 bound", {}, 0.21, 0.168, id="three"),
        pytest.param("pods ns/x 1 on=n1 bound", {}, 0.025, 200 / 102400, id="one that asks for nothing"),
        pytest.param(
            "pods ns/x 1 on=n1 bound",
            {"estimator.be_cpu": 500, "estimator": {"be_mem": "1Gi"}},
            0.05,
            0.01,
            id="by other numbers",
        ),
        pytest.param(
            f"pods ns/x 1 {ONE_AND_8_GIB} on=n1 bound", {"estimator.request_ratio": 1}, 0.1, 0.08, id="all that it asks"
        ),
        pytest.param(
            f"pods ns/x 1 {ONE_AND_8_GIB} limits=cpu:3 on=n1 bound",
            {"estimator.burst_ratio": 0.5},
            0.17,
            0.056,
            id="half of what its limit allows beyond",
        ),
        pytest.param(
            f"pods ns/x 1 {ONE_AND_8_GIB} limits=cpu:3 on=n1 bound",
            {"estimator.request_ratio": 9},
            0.3,
            0.08,
            id="never more than its limit, or than it asks for where it has none",
        ),
    ],
)
def test_what_is_placed_counts_until_it_is_measured(
    placed: str, arguments: dict[str, Any], cpu: float, memory: float
) -> None:
    world = World(f"{ONE_NODE}{POD}job ns/x\n{placed}\nusage n1 cpu=0 memory=0")

    found = [scores(world, opened(world, arguments | EVEN | {f"{one}.weight": 0}))[0] for one in ("memory", "cpu")]
    assert found == [pytest.approx(100 * (1 - cpu)), pytest.approx(100 * (1 - memory))]


@pytest.mark.parametrize(
    ("usage", "arguments", "cpu"),
    [
        pytest.param("cpu=60 memory=60", {}, 0.684, id="at risk an estimate counts for more"),
        pytest.param("cpu=40 memory=40", {}, 0.47, id="not below"),
        pytest.param("cpu=60 memory=20", {}, 0.67, id="cpu and memory decide together"),
        pytest.param("cpu=40 memory=40", {"estimator.risk_threshold": 0.4}, 0.484, id="from where it is told"),
        pytest.param("cpu=60 memory=60", {"estimator.risk_factor": 1}, 0.67, id="by what it is told"),
        pytest.param("cpu=60 memory=60", {"estimator.risk_factor": 5}, 0.7, id="never more than a pod may use"),
    ],
)
def test_a_node_at_risk(usage: str, arguments: dict[str, Any], cpu: float) -> None:
    world = World(f"{ONE_NODE}job ns/a pods=1 cpu=1\njob ns/x\npods ns/x 1 cpu=1 on=n1 bound\nusage n1 {usage}")
    full = {"dimension.weight": 1} | EVEN | arguments

    assert scores(world, opened(world, full)) == [pytest.approx(100 * (1 - cpu))]


def test_a_pod_counts_from_its_placement_in_this_cycle_and_no_more_once_it_is_taken_back() -> None:
    world = World(f"{TWO_NODES}{POD}usage n1 cpu=20 memory=20\nusage n2 cpu=20 memory=20")
    plugin, task = opened(world), world.task("a.0")
    before = scores(world, plugin)

    place(world, plugin, task, 0)
    after = scores(world, plugin)
    assert after[0] == pytest.approx(before[0] - 500 * 0.07)
    assert after[1] == before[1]
    place(world, plugin, task, 0, -1)
    assert scores(world, plugin) == before


def test_what_is_placed_before_the_first_score_counts_as_well() -> None:
    world = World(f"{TWO_NODES}{POD}usage n1 cpu=20 memory=20\nusage n2 cpu=20 memory=20")
    plugin, later = opened(world), opened(world)
    scores(world, plugin)

    for one in (plugin, later):
        one.on_allocate(world.jobs["ns/a"], world.task("a.0"), 0)
    assert scores(world, plugin) == scores(world, later)


def test_a_victim_is_measured_until_the_next_reading() -> None:
    world = World(f"{ONE_NODE}{POD}pods ns/a 1 cpu=1 on=n1\nusage n1 cpu=20 memory=20")
    plugin, victim = opened(world), world.task("a.1")
    before = scores(world, plugin)

    place(world, plugin, victim, 0, -1)
    assert scores(world, plugin) == before
    place(world, plugin, victim, 0)
    assert scores(world, plugin) == before


def test_where_nothing_is_known_placements_count_as_requests() -> None:
    world = World(f"{ONE_NODE}{POD}")
    plugin, task = opened(world, EVEN), world.task("a.0")
    assert scores(world, plugin) == [100.0]

    place(world, plugin, task, 0)
    assert scores(world, plugin) == [pytest.approx(90.0)]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.booleans()), max_size=20))
def test_after_any_placements_the_books_are_what_a_new_look_gives(moves: list[tuple[int, int, bool]]) -> None:
    world = World(
        f"{TWO_NODES}job ns/a pods=2 cpu=3 memory=9Gi\njob ns/b pods=1\npods ns/b 1 on=n1 bound\n"
        "usage n1 cpu=50 memory=57"
    )
    tasks = world.tasks("a.0 a.1 b.0")
    plugin, untouched = opened(world), scores(world, opened(world))
    where: dict[int, int] = {}
    for number, row, looks in moves:
        if number in where:
            place(world, plugin, tasks[number], where.pop(number), -1)
        else:
            where[number] = row
            place(world, plugin, tasks[number], row)
        if looks:
            scores(world, plugin)
    fresh = opened(world)
    for number, row in where.items():
        fresh.on_allocate(world.jobs[tasks[number].job], tasks[number], row)
    assert scores(world, plugin) == scores(world, fresh)
    for number, row in where.items():
        place(world, plugin, tasks[number], row, -1)
    assert scores(world, plugin) == untouched


def test_estimates_are_whole_numbers() -> None:
    shape = World(f"{ONE_NODE}job ns/a pods=1 cpu=333m memory=1").task("a.0").shape

    assert Estimates(usage_args()).of(shape) == (233, 1, 280, 1)
