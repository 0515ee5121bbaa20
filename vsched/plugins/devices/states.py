"""What the nodes of a session are worth to the mix of pods, before and after a pod would come.

Nodes in equal states are looked at once, and what is found is kept for sessions with the same mix (``known_states``).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from vsched.kernels.deviceshare.filling import OFFERS_MAX, Offers, expected_leftover, offers_of
from vsched.kernels.deviceshare.fragments import Free, expected_fragments
from vsched.model.deviceshare.records import WHOLE
from vsched.model.nodes.table import Floats, Ints, NodeStatics
from vsched.plugins.devices.free import FreeDevices, SharedDevicesAsked, with_pod_gone
from vsched.plugins.devices.known_states import (
    LEFTOVERS_MAX,
    NO_CHANGE,
    STATES_MAX,
    KnownStates,
    give_known,
    take_known,
)
from vsched.plugins.devices.mix import NodeMix

STATES_AT_ONCE = 256
"""How many states one expression is about: the arrays for more would not stay in the processor's cache."""
OPENING_COST = 50 / 8
"""Thousandths for each device of a node that nobody uses yet: it is opened only where that saves more than this."""


MAX_SCORE = 2 * NO_CHANGE


class Filling(NamedTuple):
    """How the expected leftover is worked out."""

    offers: float
    """Pods offered for each free device."""
    sequences: int
    candidates: int
    """How many distinct states of nodes are looked at for a pod."""


class DeviceStates:
    """The nodes of one session, as a mix of pods sees them."""

    def __init__(self, found: NodeMix, free: FreeDevices, filling: Filling, statics: NodeStatics) -> None:
        self._mix, self._model = found.mix, found.model
        self._free, self._filling, self._statics = free, filling, statics
        asked = found.mix.share * found.mix.number * found.mix.thousandths
        self._refusing: Floats = 1.0 - found.mix.accepts @ asked / asked.sum()
        """float64[models]: the part of what the mix asks for that does not accept the model."""
        self._devices = found.devices
        self._key: Hashable = (found.key, free.vocabulary, filling)
        self._known = take_known(statics, self._key)
        self._states: Ints = np.zeros(len(found.model), np.int64)
        """By row: the number of the node's state."""
        self._with_devices: list[int] = np.flatnonzero(free.count).tolist()
        self._changed = [*self._with_devices]
        """Rows whose state has to be looked up again."""

    def touch(self, row: int) -> None:
        """Note that something came to a node, or left it."""
        if self._free.count[row]:
            self._changed.append(row)

    def keep(self) -> None:
        """Leave what is known to the next session. What is asked later is worked out anew."""
        give_known(self._statics, self._key, self._known)
        self._forget()

    def _forget(self) -> None:
        self._known, self._changed = KnownStates(), [*self._with_devices]

    # -- one further pod ------------------------------------------------------------------------------------------

    def gradient(self, asked: SharedDevicesAsked, rows: Ints) -> Floats:
        """float64[rows]: by how much a pod would lessen the expected fragments; 50 for nothing, or without room.

        These are whole numbers from 0 to 100 (``_score``).
        """
        states = self._current()[rows]
        if asked.is_particular:
            return self._gradient(asked, rows, states)
        gradients, _ = self._known.worths(asked)
        return gradients.of(states, len(self._known), lambda at: self._gradient(asked, rows[at], states[at]))

    def _gradient(self, asked: SharedDevicesAsked, rows: Ints, states: Ints) -> Floats:
        free, found = self._at(rows), np.full(len(rows), NO_CHANGE)
        left, room = self._free.left(asked, rows, free)
        has = np.flatnonzero(room)
        before = self._known.fragments.of(
            states[has], len(self._known), lambda at: self._fragments_of(_some(free, has[at]))
        )
        found[has] = _score(before - self._fragments_of(_some(left, has)))
        return found

    def move_gain(self, asked: SharedDevicesAsked, row: int, to: int) -> float:
        """By how much the expected fragments of two nodes fall if a pod with whole devices leaves one for the other.

        Thousandths of a device; 0 where the other has no room.
        """
        rows = np.array([row, to])
        before = self._at(rows)
        after, room = self._free.left(asked, rows, before)
        if not room[1]:
            return 0.0
        gone = with_pod_gone(asked.want, _some(before, np.array([0])))
        fragments = self._fragments_of(before).sum() - self._fragments_of(_some(after, np.array([1]))).sum()
        return float(fragments - self._fragments_of(gone).sum())

    def _fragments_of(self, free: Free) -> Floats:
        """float64[nodes]: the expected fragments."""
        found = np.zeros(len(free.model))
        has = np.flatnonzero(free.devices.any(axis=0))
        for at in range(0, len(has), STATES_AT_ONCE):
            some = has[at : at + STATES_AT_ONCE]
            found[some] = expected_fragments(self._mix, _some(free, some))
        return found

    def _at(self, rows: Ints) -> Free:
        return self._free.at(rows, self._model)

    def _current(self) -> Ints:
        """int64[nodes]: the number of each node's state; the same for all nodes without devices."""
        if self._changed:
            if len(self._known) + len(self._changed) > STATES_MAX + len(self._states):
                self._forget()
            rows = np.unique(np.array(self._changed, np.int64))
            free = self._at(rows)
            self._states[rows] = self._known.number(self._free.states(rows, free), _columns(free))
            self._changed = []
        return self._states

    # -- all further pods -----------------------------------------------------------------------------------------

    def fillings(self, asked: SharedDevicesAsked, rows: Ints) -> tuple[Floats, Ints, Floats]:
        """What a pod is worth on some nodes.

        That is: what ``gradient`` says of all of them; the positions of those in one of the best states by that; and
        by how much, in thousandths, the pod lessens there what is expected to be left over.
        """
        gradient, states = self.gradient(asked, rows), self._current()[rows]
        at, alike, first = self._best_states(gradient, self._known.alike(states))
        if asked.is_particular:
            worth = self._worth(asked, rows[first])
        else:
            _, worths = self._known.worths(asked)
            worth = worths.of(states[first], len(self._known), lambda some: self._worth(asked, rows[first[some]]))
        return gradient, at, worth[alike]

    def _best_states(self, gradient: Floats, states: Ints) -> tuple[Ints, Ints, Ints]:
        """The positions in the best distinct states; for each the rank of its state, and by rank its first position."""
        _, first, state_of = np.unique(states, return_index=True, return_inverse=True)
        best = np.lexsort((first, -gradient[first]))[: self._filling.candidates]
        rank = np.full(len(first), -1, np.int64)
        rank[best] = np.arange(len(best))
        ranks = rank[state_of.reshape(-1)]
        at = np.flatnonzero(ranks >= 0)
        return at, ranks[at], first[best]

    def _worth(self, asked: SharedDevicesAsked, rows: Ints) -> Floats:
        free = self._at(rows)
        after, _ = self._free.left(asked, rows, free)
        both = Free(*(np.concatenate(pair, axis=-1) for pair in zip(free, after, strict=True)))
        before_left, after_left = np.split(self._expected(both), 2)
        size = asked.want.number * asked.want.thousandths
        found: Floats = before_left - after_left + self._refusing[free.model] * size
        return found - self._opening(free, after, rows)

    def _opening(self, free: Free, after: Free, rows: Ints) -> Floats:
        """What is held against opening a node of several devices that nobody uses, unless the pod takes all of it."""
        count = self._free.count[rows]
        opens = ((free.devices == WHOLE).sum(axis=0) >= count) & (after.devices == WHOLE).any(axis=0) & (count > 1)
        return np.where(opens, count * OPENING_COST, 0.0)

    def _expected(self, free: Free) -> Floats:
        """float64[states]: the expected leftover, thousandths."""
        known, keys = self._known.leftovers, _columns(free)
        new = {key: at for at, key in enumerate(keys) if key not in known}
        if new:
            if len(known) > LEFTOVERS_MAX:
                known.clear()
                new = {key: at for at, key in enumerate(keys)}
            at = np.array([*new.values()])
            found = expected_leftover(self._mix, self._offers(), _some(free, at), self._filling.offers)
            known.update(zip(new, found.tolist(), strict=True))
        return np.array([known[key] for key in keys])

    def _offers(self) -> Offers:
        if self._known.offers is None:
            self._known.offers = offers_of(self._mix, self._devices, OFFERS_MAX, self._filling.sequences)
        return self._known.offers


def _score(lessened: Floats) -> Floats:
    """Thousandths of a device as whole numbers from 0 to 100, 50 for none, as Weng et al. have them.

    That they are whole is not for show: nodes that differ less are equal, and the first of them is filled up before
    others are opened. On OpenB this is worth a point of GPU allocation, and eight where all pods share GPUs.
    """
    found: Floats = np.floor(MAX_SCORE / (1.0 + np.exp(-lessened / WHOLE)))
    return found


def _some(free: Free, at: Ints) -> Free:
    """Some of the states."""
    return Free(free.devices[:, at], free.others[:, at], free.model[at])


def _columns(free: Free) -> list[bytes]:
    """By node: equal where the states of nodes are equal, the order of devices apart."""
    parts = np.concatenate([free.model[None], free.others, np.sort(free.devices, axis=0)])
    return [row.tobytes() for row in np.ascontiguousarray(parts.T)]
