"""The uses that sessions begin with: worked out from what changed, they are what a fresh start would find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from tests.support.devicesets import DeviceWorld, amounts, device, has, pool
from vsched.framework.claims.devices import base as base_module
from vsched.framework.claims.devices.base import base_of
from vsched.kernels.devices.inventory import inventory_of
from vsched.mirror.state.claims.changes import STEPS_MAX, ChangeLog
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import AllocatedDevice, DeviceId, DevicePool
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.status import Status

NODES = NodeStatics([NodeAttributes("n1", {}), NodeAttributes("n2", {})])
JOINED = NODES, NodeStatics([NodeAttributes(name, {}) for name in ("n0", "n1", "n2")])
"""Without another node and with it."""
KINDS = ["claim", "free", "leave", "republish", "grow", "shrink", "share", "join", "part"]
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.sampled_from(["", "skip", "older", "no record"])),
    max_size=25,
)
"""A change, what it is of, and what the reader does: as a rule it looks at each catalogue."""


def test_many_uses_at_once_are_the_same_as_one_by_one() -> None:
    world = DeviceWorld(*_pools([100, 3], 0))
    for number in range(90):
        world.claim(f"c{number}", allocation=has(f"d{number}"))
    found = _fresh(world.catalogue(), NODES)
    assert int(found.books.held.sum()) == 90
    assert found.books.held[:90].all()


@given(STEPS)
def test_following_changes_gives_what_a_fresh_start_gives(steps: Sequence[tuple[str, int, str]]) -> None:
    base_module._LAST.clear()
    sizes, generation, log = [4, 3], 0, ChangeLog()
    world = DeviceWorld(*_pools(sizes, generation))
    past = [(world.catalogue(), NODES)]
    for kind, number, reader in steps:
        before, nodes = past[-1]
        nodes = JOINED[number % 2] if kind == "join" else nodes
        catalogue, generation = _stepped(world, before, kind, number, sizes, generation)
        log.add(_differing(before.allocated, catalogue.allocated) | _differing(before.users, catalogue.users))
        catalogue = replace(catalogue, changes=log.publish())
        past.append((catalogue, nodes))
        if reader == "older":
            _compare(*past[max(0, len(past) - 1 - number)])
        if reader == "no record":
            _compare(replace(catalogue, changes=None), nodes)
        if reader != "skip":
            _compare(catalogue, nodes)


def _differing(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) is not after.get(key)}


def _compare(catalogue: DeviceCatalogue, nodes: NodeStatics) -> None:
    inventory = inventory_of(catalogue.pools, nodes)
    followed = base_of(catalogue, inventory)
    assert base_of(catalogue, inventory) is followed
    fresh = _fresh(catalogue, nodes)
    np.testing.assert_array_equal(followed.books.held, fresh.books.held)
    np.testing.assert_array_equal(followed.books.leaving, fresh.books.leaving)
    assert followed.books.moving == fresh.books.moving
    assert (followed.leaving, followed.partial) == (fresh.leaving, fresh.partial)
    assert followed.seen.by_key == fresh.seen.by_key
    for later in (False, True):
        assert followed.books.left(later=later) == fresh.books.left(later=later)
        shared = [followed.books.used(each, later=later) for each in followed.books.shared()]
        assert shared == [fresh.books.used(each, later=later) for each in followed.books.shared()]
        assert set(followed.books.shared()) == set(fresh.books.shared())


class Unlisted(dict[str, Any]):
    """A map that may only be asked for single keys."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("all keys were read")

    def keys(self) -> NoReturn:
        raise AssertionError("all keys were read")

    items = values = keys


@pytest.mark.parametrize(
    ("missed", "generations"),
    [
        pytest.param(0, 1, id="the next catalogue"),
        pytest.param(STEPS_MAX - 1, 1, id="as many catalogues as the record has"),
        pytest.param(0, 0, id="a copy of the same catalogue"),
    ],
)
def test_with_a_record_only_claims_that_changed_are_looked_at(missed: int, generations: int) -> None:
    base_module._LAST.clear()
    world, log = DeviceWorld(*_pools([4, 3], 0)), ChangeLog()
    for number in range(4):
        world.claim(f"c{number}", allocation=has(f"d{number}"))
    catalogue = replace(world.catalogue(), changes=log.publish())
    inventory = inventory_of(catalogue.pools, NODES)
    base_of(catalogue, inventory)
    allocated = dict(catalogue.allocated)
    for _ in range(generations * (missed + 1)):
        log.add(["ns/c1"])
        allocated.pop("ns/c1", None)
        catalogue = replace(catalogue, changes=log.publish())
    after = replace(catalogue, allocated=Unlisted(allocated), users=Unlisted())
    held = base_of(after, inventory).books.held[:4].tolist()
    assert held == ([1, 0, 1, 1] if generations else [1, 1, 1, 1])


def test_a_reader_that_missed_too_many_catalogues_looks_at_all_claims() -> None:
    base_module._LAST.clear()
    world, log = DeviceWorld(*_pools([4, 3], 0)), ChangeLog()
    catalogue = replace(world.catalogue(), changes=log.publish())
    inventory = inventory_of(catalogue.pools, NODES)
    base_of(catalogue, inventory)
    world.claim("c0", allocation=has("d0"))
    log.add(["ns/c0"])
    for _ in range(STEPS_MAX + 1):
        record = log.publish()
    assert base_of(replace(world.catalogue(), changes=record), inventory).books.held[0] == 1


def _fresh(catalogue: DeviceCatalogue, nodes: NodeStatics) -> Any:
    last = base_module._LAST[:]
    base_module._LAST.clear()
    found = base_of(catalogue, inventory_of(catalogue.pools, nodes))
    base_module._LAST[:] = last
    return found


def _pools(sizes: Sequence[int], generation: int) -> list[DevicePool]:
    def made(node: str, number: int) -> Any:
        consumes = {"card": {"slots": 1 + generation % 2}} if number == 1 else None
        return device(f"d{number}", node, capacity=amounts(memory=8), shareable=number == 2, consumes=consumes)

    return [
        pool(
            *(made(node, number) for number in range(size)),
            counters=(("card", (("slots", 4),)),),
            generation=generation,
        )
        for node, size in zip(("n1", "n2"), sizes, strict=True)
    ]


def _stepped(
    world: DeviceWorld, catalogue: DeviceCatalogue, kind: str, number: int, sizes: list[int], generation: int
) -> tuple[DeviceCatalogue, int]:
    """One change; what it does not concern stays the same object."""
    node, name = ("n1", "n2")[number % 2], f"c{number}"
    users = dict(catalogue.users)
    allocated = dict(catalogue.allocated)
    pools = catalogue.pools
    if kind == "claim":
        task = world.pod(f"p{number}", name, status=Status.RUNNING, node=node)
        allocated[f"ns/{name}"] = world.claim(name, allocation=has(f"d{number // 2}", node=node), users=[task])
        users[f"ns/{name}"] = {task.uid: task}
    elif kind == "share":
        one = AllocatedDevice("r", DeviceId("gpu", node, "d2"), share=name, consumed=amounts(memory=number))
        allocated[f"ns/{name}"] = world.claim(name, allocation=has(one, node=node))
        users.pop(f"ns/{name}", None)
    elif kind == "free":
        allocated.pop(f"ns/{name}", None)
    elif kind == "leave":
        users = {
            key: {uid: task.moved(Status.RELEASING, task.node) for uid, task in some.items()}
            if key == f"ns/{name}"
            else some
            for key, some in users.items()
        }
    elif kind == "part":  # the first pool goes, or comes back: the devices of the second one have other numbers
        pools = pools[1:] if len(pools) == 2 else (_pools(sizes, generation)[0], *pools)
    elif kind != "join":
        generation += 1
        at = number % 2
        sizes[at] = max(0, sizes[at] + {"republish": 0, "grow": 1, "shrink": -1}[kind]) or 1
        made = _pools(sizes, generation)
        pools = tuple(made[0 if one.name == "n1" else 1] if one.name == node else one for one in pools)
    return replace(catalogue, allocated=allocated, users=users, pools=pools), generation


def test_a_claim_whose_device_comes_back_uses_it() -> None:
    base_module._LAST.clear()
    world = DeviceWorld(*_pools([1, 1], 0))
    world.claim("c", allocation=has("d1"))
    before = world.catalogue()
    assert base_of(before, inventory_of(before.pools, NODES)).partial == {"ns/c"}
    after = replace(before, pools=tuple(_pools([2, 1], 1)))
    found = base_of(after, inventory_of(after.pools, NODES))
    assert found.partial == frozenset()
    assert found.books.held.tolist() == [0, 1, 0]
    replaced = changed(after.pools[0], generation=2)
    again = replace(after, pools=(replaced, after.pools[1]))
    assert base_of(again, inventory_of(again.pools, NODES)).books.held.tolist() == [0, 1, 0]
