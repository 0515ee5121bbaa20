"""The devices of nodes as arrays of slots and nodes, and which of them a request would get; for all nodes at once.

A slot is the place of a device on its node: slot 0 is the first by index. A device takes a part of a pod if it is
healthy, of an accepted type, not used by as many containers as may share it, and has enough memory and computing power
left: a container that wants all of it needs a device that nobody uses, one that names no computing
power needs a device that has some left.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np

from vsched.model.deviceshare.records import WHOLE, DeviceAsk
from vsched.model.nodes.table import Ints, Mask

NO_BOUND = 1 << 30
"""How many more containers may use a device that has no bound."""
_CLOSED = -(1 << 62)
"""Ranks below every open device."""


class DeviceOrder(Enum):
    """Which of several devices of a node a container gets."""

    BINPACK = "binpack"
    """Those with the least memory left, then with the least computing power left, then the last by index."""
    SPREAD = "spread"
    """Those with the most left."""
    FIRST = "first"
    """The first by index."""
    LAST = "last"
    """The last by index, as Volcano has it."""


class Chosen(NamedTuple):
    """Which devices a request would get on each of some nodes."""

    passes: Mask
    """bool[nodes]: whether the node has enough of them."""
    slots: tuple[Mask, ...]
    """By container: bool[slots, nodes]; all False on nodes that do not pass."""


class DeviceTable:
    """Devices of one kind. All arrays are [slot, node]; slots without a device are unhealthy and have nothing free."""

    __slots__ = ("healthy", "memory", "sharers", "thousandths", "total_memory", "types", "users")

    def __init__(
        self,
        healthy: Mask,
        types: Ints,
        total_memory: Ints,
        memory: Ints,
        thousandths: Ints,
        sharers: Ints,
        users: Ints,
    ) -> None:
        self.healthy = healthy
        """Whether there is a device that may be used."""
        self.types = types
        """int64: a number for its type; the caller knows which."""
        self.total_memory = total_memory
        """int64, MiB; 0 where memory does not count."""
        self.memory = memory
        """int64, MiB free."""
        self.thousandths = thousandths
        """int64, free."""
        self.sharers = sharers
        """int64: how many more containers may use it; ``NO_BOUND`` where there is no bound."""
        self.users = users
        """int64: how many parts of pods are on it."""

    @classmethod
    def empty(cls, slots: int, nodes: int) -> DeviceTable:
        """A table without devices."""
        zeros = [np.zeros((slots, nodes), np.int64) for _ in range(6)]
        return cls(np.zeros((slots, nodes), np.bool_), *zeros)

    @property
    def shape(self) -> tuple[int, int]:
        """Slots and nodes."""
        slots, nodes = self.healthy.shape
        return slots, nodes

    def copy(self) -> DeviceTable:
        """A copy of what changes with placements; the rest is shared."""
        return DeviceTable(
            self.healthy,
            self.types,
            self.total_memory,
            self.memory.copy(),
            self.thousandths.copy(),
            self.sharers.copy(),
            self.users.copy(),
        )

    def part(self, rows: Sequence[int] | Ints) -> DeviceTable:
        """A copy with some of the nodes only, in this order."""
        at = np.asarray(rows, np.intp)
        return DeviceTable(
            self.healthy[:, at],
            self.types[:, at],
            self.total_memory[:, at],
            self.memory[:, at],
            self.thousandths[:, at],
            self.sharers[:, at],
            self.users[:, at],
        )

    def memory_of(self, ask: DeviceAsk) -> Ints:
        """int64[slots, nodes], MiB: what a container would take of each device; per cents are rounded down."""
        if ask.memory or not ask.percent:
            return np.full(self.shape, ask.memory, np.int64)
        asked: Ints = self.total_memory * ask.percent // 100
        return asked

    def open_to(self, ask: DeviceAsk, accepted: Mask | None = None) -> Mask:
        """bool[slots, nodes]: devices that could take a container's part; ``accepted`` masks types and uuids."""
        found: Mask = self.healthy & (self.sharers > 0) & (self.thousandths >= max(1, ask.thousandths))
        if ask.thousandths >= WHOLE:
            found &= self.users == 0
        counts = self.total_memory > 0
        found &= ~counts | (self.memory >= self.memory_of(ask))
        return found if accepted is None else found & accepted

    def choose(self, asks: Sequence[DeviceAsk], order: DeviceOrder, accepted: Mask | None = None) -> Chosen:
        """The devices that the containers of a pod would get on each node, one container after the other."""
        passes = np.ones(self.shape[1], np.bool_)
        slots: list[Mask] = []
        left = self
        for position, ask in enumerate(asks):
            chosen = left._first(left.open_to(ask, accepted), ask.number, order)
            passes &= chosen.sum(axis=0) >= ask.number
            slots.append(chosen)
            if position + 1 < len(asks):
                left = self.copy() if left is self else left
                left.take(ask, chosen)
        return Chosen(passes, tuple(chosen & passes for chosen in slots))

    def take(self, ask: DeviceAsk, chosen: Mask) -> None:
        """Take a container's part of these devices (bool[slots, nodes])."""
        self._add(ask, chosen, -1)

    def give_back(self, ask: DeviceAsk, chosen: Mask) -> None:
        """The opposite of ``take``."""
        self._add(ask, chosen, 1)

    def shift(self, slot: int, node: int, thousandths: int, memory: int, sign: int) -> None:
        """Take a part of one device (``sign`` -1), or give it back (1)."""
        if self.total_memory[slot, node]:
            self.memory[slot, node] += sign * memory
        self.thousandths[slot, node] += sign * thousandths
        if self.sharers[slot, node] < NO_BOUND:
            self.sharers[slot, node] += sign
        self.users[slot, node] -= sign

    def tightest(self, other: DeviceTable) -> DeviceTable:
        """What is free in this table and in another one of the same devices."""
        return DeviceTable(
            self.healthy,
            self.types,
            self.total_memory,
            np.minimum(self.memory, other.memory),
            np.minimum(self.thousandths, other.thousandths),
            np.minimum(self.sharers, other.sharers),
            np.maximum(self.users, other.users),
        )

    def _add(self, ask: DeviceAsk, chosen: Mask, sign: int) -> None:
        self.memory += np.where(chosen & (self.total_memory > 0), sign * self.memory_of(ask), 0)
        self.thousandths += np.where(chosen, sign * ask.thousandths, 0)
        self.sharers += np.where(chosen & (self.sharers < NO_BOUND), sign, 0)
        self.users -= np.where(chosen, sign, 0)

    def _first(self, open_slots: Mask, number: int, order: DeviceOrder) -> Mask:
        """bool[slots, nodes]: the first ``number`` open devices of each node, or all if there are fewer."""
        slots = self.shape[0]
        position = np.arange(slots, dtype=np.int64)[:, None]
        if order is DeviceOrder.LAST:
            rank = np.broadcast_to(position, self.shape)
        elif order is DeviceOrder.FIRST:
            rank = np.broadcast_to(-position, self.shape)
        else:
            # One number to compare by: memory, then thousandths, then the position; each fits its share of 63 bits.
            left = (np.minimum(self.memory, (1 << 36) - 1) << 17) + (np.minimum(self.thousandths, WHOLE) << 7)
            rank = (left if order is DeviceOrder.SPREAD else -left) + position
        rank = np.where(open_slots, rank, _CLOSED)
        if number >= slots:
            return open_slots.copy()
        best = np.argsort(-rank, axis=0, kind="stable")[:number]
        chosen = np.zeros(self.shape, np.bool_)
        np.put_along_axis(chosen, best, True, axis=0)
        return chosen & open_slots
