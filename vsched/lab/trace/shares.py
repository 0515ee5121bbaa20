"""What each queue used and waited for over time: shares to draw, and fairness over the last week.

Fairness at a moment does not see that a queue had nothing yesterday. Over a week it is the same index of what the
queues used of what they were entitled to, with sums of the week instead of amounts of a moment: a queue that wanted
little is entitled to all of it, and the others divide the rest by weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from vsched.lab.trace.measures import Floats, averages, contentment, jain

DIGITS = 4
WEEK_SECONDS = 7 * 86_400.0


class SharesOverTime:
    """The amounts of the scarcest resource by queue, at every moment of a replay."""

    def __init__(self, weights: Mapping[str, int], capacity: float) -> None:
        self._weights = {name: float(weight) for name, weight in weights.items()}
        self._capacity = capacity
        self._moments: list[float] = []
        self._used: list[list[float]] = []
        self._waiting: list[list[float]] = []
        """Per moment, by queue in the order of the weights."""

    def sample(self, now: float, used: Mapping[str, int], waiting: Mapping[str, int]) -> None:
        """Record what queues use and wait for from now on."""
        self._moments.append(now)
        self._used.append([float(used.get(name, 0)) for name in self._weights])
        self._waiting.append([float(waiting.get(name, 0)) for name in self._weights])

    def forget_last(self) -> None:
        """Forget the last moment, because another record of it follows."""
        for values in (self._moments, self._used, self._waiting):
            values.pop()

    def lines(self, edges: Sequence[float] | Floats) -> dict[str, dict[str, list[float]]]:
        """Averages between the edges, by queue: parts of the capacity that it uses and waits for."""
        room = self._capacity or 1.0
        return {
            name: {
                kind: [round(float(value) / room, DIGITS) for value in averages(self._moments, column, edges)]
                for kind, column in (("used", used), ("waiting", waiting))
            }
            for name, used, waiting in zip(
                self._weights, self._columns(self._used), self._columns(self._waiting), strict=True
            )
        }

    def sums(self, edges: Sequence[float] | Floats) -> tuple[Floats, Floats]:
        """What queues use and wait for between the edges, amount times seconds.

        A row for each period, a column for each queue in the order of the weights.
        """
        ends = np.asarray(edges, float)
        if not self._moments:
            nothing = np.zeros((len(ends) - 1, len(self._weights)))
            return nothing, nothing
        at = np.array([*self._moments, max(self._moments[-1], ends[-1])])
        used, waiting = (self._sums(at, values) for values in (self._used, self._waiting))
        return _between(at, used, ends[:-1], ends[1:]), _between(at, waiting, ends[:-1], ends[1:])

    def fairness(self, moments: Sequence[float] | Floats) -> list[float]:
        """Jain's index over the week before each of these moments, or since the beginning where that is later."""
        if not self._moments:
            return [1.0 for _ in moments]
        at = np.array([*self._moments, max(self._moments[-1], *moments)])
        used, waiting = (self._sums(at, values) for values in (self._used, self._waiting))
        ends = np.asarray(moments, float)
        begins = np.maximum(self._moments[0], ends - WEEK_SECONDS)
        held = _between(at, used, begins, ends)
        wanted = held + _between(at, waiting, begins, ends)
        rooms = self._capacity * (ends - begins)
        return [
            jain(contentment(room, self._by_name(used), self._by_name(wanted), self._weights))
            for room, used, wanted in zip(rooms.tolist(), held, wanted, strict=True)
        ]

    def _columns(self, values: list[list[float]]) -> list[list[float]]:
        return [list(column) for column in zip(*values, strict=True)] or [[] for _ in self._weights]

    def _by_name(self, values: Floats) -> dict[str, float]:
        return dict(zip(self._weights, values.tolist(), strict=True))

    def _sums(self, at: Floats, values: list[list[float]]) -> Floats:
        """The integral of each column from the first moment to each of ``at``."""
        steps = np.array(values) * np.diff(at)[:, None]
        return np.concatenate((np.zeros((1, len(self._weights))), np.cumsum(steps, axis=0)))


def _between(at: Floats, sums: Floats, begins: Floats, ends: Floats) -> Floats:
    """The integrals between moments: a row for each period, a column for each of ``sums``."""
    return np.stack([np.interp(ends, at, column) - np.interp(begins, at, column) for column in sums.T], axis=1)
