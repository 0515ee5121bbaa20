"""Expected fragmentation and expected leftover: cases by hand, and plain loops as the measure."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.deviceshare.filling import OFFERS, Offers, expected_leftover, offers_of
from vsched.kernels.deviceshare.fragments import DeviceMix, Free, expected_fragments, fits


class Kind(NamedTuple):
    """A kind of pods, in plain numbers."""

    share: float
    number: int = 1
    thousandths: int = 1000
    cpu: int = 0
    accepts: Sequence[int] = (0,)


class Node(NamedTuple):
    """What is free on a node, in plain numbers."""

    devices: Sequence[int]
    cpu: int = 10
    model: int = 0


def mix_of(kinds: Sequence[Kind], models: int = 1) -> DeviceMix:
    return DeviceMix(
        np.array([kind.share for kind in kinds], float),
        np.array([kind.number for kind in kinds], np.int64),
        np.array([kind.thousandths for kind in kinds], np.int64),
        np.array([[kind.cpu for kind in kinds]], np.int64),
        np.array([[model in kind.accepts for kind in kinds] for model in range(models)], np.bool_),
    )


def free_of(nodes: Sequence[Node]) -> Free:
    slots = max(len(node.devices) for node in nodes)
    devices = np.array([[*node.devices, *[0] * (slots - len(node.devices))] for node in nodes], np.int64).T
    return Free(
        devices, np.array([[node.cpu for node in nodes]], np.int64), np.array([node.model for node in nodes], np.int64)
    )


def fits_alone(kind: Kind, node: Node) -> bool:
    enough = sum(device >= kind.thousandths for device in node.devices)
    return node.model in kind.accepts and kind.cpu <= node.cpu and enough >= kind.number


def fragments_of(kinds: Sequence[Kind], node: Node) -> float:
    """Section 3 of the paper, as it is written there."""
    return sum(
        kind.share * sum(device for device in node.devices if not fits_alone(kind, node) or device < kind.thousandths)
        for kind in kinds
    )


@pytest.mark.parametrize(
    ("kinds", "node", "expected"),
    [
        pytest.param([Kind(1.0)], Node([1000, 400]), 400.0, id="a device with too little left is a fragment"),
        pytest.param([Kind(1.0, number=2)], Node([1000, 400]), 1400.0, id="all is, where the pod does not fit"),
        pytest.param([Kind(1.0, cpu=11)], Node([1000]), 1000.0, id="also for lack of something else"),
        pytest.param([Kind(1.0, accepts=(1,))], Node([1000]), 1000.0, id="also where pods do not accept the model"),
        pytest.param([Kind(1.0, thousandths=400)], Node([1000, 400]), 0.0, id="exactly enough is no fragment"),
        pytest.param(
            [Kind(0.25), Kind(0.75, thousandths=500)], Node([1000, 600]), 0.25 * 600, id="the mean over the mix"
        ),
    ],
)
def test_fragments(kinds: list[Kind], node: Node, expected: float) -> None:
    assert expected_fragments(mix_of(kinds, 2), free_of([node])).tolist() == [expected]


kinds = st.lists(
    st.builds(
        Kind,
        share=st.sampled_from([0.125, 0.25, 0.5]),
        number=st.integers(1, 3),
        thousandths=st.sampled_from([1, 250, 500, 1000]),
        cpu=st.integers(0, 6),
        accepts=st.sets(st.integers(0, 2), min_size=1).map(sorted),
    ),
    min_size=1,
    max_size=4,
)
nodes = st.lists(
    st.builds(
        Node,
        devices=st.lists(st.sampled_from([0, 250, 400, 500, 1000]), min_size=1, max_size=4),
        cpu=st.integers(0, 12),
        model=st.integers(0, 2),
    ),
    min_size=1,
    max_size=5,
)


@given(kinds, nodes)
def test_many_nodes_at_once_equal_loops(some: list[Kind], where: list[Node]) -> None:
    mix, free = mix_of(some, 3), free_of(where)
    assert fits(mix, free).T.tolist() == [[fits_alone(kind, node) for kind in some] for node in where]
    assert expected_fragments(mix, free).tolist() == pytest.approx([fragments_of(some, node) for node in where])


def filled(some: Sequence[Kind], node: Node, sequence: Sequence[int]) -> int:
    """What is left of a node's devices once these pods were offered to it."""
    devices, cpu = list(node.devices), node.cpu
    for number in sequence:
        kind = some[number] if number >= 0 else None
        if kind is None or not fits_alone(kind, Node(devices, cpu, node.model)):
            continue
        enough = sorted((left, at) for at, left in enumerate(devices) if left >= kind.thousandths)
        for _, at in enough[: kind.number]:
            devices[at] -= kind.thousandths
        cpu -= kind.cpu
    return sum(devices)


def leftover_of(some: Sequence[Kind], offers: Offers, node: Node) -> float:
    most = offers.kinds.shape[1]
    length = ceil(OFFERS * float(offers.rate[node.model]) * sum(node.devices) / 1000)
    length = min(most, max(2, length))
    sequences = offers.kinds[node.model, :length].T.tolist()
    return sum(filled(some, node, sequence) for sequence in sequences) / len(sequences)


@given(kinds, nodes)
def test_filling_many_states_at_once_equals_loops(some: list[Kind], where: list[Node]) -> None:
    mix = mix_of(some, 3)
    offers = offers_of(mix, np.array([4, 2, 1]), 40, 5)
    found = expected_leftover(mix, offers, free_of(where)).tolist()
    assert found == [leftover_of(some, offers, node) for node in where]


@pytest.mark.parametrize(
    ("some", "node", "expected"),
    [
        pytest.param([Kind(1.0)], Node([1000] * 4), 0.0, id="pods of one device fill all devices"),
        pytest.param([Kind(1.0)], Node([1000, 700]), 700.0, id="what no pod can use stays"),
        pytest.param([Kind(1.0, thousandths=300)], Node([1000]), 100.0, id="as many pods come as have room"),
        pytest.param([Kind(1.0, cpu=4)], Node([1000] * 3, cpu=9), 1000.0, id="until something else runs out"),
        pytest.param([Kind(1.0, accepts=(1,))], Node([1000]), 1000.0, id="pods that do not accept the model stay away"),
    ],
)
def test_leftover(some: list[Kind], node: Node, expected: float) -> None:
    mix = mix_of(some, 2)
    assert expected_leftover(mix, offers_of(mix, np.array([4, 0]), 64), free_of([node])).tolist() == [expected]


def test_a_model_that_few_pods_may_leave_sees_more_of_them() -> None:
    mix = mix_of([Kind(0.5, accepts=(0, 1)), Kind(0.5, accepts=(1,))], 2)
    offers = offers_of(mix, np.array([90, 10]), 400, 24)
    # 0.5 / 100 pods of the first kind come to each device, and 0.5 / 10 of the second to those of its model.
    assert offers.rate.tolist() == pytest.approx([0.5, 5.5])
    assert (offers.kinds[0] == 0).all()
    assert (offers.kinds[1] == 1).mean() == pytest.approx(10 / 11, abs=0.005)
