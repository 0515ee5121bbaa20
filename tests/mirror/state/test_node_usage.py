"""The mirror and usage: readings that come and go, nodes and pods that come later, and who is young."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.mirror.watch import Watch
from tests.support import builders as make
from vsched.model.nodes.usage import Figures, NodeUsage, Reading, UsageTable
from vsched.model.plan import Bind, CycleReport

START = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20Z"
"""``START`` as the API server writes it."""


def reading(taken: float, *names: str, period: str = "5m") -> Reading:
    """All of these nodes use half of their cpu."""
    return Reading(taken, {name: NodeUsage(taken, {period: Figures(50.0)}) for name in names})


def table_of(watch: Watch, now: float = START) -> UsageTable:
    table = watch.cache.snapshot(now).nodes.usage
    assert table is not None
    return table


def young(watch: Watch) -> list[tuple[int, float]]:
    """Rows and starts of young pods."""
    found = table_of(watch).young
    return sorted(zip(found.rows.tolist(), found.started.tolist(), strict=True))


def cpu(watch: Watch) -> list[float]:
    return table_of(watch).cpu["5m"].average.tolist()


def running(name: str, node: str = "n1", started: str = STAMP, **fields: Any) -> make.Fields:
    return make.pod(name, node=node, status={"phase": "Running", "startTime": started}, **fields)


def test_without_a_reading_there_is_no_usage() -> None:
    watch = Watch()
    watch.tell(make.node("n1"))

    assert watch.cache.snapshot(START).nodes.usage is None


def test_a_reading_is_a_reason_to_decide_and_no_reading_is_the_end_of_it() -> None:
    watch = Watch()
    watch.tell(make.node("n1"))
    wakes = watch.wakes
    watch.cache.inputs.use(reading(START, "n1"))
    assert watch.wakes == wakes + 1
    assert cpu(watch) == [50.0]

    watch.cache.inputs.use(None)
    assert watch.cache.snapshot(START).nodes.usage is None


def test_a_node_that_comes_later_is_unknown_until_the_next_reading_and_rows_stay_right() -> None:
    watch = Watch()
    watch.tell(make.node("n2"))
    watch.cache.inputs.use(reading(START, "n2"))
    watch.tell(running("p", "n2"))
    assert (cpu(watch), young(watch)) == ([50.0], [(0, START)])

    watch.tell(make.node("n1"))
    np.testing.assert_array_equal(cpu(watch), [np.nan, 50.0])
    assert young(watch) == [(1, START)]
    watch.cache.inputs.use(reading(START + 30, "n1", "n2"))
    assert cpu(watch) == [50.0, 50.0]
    watch.tell(make.node("n2"), "DELETED")
    assert (cpu(watch), young(watch)) == ([50.0], [])
    watch.tell(make.node("n2"))
    assert young(watch) == [(1, START)], "the pod was there all the time"


def test_a_table_that_nothing_changed_is_the_same_one() -> None:
    watch = Watch()
    watch.tell(make.node("n1"))
    watch.cache.inputs.use(reading(START, "n1"))
    before = table_of(watch)

    watch.tell(make.pod("waiting"))
    watch.tell(make.node("n1", metadata={"labels": {"zone": "a"}}))
    assert table_of(watch) is before
    watch.tell(running("p"))
    assert table_of(watch).cpu is before.cpu
    assert not len(before.young.rows), "what a cycle was given stays as it was"


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(make.pod("p"), [], id="a pod without a node"),
        pytest.param(make.pod("p", node="n1", status=make.BOUND), [np.inf], id="one that does not run yet"),
        pytest.param(running("p"), [START], id="one that has just started"),
        pytest.param(running("p", started="2023-11-14T22:03:21Z"), [START - 599], id="ten minutes ago, just"),
        pytest.param(running("p", started="2023-11-14T22:03:20Z"), [], id="longer ago than figures are good for"),
        pytest.param(make.pod("p", node="n1"), [], id="nobody knows when it started"),
        pytest.param(running("p", spec={"schedulerName": "other"}), [START], id="another scheduler's"),
        pytest.param(running("p", metadata={"deletionTimestamp": STAMP}), [], id="one that is leaving"),
        pytest.param(make.merged(running("p"), {"status": {"phase": "Succeeded"}}), [], id="one that is over"),
        pytest.param(running("p", "n2"), [], id="one on a node that nobody has seen"),
    ],
)
@pytest.mark.parametrize("first", [True, False], ids=["seen before the reading", "seen after it"])
def test_who_is_young(pod: make.Fields, expected: list[float], first: bool) -> None:
    watch = Watch()
    watch.tell(make.node("n1"))
    if first:
        watch.tell(pod)
    watch.cache.inputs.use(reading(START, "n1"))
    if not first:
        watch.tell(pod)

    assert young(watch) == [(0, started) for started in expected]


def test_the_longest_period_says_how_long_a_pod_is_young() -> None:
    watch = Watch()
    watch.tell(make.node("n1"))
    watch.tell(running("p", started="2023-11-14T21:13:20Z"))
    watch.cache.inputs.use(reading(START, "n1", period="1h"))

    assert young(watch) == [(0, START - 3600)]


def test_a_pod_is_young_from_its_binding_until_the_figures_have_it() -> None:
    watch = Watch()
    watch.tell(make.node("n1"))
    watch.tell(make.pod_group("pg"))
    watch.tell(make.pod("p", group="pg"))
    watch.cache.inputs.use(reading(START, "n1"))
    watch.cache.snapshot(START)
    bind = Bind("uid-p", "ns", "p", "n1", "ns/pg")

    watch.cache.assumptions.assume(CycleReport(binds=(bind,)))
    assert young(watch) == [(0, np.inf)]
    watch.cache.assumptions.forget("uid-p")
    assert young(watch) == []
    watch.cache.assumptions.assume(CycleReport(binds=(bind,)))
    watch.tell(running("p", group="pg"))
    assert young(watch) == [(0, START)]
    assert watch.cache.describe()["young_tasks"] == 1
    watch.cache.inputs.use(reading(START + 599, "n1"))
    assert young(watch) == [(0, START)]
    watch.cache.inputs.use(reading(START + 600, "n1"))
    assert (young(watch), watch.cache.describe()["young_tasks"]) == ([], 0)


def test_what_a_plan_has_bound_runs_from_then_on() -> None:
    watch = Watch()
    watch.tell(make.node("n1"))
    watch.tell(make.pod_group("pg"))
    watch.tell(make.pod("p", group="pg"))
    watch.cache.inputs.use(reading(START, "n1"))
    watch.cache.snapshot(START)
    watch.cache.assumptions.settle(CycleReport(binds=(Bind("uid-p", "ns", "p", "n1", "ns/pg"),)), START)

    assert young(watch) == [(0, START)]


STEPS = st.one_of(
    st.tuples(st.just("pod"), st.integers(0, 4), st.sampled_from(["", "n1", "n2", "n3"]), st.integers(0, 1200)),
    st.tuples(st.just("gone"), st.integers(0, 4), st.just(""), st.just(0)),
    st.tuples(st.just("node"), st.integers(1, 3), st.just(""), st.just(0)),
    st.tuples(st.just("lost"), st.integers(1, 3), st.just(""), st.just(0)),
    st.tuples(st.just("reading"), st.integers(0, 3), st.just(""), st.integers(0, 1200)),
    st.tuples(st.just("look"), st.just(0), st.just(""), st.just(0)),
)


@example([("node", 1, "", 0), ("reading", 0, "", 281), ("pod", 0, "n1", 1), ("reading", 1, "", 0)])
@given(st.lists(STEPS, max_size=25))
def test_in_whatever_order_things_come_the_mirror_is_what_a_fresh_list_gives(
    steps: list[tuple[str, int, str, int]],
) -> None:
    watch, taken = Watch(), START
    kept: dict[str, make.Fields] = {}
    last: Reading | None = None
    for what, number, node, seconds in steps:
        match what:
            case "pod":
                phase = "Pending" if seconds % 3 == 0 else "Running"
                made = make.pod(f"p{number}", node=node)
                made["status"] = {
                    "phase": phase,
                    "startTime": f"2023-11-14T22:{13 + seconds // 60:02}:{seconds % 60:02}Z",
                }
                kept[f"p{number}"] = made
                watch.tell(made)
            case "node":
                kept[f"n{number}"] = make.node(f"n{number}")
                watch.tell(kept[f"n{number}"])
            case "gone" | "lost":
                name = f"p{number}" if what == "gone" else f"n{number}"
                if name in kept:
                    watch.tell(kept.pop(name), "DELETED")
            case "reading":
                taken += seconds
                last = reading(taken, *(f"n{one}" for one in range(1, number + 1)))
                watch.cache.inputs.use(last)
            case _:
                watch.cache.snapshot(taken)
    if last is None:
        assert watch.cache.snapshot(taken).nodes.usage is None
        return
    fresh = Watch()
    fresh.cache.inputs.use(last)
    for fields in kept.values():
        fresh.tell(fields)
    assert young(watch) == young(fresh)
    np.testing.assert_array_equal(table_of(watch).measured, table_of(fresh).measured)
