"""What the nodes of a session are worth to the mix of pods, before and after a pod would come.

Values are kept by node and request, and only those of nodes that changed are worked out again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vsched.kernels.deviceshare.filling import OFFERS_MAX, Offers, expected_leftover, offers_of
from vsched.kernels.deviceshare.fragments import Free, expected_fragments
from vsched.model.deviceshare.records import WHOLE
from vsched.model.nodes.table import Floats, Ints, Mask
from vsched.plugins.pods.device_mix import NodeMix
from vsched.plugins.pods.free_devices import Asked, FreeDevices

STATES_AT_ONCE = 256
"""How many states one expression is about: the arrays for more would not stay in the processor's cache."""
WANTS_MAX = 256
"""The most requests whose values are kept; the oldest is dropped first."""
LEFTOVERS_MAX = 1 << 16
"""The most states whose leftover is kept."""
OPENING_COST = 50 / 8
"""Thousandths for each device of a node that nobody uses yet: it is opened only where that saves more than this."""


class Known(NamedTuple):
    """Values of all nodes, and how many changes of nodes are taken into account."""

    values: Floats
    position: int


class Filling(NamedTuple):
    """How the expected leftover is worked out."""

    offers: float
    """Pods offered for each free device."""
    sequences: int
    candidates: int
    """How many distinct states of nodes are looked at for a pod."""


class DeviceStates:
    """The nodes of one session, as a mix of pods sees them."""

    def __init__(self, found: NodeMix, free: FreeDevices, filling: Filling) -> None:
        self._mix, self._model = found.mix, found.model
        self._free, self._filling = free, filling
        self._rows = np.arange(len(found.model), dtype=np.int64)
        self._changed: list[int] = []
        self._before: Known | None = None
        self._gradients: dict[Asked, Known] = {}
        asked = found.mix.share * found.mix.number * found.mix.thousandths
        self._refusing: Floats = 1.0 - found.mix.accepts @ asked / asked.sum()
        """float64[models]: the part of what the mix asks for that does not accept the model."""
        self._devices = found.devices
        self._drawn: Offers | None = None
        self._leftovers: dict[bytes, float] = {}
        self._ids, self._ids_at = np.zeros(len(found.model), np.int64), -1
        self._numbers: dict[bytes, int] = {}

    def touch(self, row: int) -> None:
        """Note that something came to a node, or left it."""
        self._changed.append(row)

    # -- one further pod ------------------------------------------------------------------------------------------

    def gradient(self, asked: Asked) -> Floats:
        """float64[nodes], thousandths: by how much a pod would lessen the expected fragments; not to be changed.

        Of nodes without room for the pod, the answer means nothing.
        """
        known = self._gradients.get(asked)
        if known is None and len(self._gradients) >= WANTS_MAX:
            del self._gradients[next(iter(self._gradients))]
        before = self._fragments()
        found = self._gradients[asked] = self._current(known, lambda rows: before[rows] - self._after(asked, rows))
        return found.values

    def _fragments(self) -> Floats:
        self._before = self._current(self._before, lambda rows: self._fragments_of(self._at(rows)))
        return self._before.values

    def _after(self, asked: Asked, rows: Ints) -> Floats:
        return self._fragments_of(self._free.left(asked, rows, self._at(rows)))

    def _fragments_of(self, free: Free) -> Floats:
        """float64[states]: the expected fragments; each distinct state is looked at once."""
        numbers: dict[bytes, int] = {}
        has = np.flatnonzero(free.devices.sum(axis=0) > 0)
        keys = (row.tobytes() for row in _columns(_some(free, has)))
        number_of = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
        _, first = np.unique(number_of, return_index=True)
        values = np.zeros(len(first))
        for at in range(0, len(first), STATES_AT_ONCE):
            places = has[first[at : at + STATES_AT_ONCE]]
            values[at : at + STATES_AT_ONCE] = expected_fragments(self._mix, _some(free, places))
        found = np.zeros(len(free.model))
        found[has] = values[number_of]
        return found

    def _current(self, known: Known | None, values: Callable[[Ints], Floats]) -> Known:
        """Values of all nodes, with those of nodes that changed worked out again."""
        position = len(self._changed)
        if known is None:
            return Known(values(self._rows), position)
        if known.position < position:
            rows = np.unique(np.array(self._changed[known.position :], np.int64))
            known.values[rows] = values(rows)
        return Known(known.values, position)

    def _at(self, rows: Ints) -> Free:
        return self._free.at(rows, self._model)

    # -- all further pods -----------------------------------------------------------------------------------------

    def fillings(self, asked: Asked, candidates: Mask) -> tuple[Ints, Floats]:
        """The candidates that are in one of the best states by the gradient, and what a pod is worth there.

        The worth, in thousandths, is by how much the pod lessens what is expected to be left over.
        """
        rows, states, first = self._best_states(self.gradient(asked), np.flatnonzero(candidates))
        free = self._at(rows[first])
        after = self._free.left(asked, rows[first], free)
        both = Free(*(np.concatenate(pair, axis=-1) for pair in zip(free, after, strict=True)))
        before_left, after_left = np.split(self._expected(both), 2)
        size = asked.want.number * asked.want.thousandths
        worth = before_left - after_left + self._refusing[free.model] * size - self._opening(free, after, rows[first])
        return rows, worth[states]

    def _best_states(self, gradient: Floats, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """The rows in the best distinct states; for each the number of its state, and by state its first position."""
        ids = self._state_ids()[rows]
        states, first, state_of = np.unique(ids, return_index=True, return_inverse=True)
        values, count = gradient[rows[first]], self._filling.candidates
        best = np.argsort(-values, kind="stable")[:count]
        number = np.full(len(states), -1, np.int64)
        number[best] = np.arange(len(best))
        of_row = number[state_of.reshape(-1)]
        among = np.flatnonzero(of_row >= 0)
        return rows[among], of_row[among], np.searchsorted(among, first[best])

    def _state_ids(self) -> Ints:
        """int64[nodes]: equal where nodes are in equal states, the order of devices apart."""
        position = len(self._changed)
        if self._ids_at < 0:
            rows = self._rows
        elif self._ids_at < position:
            rows = np.unique(np.array(self._changed[self._ids_at :], np.int64))
        else:
            return self._ids
        self._ids_at = position
        numbers = self._numbers
        self._ids[rows] = [numbers.setdefault(row.tobytes(), len(numbers)) for row in _columns(self._at(rows))]
        return self._ids

    def _opening(self, free: Free, after: Free, rows: Ints) -> Floats:
        """What is held against opening a node of several devices that nobody uses, unless the pod takes all of it."""
        count = self._free.count[rows]
        opens = ((free.devices == WHOLE).sum(axis=0) >= count) & (after.devices == WHOLE).any(axis=0) & (count > 1)
        return np.where(opens, count * OPENING_COST, 0.0)

    def _expected(self, free: Free) -> Floats:
        """float64[states]: the expected leftover, thousandths."""
        known, keys = self._leftovers, [row.tobytes() for row in _columns(free)]
        new = [at for at, key in enumerate(keys) if key not in known]
        new = list({keys[at]: at for at in reversed(new)}.values())
        if new:
            if len(known) > LEFTOVERS_MAX:
                known = self._leftovers = {}
                new = list({key: at for at, key in reversed(list(enumerate(keys)))}.values())
            at = np.array(new)
            found = expected_leftover(self._mix, self._offers(), _some(free, at), self._filling.offers)
            known.update(zip((keys[one] for one in new), found.tolist(), strict=True))
        return np.array([known[key] for key in keys])

    def _offers(self) -> Offers:
        if self._drawn is None:
            self._drawn = offers_of(self._mix, self._devices, OFFERS_MAX, self._filling.sequences)
        return self._drawn


def _some(free: Free, at: Ints) -> Free:
    """Some of the states."""
    return Free(free.devices[:, at], free.others[:, at], free.model[at])


def _columns(free: Free) -> Ints:
    """int64[nodes, parts]: equal where the states of nodes are equal, the order of devices apart."""
    parts = np.concatenate([free.model[None], free.others, np.sort(free.devices, axis=0)])
    return np.ascontiguousarray(parts.T)
