"""The devices of nodes as arrays of slots and nodes, and which of them a request would get; for all nodes at once.

A slot is the place of a device on its node: slot 0 is the first by index. A device takes a part of a pod if it is
healthy, of an accepted type, not used by as many containers as may share it, and has enough memory and computing power
left: a container that wants all of it needs a device that nobody uses, one that names no computing
power needs a device that has some left. Of a device that is divided by MIG, a container gets an instance with at least
as much memory (``mig``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import is_not
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vsched.kernels.deviceshare.mig import MigState, given_back, joined, largest_free, pick, taken
from vsched.model.deviceshare.records import WHOLE, DeviceAsk
from vsched.model.nodes.table import Ints, Mask

NO_BOUND = 1 << 30
"""How many more containers may use a device that has no bound."""
UNDIVIDED = 1 << 62
"""The memory of the largest free instance of a device that is not divided by MIG."""
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


class ChosenSlots(NamedTuple):
    """Which devices a request would get on each of some nodes."""

    passes: Mask
    """bool[nodes]: whether the node has enough of them."""
    slots: tuple[Mask, ...]
    """By container: bool[slots, nodes]; all False on nodes that do not pass."""


class Gain(NamedTuple):
    """What a container gets of one device."""

    memory: int
    """MiB: what it asked for, or all of its instance."""
    instance: str = ""
    """Of a device that is divided by MIG."""


@dataclass(eq=False, slots=True)
class DeviceTable:
    """Devices of one kind. All arrays are [slot, node]; slots without a device are unhealthy and have nothing free."""

    healthy: Mask
    """Whether there is a device that may be used."""
    types: Ints
    """int64: a number for its type; the caller knows which."""
    total_memory: Ints
    """int64, MiB; 0 where memory does not count."""
    memory: Ints
    """int64, MiB free."""
    thousandths: Ints
    """int64, free."""
    sharers: Ints
    """int64: how many more containers may use it; ``NO_BOUND`` where there is no bound."""
    users: Ints
    """int64: how many parts of pods are on it."""
    networks: Ints | None = None
    """int64: the number of the network that connects it with others of its node, or -1; None where none has one."""
    states: NDArray[Any] | None = None
    """MigState: of devices that are divided by MIG; None of others. None where no device is."""
    largest: Ints | None = None
    """int64, MiB: the largest free instance; ``UNDIVIDED`` of other devices. None where no device is divided."""

    @classmethod
    def empty(cls, slots: int, nodes: int) -> DeviceTable:
        """A table without devices."""
        zeros = [np.zeros((slots, nodes), np.int64) for _ in range(6)]
        return cls(np.zeros((slots, nodes), np.bool_), *zeros)

    def begin_division(self) -> None:
        """Make room for the states of devices that are divided by MIG."""
        self.states = np.full(self.shape, None, np.object_)
        self.largest = np.full(self.shape, UNDIVIDED, np.int64)

    def divide(self, slot: int, node: int, state: MigState) -> None:
        """Note what is taken of a device that is divided by MIG."""
        assert self.states is not None, "begin_division was called"
        assert self.largest is not None, "begin_division was called"
        self.states[slot, node], self.largest[slot, node] = state, largest_free(state)

    def state(self, slot: int, node: int) -> MigState | None:
        """Of a device that is divided by MIG; None of another one."""
        if self.states is None:
            return None
        found: MigState | None = self.states[slot, node]
        return found

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
            self.networks,
            None if self.states is None else self.states.copy(),
            None if self.largest is None else self.largest.copy(),
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
            None if self.networks is None else self.networks[:, at],
            None if self.states is None else self.states[:, at],
            None if self.largest is None else self.largest[:, at],
        )

    def keys(self) -> list[Hashable]:
        """By node: equal where nodes are in equal states."""
        columns = [column for name in self.__slots__ if (column := getattr(self, name)) is not None]
        numbers = np.concatenate([column for column in columns if column.dtype != np.object_])
        found: list[Hashable] = [node.tobytes() for node in np.ascontiguousarray(numbers.T)]
        for column in columns:
            if column.dtype == np.object_:
                found = [(known, *states) for known, states in zip(found, column.T.tolist(), strict=True)]
        return found

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
        if self.largest is not None:
            found &= self.largest >= self.memory_of(ask)
        return found if accepted is None else found & accepted

    def choose(self, asks: Sequence[DeviceAsk], order: DeviceOrder, accepted: Mask | None = None) -> ChosenSlots:
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
        return ChosenSlots(passes, tuple(chosen & passes for chosen in slots))

    def take(self, ask: DeviceAsk, chosen: Mask) -> None:
        """Take a container's part of these devices (bool[slots, nodes])."""
        self.memory -= np.where(chosen & (self.total_memory > 0), self.memory_of(ask), 0)
        self.thousandths -= np.where(chosen, ask.thousandths, 0)
        self.sharers -= chosen & (self.sharers < NO_BOUND)
        self.users += chosen
        if self.largest is not None:
            for slot, node in np.argwhere(chosen & (self.largest < UNDIVIDED)).tolist():
                gain, state = self.gain(ask, slot, node), self.state(slot, node)
                assert state is not None, "the device is divided"
                self.memory[slot, node] += self.asked(ask, slot, node) - gain.memory
                self.divide(slot, node, taken(state, gain.instance))

    def gain(self, ask: DeviceAsk, slot: int, node: int) -> Gain:
        """What a container gets of a device that is open to it."""
        asked, state = self.asked(ask, slot, node), self.state(slot, node)
        if state is None:
            return Gain(asked)
        instance = pick(state, asked)
        assert instance is not None, "the device is open to the container"
        return Gain(instance.memory, instance.place)

    def shift(self, slot: int, node: int, thousandths: int, memory: int, sign: int, instance: str = "") -> None:
        """Take a part of one device (``sign`` -1), or give it back (1)."""
        state = self.state(slot, node) if instance else None
        if state is not None:
            self.divide(slot, node, taken(state, instance) if sign < 0 else given_back(state, instance))
        if self.total_memory[slot, node]:
            self.memory[slot, node] += sign * memory
        self.thousandths[slot, node] += sign * thousandths
        if self.sharers[slot, node] < NO_BOUND:
            self.sharers[slot, node] += sign
        self.users[slot, node] -= sign

    def tightest(self, other: DeviceTable) -> DeviceTable:
        """What is free in this table and in another one of the same devices."""
        found = DeviceTable(
            self.healthy,
            self.types,
            self.total_memory,
            np.minimum(self.memory, other.memory),
            np.minimum(self.thousandths, other.thousandths),
            np.minimum(self.sharers, other.sharers),
            np.maximum(self.users, other.users),
            self.networks,
            self.states,
            self.largest,
        )
        if self.states is not None and self.largest is not None and other.states is not None:
            found.states, found.largest = self.states.copy(), self.largest.copy()
            differ = map(is_not, self.states.ravel().tolist(), other.states.ravel().tolist())
            for at in np.flatnonzero(np.fromiter(differ, np.bool_, self.states.size)).tolist():
                slot, node = divmod(at, self.shape[1])
                found.divide(slot, node, joined(self.states[slot, node], other.states[slot, node]))
        return found

    def asked(self, ask: DeviceAsk, slot: int, node: int) -> int:
        """MiB: what a container asks of one device."""
        return ask.memory or int(self.total_memory[slot, node]) * ask.percent // 100

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
        if self.networks is None:
            best = np.argsort(-rank, axis=0, kind="stable")[:number]
        else:
            best = np.lexsort((-rank, self.networks, -self._suits(open_slots, number)), axis=0)[:number]
        chosen = np.zeros(self.shape, np.bool_)
        np.put_along_axis(chosen, best, True, axis=0)
        return chosen & open_slots

    def _suits(self, open_slots: Mask, number: int) -> Ints:
        """int64[slots, nodes]: how well an open device's network suits a container that gets several devices.

        Best is the smallest one that has enough open devices, then the largest. Devices without a network come last.
        """
        assert self.networks is not None, "the caller has looked"
        suits = np.where(open_slots, 0, -1)
        for network in np.unique(self.networks[self.networks >= 0]):
            inside = open_slots & (self.networks == network)
            count = inside.sum(axis=0)
            value = np.where(count >= number, 2 * self.shape[0] + 1 - count, count)
            suits = np.where(inside, value, suits)
        return suits
