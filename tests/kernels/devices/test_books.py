"""The uses of devices: counted the same whether they come one by one or many at once, and taken back whole."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.devicesets import amounts, device, pool
from tests.support.examples import examples
from vsched.kernels.devices.books import MANY, DeviceBooks, Holding
from vsched.kernels.devices.inventory import inventory_of
from vsched.model.nodes.table import NodeAttributes, NodeStatics

DEVICES = (
    device("part0", consumes={"card": {"slots": 1}}),
    device("part1", consumes={"card": {"slots": 2}}),
    device("plain0"),
    device("plain1"),
    device("several", capacity=amounts(memory=9), shareable=True),
)
POOLS = (pool(*DEVICES, counters=(("card", (("slots", 9),)),)),)
STATICS = NodeStatics([NodeAttributes("n1", {})])
PART0, PART1, PLAIN0, PLAIN1, SEVERAL = range(len(DEVICES))
uses = st.sampled_from([PART0, PART1, PLAIN0, PLAIN1]).map(Holding) | st.integers(1, 3).map(
    lambda amount: Holding(SEVERAL, amounts(memory=amount))
)


def made() -> DeviceBooks:
    return DeviceBooks(inventory_of(POOLS, STATICS))


def shown(books: DeviceBooks) -> object:
    left = [books.left(later=later) for later in (False, True)]
    used = [books.used(SEVERAL, later=later) for later in (False, True)]
    return books.held.tolist(), books.leaving.tolist(), books.moving, left, used


@settings(max_examples=examples(60))
@given(st.lists(uses, max_size=12), st.integers(0, 2 * MANY))
def test_many_at_once_are_counted_as_one_by_one(some: list[Holding], many: int) -> None:
    found = [*some, *([Holding(PLAIN0), Holding(PART0)] * many)]
    together, alone = made(), made()
    together.add_all(found)
    alone.add(found)

    counts = Counter(use.device for use in found)
    assert together.held.tolist() == [counts[at] for at in range(len(DEVICES))]
    assert shown(together) == shown(alone)
    assert set(together.changed) == set(alone.changed)


@settings(max_examples=examples(60))
@given(st.lists(uses, max_size=12), st.lists(uses, max_size=6))
def test_what_is_taken_back_leaves_what_was_before(first: list[Holding], then: list[Holding]) -> None:
    books = made()
    books.add(first)
    before = shown(books)
    books.add(then)
    books.leave(then)
    apart = books.copy()
    apart.stay(then)
    apart.remove(then)
    assert shown(apart) == before
    assert books.moving == len(then), "what is done to a copy is not done to it"
