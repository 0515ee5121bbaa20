"""The inventory: all devices as arrays, in the order in which they are tried.

Devices are numbered by pool (driver, then name; pools with binding conditions last), then as the pool lists them. What
is worked out for one pool is kept as long as the pool does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, TypeVar

import numpy as np

from vsched.kernels.selectors import terms_mask
from vsched.model.claims.devices import Device, DeviceId, DeviceModel, DevicePool
from vsched.model.nodes.table import Ids, Ints, Mask, NodeStatics
from vsched.model.pods.shape import NodeTerm

T = TypeVar("T")

Counter = tuple[int, str, str]
"""A counter: position of the pool, counter set, name."""
NOWHERE = -1
MOST_KEPT = 512
"""The most results that are kept with an inventory."""


@dataclass(frozen=True, slots=True)
class PoolBlock:
    """What an inventory needs of one pool."""

    pool: DevicePool
    positions: dict[str, int]
    """The position of each device in the pool."""
    models: tuple[DeviceModel, ...]
    """The distinct models."""
    model: Ids
    """int32[devices of the pool]: position in ``models``."""
    nodes: tuple[str, ...]
    """The distinct nodes that have devices of it."""
    node: Ids
    """int32[devices of the pool]: position in ``nodes``; NOWHERE for devices that are not on one node."""
    shareable: Mask
    """bool[devices of the pool]"""
    binding: bool
    """Whether a device has binding conditions."""
    tainted: tuple[int, ...]
    """Positions of devices with taints."""
    counting: tuple[int, ...]
    """Positions of devices that consume counters."""

    @property
    def usable(self) -> bool:
        """Whether its devices may be allocated: all slices are there, and nothing is wrong with them."""
        return self.pool.complete and not self.pool.problem


@dataclass(frozen=True, slots=True, eq=False)
class Inventory:
    """All devices of the cluster. It never changes, except for the results that are kept with it."""

    statics: NodeStatics
    devices: tuple[Device, ...]
    blocks: tuple[PoolBlock, ...]
    first: dict[tuple[str, str], tuple[int, int]]
    """By driver and pool: the number of the pool's first device, and the pool's position in ``blocks``."""
    models: tuple[DeviceModel, ...]
    model: Ids
    """int32[devices]: position in ``models``."""
    row: Ids
    """int32[devices]: the node's row; NOWHERE for devices on no node of the cluster, or not on one node."""
    group: Ids
    """int32[devices]: position in ``groups``; NOWHERE for devices on one node."""
    groups: tuple[Mask, ...]
    """The nodes that reach a device which is not on one node, each bool[nodes]."""
    pool: Ids
    """int32[devices]: position in ``blocks``."""
    usable: Mask
    """bool[devices]: whether the pool may be allocated from."""
    shareable: Mask
    """bool[devices]"""
    tainted: tuple[int, ...]
    """Devices with taints."""
    counting: dict[int, tuple[int, ...]]
    """By position of a pool: its devices that consume counters."""
    incomplete: Mask
    """bool[nodes]: nodes that reach a pool which may not be allocated from: there nobody gets all devices."""
    order: Ids
    """Devices by row; ``starts`` says where each row begins."""
    starts: Ids
    plain: Mask
    """bool[devices]: devices that one claim may use at a time, and that consume no counters."""
    results: dict[Hashable, Any] = field(default_factory=dict)
    """Results by key, see ``keep``."""
    near: dict[int, Sequence[int]] = field(default_factory=dict)
    """By row: see ``reaching``."""

    def __len__(self) -> int:
        return len(self.devices)

    def keep(self, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of ``compute()``, computed once for this key; it may depend on the inventory and the key only."""
        found = self.results.get(key)
        if found is None:
            if len(self.results) >= MOST_KEPT:
                self.results.clear()
            found = self.results[key] = compute()
        return found

    def number(self, device: DeviceId) -> int | None:
        """The device's number; None if it is not there."""
        found = self.first.get((device.driver, device.pool))
        if found is None:
            return None
        position = self.blocks[found[1]].positions.get(device.device)
        return None if position is None else found[0] + position

    def reaching(self, row: int) -> Sequence[int]:
        """The devices that a node reaches, ascending; not to be changed."""
        found = self.near.get(row)
        if found is None:
            mine = self.order[self.starts[row] : self.starts[row + 1]].tolist()
            for position, mask in enumerate(self.groups):
                if mask[row]:
                    mine.extend(self.members(position))
            found = self.near[row] = _as_range(sorted(mine))
        return found

    def members(self, group: int) -> list[int]:
        """The devices of a group."""
        found: list[int] = self.keep(("members", group), lambda: np.flatnonzero(self.group == group).tolist())
        return found

    def counters(self, device: int) -> list[tuple[Counter, int]]:
        """What a device takes of counters while it is in use."""
        pool = int(self.pool[device])
        consumes = self.devices[device].traits.consumes
        return [((pool, counters, name), amount) for counters, amounts in consumes for name, amount in amounts]

    def rows(self, group: int) -> Ints:
        """The rows of a group."""
        return self.keep(("rows", group), lambda: np.flatnonzero(self.groups[group]))

    def per_node(self, units: Ints) -> Ints:
        """int64[nodes]: sums of an int64[devices] over the devices that each node reaches."""
        near = self.row >= 0
        total = np.zeros(len(self.statics), dtype=np.int64)
        total += np.bincount(self.row[near], weights=units[near], minlength=len(total)).astype(np.int64)
        for position, mask in enumerate(self.groups):
            total[mask] += int(units[self.members(position)].sum())
        return total


def _as_range(numbers: list[int]) -> Sequence[int]:
    """Ascending numbers; a range where none is left out, as for most nodes, because it takes less memory."""
    if not numbers or numbers[-1] - numbers[0] >= len(numbers):
        return numbers
    return range(numbers[0], numbers[-1] + 1)


def changed_pools(before: Inventory, after: Inventory) -> set[tuple[str, str]]:
    """The pools, by driver and name, that are not the same in both inventories."""
    if before.blocks is after.blocks:
        return set()
    _, position = renumbered(before, after)
    same = {(pool.driver, pool.name) for pool in (before.blocks[at].pool for at in position)}
    return (before.first.keys() | after.first.keys()) - same


def renumbered(before: Inventory, after: Inventory) -> tuple[Ints, dict[int, int]]:
    """The numbers in ``after`` of the devices of ``before``, and the positions of its pools.

    Devices of pools that are not the same in both are NOWHERE, and such pools have no position.
    """
    same = []
    for at, block in enumerate(before.blocks):
        name = block.pool.driver, block.pool.name
        begin, other = after.first.get(name, (NOWHERE, NOWHERE))
        if other != NOWHERE and after.blocks[other].pool is block.pool:
            same.append((at, other, before.first[name][0], begin, len(block.pool.devices)))
    _, _, begins, others, sizes = np.array(same, dtype=np.int64).reshape(-1, 5).T
    number = np.full(len(before), NOWHERE, dtype=np.int64)
    number[_ranges(begins, sizes)] = _ranges(others, sizes)
    return number, {at: other for at, other, *_ in same}


def _ranges(begins: Ints, sizes: Ints) -> Ints:
    """The numbers of all ranges, one after the other."""
    found: Ints = np.repeat(begins - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    return found


def counter_totals(inventory: Inventory) -> dict[Counter, int]:
    """The whole of each counter."""

    def compute() -> dict[Counter, int]:
        return {
            (pool, counters, name): amount
            for pool in inventory.counting
            for counters, amounts in inventory.blocks[pool].pool.counters
            for name, amount in amounts
        }

    return inventory.keep("counters", compute)


def too_large(inventory: Inventory) -> tuple[int, ...]:
    """Devices that need more of a counter than there is."""

    def compute() -> tuple[int, ...]:
        totals = counter_totals(inventory)
        return tuple(
            device
            for members in inventory.counting.values()
            for device in members
            if any(amount > totals.get(key, 0) for key, amount in inventory.counters(device))
        )

    return inventory.keep("too large", compute)


class Same(Generic[T]):
    """An object as a key: equal only to the very same object."""

    __slots__ = ("of",)

    def __init__(self, of: T) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)


def inventory_of(pools: tuple[DevicePool, ...], statics: NodeStatics) -> Inventory:
    """The inventory of these pools on these nodes; kept for the last few."""
    return _inventory(Same(pools), Same(statics))


@lru_cache(maxsize=4)
def _inventory(pools: Same[tuple[DevicePool, ...]], statics: Same[NodeStatics]) -> Inventory:
    return _built(_blocks(pools), statics.of)


class _Blocks:
    """The blocks of the pools that were asked for last."""

    def __init__(self) -> None:
        self._known: dict[int, PoolBlock] = {}

    def of(self, pools: Sequence[DevicePool]) -> tuple[PoolBlock, ...]:
        known, now = self._known, {}
        for pool in pools:
            block = known.get(id(pool))
            now[id(pool)] = block if block is not None and block.pool is pool else _block(pool)
        self._known = now
        return tuple(now[id(pool)] for pool in pools)


_KNOWN = _Blocks()


@lru_cache(maxsize=4)
def _blocks(pools: Same[tuple[DevicePool, ...]]) -> tuple[PoolBlock, ...]:
    blocks = _KNOWN.of(pools.of)
    return tuple(sorted(blocks, key=lambda block: (block.binding, block.pool.driver, block.pool.name)))


def _block(pool: DevicePool) -> PoolBlock:
    devices = pool.devices
    models, model = _distinct([device.model for device in devices])
    nodes: dict[str, int] = {}
    return PoolBlock(
        pool=pool,
        positions=_positions(tuple(device.id.device for device in devices)),
        model=_ids(tuple(model)),
        models=models,
        node=_ids(tuple([nodes.setdefault(device.node, len(nodes)) if device.node else NOWHERE for device in devices])),
        nodes=tuple(nodes),
        shareable=_mask(tuple([device.model.shareable for device in devices])),
        binding=any(device.traits.binding_conditions for device in devices),
        tainted=tuple(position for position, device in enumerate(devices) if device.traits.taints),
        counting=tuple(position for position, device in enumerate(devices) if device.traits.consumes),
    )


def _distinct(models: Sequence[DeviceModel]) -> tuple[tuple[DeviceModel, ...], list[int]]:
    """The distinct objects among the models, and the position of each model among them.

    Devices that are alike share their model. Equality would not do: True and 1 are equal in Python, and different as
    attributes.
    """
    found = {id(model): model for model in models}
    at = {key: position for position, key in enumerate(found)}
    return tuple(found.values()), [at[id(model)] for model in models]


@lru_cache(maxsize=1024)  # the pools of nodes that are alike have the same
def _ids(numbers: tuple[int, ...]) -> Ids:
    found: Ids = np.array(numbers, dtype=np.int32)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1024)
def _mask(values: tuple[bool, ...]) -> Mask:
    found: Mask = np.array(values, dtype=np.bool_)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=1024)  # the pools of nodes that are alike name their devices alike
def _positions(names: tuple[str, ...]) -> dict[str, int]:
    return {name: position for position, name in enumerate(names)}


def _built(blocks: tuple[PoolBlock, ...], statics: NodeStatics) -> Inventory:
    devices = tuple(device for block in blocks for device in block.pool.devices)
    sizes = np.array([len(block.pool.devices) for block in blocks], dtype=np.int64)
    firsts = (np.cumsum(sizes) - sizes).tolist()
    pool = np.repeat(np.arange(len(blocks), dtype=np.int32), sizes)
    models, named = _distinct([one for block in blocks for one in block.models])
    model = _through([block.model for block in blocks], sizes, [len(block.models) for block in blocks], named)
    rows = [statics.row.get(name, NOWHERE) for block in blocks for name in block.nodes]
    row = _through([block.node for block in blocks], sizes, [len(block.nodes) for block in blocks], rows)
    group, groups = _groups(devices, blocks, firsts, statics)
    shareable = np.concatenate([np.zeros(0, dtype=np.bool_), *(block.shareable for block in blocks)])
    counting = {
        at: tuple(firsts[at] + one for one in block.counting) for at, block in enumerate(blocks) if block.counting
    }
    plain = ~shareable
    plain[[device for members in counting.values() for device in members]] = False
    order = np.argsort(row, kind="stable").astype(np.int32)
    return Inventory(
        statics=statics,
        devices=devices,
        blocks=blocks,
        first={(block.pool.driver, block.pool.name): (firsts[at], at) for at, block in enumerate(blocks)},
        models=models,
        model=model,
        row=row,
        group=group,
        groups=groups,
        pool=pool,
        usable=np.array([block.usable for block in blocks], dtype=np.bool_)[pool],
        shareable=shareable,
        plain=plain,
        tainted=tuple(firsts[at] + one for at, block in enumerate(blocks) for one in block.tainted),
        counting=counting,
        incomplete=_incomplete(blocks, statics),
        order=order,
        starts=np.searchsorted(row[order], np.arange(len(statics) + 1)).astype(np.int32),
    )


def _through(positions: list[Ids], sizes: Ints, lengths: list[int], values: list[int]) -> Ids:
    """The values at the positions, which count from the begin of each block's ``lengths`` values; NOWHERE stays."""
    at = np.concatenate([np.zeros(0, dtype=np.int32), *positions])
    begins = np.repeat(np.cumsum([0, *lengths])[:-1], sizes)
    found: Ids = np.array([*values, NOWHERE], dtype=np.int32)[np.where(at == NOWHERE, len(values), at + begins)]
    return found


def _groups(
    devices: tuple[Device, ...], blocks: tuple[PoolBlock, ...], firsts: list[int], statics: NodeStatics
) -> tuple[Ids, tuple[Mask, ...]]:
    group = np.full(len(devices), NOWHERE, dtype=np.int32)
    found: dict[tuple[NodeTerm, ...] | None, int] = {}
    for at, block in enumerate(blocks):
        for position in np.flatnonzero(block.node == NOWHERE).tolist():
            number = firsts[at] + position
            group[number] = found.setdefault(devices[number].traits.nodes, len(found))
    return group, tuple(_reach(terms, statics) for terms in found)


def _reach(terms: tuple[NodeTerm, ...] | None, statics: NodeStatics) -> Mask:
    mask = terms_mask(terms, statics)
    return np.ones(len(statics), dtype=np.bool_) if mask is None else mask


def _incomplete(blocks: tuple[PoolBlock, ...], statics: NodeStatics) -> Mask:
    mask = np.zeros(len(statics), dtype=np.bool_)
    for block in blocks:
        if block.usable:
            continue
        mask[[row for name in block.nodes if (row := statics.row.get(name)) is not None]] = True
        for terms in {device.traits.nodes for device in block.pool.devices if not device.node}:
            mask |= _reach(terms, statics)
    return mask
