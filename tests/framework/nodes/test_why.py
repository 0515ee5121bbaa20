"""Why no node takes a task: reasons counted, and told in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.small import GIB, SmallCluster
from vsched.framework.nodes.why import (
    NodeReasons,
    exceeding,
    failing,
    once_filled,
    reasons_of,
    shortages,
    within,
)
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Shortage
from vsched.framework.words.nodes import available
from vsched.model.amounts.resources import CPU, MEMORY, PODS
from vsched.model.nodes.table import NodeTable
from vsched.model.pods.shape import Shape


def cluster() -> SmallCluster:
    return SmallCluster().node("n1", cpu=1000).node("n2", cpu=4000, memory=GIB).node("n3", cpu=4000, pods=0)


def explain(nodes: NodeTable, shape: Shape, static: list[Check], dynamic: list[Check]) -> NodeReasons:
    return reasons_of(len(nodes), failing(nodes, shape, static, dynamic, nodes.unreserved))


def check(reason: str, *passes: bool) -> Check:
    return Check(reason, np.array(passes))


@pytest.mark.parametrize(
    ("static", "dynamic", "reasons"),
    [
        pytest.param(
            [],
            [],
            {"Insufficient cpu": 1, "Insufficient memory": 1, "Too many pods": 1},
            id="amounts, each by its own name",
        ),
        pytest.param(
            [check("cordoned", False, True, True)],
            [],
            {"cordoned": 1, "Insufficient memory": 1, "Too many pods": 1},
            id="a node counts for its attributes before its amounts",
        ),
        pytest.param(
            [check("first", False, True, True), check("second", False, False, True)],
            [],
            {"first": 1, "second": 1, "Too many pods": 1},
            id="and for the first of them only",
        ),
        pytest.param(
            [],
            [check("ports", False, False, False)],
            {"Insufficient cpu": 1, "Insufficient memory": 1, "Too many pods": 1},
            id="pods around it come last",
        ),
        pytest.param(
            [check("same", False, True, True), check("same", True, False, True)],
            [],
            {"same": 2, "Too many pods": 1},
            id="equal reasons of several filters are one",
        ),
    ],
)
def test_reasons_of_a_task_of_two_cores(static: list[Check], dynamic: list[Check], reasons: dict[str, int]) -> None:
    made = cluster()
    shape = made.shape(cpu=2000, memory=2 * GIB)

    assert explain(made.snapshot().nodes, shape, static, dynamic).reasons == reasons


def test_a_node_counts_for_every_amount_it_lacks() -> None:
    made = SmallCluster().node("n1", cpu=1000, memory=GIB)
    found = explain(made.snapshot().nodes, made.shape(cpu=2000, memory=2 * GIB), [], [])

    assert found.message == available(1, {"Insufficient cpu": 1, "Insufficient memory": 1})


def test_what_a_waiting_task_reserves_is_lacking() -> None:
    made = SmallCluster().node("n1", cpu=4000)
    nodes = made.snapshot().nodes
    nodes.pipelined[CPU, 0] = 3000

    assert explain(nodes, made.shape(cpu=2000), [], []).reasons == {"Insufficient cpu": 1}


def test_what_is_in_the_way_of_one_more() -> None:
    made = cluster()
    room = np.array([1, 0, 0])
    nodes, shape = made.snapshot().nodes, made.shape(cpu=1000, memory=2 * GIB)
    found = reasons_of(len(nodes), failing(nodes, shape, [], [], once_filled(nodes, shape, room)))

    assert found.reasons == {"Insufficient cpu": 1, "Insufficient memory": 1, "Too many pods": 1}


@pytest.mark.parametrize(
    ("limits", "held", "names"),
    [
        pytest.param({CPU: 3.0, MEMORY: 9.0}, {CPU: 1}, [], id="up to the limit"),
        pytest.param({CPU: 3.0, MEMORY: 9.0}, {CPU: 2}, ["cpu"], id="past it, by however little"),
        pytest.param({CPU: 3.0}, {}, ["memory"], id="no limit named means none is allowed"),
        pytest.param({CPU: 3.0, MEMORY: 9.0, PODS: 0.0}, {}, ["pods"], id="pods count where a limit is named"),
        pytest.param({CPU: 3.0, MEMORY: 9.0}, {PODS: 1 << 60}, [], id="else there may be any number"),
        pytest.param({CPU: 3.0, MEMORY: float("inf")}, {MEMORY: 1 << 60}, [], id="without limit"),
    ],
)
def test_exceeding(limits: dict[int, float], held: dict[int, int], names: list[str]) -> None:
    request = ((CPU, 2), (MEMORY, 1), (PODS, 1))

    assert exceeding(["cpu", "memory", "pods"], request, limits, held) == names


@pytest.mark.parametrize(
    ("limits", "held", "promised", "short"),
    [
        pytest.param({CPU: 5, MEMORY: 3}, {CPU: 3}, {}, (), id="up to the limit"),
        pytest.param({CPU: 4, MEMORY: 3}, {CPU: 3}, {}, ("cpu",), id="one unit past it"),
        pytest.param({CPU: 6, MEMORY: 3}, {CPU: 3}, {CPU: 1}, (), id="what is promised counts"),
        pytest.param({CPU: 5, MEMORY: 3}, {CPU: 3}, {CPU: 1}, ("cpu",), id="to the unit"),
        pytest.param({CPU: 2, MEMORY: 1}, {}, {}, (), id="all that there may be"),
        pytest.param({CPU: 9}, {}, {}, ("memory",), id="no limit stated means none of it"),
        pytest.param({CPU: 9, MEMORY: 9, PODS: 1}, {PODS: 1}, {}, ("pods",), id="pods, where they are limited"),
        pytest.param({CPU: 9, MEMORY: 9}, {PODS: 99}, {}, (), id="but not where they are not"),
    ],
)
def test_what_a_limit_leaves(
    limits: dict[int, float], held: dict[int, int], promised: dict[int, int], short: tuple[str, ...]
) -> None:
    request, names = ((CPU, 2), (MEMORY, 1), (PODS, 1)), ["cpu", "memory", "pods"]
    taken = {column: held.get(column, 0) + promised.get(column, 0) for column in (CPU, MEMORY, PODS)}
    found = shortages(names, request, limits, taken, promised)

    assert tuple(one.resource for one in found) == short
    assert within(request, limits, held, promised) is (not short)
    for one in found:
        column = names.index(one.resource)
        assert one == Shortage(
            one.resource, taken[column], dict(request)[column], int(limits.get(column, 0)), promised.get(column, 0)
        )
