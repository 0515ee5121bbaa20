"""The shared devices of all nodes during a session: what is free now and later, and what pods hold.

``device_tables`` says what is free before. A plugin opens books of its own from the catalogue of the snapshot and
passes on to them what its ``PlacementListener`` hears, so that the books of all plugins agree. Arrays are by place: the
position of a node among those that register devices of this kind (``rows``, ``place_of``).

There are two tables. ``now`` has what is free at present. ``later`` has what will be free once leaving pods have left,
and pods that wait for them have come. An evicted pod gives its devices back in ``later`` only. A pod that is placed at
once gets what is free in both; one that waits gets what is free in ``later``. What is undone is undone exactly.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np

from vsched.framework.jobs import JobView
from vsched.kernels.deviceshare.table import Chosen, DeviceOrder, DeviceTable
from vsched.model.deviceshare.records import DeviceRequest, DeviceShareCatalogue, HeldPart, HeldParts, NodeDevices
from vsched.model.nodes.table import Ints, Mask, NodeTable
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.pods.device_tables import Held, Part, device_tables, shift

FITS_MAX = 256
"""How many requests are remembered with the devices that they would get."""


class KnownFit(NamedTuple):
    """The devices that a request would get on all nodes, and how many changes are taken into account."""

    chosen: Chosen
    position: int


class Left(NamedTuple):
    """What a pod gave back, and what was free on the node then."""

    held: Held
    state: bytes


class DeviceBooks:
    """The devices of one kind of all nodes, and what pods hold of them."""

    def __init__(
        self, catalogue: DeviceShareCatalogue, nodes: NodeTable, kind: str, order: DeviceOrder = DeviceOrder.LAST
    ) -> None:
        self._tables = device_tables(catalogue, nodes, kind)
        self._row_of = nodes.statics.row
        self.kind = kind
        self.order = order
        """Which of several devices of a node a container gets."""
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
        self._held: dict[str, Held] = {}
        """By uid: what this session has given to pods."""
        self._left: dict[str, Left] = {}
        """By uid: pods that gave back what this session had given them. If that is undone, they get the same again."""
        self._fits: dict[tuple[DeviceRequest, bool], KnownFit] = {}
        self._accepted: dict[DeviceRequest, Mask | None] = {}

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

    def close(self, devices: Set[tuple[str, str]]) -> None:
        """Give out no parts of these devices, named by node and uuid. Called before anything is placed."""
        healthy = self.now.healthy.copy()
        for place, one in enumerate(self.found):
            for slot, device in enumerate(one.devices):
                healthy[slot, place] &= (one.node, device.uuid) not in devices
        self.now.healthy = self.later.healthy = healthy

    # -- what is placed ---------------------------------------------------------------------------------------------

    def take(self, job: JobView, task: Task, row: int) -> None:
        """A task has come to a node, or its eviction was undone. For ``on_allocate``."""
        place, request = self.place_of.get(row), task.shape.devices
        if place is None or request is None or request.kind != self.kind:
            return
        status = status_of(job, task)
        if status is task.status and task.node:  # an eviction is undone
            known = self._tables.held.get(task.uid)
            if known is not None:
                self._shift_later(known, -1)
            return
        waits, left = status is Status.PIPELINED, self._left.pop(task.uid, None)
        if left is not None and left.held.place == place and left.state == self._state(place):
            held = left.held
        else:
            held = Held(place, self._choose(request, place, later=waits))
        self._held[task.uid] = held
        self._shift(held, -1, waits=waits)

    def give_back(self, job: JobView, task: Task, row: int) -> None:
        """A task is evicted, or does not come to its node after all. For ``on_release``."""
        held = self._held.pop(task.uid, None)
        if held is not None:
            self._shift(held, 1, waits=status_of(job, task) is Status.PIPELINED)
            self._left[task.uid] = Left(held, self._state(held.place))
            return
        known = self._tables.held.get(task.uid)
        if known is not None and self.place_of.get(row) == known.place:
            self._shift_later(known, 1)

    def parts(self, task: Task) -> HeldParts:
        """What this session has given to a task, by container that asks for any; empty where it has given nothing."""
        held = self._held.get(task.uid)
        if held is None:
            return ()
        devices = self.found[held.place].devices
        return tuple(
            tuple(HeldPart(devices[part.slot].index, *part[1:], devices[part.slot].uuid) for part in some)
            for some in held.parts
        )

    def holds(self, uid: str) -> Held | None:
        """What a pod holds: that this session has given it, or that it held before; None where it holds nothing."""
        return self._held.get(uid) or self._tables.held.get(uid)

    # -- what would fit ---------------------------------------------------------------------------------------------

    def fit(self, request: DeviceRequest, *, later: bool = False) -> Chosen:
        """The devices that a request would get on each node: at once, or (``later``) once leaving pods have left.

        Only nodes that have changed are looked at again. The answer is valid until something is placed.
        """
        later = later and self.in_motion
        known, position = self._fits.get((request, later)), len(self.changed)
        if known is None:
            if len(self._fits) >= FITS_MAX:
                del self._fits[next(iter(self._fits))]
            table = self.later if later else self.free()
            known = KnownFit(table.choose(request.asks, self.order, self.accepted(request)), position)
        elif known.position < position:
            places = np.array(list(dict.fromkeys(self.changed[known.position :])))
            again = self._chosen(request, places, later=later)
            known.chosen.passes[places] = again.passes
            for slots, new in zip(known.chosen.slots, again.slots, strict=True):
                slots[:, places] = new
            known = KnownFit(known.chosen, position)
        self._fits[request, later] = known
        return known.chosen

    def accepted(self, request: DeviceRequest) -> Mask | None:
        """bool[slots, places]: the devices that a pod accepts by type, uuid and mode; None for all."""
        if request not in self._accepted:
            if len(self._accepted) >= FITS_MAX:
                del self._accepted[next(iter(self._accepted))]
            self._accepted[request] = self._accepting(request)
        return self._accepted[request]

    def _accepting(self, request: DeviceRequest) -> Mask | None:
        if not (request.types or request.other_types or request.uuids or request.other_uuids or request.mode):
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

    def _chosen(self, request: DeviceRequest, places: Ints, *, later: bool) -> Chosen:
        """The devices that a request would get at these places."""
        table = self.later.part(places) if later else self.free_at(places)
        accepted = self.accepted(request)
        return table.choose(request.asks, self.order, None if accepted is None else accepted[:, places])

    def _choose(self, request: DeviceRequest, place: int, *, later: bool) -> tuple[tuple[Part, ...], ...]:
        """The parts that a pod gets on one node; none of a container where it does not fit."""
        found = self._chosen(request, np.array([place]), later=later and self.in_motion)
        total = self.now.total_memory[:, place]
        return tuple(
            tuple(
                Part(slot, ask.thousandths, ask.memory or int(total[slot]) * ask.percent // 100)
                for slot in np.flatnonzero(slots[:, 0]).tolist()
            )
            for ask, slots in zip(request.asks, found.slots, strict=True)
        )

    # -- tables -----------------------------------------------------------------------------------------------------

    def _shift(self, held: Held, sign: int, *, waits: bool) -> None:
        """Take (``sign`` -1) or give back (1) what a task of this session holds; one that waits holds nothing now."""
        if waits:
            self._shift_later(held, sign)
            return
        shift(self.now, held, sign)
        if self.in_motion:
            shift(self.later, held, sign)
        self.changed.append(held.place)

    def _shift_later(self, held: Held, sign: int) -> None:
        if not self.in_motion:
            self.later = self.now.copy()
            self._fits.clear()
        shift(self.later, held, sign)
        self.changed.append(held.place)

    def _state(self, place: int) -> bytes:
        """What is free on a node, to compare."""
        tables = (self.now, self.later)
        return b"".join(
            column[:, place].tobytes()
            for table in tables
            for column in (table.memory, table.thousandths, table.sharers, table.users)
        )


def status_of(job: JobView, task: Task) -> Status:
    """The status of a task in the session."""
    moved = job.moved.get(task.uid)
    return task.status if moved is None else moved[0]


def _accepts_type(request: DeviceRequest, name: str) -> bool:
    if request.types:
        return any(word.upper() in name.upper() for word in request.types)
    return not any(word.upper() in name.upper() for word in request.other_types)


def _accepts_uuid(request: DeviceRequest, uuid: str) -> bool:
    return (not request.uuids or uuid in request.uuids) and uuid not in request.other_uuids
