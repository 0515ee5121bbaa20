"""The uses that sessions begin with: worked out from what changed, they are what a fresh start would find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from tests.support.devicesets import DeviceWorld, amounts, device, has, pool
from vsched.framework.claims.devices import uses as uses_module
from vsched.framework.claims.devices.uses import base_of
from vsched.kernels.devices.inventory import inventory_of
from vsched.model.claims.catalogue import DeviceCatalogue
from vsched.model.claims.devices import AllocatedDevice, DeviceId, Pool
from vsched.model.nodes.table import NodeAttributes, NodeStatics
from vsched.model.pods.status import Status

NODES = NodeStatics([NodeAttributes("n1", {}), NodeAttributes("n2", {})])
STEPS = st.lists(
    st.tuples(st.sampled_from(["claim", "free", "leave", "republish", "grow", "shrink", "share"]), st.integers(0, 7)),
    max_size=12,
)


def test_many_uses_at_once_are_the_same_as_one_by_one() -> None:
    world = DeviceWorld(*_pools([100, 3], 0))
    for number in range(90):
        world.claim(f"c{number}", allocation=has(f"d{number}"))
    found = _fresh(world.catalogue(), NODES)
    assert int(found.books.held.sum()) == 90
    assert found.books.held[:90].all()


@given(STEPS)
def test_following_changes_gives_what_a_fresh_start_gives(steps: Sequence[tuple[str, int]]) -> None:
    uses_module._LAST.clear()
    sizes, generation = [4, 3], 0
    world = DeviceWorld(*_pools(sizes, generation))
    catalogue = world.catalogue()
    for kind, number in steps:
        catalogue, generation = _stepped(world, catalogue, kind, number, sizes, generation)
        inventory = inventory_of(catalogue.pools, NODES)
        followed = base_of(catalogue, inventory)
        assert base_of(catalogue, inventory) is followed
        fresh = _fresh(catalogue, NODES)
        np.testing.assert_array_equal(followed.books.held, fresh.books.held)
        np.testing.assert_array_equal(followed.books.leaving, fresh.books.leaving)
        assert (followed.leaving, followed.partial) == (fresh.leaving, fresh.partial)
        assert followed.seen.keys() == fresh.seen.keys()
        for later in (False, True):
            assert followed.books.left(later=later) == fresh.books.left(later=later)
            shared = [followed.books.used(each, later=later) for each in followed.books.shared()]
            assert shared == [fresh.books.used(each, later=later) for each in followed.books.shared()]
            assert set(followed.books.shared()) == set(fresh.books.shared())


def _fresh(catalogue: DeviceCatalogue, nodes: NodeStatics) -> Any:
    last = uses_module._LAST[:]
    uses_module._LAST.clear()
    found = base_of(catalogue, inventory_of(catalogue.pools, nodes))
    uses_module._LAST[:] = last
    return found


def _pools(sizes: Sequence[int], generation: int) -> list[Pool]:
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
    else:
        generation += 1
        at = number % 2
        sizes[at] = max(0, sizes[at] + {"republish": 0, "grow": 1, "shrink": -1}[kind]) or 1
        made = _pools(sizes, generation)
        pools = tuple(made[which] if which == at else pools[which] for which in range(2))
    return replace(catalogue, allocated=allocated, users=users, pools=pools), generation


def test_a_claim_whose_device_comes_back_uses_it() -> None:
    uses_module._LAST.clear()
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
