"""Scores on the scale of the candidates, spread's turned-round scores, image locality and ports."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.domains import topology
from vsched.kernels.images import full_name, image_locality
from vsched.kernels.podaffinity import preferred, scaled_between, scaled_to_most
from vsched.kernels.ports import conflicting
from vsched.kernels.spread import crowding, emptier_is_better, size_weight
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.shape import HostPort

MIB = 1 << 20
VALUES = st.sampled_from(("", "a", "b", "c"))


def mask(*bits: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array(bits, dtype=np.bool_)


@pytest.mark.parametrize(
    ("raw", "candidates", "expected"),
    [
        pytest.param([0, 5, 10], [1, 1, 1], [0, 50, 100], id="from least to most"),
        pytest.param([-10, 0, 5], [1, 1, 1], [0, 66, 100], id="below zero, rounded down"),
        pytest.param([3, 3], [1, 1], None, id="candidates that do not differ"),
        pytest.param([3, 9, 3], [1, 0, 1], None, id="a node that is no candidate tells nothing apart"),
        pytest.param([3, 9], [0, 0], None, id="no candidates at all"),
    ],
)
def test_scaled_between_least_and_most(raw: list[int], candidates: list[int], expected: list[int] | None) -> None:
    scores = scaled_between(np.array(raw, dtype=np.int64), mask(*candidates))
    assert (None if scores is None else scores.tolist()) == expected


@given(st.data())
def test_what_is_preferred_is_the_same_by_domain_and_by_node(data: st.DataObject) -> None:
    hosts = [
        NodeAttributes(f"n{number}", {key: value for key in ("zone", "rack") if (value := data.draw(VALUES))})
        for number in range(data.draw(st.integers(1, 6)))
    ]
    statics = NodeStatics(hosts)
    sums = []
    for key in data.draw(st.lists(st.sampled_from(("zone", "rack")), min_size=1, max_size=3)):
        domains = topology(statics, key)
        weights = data.draw(st.lists(st.integers(-9, 9), min_size=domains.size, max_size=domains.size))
        sums.append((domains, np.array([*weights, 0], dtype=np.int64)))
    candidates = mask(*data.draw(st.lists(st.integers(0, 1), min_size=len(hosts), max_size=len(hosts))))
    raw = sum(by_domain[domains.ids] for domains, by_domain in sums)
    expected, found = scaled_between(raw, candidates), preferred(sums, candidates)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found[candidates].tolist() == expected[candidates].tolist()


@pytest.mark.parametrize(
    ("raw", "reverse", "expected"),
    [
        pytest.param([0, 2, 5], False, [0, 40, 100], id="as parts of the most"),
        pytest.param([0, 1, 3], True, [100, 67, 0], id="counted down"),
        pytest.param([0, 0], False, None, id="nobody has any"),
    ],
)
def test_scaled_to_most(raw: list[int], reverse: bool, expected: list[int] | None) -> None:
    scores = scaled_to_most(np.array(raw, dtype=np.float64), np.ones(len(raw), dtype=np.bool_), reverse)
    assert (None if scores is None else scores.tolist()) == expected


def test_four_hosts_with_two_one_no_and_three_pods() -> None:
    statics = NodeStatics([NodeAttributes(name, {"host": name}) for name in "abcd"])
    domains = topology(statics, "host")
    counts = np.array([2, 1, 0, 3, 0], dtype=np.int64)
    raw = crowding(domains, counts, size_weight(4), 1)
    assert raw.tolist() == [count * math.log(6) for count in (2, 1, 0, 3)]
    assert emptier_is_better(raw, mask(1, 1, 1, 1)).tolist() == [20, 60, 100, 0]


def test_empty_domains_are_all_as_good_and_unscored_nodes_get_nothing() -> None:
    assert emptier_is_better(np.zeros(3), mask(1, 0, 1)).tolist() == [100, 0, 100]


def nodes_with(*images: dict[str, int]) -> NodeStatics:
    return NodeStatics([NodeAttributes(f"n{row}", {}, images=found) for row, found in enumerate(images)])


@pytest.mark.parametrize(
    ("images", "containers", "nodes", "expected"),
    [
        pytest.param(("web:1",), 1, nodes_with({"web:1": 250 * MIB}, {}), [10, 0], id="half of 250 MiB above 23 MiB"),
        pytest.param(("web",), 1, nodes_with({"web:latest": 500 * MIB}), [48], id="no tag means latest"),
        pytest.param(("a:1", "b:1"), 2, nodes_with({"a:1": 600 * MIB, "b:1": 600 * MIB}), [59], id="two containers"),
        pytest.param(("web:1",), 1, nodes_with({"web:1": 4000 * MIB}), [100], id="never more than everything"),
        pytest.param(("web:1",), 1, nodes_with({"web:1": 20 * MIB}, {}), None, id="too little to matter"),
        pytest.param(("web:1",), 1, nodes_with({}, {}), None, id="nobody has it"),
    ],
)
def test_image_locality(
    images: tuple[str, ...], containers: int, nodes: NodeStatics, expected: list[int] | None
) -> None:
    scores = image_locality(images, containers, nodes)
    assert (None if scores is None else scores.tolist()) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        pytest.param("web", "web:latest", id="a bare name"),
        pytest.param("registry:5000/web", "registry:5000/web:latest", id="a port is no tag"),
        pytest.param("registry:5000/web:2", "registry:5000/web:2", id="a tag stays"),
    ],
)
def test_image_names(image: str, expected: str) -> None:
    assert full_name(image) == expected


def test_ports_in_the_way_are_counted() -> None:
    held = (HostPort(80), HostPort(443), HostPort(80, "UDP"))
    assert conflicting((HostPort(80, ip="10.0.0.1"), HostPort(443)))(held) == 2
