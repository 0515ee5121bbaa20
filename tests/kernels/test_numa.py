"""How pods fit NUMA zones: tables of the rules, and a plain rendering of the kubelet's topology manager."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from vsched.kernels.numa import BEST_EFFORT, NONE, RESTRICTED, SINGLE, Request, Zones, ZonesAsked, count_zones

CPU, MEMORY = 0, 1


def node(
    policy: int, free: list[list[int]], allocatable: list[list[int]] | None = None, *, per_pod: bool = False
) -> Zones:
    """One node; for each resource the free and the allocatable amount of each zone."""
    amounts = np.array([free]).transpose(1, 2, 0)
    most = amounts if allocatable is None else np.array([allocatable]).transpose(1, 2, 0)
    reports = np.ones((len(free), 1), np.bool_)
    return Zones(amounts.copy(), most.copy(), np.array([policy]), np.array([per_pod]), reports)


def pod(*containers: Request, whole: Request | None = None) -> ZonesAsked:
    total: dict[int, int] = {}
    for container in containers:
        for resource, amount in container.items():
            total[resource] = total.get(resource, 0) + amount
    return ZonesAsked(containers, (), total if whole is None else whole)


@pytest.mark.parametrize(
    ("zones", "asked", "passes", "chosen"),
    [
        pytest.param(node(SINGLE, [[4, 4]]), pod({CPU: 4}), True, 0b01, id="single: the lowest zone that holds it"),
        pytest.param(node(SINGLE, [[2, 4]]), pod({CPU: 3}), True, 0b10, id="single: the zone that has room"),
        pytest.param(node(SINGLE, [[2, 2]]), pod({CPU: 3}), False, 0, id="single: never two zones"),
        pytest.param(
            node(SINGLE, [[4, 1], [1, 4]]), pod({CPU: 2, MEMORY: 2}), False, 0, id="single: one zone has to hold all"
        ),
        pytest.param(
            node(SINGLE, [[4, 4]]), pod({CPU: 3}, {CPU: 3}), True, 0b11, id="single: containers may be in two zones"
        ),
        pytest.param(
            node(SINGLE, [[4, 4]], per_pod=True),
            pod({CPU: 3}, {CPU: 3}),
            False,
            0,
            id="single by pod: all containers in one zone",
        ),
        pytest.param(
            node(SINGLE, [[4, 4]]), pod({CPU: 2}, {CPU: 4}, {CPU: 3}), False, 0b11, id="containers share what is free"
        ),
        pytest.param(
            node(RESTRICTED, [[1, 3]], [[4, 4]]),
            pod({CPU: 4}),
            False,
            0,
            id="restricted: not over two zones what one could hold, were it empty",
        ),
        pytest.param(
            node(RESTRICTED, [[4, 4]]), pod({CPU: 6}), True, 0b11, id="restricted: over two zones what needs two"
        ),
        pytest.param(
            node(RESTRICTED, [[4, 2, 4]], [[4, 4, 4]]),
            pod({CPU: 7}),
            True,
            0b101,
            id="restricted: any two that hold it",
        ),
        pytest.param(
            node(RESTRICTED, [[4, 4], [9, 9]]),
            pod({CPU: 6, MEMORY: 5}),
            False,
            0,
            id="restricted: resources that need different numbers of zones are not aligned",
        ),
        pytest.param(node(BEST_EFFORT, [[1, 3]]), pod({CPU: 4}), True, 0b11, id="best effort: as few zones as it can"),
        pytest.param(node(BEST_EFFORT, [[1, 1]]), pod({CPU: 4}), True, 0, id="best effort never refuses"),
        pytest.param(node(NONE, [[0, 0]]), pod({CPU: 4}), True, 0, id="no policy never refuses"),
        pytest.param(node(SINGLE, [[0, 0]]), pod({}), True, 0, id="a pod that asks for nothing by zone fits anywhere"),
    ],
)
def test_the_policies(zones: Zones, asked: ZonesAsked, passes: bool, chosen: int) -> None:
    found = zones.fit(asked)

    assert bool(found.passes[0]) is passes
    if passes:
        assert int(found.chosen[0]) == chosen


def test_a_resource_that_the_node_does_not_report_by_zone_does_not_count() -> None:
    zones = node(SINGLE, [[4, 4], [0, 0]])
    zones.reports[MEMORY, 0] = False

    assert zones.fit(pod({CPU: 4, MEMORY: 9})).passes.tolist() == [True]


def test_an_init_container_needs_room_and_gives_it_back() -> None:
    zones = node(SINGLE, [[4, 4]])

    assert zones.fit(ZonesAsked(({CPU: 4}, {CPU: 4}), ({CPU: 3},))).passes.tolist() == [True]
    assert zones.fit(ZonesAsked(({CPU: 1},), ({CPU: 5},))).passes.tolist() == [False]


# -- the kubelet, plainly ---------------------------------------------------------------------------------------------


def hints(free: list[int], allocatable: list[int], amount: int) -> list[tuple[frozenset[int], bool]]:
    every = [frozenset(one) for size in range(1, len(free) + 1) for one in combinations(range(len(free)), size)]
    least = min((len(one) for one in every if sum(allocatable[zone] for zone in one) >= amount), default=len(free) + 1)
    return [(one, len(one) == least) for one in every if sum(free[zone] for zone in one) >= amount]


def admitted(
    policy: int, free: list[list[int]], allocatable: list[list[int]], request: Request
) -> frozenset[int] | None:
    """The zones of one container by merging a hint of each resource, None where the kubelet refuses it."""
    offered = [hints(free[resource], allocatable[resource], amount) for resource, amount in request.items()]
    if policy == SINGLE:
        offered = [[hint for hint in some if len(hint[0]) == 1 and hint[1]] for some in offered]
    best: tuple[bool, int, int, frozenset[int]] | None = None
    for choice in product(*offered):
        merged = frozenset.intersection(*(zones for zones, _ in choice))
        if not merged:
            continue
        preferred = all(good for _, good in choice) and len({zones for zones, _ in choice}) == 1
        rank = (not preferred, len(merged), sum(1 << zone for zone in merged), merged)
        best = rank if best is None else min(best, rank, key=lambda one: one[:3])
    return None if best is None or best[0] else best[3]


AMOUNTS = st.integers(0, 4)


@st.composite
def machines(draw: st.DrawFn) -> tuple[int, list[list[int]], list[list[int]], list[dict[int, int]]]:
    count = draw(st.integers(1, 4))
    allocatable = [[draw(AMOUNTS) for _ in range(count)] for _ in range(2)]
    free = [[draw(st.integers(0, most)) for most in some] for some in allocatable]
    asks = st.dictionaries(st.integers(0, 1), st.integers(1, 8), min_size=1, max_size=2)
    return draw(st.sampled_from([RESTRICTED, SINGLE])), free, allocatable, draw(st.lists(asks, min_size=1, max_size=3))


@settings(max_examples=examples(300))
@given(machines())
def test_verdicts_equal_those_of_the_kubelet(
    machine: tuple[int, list[list[int]], list[list[int]], list[dict[int, int]]],
) -> None:
    policy, free, allocatable, containers = machine
    found = node(policy, free, allocatable).fit(pod(*containers))
    left, used, refused = [list(some) for some in free], 0, False
    for request in containers:
        zones = admitted(policy, left, allocatable, request)
        if zones is None:
            refused = True
            break
        for zone in sorted(zones):
            used |= 1 << zone
            for resource in request:
                share = min(left[resource][zone], request[resource])
                left[resource][zone] -= share
                request = {**request, resource: request[resource] - share}

    assert bool(found.passes[0]) is not refused
    if not refused:
        assert int(found.chosen[0]) == used
        taken = node(policy, free, allocatable).taken(pod(*containers), 0)
        assert (np.array(free) - taken).tolist() == left


@settings(deadline=None)
@given(machines(), st.sampled_from([NONE, BEST_EFFORT, RESTRICTED, SINGLE]), st.booleans())
def test_no_zone_gives_more_than_it_has_and_one_node_alone_gets_the_same(
    machine: tuple[int, list[list[int]], list[list[int]], list[dict[int, int]]], policy: int, per_pod: bool
) -> None:
    _, free, allocatable, containers = machine
    zones = node(policy, free, allocatable, per_pod=per_pod)
    taken = zones.taken(pod(*containers), 0)

    assert (zones.free[:, :, 0] >= taken).all()
    assert (taken >= 0).all()


@settings(deadline=None)
@given(st.lists(machines(), min_size=2, max_size=5), st.data())
def test_some_nodes_alone_get_what_they_get_among_all(
    found: list[tuple[int, list[list[int]], list[list[int]], list[dict[int, int]]]], data: st.DataObject
) -> None:
    """The zones of several nodes, padded to the most that one has."""
    free, allocatable = (np.zeros((2, 4, len(found)), np.int64) for _ in range(2))
    for place, (_, some, most, _) in enumerate(found):
        free[:, : len(some[0]), place], allocatable[:, : len(some[0]), place] = some, most
    policies = np.array([data.draw(st.sampled_from([NONE, BEST_EFFORT, RESTRICTED, SINGLE])) for _ in found])
    per_pod = np.array([data.draw(st.booleans()) for _ in found])
    zones = Zones(free, allocatable, policies, per_pod, np.ones((2, len(found)), np.bool_))
    asked = pod(*found[0][3])
    every, rows = zones.fit(asked), np.array(data.draw(st.permutations(range(len(found)))))[1:]

    some = zones.fit(asked, rows)
    assert (some.passes == every.passes[rows]).all()
    assert (some.chosen == every.chosen[rows]).all()
    for place, (_, own, most, _) in enumerate(found):
        alone = node(int(policies[place]), own, most, per_pod=bool(per_pod[place])).fit(asked)
        assert (alone.passes[0], alone.chosen[0]) == (every.passes[place], every.chosen[place])


def test_counting_zones() -> None:
    assert count_zones(np.array([0, 1, 0b101, 0b1111])).tolist() == [0, 1, 2, 4]
    assert count_zones(np.zeros(0, np.int64)).tolist() == []
