"""Scores of domains and nodes: how full domains would be, and how close nodes are to pods."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.binpack import PackedResource, binpack_row
from vsched.kernels.topology.packing import closeness, faded, fullness, with_share
from vsched.model.topology.tiers import WHOLE_CLUSTER, Tier


def tier(level: int, ids: list[int], *domains: str) -> Tier:
    return Tier(level, "", np.array(ids, dtype=np.int32), domains)


RACKS = tier(1, [0, 0, 1, 2, -1], "r1", "r2", "r3")
BLOCKS = tier(2, [0, 0, 0, 1, -1], "b1", "b2")
TIERS = (RACKS, BLOCKS, tier(3, [0] * 5, WHOLE_CLUSTER))


def floats(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize(
    ("used", "has", "asked", "weights", "expected"),
    [
        pytest.param([[2, 4]], [[8, 8]], [2], [1], [0.5, 0.75], id="what would be used, as a part of what there is"),
        pytest.param([[2, 7]], [[8, 8]], [2], [1], [0.5, 0], id="nothing where it would not suffice"),
        pytest.param([[0, 8]], [[8, 8]], [0], [1], [0, 1], id="to the last bit is enough"),
        pytest.param([[4], [0]], [[8], [8]], [0, 0], [3, 1], [0.375], id="the mean goes by weight"),
        pytest.param([[0], [0]], [[8], [0]], [2, 1], [1, 1], [0], id="a domain without the resource has none of it"),
    ],
)
def test_how_full_domains_would_be(
    used: list[list[float]], has: list[list[float]], asked: list[int], weights: list[int], expected: list[float]
) -> None:
    found = fullness([floats(*one) for one in used], [floats(*one) for one in has], asked, weights)

    assert found.tolist() == expected


AMOUNTS = st.lists(st.integers(0, 1 << 40), min_size=4, max_size=4)


@given(AMOUNTS, AMOUNTS, st.integers(1, 1 << 40), st.integers(1, 9))
def test_domains_score_as_nodes_of_their_size_would(used: list[int], free: list[int], asked: int, weight: int) -> None:
    has = [taken + left for taken, left in zip(used, free, strict=True)]
    found = fullness([floats(*used)] * 2, [floats(*has)] * 2, [asked] * 2, [weight, 1])

    wishes = [PackedResource(0, asked, weight), PackedResource(1, asked, 1)]
    idle, most = np.array([free] * 2, dtype=np.int64).data, np.array([has] * 2, dtype=np.int64).data
    nodes = [binpack_row(wishes, idle, most, node, weight + 1, 1.0) for node in range(len(has))]
    assert found.tolist() == nodes


def test_no_domains_have_no_scores() -> None:
    assert fullness([floats()], [floats()], [1], [1]).tolist() == []


@pytest.mark.parametrize(
    ("at", "domain", "inside", "expected"),
    [
        pytest.param(0, 0, {}, [1, 1, 0.5, 0, 0], id="by the closest tier that is shared with the pods"),
        pytest.param(1, 0, {}, [0.5, 0.5, 0.5, 0, 0], id="pods in several racks are in a block"),
        pytest.param(
            1, 0, {0: 1, 1: 3}, [0.75, 0.75, 1.25, 0, 0], id="of the closest nodes, those with more pods near them"
        ),
        pytest.param(2, 0, {}, [0, 0, 0, 0, 0], id="pods all over the cluster have no closer nodes"),
        pytest.param(2, 0, {-1: 1, 2: 1}, [0, 0, 0, 1, 0], id="pods on nodes in no rack count nowhere"),
    ],
)
def test_how_close_nodes_are(at: int, domain: int, inside: Mapping[int, int], expected: list[float]) -> None:
    assert closeness(TIERS, at, domain, inside).tolist() == expected


def test_one_tier_alone_is_as_close_as_can_be() -> None:
    assert closeness((tier(1, [0, 0], WHOLE_CLUSTER),), 0, 0, {}).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("fading", "expected"),
    [
        pytest.param(0.0, [0.25, 0.25, 0.5, 0.0, 1.0], id="without weight for wider tiers, the closest alone counts"),
        pytest.param(1.0, [0.375, 0.375, 0.5, 0.25, 1.0], id="or all count alike"),
    ],
)
def test_wider_tiers_fade(fading: float, expected: list[float]) -> None:
    parts = [floats(0.25, 0.5, 0.0), floats(0.5, 0.5)]

    assert faded(parts, (RACKS, BLOCKS), fading).tolist() == expected


def test_a_share_decides_between_the_highest_only() -> None:
    assert with_share(floats(1, 1, 0.5), floats(0, 0.25, 1)).tolist() == [1, 1.25, 0.5]
