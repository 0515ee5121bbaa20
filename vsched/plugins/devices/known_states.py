"""What nodes in a state are worth to a mix of pods, kept from session to session as long as the mix stays the same.

A state stands for all nodes from which a pod would leave the same. Numbers of states and what is kept of them decide
nothing: whatever is not known is worked out, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from vsched.kernels.deviceshare.filling import Offers
from vsched.model.nodes.table import Floats, Ints, NodeStatics
from vsched.plugins.devices.free import SharedDevicesAsked

STATES_MAX = 1 << 13
"""When more states are known, all are forgotten."""
WANTS_MAX = 256
"""The most requests whose values are kept; the oldest is dropped first."""
LEFTOVERS_MAX = 1 << 15
"""The most states whose leftover is kept."""
NO_CHANGE = 50.0
"""The score of a node where a pod changes nothing."""
OWNER = "fragmentation"


class Values:
    """A value a state; NaN where it is not known."""

    __slots__ = ("_values",)

    def __init__(self, without_devices: float = 0.0) -> None:
        self._values: Floats = np.array([without_devices])

    def of(self, states: Ints, count: int, work_out: Callable[[Ints], Floats]) -> Floats:
        """The values of some of ``count`` states; ``work_out`` is given positions in ``states`` of unknown ones."""
        if count > len(self._values):
            more = np.full(max(count, 2 * len(self._values)) - len(self._values), np.nan)
            self._values = np.concatenate([self._values, more])
        found = self._values[states]
        unknown = np.flatnonzero(np.isnan(found))
        if len(unknown):
            new, first = np.unique(states[unknown], return_index=True)
            self._values[new] = work_out(unknown[first])
            found = self._values[states]
        return found


class KnownStates:
    """The states of nodes that were seen, by number, and their values for one mix."""

    def __init__(self) -> None:
        self.fragments = Values()
        self.leftovers: dict[bytes, float] = {}
        """What would be left over, by what is free."""
        self.offers: Offers | None = None
        """Once they are drawn."""
        self._numbers: dict[Hashable, int] = {}
        self._alike: Ints = np.zeros(1, np.int64)
        self._alike_numbers: dict[Hashable, int] = {}
        self._worths: dict[SharedDevicesAsked, tuple[Values, Values]] = {}

    def __len__(self) -> int:
        """How many states are known; nodes without devices are one."""
        return len(self._numbers) + 1

    def number(self, states: Sequence[Hashable], alike: Sequence[Hashable]) -> list[int]:
        """The numbers of states; ``alike`` is equal for states that differ only in which device is which."""
        numbers, before = self._numbers, len(self)
        found = [numbers.setdefault(state, len(numbers) + 1) for state in states]
        if len(self) > before:
            if len(self) > len(self._alike):
                self._alike = np.concatenate([self._alike, np.zeros(len(self), np.int64)])
            for number, key in zip(found, alike, strict=True):
                if number >= before:
                    self._alike[number] = self._alike_numbers.setdefault(key, len(self._alike_numbers) + 1)
        return found

    def alike(self, states: Ints) -> Ints:
        """The same number for states that differ only in which device is which."""
        return self._alike[states]

    def worths(self, asked: SharedDevicesAsked) -> tuple[Values, Values]:
        """What a pod is worth by the gradient, and by what would be left over."""
        found = self._worths.get(asked)
        if found is None:
            if len(self._worths) >= WANTS_MAX:
                del self._worths[next(iter(self._worths))]
            found = self._worths[asked] = Values(NO_CHANGE), Values()
        return found


class StatesOfMix(NamedTuple):
    """What is left to the next session."""

    key: Hashable
    """Of the mix."""
    states: KnownStates


def take_known(statics: NodeStatics, key: Hashable) -> KnownStates:
    """What is known for this key, or nothing. Only one session at a time has it: it is taken away."""
    left = statics.memo.take(OWNER, StatesOfMix)
    return left.states if left is not None and left.key == key and len(left.states) < STATES_MAX else KnownStates()


def give_known(statics: NodeStatics, key: Hashable, known: KnownStates) -> None:
    """Leave it to the next session."""
    statics.memo.leave(OWNER, StatesOfMix(key, known))
