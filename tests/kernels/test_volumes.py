"""Volumes and nodes as arrays: groups of nodes, zones, and lines through points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.volumes import (
    NOTHING,
    broken_line,
    least,
    matching_rows,
    reach,
    rounded_mean,
    terms_mask,
    totals,
    utilisation,
    zone_mask,
)
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.shape import NodeTerm, Requirement

NODES = NodeStatics(
    [
        NodeAttributes("n1", {"host": "n1", "zone": "a"}),
        NodeAttributes("n2", {"host": "n2", "zone": "b"}),
        NodeAttributes("n3", {"host": "n3", "zone": "a"}),
        NodeAttributes("n4", {"host": "n4"}),
    ]
)


def term(key: str, operator: str = "In", *values: str) -> NodeTerm:
    return NodeTerm((Requirement(key, operator, values),))


AFFINITIES = [
    pytest.param(None, [0, 1, 2, 3], id="no affinity: every node"),
    pytest.param((), [], id="no term: no node"),
    pytest.param((NodeTerm(),), [], id="an empty term: no node"),
    pytest.param((term("host", "In", "n3"),), [2], id="one node by its label"),
    pytest.param((term("host", "In", "n9"),), [], id="a node that is gone"),
    pytest.param((term("rack", "In", "r1"),), [], id="a label that no node has"),
    pytest.param((term("zone", "In", "a"),), [0, 2], id="the nodes of a zone"),
    pytest.param((term("zone", "In", "a", "b"),), [0, 1, 2], id="two values"),
    pytest.param((term("zone", "NotIn", "a"),), [1, 3], id="another operator"),
    pytest.param((term("host", "In", "n4"), term("zone", "In", "b")), [1, 3], id="either of two terms"),
    pytest.param((NodeTerm(fields=(Requirement("metadata.name", "In", ("n2",)),)),), [1], id="a node by its name"),
    pytest.param((NodeTerm(fields=(Requirement("metadata.name", "In", ("n9",)),)),), [], id="a name that is gone"),
    pytest.param((NodeTerm(fields=(Requirement("spec.other", "In", ("n2",)),)),), [], id="another field"),
    pytest.param(
        (NodeTerm((Requirement("zone", "In", ("a",)), Requirement("host", "In", ("n3",)))),), [2], id="two expressions"
    ),
]


@pytest.mark.parametrize(("terms", "rows"), AFFINITIES)
def test_the_nodes_that_an_affinity_selects(terms: tuple[NodeTerm, ...] | None, rows: list[int]) -> None:
    assert matching_rows(terms, NODES).tolist() == rows
    assert np.flatnonzero(terms_mask(terms, NODES)).tolist() == rows


@given(
    st.lists(st.lists(st.sampled_from(["n1", "n2", "n3", "n4"]), unique=True), max_size=5),
    st.lists(st.integers(0, 100), min_size=5, max_size=5),
)
def test_groups_of_nodes_are_summed_and_compared_by_node(groups: list[list[str]], numbers: list[int]) -> None:
    where = reach([(term("host", "In", *hosts),) if hosts else () for hosts in groups], NODES)
    values = np.array(numbers[: len(groups)], dtype=np.int64)
    by_node = [
        [number for hosts, number in zip(groups, numbers, strict=False) if name in hosts] for name in NODES.names
    ]
    assert (where.size, where.nodes) == (len(groups), 4)
    assert least(where, values).tolist() == [min(found, default=NOTHING) for found in by_node]
    assert totals(where, values).tolist() == [sum(found) for found in by_node]
    assert where.disjoint is all(len(found) < 2 for found in by_node)
    for row, name in enumerate(NODES.names):
        assert where.groups_at(row).tolist() == [group for group, hosts in enumerate(groups) if name in hosts]
    for group, hosts in enumerate(groups):
        assert [NODES.names[row] for row in where.rows_of(group)] == sorted(hosts)


def test_a_volume_without_zone_labels_is_in_every_zone() -> None:
    assert zone_mask({"zone": "a"}, NODES).all()


@pytest.mark.parametrize(
    ("requested", "capacity", "expected"),
    [
        pytest.param(1, 3, 33, id="whole per cent, rounded down"),
        pytest.param(3, 3, 100, id="all of it"),
        pytest.param(4, 3, 100, id="more than there is"),
        pytest.param(0, 0, 100, id="no capacity"),
        pytest.param(1 << 59, 1 << 60, 50, id="numbers whose product with 100 would not fit"),
    ],
)
def test_utilisation(requested: int, capacity: int, expected: int) -> None:
    assert utilisation(np.array([requested]), np.array([capacity])).tolist() == [expected]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        pytest.param([(0, 0), (100, 100)], [0, 33, 100], id="ascending"),
        pytest.param([(0, 100), (100, 0)], [100, 67, 0], id="descending"),
        pytest.param([(0, 0), (50, 100), (100, 0)], [0, 66, 0], id="a peak"),
        pytest.param([(40, 10), (60, 20)], [10, 10, 20], id="flat outside of its points"),
        pytest.param([(50, 70)], [70, 70, 70], id="a single point"),
    ],
)
def test_a_broken_line(shape: list[tuple[int, int]], expected: list[int]) -> None:
    assert broken_line(shape, np.array([0, 33, 100])).tolist() == expected


def test_the_mean_of_what_counts_is_rounded_half_up() -> None:
    values = [np.array([1, 1, 9]), np.array([2, 7, 9])]
    counted = [np.array([True, True, False]), np.array([True, False, False])]
    assert rounded_mean(values, counted).tolist() == [2, 1, 0]
