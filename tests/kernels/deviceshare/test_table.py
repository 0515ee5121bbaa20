"""Which devices a pod would get on each node: tables, and a search device by device as the measure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.kernels.deviceshare.table import NO_BOUND, DeviceOrder, DeviceTable
from vsched.model.deviceshare.records import WHOLE, DeviceAsk

Slot = tuple[bool, int, int, int, int, int]
"""Healthy, total memory, free memory, free thousandths, sharers left, users."""
NEW = (True, 1000, 1000, WHOLE, 10, 0)
BROKEN = (False, 1000, 1000, WHOLE, 10, 0)


def used(memory: int, thousandths: int, users: int = 1) -> Slot:
    return (True, 1000, 1000 - memory, WHOLE - thousandths, 10 - users, users)


def table(*nodes: list[Slot]) -> DeviceTable:
    made = DeviceTable.empty(max(map(len, nodes)), len(nodes))
    for row, slots in enumerate(nodes):
        for slot, (healthy, total, memory, thousandths, sharers, users) in enumerate(slots):
            made.healthy[slot, row] = healthy
            made.total_memory[slot, row], made.memory[slot, row] = total, memory
            made.thousandths[slot, row], made.sharers[slot, row], made.users[slot, row] = thousandths, sharers, users
    return made


@pytest.mark.parametrize(
    ("slots", "ask", "chosen"),
    [
        pytest.param([NEW, NEW], DeviceAsk(memory=400), [1], id="of equal devices the last one"),
        pytest.param([used(300, 0), NEW], DeviceAsk(memory=400), [0], id="binpack: the one with the least memory left"),
        pytest.param([used(700, 0), NEW], DeviceAsk(memory=400), [1], id="never one with too little memory left"),
        pytest.param([used(0, 300), NEW], DeviceAsk(thousandths=800), [1], id="nor with too little computing power"),
        pytest.param([used(0, 300), NEW], DeviceAsk(thousandths=700), [0], id="one that the part fills exactly"),
        pytest.param([used(0, 0), NEW], DeviceAsk(thousandths=WHOLE), [1], id="a whole device has no other user"),
        pytest.param([used(0, WHOLE), used(0, 10)], DeviceAsk(), [1], id="no computing power named: some must be left"),
        pytest.param([used(0, WHOLE)], DeviceAsk(), None, id="and none is left of a full device"),
        pytest.param([BROKEN, NEW], DeviceAsk(number=2), None, id="an unhealthy device does not count"),
        pytest.param([NEW, NEW, NEW], DeviceAsk(number=2), [1, 2], id="several devices are different ones"),
        pytest.param([NEW], DeviceAsk(percent=50), [0], id="memory in per cent of the device"),
        pytest.param([used(501, 0)], DeviceAsk(percent=50), None, id="and a per cent too many"),
        pytest.param([(True, 1000, 900, 900, 0, 1)], DeviceAsk(), None, id="no further sharer where it has its most"),
        pytest.param([(True, 0, 0, WHOLE, 9, 0)], DeviceAsk(memory=9), [0], id="unknown memory does not count"),
    ],
)
def test_a_container_gets_devices(slots: list[Slot], ask: DeviceAsk, chosen: list[int] | None) -> None:
    found = table(slots).choose([ask], DeviceOrder.BINPACK)
    assert found.passes.tolist() == [chosen is not None]
    assert np.flatnonzero(found.slots[0][:, 0]).tolist() == (chosen or [])


@pytest.mark.parametrize(
    ("order", "chosen"),
    [(DeviceOrder.BINPACK, 0), (DeviceOrder.SPREAD, 1), (DeviceOrder.LAST, 2)],
    ids=lambda value: getattr(value, "value", None),
)
def test_orders_of_devices(order: DeviceOrder, chosen: int) -> None:
    slots = [used(500, 500), NEW, used(100, 100)]
    assert np.flatnonzero(table(slots).choose([DeviceAsk(memory=100)], order).slots[0][:, 0]).tolist() == [chosen]


def test_the_containers_of_a_pod_share_what_is_free() -> None:
    ask = DeviceAsk(memory=600)
    found = table([NEW], [NEW, NEW]).choose([ask, ask], DeviceOrder.BINPACK)
    assert found.passes.tolist() == [False, True]
    assert [np.argwhere(slots).tolist() for slots in found.slots] == [[[1, 1]], [[0, 1]]]


def test_an_unaccepted_device_is_passed_over() -> None:
    accepted = np.array([[True], [False]])
    found = table([NEW, NEW]).choose([DeviceAsk()], DeviceOrder.LAST, accepted)
    assert np.flatnonzero(found.slots[0]).tolist() == [0]


def test_nodes_in_equal_states_have_equal_keys() -> None:
    found = table([NEW, used(1, 1)], [NEW, used(1, 1)], [used(1, 1), NEW], [NEW, used(1, 1, 2)], [NEW]).keys()
    assert found[0] == found[1]
    assert len({*found}) == 4


asks = st.builds(
    DeviceAsk,
    number=st.integers(1, 3),
    thousandths=st.sampled_from([0, 100, 500, 1000]),
    memory=st.sampled_from([0, 200, 700]),
    percent=st.sampled_from([0, 30, 100]),
)
slot_states = st.tuples(
    st.sampled_from([True, True, True, False]),
    st.sampled_from([0, 1000]),
    st.sampled_from([0, 300, 1000]),
    st.sampled_from([0, 100, 600, 1000]),
    st.sampled_from([0, 1, NO_BOUND]),
    st.integers(0, 2),
)
nodes = st.lists(st.lists(slot_states, min_size=1, max_size=4), min_size=1, max_size=3)


def takes(slot: Slot, ask: DeviceAsk) -> bool:
    """Whether one device can take a part, said once more in plain words."""
    healthy, total, memory, thousandths, sharers, users = slot
    wanted = ask.memory or total * ask.percent // 100
    return (
        healthy
        and sharers > 0
        and thousandths >= max(1, ask.thousandths)
        and not (ask.thousandths == WHOLE and users)
        and (not total or memory >= wanted)
    )


@given(nodes, asks, st.sampled_from(list(DeviceOrder)))
def test_a_node_passes_where_enough_devices_take_a_part(
    slots: list[list[Slot]], ask: DeviceAsk, order: DeviceOrder
) -> None:
    found = table(*slots).choose([ask], order)
    for row, some in enumerate(slots):
        fitting = [at for at, slot in enumerate(some) if takes(slot, ask)]
        assert found.passes[row] == (len(fitting) >= ask.number)
        chosen = np.flatnonzero(found.slots[0][:, row]).tolist()
        assert set(chosen) <= set(fitting)
        assert len(chosen) == (ask.number if found.passes[row] else 0)


@given(nodes, st.lists(asks, min_size=1, max_size=3), st.sampled_from(list(DeviceOrder)))
def test_no_device_is_overfull_and_what_is_given_back_equals_what_was_taken(
    slots: list[list[Slot]], wanted: list[DeviceAsk], order: DeviceOrder
) -> None:
    made = table(*slots)
    before = made.copy()
    chosen = made.choose(wanted, order).slots
    for ask, which in zip(wanted, chosen, strict=True):
        made.take(ask, which)
        assert (made.thousandths >= 0).all()
        assert (made.memory[made.total_memory > 0] >= 0).all()
        assert (made.sharers >= 0).all()
    for ask, which in zip(wanted, chosen, strict=True):
        for slot, node in np.argwhere(which).tolist():
            gain = made.gain(ask, slot, node)
            made.shift(slot, node, ask.thousandths, gain.memory, 1)
    for name in ("memory", "thousandths", "sharers", "users"):
        assert (getattr(made, name) == getattr(before, name)).all()


@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 4),
    st.sampled_from(DeviceOrder),
)
def test_devices_come_from_the_smallest_network_that_has_enough(
    devices: list[tuple[int, bool]], number: int, order: DeviceOrder
) -> None:
    made = table([NEW if healthy else BROKEN for _, healthy in devices])
    made.networks = np.array([[network] for network, _ in devices])
    found = made.choose([DeviceAsk(number=number)], order)

    counts = {network: sum(healthy for other, healthy in devices if other == network) for network, _ in devices}
    assert found.passes[0] == (sum(counts.values()) >= number)
    if found.passes[0]:
        used_networks = [devices[slot][0] for slot in np.flatnonzero(found.slots[0][:, 0])]
        assert len(used_networks) == number
        enough = [count for count in counts.values() if count >= number]
        if enough:
            assert len(set(used_networks)) == 1
            assert counts[used_networks[0]] == min(enough)
        else:
            largest = max(counts.values())
            assert max(used_networks.count(network) for network in set(used_networks)) == min(largest, number)
