"""Samples of earlier rounds, for a source that has only current values: averages and spreads over periods. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

MOST_ROUNDS = 240
"""How many rounds are kept; a long period is averaged over every second or third round."""


class SampleSummary(NamedTuple):
    """Per node in the order of ``History.names``, one column a figure; NaN where there is no value."""

    average: Floats
    spread: Floats


class SampleHistory:
    """Samples of all nodes: ``times[round, node]`` and ``values[figure, round, node]``, NaN where there is none."""

    def __init__(self, figures: int, longest_seconds: float) -> None:
        self.names: tuple[str, ...] = ()
        self._longest_seconds = longest_seconds
        self._spacing_seconds = longest_seconds / MOST_ROUNDS
        self._rounds: list[float] = []
        self._times: Floats = np.empty((0, 0))
        self._values: Floats = np.empty((figures, 0, 0))

    def add(self, taken: float, names: Sequence[str], times: Floats, values: Floats) -> None:
        """Add a round: ``times[node]`` and ``values[figure, node]``. A sample that came before is not counted again."""
        self._arrange(tuple(names))
        if len(self._times):
            newest = np.nanmax(np.vstack([self._times, np.full(len(names), -np.inf)]), axis=0)
            old = times <= newest
            times, values = np.where(old, np.nan, times), np.where(old, np.nan, values)
        keep = [row for row, at in enumerate(self._rounds) if at > taken - self._longest_seconds]
        if len(keep) > 1 and self._rounds[keep[-1]] - self._rounds[keep[-2]] < self._spacing_seconds:
            del keep[-1]
        self._rounds = [*(self._rounds[row] for row in keep), taken]
        self._times = np.vstack([self._times[keep], times[None]])
        self._values = np.concatenate([self._values[:, keep], values[:, None]], axis=1)

    def over(self, seconds: float, now: float) -> SampleSummary:
        """Averages and spreads of the samples of the last ``seconds``."""
        within = self._times > now - seconds
        counted = np.where(within[None], self._values, np.nan)
        known = ~np.isnan(counted)
        count = known.sum(axis=1)
        sums = np.where(known, counted, 0.0).sum(axis=1)
        average = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
        squares = np.where(known, (counted - average[:, None]) ** 2, 0.0).sum(axis=1)
        spread = np.sqrt(np.divide(squares, count, out=np.full(sums.shape, np.nan), where=count > 0))
        return SampleSummary(average, spread)

    def _arrange(self, names: tuple[str, ...]) -> None:
        """Bring the columns into the order of these names; data of nodes that are gone is dropped."""
        if names == self.names:
            return
        column = {name: number for number, name in enumerate(self.names)}
        source = np.array([column.get(name, -1) for name in names], dtype=np.intp)
        self.names = names
        if not len(column):
            self._times = np.full((len(self._rounds), len(names)), np.nan)
            self._values = np.full((len(self._values), len(self._rounds), len(names)), np.nan)
            return
        new = source < 0
        self._times, self._values = self._times[:, source], self._values[:, :, source]
        self._times[:, new] = np.nan
        self._values[:, :, new] = np.nan
