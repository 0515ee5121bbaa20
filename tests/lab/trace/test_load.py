"""How much a trace asks for, and the same trace as a heavier load."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.errors import BadInput
from vsched.lab.trace.files import ClusterTrace, TraceNode, TracePod
from vsched.lab.trace.load import (
    DAY,
    capacity_of,
    declaring,
    faster,
    faster_for,
    loads_of,
    part_of,
    scarcest,
    with_share_of_nodes,
)


def pod(name: str, created: int, runs: int, gpus: int = 1, cpu: int = 1000) -> TracePod:
    return TracePod(name, cpu, 1, gpus, 1000 if gpus else 0, (), "LS", created, runs)


def trace(*pods: TracePod, nodes: int = 1) -> ClusterTrace:
    return ClusterTrace(tuple(TraceNode(f"n{number}", 8000, 100, 4, "T4") for number in range(nodes)), pods)


def test_the_load_is_what_is_asked_for_at_the_busiest_moment() -> None:
    found = trace(pod("a", 0, 100, gpus=2), pod("b", 50, 100, gpus=1), pod("c", 120, 10, gpus=1))
    assert loads_of(found) == {"cpu": 2 / 8, "memory": 2 / 100, "gpu": 3 / 4}
    assert scarcest(found) == "gpu"


def test_pods_that_follow_each_other_in_the_same_second_are_never_there_together() -> None:
    assert loads_of(trace(pod("a", 0, 10), pod("b", 10, 10)))["gpu"] == 1 / 4


def test_faster_arrivals_leave_how_long_pods_run() -> None:
    found = faster(trace(pod("a", 5, 7), pod("b", 105, 7)), 10.0)
    assert [(one.created, one.run_seconds) for one in found.pods] == [(5, 7), (15, 7)]


def test_pods_come_as_fast_as_a_load_takes() -> None:
    found = trace(*(pod(f"p{number}", number * 100, 100) for number in range(40)))
    factor = faster_for(found, 2.0)
    assert loads_of(faster(found, factor))["gpu"] == pytest.approx(2.0, abs=0.26)
    assert loads_of(faster(found, factor * 0.98))["gpu"] <= 2.0


def test_a_load_that_the_pods_do_not_come_to_is_refused() -> None:
    with pytest.raises(BadInput, match=r"--load: 3 is more .* they would take 0.50 times the gpu"):
        faster_for(trace(pod("a", 0, 10), pod("b", 90, 10)), 3.0)


def test_a_load_that_the_pods_exceed_however_slowly_they_come_is_refused() -> None:
    with pytest.raises(BadInput, match=r"--load: 0.1 is less .* come: 0.25 times the gpu"):
        faster_for(trace(pod("a", 0, 10), pod("b", 90, 10)), 0.1)


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 200), st.integers(0, 4)), min_size=1, max_size=20),
    st.floats(1, 100),
    st.floats(1, 5),
)
def test_coming_faster_never_asks_for_less(pods: list[tuple[int, int, int]], factor: float, more: float) -> None:
    made = sorted((pod(f"p{number}", *one) for number, one in enumerate(pods)), key=lambda one: one.created)
    found = trace(*made)
    slow, fast = loads_of(faster(found, factor)), loads_of(faster(found, 1e9))
    # Arrivals are in whole seconds, so only the fastest of all is above any other for certain.
    assert all(slow[name] <= fast[name] for name in slow)


def test_fewer_nodes_are_fewer_of_each_kind() -> None:
    kinds = [TraceNode(f"a{number}", 8000, 100, 4, "T4") for number in range(10)]
    kinds += [TraceNode(f"b{number}", 8000, 100, 0) for number in range(4)] + [TraceNode("c", 1, 1)]
    found = with_share_of_nodes(ClusterTrace(tuple(kinds), (pod("p", 0, 1),)), 0.5)
    assert [node.name for node in found.nodes] == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "c"]
    assert capacity_of(found.nodes)["gpu"] == 20_000


@pytest.mark.parametrize("share", [0.0, -0.5, 1.01])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(BadInput, match="--nodes"):
        with_share_of_nodes(trace(pod("p", 0, 1)), share)


MONDAY = datetime(2017, 10, 16, tzinfo=UTC)


def dated() -> ClusterTrace:
    """From Monday on: a pod that runs for three days, one that runs for an hour, and one a day after that."""
    pods = (
        pod("long", 0, 3 * DAY), pod("short", 60, 3600), pod("tuesday", DAY, 60), pod("wednesday", 2 * DAY, 60)
    )  # fmt: skip
    return replace(trace(*pods), epoch=int(MONDAY.timestamp()))


@pytest.mark.parametrize(
    ("begin", "days", "found"),
    [
        pytest.param(None, None, [("long", 0, 3 * DAY), ("short", 60, 3600), ("tuesday", DAY, 60),
                                  ("wednesday", 2 * DAY, 60)], id="all"),
        pytest.param(None, 1.0, [("long", 0, 3 * DAY), ("short", 60, 3600)], id="what comes on the first day"),
        pytest.param(1.0, None, [("long", DAY, 2 * DAY), ("tuesday", DAY, 60), ("wednesday", 2 * DAY, 60)],
                     id="from a day on, with the rest of what runs then"),
        pytest.param(MONDAY.replace(hour=12), 1.0, [("long", DAY // 2, 2.5 * DAY), ("tuesday", DAY, 60)],
                     id="from a date on"),
    ],
)  # fmt: skip
def test_a_part_of_a_trace_is(
    begin: datetime | float | None, days: float | None, found: list[tuple[str, int, int]]
) -> None:
    assert [(one.name, one.created, one.run_seconds) for one in part_of(dated(), begin, days).pods] == found


@pytest.mark.parametrize(
    ("begin", "dates", "problem"),
    [
        pytest.param(5.0, True, "(expected a part of 2017-10-16T00:00 to 2017-10-18T00:00)", id="after the end"),
        pytest.param(MONDAY.replace(day=1), True, "no pod comes in that time", id="before the beginning"),
        pytest.param(5.0, False, "(expected a part of 0 to 2.0 days)", id="after the end of one without dates"),
        pytest.param(MONDAY, False, "2017-10-16: this trace has no dates (expected days since", id="a date of one"),
    ],
)
def test_no_part_of_a_trace_is(begin: datetime | float, dates: bool, problem: str) -> None:
    found = dated() if dates else replace(dated(), epoch=None)
    with pytest.raises(BadInput, match="--from") as caught:
        part_of(found, begin, 1.0)
    assert problem in str(caught.value)


def test_pods_declare_so_many_times_what_they_run() -> None:
    found = declaring(trace(pod("a", 0, 100), pod("b", 0, 0)), 1.5)
    assert [(one.run_seconds, one.declared_seconds) for one in found.pods] == [(100, 150), (0, 1)]
