"""The fewest pods that leave so that tasks of several kinds fit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.kernels.fewest import Fewest, FewestPods, LargestFirst, Offer, pick

PLENTY = 10**8
Node = tuple[list[int], list[list[int]]]
"""What a node has, and what each pod on it holds."""


def offer(node: Node, may: Sequence[bool]) -> Offer:
    free, pods = node
    return Offer(np.array(free), np.array(pods, dtype=np.int64).reshape(len(pods), len(free)), np.array(may))


def asked(requests: list[list[int]], counts: Sequence[int], nodes: Sequence[Node], **bounds: int) -> Fewest:
    question = FewestPods(np.array(requests), counts, sum(counts), **bounds)
    return question.find([offer(node, [True] * len(counts)) for node in nodes], PLENTY)


@pytest.mark.parametrize(
    ("requests", "counts", "nodes", "pods"),
    [
        pytest.param([[5]], [1], [([0], [[1]] * 5), ([0], [[5]])], 1, id="one large pod in place of five small ones"),
        pytest.param([[2], [3]], [1, 1], [([2], [[1]]), ([3], [])], 0, id="nobody where there is room"),
        pytest.param([[2], [3]], [1, 1], [([2], [[1]]), ([2], [])], 1, id="one where the larger task goes"),
        pytest.param([[1]], [2], [([0], [[1], [1]])], 2, id="one for each task"),
        pytest.param([[1]], [2], [([0], [[2], [1]])], 1, id="one for both tasks"),
        pytest.param([[2]], [1], [([0], [[1]])], None, id="not even if all leave"),
        pytest.param([[1, 0]], [1], [([1, -4], [])], 0, id="what is not asked for does not count"),
        pytest.param([[1, 1]], [1], [([0, 0], [[1, 0], [0, 1]])], 1, id="too few, where each resource is judged alone"),
    ],
)
def test_how_many_leave(requests: list[list[int]], counts: list[int], nodes: list[Node], pods: int | None) -> None:
    found = asked(requests, counts, nodes)
    assert (None if found.departures is None else found.pods) == pods


def test_tasks_that_may_be_on_some_nodes_only() -> None:
    nodes: list[Node] = [([4], []), ([0], [[4]])]
    question = FewestPods(np.array([[2]]), [2], 2)
    assert question.find([offer(node, [at == 1]) for at, node in enumerate(nodes)], PLENTY).pods == 1


def test_so_many_of_some_kinds_have_to_come() -> None:
    question = FewestPods(np.array([[1], [3]]), [3, 1], 3, [([1], 1)])
    found = question.find([offer(([3], [[1], [1]]), [True, True])], PLENTY)
    assert found.pods == 2


def test_no_more_leave_one_node_than_a_bound() -> None:
    nodes: list[Node] = [([0], [[1]] * 3)]
    assert asked([[3]], [1], nodes).pods == 3
    assert asked([[3]], [1], nodes, most=2).departures is None


def test_the_search_ends_where_it_costs_too_much() -> None:
    nodes: list[Node] = [([0], [[1]])] * 9
    question = FewestPods(np.array([[1]]), [9], 9)
    offers = [offer(node, [True]) for node in nodes]
    assert question.find(offers, 9).departures is None
    assert question.find(offers, PLENTY).pods == 9


AMOUNTS = st.integers(0, 3)
NODES = st.lists(st.tuples(AMOUNTS, st.lists(st.integers(1, 3), max_size=3)), min_size=1, max_size=3)


@settings(deadline=None, max_examples=examples(100))
@given(NODES, st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2)), min_size=1, max_size=2), st.data())
def test_it_is_the_fewest_for_one_resource_and_they_are_enough(
    nodes: list[tuple[int, list[int]]], kinds: list[tuple[int, int]], data: st.DataObject
) -> None:
    counts = [count for _, count in kinds]
    total = data.draw(st.integers(1, sum(counts)))
    question = FewestPods(np.array([[amount] for amount, _ in kinds]), counts, total)
    offers = [offer(([free], [[one] for one in pods]), [True] * len(kinds)) for free, pods in nodes]
    found = question.find(offers, PLENTY)

    assert (None if found.departures is None else found.pods) == fewest(nodes, kinds, total)
    for one in found.departures or ():
        chosen = pick(one, offers[one.node])
        assert chosen is not None
        assert len(chosen) <= one.pods
        assert offers[one.node].free[0] + offers[one.node].pods[chosen].sum() >= one.use[0]


def fewest(nodes: list[tuple[int, list[int]]], kinds: list[tuple[int, int]], total: int) -> int | None:
    """By trying all."""
    pods = [(at, one) for at, (_, held) in enumerate(nodes) for one in held]
    tasks = sorted(amount for amount, count in kinds for _ in range(count))[:total]
    for count in range(len(pods) + 1):
        for gone in combinations(range(len(pods)), count):
            free = [has + sum(pods[one][1] for one in gone if pods[one][0] == at) for at, (has, _) in enumerate(nodes)]
            for places in product(range(len(nodes)), repeat=len(tasks)):
                used = [
                    sum(task for task, at in zip(tasks, places, strict=True) if at == node)
                    for node in range(len(nodes))
                ]
                if all(one <= has for one, has in zip(used, free, strict=True)):
                    return count
    return None


def test_those_that_are_picked_are_the_first_that_do() -> None:
    node: Node = ([0], [[1], [3], [2], [3]])
    found = asked([[3]], [1], [node])
    assert found.departures is not None
    assert pick(found.departures[0], offer(node, [True])) == [1]


def test_nothing_is_picked_where_the_plan_was_too_good() -> None:
    node: Node = ([0, 0], [[1, 0], [0, 1]])
    found = asked([[1, 1]], [1], [node])
    assert found.departures is not None
    assert pick(found.departures[0], offer(node, [True])) is None


def test_how_many_leave_each_node_for_one_task() -> None:
    rows, amounts = np.array([1, 0, 1, 1]), np.array([1, 2, 4, 2])
    assert LargestFirst(rows, amounts).needed(np.array([2, 5, 0])).tolist() == [1, 2, 0]
