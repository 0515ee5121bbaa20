"""How well nodes suit pods by the devices that they would get there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vsched.model.amounts.resources import CPU
from vsched.model.deviceshare.records import WHOLE, SharedDeviceRequest
from vsched.model.nodes.table import Floats, Ints, NodeTable
from vsched.plugins.devices.books import SharedDeviceBooks
from vsched.plugins.devices.free import FreeDevices, SharedDevicesAsked
from vsched.plugins.devices.neighbours import Tags
from vsched.plugins.devices.npus import network_points

BINPACK, SPREAD = "binpack", "spread"
SCORES_MAX = 256
"""How many requests are remembered with the scores of nodes."""


class KnownScores(NamedTuple):
    """The scores of all nodes for a request, and how many changes are taken into account."""

    scores: Floats
    position: int


class DeviceScores:
    """The scores of one session."""

    def __init__(self, count: int, policy: str, weight: int) -> None:
        """``count`` is that of all nodes."""
        self._count, self._policy, self._weight = count, policy, weight
        self._known: dict[tuple[SharedDeviceRequest, Tags], KnownScores] = {}

    def of(self, books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags = ()) -> Floats:
        """float64[nodes], not to be changed: how full devices would be (binpack), or how many nobody uses (spread).

        ``avoided`` says with which pods no device is shared.
        """
        key, position = (request, avoided), len(books.changed)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= SCORES_MAX:
                del self._known[next(iter(self._known))]
            known = KnownScores(np.zeros(self._count), -1)
            places = np.arange(len(books.rows))
        else:
            places = np.array(list(dict.fromkeys(books.changed[known.position :])), np.intp)
        if len(places):
            known.scores[books.rows[places]] = self._points(books, request, avoided, places)
        self._known[key] = KnownScores(known.scores, position)
        return known.scores

    def _points(self, books: SharedDeviceBooks, request: SharedDeviceRequest, avoided: Tags, places: Ints) -> Floats:
        """float64[places]: the scores of some nodes."""
        fit, table = books.fit(request, avoided), books.free_at(places)
        points = network_points(table, [slots[:, places] for slots in fit.slots])
        for ask, slots in zip(request.asks, fit.slots, strict=True):
            chosen = slots[:, places]
            table.take(ask, chosen)
            if self._policy == SPREAD:
                points += np.where(chosen & (table.users == 1), 100.0, 0.0).sum(axis=0)
            else:
                counts = table.total_memory > 0
                total = np.where(counts, table.total_memory, WHOLE)
                used = total - np.where(counts, table.memory, table.thousandths)
                points += np.where(chosen, 100.0 * used / total, 0.0).sum(axis=0)
        rounded: Floats = np.floor(points + 0.5) * self._weight
        return rounded


MAX_SCORE = 100.0


class BestFit:
    """The nodes of one session."""

    def __init__(self, free: FreeDevices, nodes: NodeTable) -> None:
        self._free = free
        self._models = np.zeros(len(nodes), np.int64)
        self._cpu = max(1, int(nodes.allocatable[CPU].max(initial=0)))
        self._thousandths = max(1, int(free.count.max(initial=0)) * WHOLE)

    def scores(self, asked: SharedDevicesAsked, rows: Ints) -> Floats:
        """float64[rows]: 0 to 100. Of nodes without room for the pod, the answer means nothing."""
        free, want = self._free.at(rows, self._models), asked.want
        cpu = (free.others[0] - want.cpu) / self._cpu
        devices = (free.devices.sum(axis=0) - want.number * want.thousandths) / self._thousandths
        found: Floats = np.floor(MAX_SCORE * (1.0 - (cpu * 0.5 + devices * 0.5)))
        return np.clip(found, 0.0, MAX_SCORE)
