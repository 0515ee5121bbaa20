"""The shared devices of all nodes during a session: what is free now and later, and what pods hold.

``tables`` says what is free before. A plugin opens books of its own from the catalogue of the snapshot and
passes on to them what its ``PlacementListener`` hears, so that the books of all plugins agree. Arrays are by place: the
position of a node among those that register devices of this kind (``rows``, ``place_of``).

There are two tables. ``now`` has what is free at present. ``later`` has what will be free once leaving pods have left,
and pods that wait for them have come. An evicted pod gives its devices back in ``later`` only. A pod that is placed at
once gets what is free in both; one that waits gets what is free in ``later``. What is undone is undone exactly.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from vsched.framework.jobs import JobView
from vsched.kernels.deviceshare.table import ChosenSlots, DeviceOrder, DeviceTable
from vsched.model.deviceshare.records import DeviceShareCatalogue, HeldPart, HeldParts, NodeDevices, SharedDeviceRequest
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.devices.neighbours import DeviceMove, Neighbours, Rule, Tags
from vsched.plugins.devices.npu_parts import Chips
from vsched.plugins.devices.tables import HeldDevices, SlotPart, device_tables, shift

FITS_MAX = 256
"""How many requests are remembered with the devices that they would get."""


class DevicesFit(NamedTuple):
    """The devices that a request would get on all nodes, and how many changes are taken into account."""

    chosen: ChosenSlots
    position: int


class DevicesLeft(NamedTuple):
    """What a pod gave back, and what was free on the node then."""

    held: HeldDevices
    state: bytes


class SharedDeviceBooks:
    """The devices of one kind of all nodes, and what pods hold of them."""

    def __init__(
        self,
        catalogue: DeviceShareCatalogue,
        nodes: NodeTable,
        kind: str,
        order: DeviceOrder = DeviceOrder.LAST,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._tables = device_tables(catalogue, nodes, kind)
        self._row_of = nodes.statics.row
        self.kind = kind
        self.order = order
        """Which of several devices of a node a container gets."""
        self.chips = Chips(catalogue.chips)
        """How NPUs are divided."""
        self.rows = self._tables.rows
        """int64[place]: the row of each node."""
        self.place_of = self._tables.place_of
        """By row."""
        self.types = self._tables.types
        """The types of devices, by the number that the tables have for them."""
        self.now = self._tables.now.copy()
        self.later = self._tables.later.copy() if self._tables.later is not self._tables.now else self.now
        """The same object as ``now`` as long as no pod leaves."""
        self.changed: list[int] = []
        """Places where something was taken or given back, in order."""
        self._held: dict[str, HeldDevices] = {}
        """By uid: what this session has given to pods."""
        self._left: dict[str, DevicesLeft] = {}
        """By uid: pods that gave back what this session had given them. If that is undone, they get the same again."""
        self.closed: Mask | None = None
        """bool[slots, places]: devices of which no parts are given out; None where there are none."""
        self._fits: dict[tuple[SharedDeviceRequest, bool, Tags], DevicesFit] = {}
        self._rules, self._statics = rules, nodes.statics
        self._moves: list[DeviceMove] = []
        self._neighbours: Neighbours | None = None
        """Made once a pod is to be kept apart from others."""
        self._accepted: dict[SharedDeviceRequest, Mask | None] = {}

    @property
    def found(self) -> Sequence[NodeDevices]:
        """By place: what the node registers."""
        return self._tables.found

    @property
    def in_motion(self) -> bool:
        """Whether ``later`` differs from ``now``."""
        return self.later is not self.now

    def free(self) -> DeviceTable:
        """What pods that are placed at once may get: free now, and not promised to pods that wait."""
        return self.now.tightest(self.later) if self.in_motion else self.now

    def free_at(self, places: Ints) -> DeviceTable:
        """The same of some nodes."""
        table = self.now.part(places)
        return table.tightest(self.later.part(places)) if self.in_motion else table

    def unused(self) -> DeviceTable:
        """The devices as if there were no pods; callers must not change it."""
        if self.closed is None:
            return self._tables.unused
        table = self._tables.unused.copy()
        table.healthy = self.now.healthy
        return table

    @property
    def sizes(self) -> dict[Hashable, Any]:
        """Notes about ``unused`` by what was asked, kept from session to session; none where devices are closed."""
        return self._tables.sizes if self.closed is None else {}

    @property
    def exists(self) -> Mask:
        """bool[slots, places]: where there is a device, healthy or not."""
        counts = np.array([len(one.devices) for one in self.found], np.int64)
        return np.arange(self.now.shape[0])[:, None] < counts

    def close(self, devices: Set[tuple[str, str]]) -> None:
        """Give out no parts of these devices, named by node and uuid. Called before anything is placed."""
        closed = np.zeros(self.now.shape, np.bool_)
        for place, one in enumerate(self.found):
            for slot, device in enumerate(one.devices):
                closed[slot, place] = (one.node, device.uuid) in devices
        self.closed = closed if closed.any() else None
        self.now.healthy = self.later.healthy = self.now.healthy & ~closed

    # -- what is placed ---------------------------------------------------------------------------------------------

    def take(self, job: JobView, task: Task, row: int) -> None:
        """A task has come to a node, or its eviction was undone. For ``on_allocate``."""
        place, request = self.place_of.get(row), self.chips.fitted(task.shape.devices)
        if place is None or request is None or request.kind != self.kind:
            return
        status = status_of(job, task)
        if status is task.status and task.node:  # an eviction is undone
            known = self._tables.held.get(task.uid)
            if known is not None:
                self._shift_later(task, known, -1)
            return
        waits, left = status is Status.PIPELINED, self._left.pop(task.uid, None)
        if left is not None and left.held.place == place and left.state == self._state(place):
            held = left.held
        else:
            held = HeldDevices(place, self._choose(request, place, self.avoided_by(task), later=waits))
        self._held[task.uid] = held
        self._shift(task, held, -1, waits=waits)

    def give_back(self, job: JobView, task: Task, row: int) -> None:
        """A task is evicted, or does not come to its node after all. For ``on_release``."""
        held = self._held.pop(task.uid, None)
        if held is not None:
            self._shift(task, held, 1, waits=status_of(job, task) is Status.PIPELINED)
            self._left[task.uid] = DevicesLeft(held, self._state(held.place))
            return
        known = self._tables.held.get(task.uid)
        if known is not None and self.place_of.get(row) == known.place:
            self._shift_later(task, known, 1)

    def parts(self, task: Task) -> HeldParts:
        """What this session has given to a task, by container that asks for any; empty where it has given nothing."""
        held, request = self._held.get(task.uid), task.shape.devices
        if held is None or request is None:
            return ()
        devices = self.found[held.place].devices
        return tuple(
            tuple(
                HeldPart(
                    devices[part.slot].index,
                    part.thousandths,
                    self.now.asked(ask, part.slot, held.place) if part.instance else part.memory,
                    devices[part.slot].uuid,
                    part.instance,
                )
                for part in some
            )
            for ask, some in zip(request.asks, held.parts, strict=True)
        )

    def holds(self, uid: str) -> HeldDevices | None:
        """What a pod holds: that this session has given it, or that it held before; None where it holds nothing."""
        return self._held.get(uid) or self._tables.held.get(uid)

    def placed_at(self, place: int) -> Iterator[tuple[str, SlotPart]]:
        """What this session has given of the devices of a node, with the uids of the pods."""
        for uid, held in self._held.items():
            if held.place == place:
                yield from ((uid, part) for some in held.parts for part in some)

    # -- what would fit ---------------------------------------------------------------------------------------------

    def avoided_by(self, task: Task) -> Tags:
        """What pods have in common with which a pod shares no device; nothing for most pods."""
        request = task.shape.devices
        if request is None or not (self._rules or request.spread):
            return ()
        return self._apart().avoided_by(task)

    def used_by(self, avoided: Tags, places: Ints, *, later: bool = False) -> Mask:
        """bool[slots, places]: devices of some nodes that pods use which have something of this in common."""
        return self._apart().used_at(avoided, places, later=later and self.in_motion)

    def fit(self, request: SharedDeviceRequest, avoided: Tags = (), *, later: bool = False) -> ChosenSlots:
        """The devices that a request would get on each node: at once, or (``later``) once leaving pods have left.

        ``avoided`` says with which pods no device is shared. Only nodes that have changed are looked at again. The
        answer is valid until something is placed.
        """
        later = later and self.in_motion
        key = request, later, avoided
        known, position = self._fits.get(key), len(self.changed)
        if known is None:
            if len(self._fits) >= FITS_MAX:
                del self._fits[next(iter(self._fits))]
            table = self.later if later else self.free()
            accepted = self._open_to(request, avoided, None, later=later)
            known = DevicesFit(table.choose(request.asks, self.order, accepted), position)
        elif known.position < position:
            places = np.array(list(dict.fromkeys(self.changed[known.position :])))
            again = self._chosen(request, avoided, places, self._table(places, later=later), later=later)
            known.chosen.passes[places] = again.passes
            for slots, new in zip(known.chosen.slots, again.slots, strict=True):
                slots[:, places] = new
            known = DevicesFit(known.chosen, position)
        self._fits[key] = known
        return known.chosen

    def accepted(self, request: SharedDeviceRequest) -> Mask | None:
        """bool[slots, places]: the devices that a pod accepts by type, uuid and mode; None for all."""
        if request not in self._accepted:
            if len(self._accepted) >= FITS_MAX:
                del self._accepted[next(iter(self._accepted))]
            self._accepted[request] = self._accepting(request)
        return self._accepted[request]

    def _accepting(self, request: SharedDeviceRequest) -> Mask | None:
        wishes = (request.types, request.other_types, request.uuids, request.other_uuids, request.mode, request.chip)
        if not any(wishes):
            return None
        named = np.array([_accepts_type(request, name) for name in self.types] or [False], np.bool_)
        accepted: Mask = named[self.now.types]
        if request.uuids or request.other_uuids:
            for place, one in enumerate(self.found):
                for slot, device in enumerate(one.devices):
                    accepted[slot, place] &= _accepts_uuid(request, device.uuid)
        if request.mode:
            accepted &= np.array([one.mode == request.mode for one in self.found], np.bool_)
        return accepted

    def _chosen(
        self, request: SharedDeviceRequest, avoided: Tags, places: Ints, table: DeviceTable, *, later: bool
    ) -> ChosenSlots:
        """The devices that a request would get at these places; ``table`` says what is free there."""
        return table.choose(request.asks, self.order, self._open_to(request, avoided, places, later=later))

    def _open_to(self, request: SharedDeviceRequest, avoided: Tags, places: Ints | None, *, later: bool) -> Mask | None:
        """bool[slots, places]: devices that a pod accepts, and that are not used by pods that it avoids."""
        accepted = self.accepted(request)
        if accepted is not None and places is not None:
            accepted = accepted[:, places]
        if not avoided:
            return accepted
        apart = ~self.used_by(avoided, np.arange(len(self.rows)) if places is None else places, later=later)
        return apart if accepted is None else accepted & apart

    def _apart(self) -> Neighbours:
        if self._neighbours is None:
            self._neighbours = Neighbours(self._tables, self._statics, self.kind, self._rules)
        self._neighbours.follow(self._moves)
        return self._neighbours

    def _table(self, places: Ints, *, later: bool) -> DeviceTable:
        return self.later.part(places) if later else self.free_at(places)

    def _choose(
        self, request: SharedDeviceRequest, place: int, avoided: Tags, *, later: bool
    ) -> tuple[tuple[SlotPart, ...], ...]:
        """The parts that a pod gets on one node; none of a container where it does not fit."""
        places, later = np.array([place]), later and self.in_motion
        table = self._table(places, later=later)
        found = self._chosen(request, avoided, places, table, later=later)
        parts: list[tuple[SlotPart, ...]] = []
        for ask, slots in zip(request.asks, found.slots, strict=True):
            chosen = np.flatnonzero(slots[:, 0]).tolist()
            parts.append(tuple(SlotPart(slot, ask.thousandths, *table.gain(ask, slot, 0)) for slot in chosen))
            if table.states is not None:
                table.take(ask, slots)
        return tuple(parts)

    # -- tables -----------------------------------------------------------------------------------------------------

    def _shift(self, task: Task, held: HeldDevices, sign: int, *, waits: bool) -> None:
        """Take (``sign`` -1) or give back (1) what a task of this session holds; one that waits holds nothing now."""
        if waits:
            self._shift_later(task, held, sign)
            return
        self._moves.append(DeviceMove(task, held, sign, later=False))
        shift(self.now, held, sign)
        if self.in_motion:
            shift(self.later, held, sign)
        self.changed.append(held.place)

    def _shift_later(self, task: Task, held: HeldDevices, sign: int) -> None:
        self._moves.append(DeviceMove(task, held, sign, later=True))
        if not self.in_motion:
            self.later = self.now.copy()
            self._fits.clear()
        shift(self.later, held, sign)
        self.changed.append(held.place)

    def _state(self, place: int) -> bytes:
        """What is free on a node, to compare."""
        tables = (self.now, self.later)
        counts = b"".join(
            column[:, place].tobytes()
            for table in tables
            for column in (table.memory, table.thousandths, table.sharers, table.users)
        )
        states = [table.states[:, place].tolist() for table in tables if table.states is not None]
        return counts + repr([[one and one.held for one in some] for some in states]).encode() if states else counts


def status_of(job: JobView, task: Task) -> Status:
    """The status of a task in the session."""
    moved = job.moved.get(task.uid)
    return task.status if moved is None else moved[0]


def _accepts_type(request: SharedDeviceRequest, name: str) -> bool:
    if request.chip:
        return name == request.chip
    if request.types:
        return any(word.upper() in name.upper() for word in request.types)
    return not any(word.upper() in name.upper() for word in request.other_types)


def _accepts_uuid(request: SharedDeviceRequest, uuid: str) -> bool:
    return (not request.uuids or uuid in request.uuids) and uuid not in request.other_uuids
