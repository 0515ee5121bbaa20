"""The devices of all nodes that are free during a session, and what a pod would leave of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vsched.kernels.deviceshare.fragments import Free
from vsched.model.amounts.resources import scale_of
from vsched.model.deviceshare.records import DEVICES_MAX, WHOLE
from vsched.model.nodes.table import Ints, NodeTable
from vsched.model.pods.shape import Shape
from vsched.plugins.pods.device_mix import OTHERS, DeviceWant

_MOST = np.iinfo(np.int64).max


class FreeDevices:
    """Devices of the nodes that whole pods use alone: what is idle of a resource, as so many free devices."""

    def __init__(self, nodes: NodeTable, resources: Sequence[str]) -> None:
        self._nodes = nodes
        found = ((nodes.axis.find(name), scale_of(name)) for name in resources)
        self._columns = {column: scale for column, scale in found if column is not None and column < nodes.width}
        self.count = sum(
            (nodes.allocatable[column] // scale for column, scale in self._columns.items()),
            np.zeros(len(nodes), np.int64),
        )
        """int64[nodes]: how many devices each node has."""
        self.slots = min(DEVICES_MAX, int(self.count.max(initial=0)))
        """How many devices of a node are looked at."""

    def want(self, shape: Shape) -> DeviceWant:
        """What a pod asks for."""
        asked = dict(shape.request)
        number = sum(-(-asked.get(column, 0) // scale) for column, scale in self._columns.items())
        cpu, memory = (asked.get(column, 0) for column in OTHERS)
        return DeviceWant(number, WHOLE if number else 0, cpu, memory)

    def accepts(self, shape: Shape) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """bool[nodes]: nodes that have the devices that a pod asks for, free or not."""
        found = np.ones(len(self._nodes), np.bool_)
        for column, amount in shape.request:
            if column in self._columns:
                found &= self._nodes.allocatable[column] >= amount
        return found

    def at(self, rows: Ints, model: Ints) -> Free:
        """What is free on some nodes now; ``model`` is int64[nodes]."""
        nodes = self._nodes
        number = np.zeros(len(rows), np.int64)
        for column, scale in self._columns.items():
            number += np.maximum(nodes.idle[column, rows], 0) // scale
        devices = np.where(np.arange(self.slots)[:, None] < number, WHOLE, 0)
        return Free(devices, nodes.idle[np.array(OTHERS)[:, None], rows], model[rows])


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
