"""The devices of all nodes that are free during a session, and what a pod would leave of them.

A node that registers shared devices is judged by these, in parts. Of other nodes, what is idle of a resource that
counts whole devices is so many free devices. All are thousandths of a device; of a shared device, what is left of its
computing power or of its memory, whichever is less.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from vsched.framework.jobs import JobView
from vsched.kernels.deviceshare.fragments import Free
from vsched.kernels.deviceshare.table import UNDIVIDED, DeviceOrder, DeviceTable
from vsched.model.amounts.resources import scale_of
from vsched.model.deviceshare.records import (
    DEVICES_MAX,
    WHOLE,
    DeviceAsk,
    DeviceKind,
    DeviceShareCatalogue,
    SharedDeviceRequest,
)
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task
from vsched.plugins.devices.books import SharedDeviceBooks
from vsched.plugins.devices.mix import OTHERS, DeviceWant
from vsched.plugins.devices.neighbours import Rule
from vsched.plugins.devices.npu_parts import Chips

_MOST = np.iinfo(np.int64).max


class SharedDevicesAsked(NamedTuple):
    """What a pod asks for."""

    want: DeviceWant
    request: SharedDeviceRequest | None
    """What it asks of shared devices."""

    @property
    def is_particular(self) -> bool:
        """Whether nodes in equal states may differ to the pod."""
        request = self.request
        return request is not None and bool(request.uuids or request.other_uuids or request.mode or request.chip)


class FreeDevices:
    """The devices of all nodes, and what is free of them."""

    def __init__(
        self,
        nodes: NodeTable,
        resources: Sequence[str],
        catalogue: DeviceShareCatalogue,
        order: DeviceOrder = DeviceOrder.BINPACK,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._nodes = nodes
        self._chips = Chips(catalogue.chips)
        self._asked: dict[Shape, SharedDevicesAsked] = {}
        found = ((nodes.axis.find(name), scale_of(name)) for name in resources)
        self._columns = {column: scale for column, scale in found if column is not None and column < nodes.width}
        none = np.zeros(len(nodes), np.int64)
        self.count: Ints = sum(
            (nodes.allocatable[column] // scale for column, scale in self._columns.items()), none.copy()
        )
        """int64[nodes]: how many devices each node has."""
        self._shared: list[tuple[SharedDeviceBooks, Ints]] = []
        """For each kind of shared devices: the books, and int64[nodes]: the place of each node, or -1."""
        self._registers: Mask = np.zeros(len(nodes), np.bool_)
        for kind in DeviceKind if catalogue.nodes else ():
            books = SharedDeviceBooks(catalogue, nodes, kind, order, rules)
            place = none - 1
            free = np.flatnonzero(~self._registers[books.rows])
            place[books.rows[free]] = free
            self._registers[books.rows] = True
            self.count[books.rows[free]] = books.now.healthy.sum(axis=0)[free]
            self._shared.append((books, place))
        slots = max([int(self.count.max(initial=0)), *(books.now.shape[0] for books, _ in self._shared)])
        self.slots = min(DEVICES_MAX, slots)
        """How many devices of a node are looked at."""
        self._memory = _usual_memory([books.now for books, _ in self._shared])

    def asked(self, shape: Shape) -> SharedDevicesAsked:
        """What a pod asks for."""
        found = self._asked.get(shape)
        if found is None:
            found = self._asked[shape] = self._asked_by(shape)
        return found

    def _asked_by(self, shape: Shape) -> SharedDevicesAsked:
        amounts, request = dict(shape.request), self._chips.fitted(shape.devices)
        cpu, memory = (amounts.get(column, 0) for column in OTHERS)
        if request is not None and self._shared:
            size = max(self._size(ask) for ask in request.asks)
            return SharedDevicesAsked(DeviceWant(sum(ask.number for ask in request.asks), size, cpu, memory), request)
        number = sum(-(-amounts.get(column, 0) // scale) for column, scale in self._columns.items())
        return SharedDevicesAsked(DeviceWant(number, WHOLE if number else 0, cpu, memory), None)

    def _size(self, ask: DeviceAsk) -> int:
        """Thousandths of a device: of its computing power or of its memory, if that counts, whichever is more."""
        if not self._memory:
            return max(1, ask.thousandths)
        part = -(-ask.memory * WHOLE // self._memory) if ask.memory else ask.percent * WHOLE // 100
        return min(WHOLE, max(1, ask.thousandths, part))

    def accepted_by(self, shape: Shape) -> Hashable:
        """What of a pod decides ``accepts``; the same for pods that ask for parts of different sizes."""
        request = self._chips.fitted(shape.devices)
        if request is not None and self._shared:
            return replace(request, asks=(), containers=())
        return tuple((column, amount) for column, amount in shape.request if column in self._columns)

    def accepts(self, shape: Shape) -> Mask:
        """bool[nodes]: nodes that have the devices that a pod asks for, free or not."""
        request = self._chips.fitted(shape.devices)
        if request is not None and self._shared:
            shared: Mask = np.zeros(len(self._nodes), np.bool_)
            for books, place in self._shared:
                if books.kind == request.kind:
                    accepted = books.accepted(request)
                    devices = books.now.healthy if accepted is None else books.now.healthy & accepted
                    shared[place >= 0] = (devices.sum(axis=0) > 0)[place[place >= 0]]
            return shared
        found: Mask = np.ones(len(self._nodes), np.bool_)
        for column, amount in shape.request:
            if column in self._columns:
                found &= (self._nodes.allocatable[column] >= amount) & ~self._registers
        return found

    def with_types(self, words: Sequence[str]) -> Mask:
        """bool[nodes]: nodes with devices of a type that one of these words is part of; without words, of any type."""
        found: Mask = (self.count > 0) & (not words)
        for books, place in self._shared if words else ():
            named = [any(word.upper() in name.upper() for word in words) for name in books.types]
            devices = books.now.healthy & np.array(named or [False], np.bool_)[books.now.types]
            found[place >= 0] = (devices.sum(axis=0) > 0)[place[place >= 0]]
        return found

    def at(self, rows: Ints, model: Ints) -> Free:
        """What is free on some nodes now; ``model`` is int64[nodes]."""
        nodes = self._nodes
        number = np.zeros(len(rows), np.int64)
        for column, scale in self._columns.items():
            number += np.maximum(nodes.idle[column, rows], 0) // scale
        devices = np.where(np.arange(self.slots)[:, None] < number, WHOLE, 0)
        for books, place in self._shared:
            at = np.flatnonzero(place[rows] >= 0)
            if len(at):
                _put(devices, at, books.free_at(place[rows[at]]))
        return Free(devices, nodes.idle[np.array(OTHERS)[:, None], rows], model[rows])

    def states(self, rows: Ints, free: Free) -> list[Hashable]:
        """By row: equal only where a pod would leave the same; ``free`` says what is free there.

        For pods that name single devices, or how nodes divide them, that is not enough
        (``SharedDevicesAsked.is_particular``).
        """
        plain = np.concatenate([free.model[None], self.count[None, rows], free.others, free.devices])
        found: list[Hashable] = [row.tobytes() for row in np.ascontiguousarray(plain.T)]
        for books, place in self._shared:
            at = np.flatnonzero(place[rows] >= 0)
            for position, state in zip(at.tolist(), books.free_at(place[rows[at]]).keys(), strict=True):
                found[position] = found[position], state
        return found

    @property
    def vocabulary(self) -> Hashable:
        """What numbers in ``states`` stand for."""
        return self.slots, tuple((books.kind, books.order, tuple(books.types)) for books, _ in self._shared)

    def left(self, asked: SharedDevicesAsked, rows: Ints, free: Free) -> tuple[Free, Mask]:
        """What a pod would leave of what is free on these nodes; and bool[rows]: whether they have room for it.

        Where they have none, the first answer means nothing.
        """
        want = asked.want
        room: Mask = (free.others[0] >= want.cpu) & (free.others[1] >= want.memory)
        if asked.request is None:
            return left_by(want, free), room & ((free.devices >= want.thousandths).sum(axis=0) >= want.number)
        after, passes = left_by(want._replace(number=0), free), np.zeros(len(rows), np.bool_)
        for books, place in self._shared:
            at = np.flatnonzero(place[rows] >= 0)
            if books.kind == asked.request.kind and len(at):
                places, accepted = place[rows[at]], books.accepted(asked.request)
                table = books.free_at(places)
                found = table.choose(asked.request.asks, books.order, None if accepted is None else accepted[:, places])
                for ask, slots in zip(asked.request.asks, found.slots, strict=True):
                    table.take(ask, slots)
                after = after._replace(devices=after.devices.copy())
                _put(after.devices, at, table)
                passes[at] = found.passes
        return after, room & passes

    def take(self, job: JobView, task: Task, row: int) -> None:
        """A task has come to a node, or its eviction was undone."""
        for books, _ in self._shared:
            books.take(job, task, row)

    def give_back(self, job: JobView, task: Task, row: int) -> None:
        """A task is evicted, or does not come to its node after all."""
        for books, _ in self._shared:
            books.give_back(job, task, row)


def with_pod_gone(want: DeviceWant, free: Free) -> Free:
    """What is free once a pod with whole devices has left; more than the slots that are looked at are left out."""
    taken = (free.devices == 0) & (np.cumsum(free.devices == 0, axis=0) <= want.number)
    others = free.others + np.array([[want.cpu], [want.memory]])
    return Free(np.where(taken, WHOLE, free.devices), others, free.model)


def left_by(want: DeviceWant, free: Free) -> Free:
    """What a pod would leave: its parts are on the fullest devices that have room for them.

    Where a node has too few, the answer means nothing.
    """
    others = free.others - np.array([want.cpu, want.memory], np.int64)[:, None]
    if not want.number:
        return Free(free.devices, others, free.model)
    ranked = np.where(free.devices >= want.thousandths, free.devices, _MOST)
    chosen = np.argsort(ranked, axis=0, kind="stable")[: want.number]
    devices = free.devices.copy()
    held = np.take_along_axis(devices, chosen, axis=0)
    np.put_along_axis(devices, chosen, np.maximum(held - want.thousandths, 0), axis=0)
    return Free(devices, others, free.model)


def _put(devices: Ints, at: Ints, table: DeviceTable) -> None:
    """Write what is left of the devices of a table into these columns."""
    counts = table.total_memory > 0
    memory = np.where(counts, table.memory * WHOLE // np.maximum(table.total_memory, 1), WHOLE)
    left = np.clip(np.minimum(table.thousandths, memory), 0, WHOLE)
    if table.largest is not None:
        instances = np.clip(table.largest, 0, table.total_memory) * WHOLE // np.maximum(table.total_memory, 1)
        left = np.where(table.largest < UNDIVIDED, np.minimum(left, instances), left)
    left = np.where(table.healthy & (table.sharers > 0), left, 0)[: len(devices)]
    devices[:, at] = 0
    devices[: len(left), at] = left


def _usual_memory(tables: Sequence[DeviceTable]) -> int:
    """MiB: the middle one of all devices, for those that nobody knows yet; 0 where no device says what it has."""
    known = np.concatenate([table.total_memory[table.total_memory > 0] for table in tables] or [np.zeros(0, np.int64)])
    return int(np.sort(known)[len(known) // 2]) if len(known) else 0
