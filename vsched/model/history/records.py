"""Usage history: what holders have used over time, recent use counting more than old use.

Amounts are in base units times seconds. With a half-life ``h``, use of ``t`` seconds ago counts ``0.5 ** (t / h)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import expm1, inf, log
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from vsched.model import words
from vsched.model.amounts.resources import Vector
from vsched.model.nodes.table import Floats

HOUR_SECONDS = 3600.0
STEP_SECONDS = 10.0
"""What is used is counted so often where nothing changes in what is held."""
WEEK_HOURS = 168
"""How many hours are kept one by one; the present one is among them."""
RESOURCES_MAX = 12
"""The most resources that are counted."""
HOLDERS_MAX = 2000
"""The most holders that are counted one by one. With all resources, a week of them takes 16 MB."""

Sums = npt.NDArray[np.float32]


class Holder(NamedTuple):
    """Who holds and uses something: a user in a namespace in a queue."""

    queue: str = ""
    namespace: str = ""
    """Empty for the use of those that are no longer counted one by one."""
    user: str = ""
    """Empty where nobody is named."""


CLUSTER = Holder()
"""The first row of a history: the allocatable amounts of all nodes."""


class Decay(NamedTuple):
    """How old use counts."""

    half_life: float
    """Seconds after which use counts half; infinite: it counts whole."""
    window: float = inf
    """Older use does not count, seconds; exact to the hour. Infinite: all use counts, as far as it is known."""


class DecayedSums(msgspec.Struct, frozen=True):
    """The sums of one decay."""

    half_life: float | None
    """None for infinite, which JSON cannot say; the same for the window."""
    window: float | None
    used: tuple[tuple[float, ...], ...]
    """By holder and resource."""


class HistoryHour(msgspec.Struct, frozen=True):
    """What was used during one hour."""

    end: float
    """Seconds since the epoch; of the present hour, the time up to which it is counted."""
    seconds: float
    """How much of the hour was counted."""
    used: tuple[tuple[int, tuple[float, ...]], ...]
    """Row and sums by resource; rows without any are left out."""


class HistoryRecord(msgspec.Struct, frozen=True):
    """A history in parts, for files and objects."""

    at: float
    since: float
    resources: tuple[str, ...]
    holders: tuple[Holder, ...]
    decayed: tuple[DecayedSums, ...]
    hours: tuple[HistoryHour, ...]
    """Those that are over, oldest first."""
    present: HistoryHour | None = None
    """None where nothing of it was counted yet."""


@dataclass(frozen=True, slots=True)
class UsageHistory:
    """What every holder has used, as of one time."""

    at: float = 0.0
    """Seconds since the epoch."""
    since: float = 0.0
    """When counting began, seconds since the epoch; 0 where nothing is counted."""
    resources: tuple[str, ...] = ()
    """Names, by column of the arrays: these are not the columns of the node table."""
    holders: Sequence[Holder] = ()
    """By row of the arrays; the first is ``CLUSTER``. A row that is not in use has a holder without a queue as well."""
    held: Mapping[Holder, Vector] = field(default_factory=dict)
    """What each holder has at present, by column of the node table."""
    decayed: Mapping[Decay, Floats] = field(default_factory=dict)
    """``float64[holders, resources]`` for the decays that are kept up to date."""
    present: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """``float64[holders, resources]``: what was used in the present hour."""
    present_seconds: float = 0.0
    """How much of the present hour was counted."""
    ends: Floats = field(default_factory=lambda: np.zeros(0))
    """float64[hours]: when each earlier hour ended, oldest first, seconds since the epoch."""
    lengths: Floats = field(default_factory=lambda: np.zeros(0))
    """float64[hours]: how much of each earlier hour was counted, seconds."""
    hours: Sums = field(default_factory=lambda: np.zeros((0, 0, 0), np.float32))
    """``float32[hours, holders, resources]``: what was used in each earlier hour."""

    @property
    def lasts_until(self) -> float:
        """Until when nothing more is counted, as long as all hold what they hold; seconds since the epoch."""
        return self.at + STEP_SECONDS

    @property
    def is_empty(self) -> bool:
        """Whether nothing is counted."""
        return not self.since

    def used(self, decay: Decay) -> Floats:
        """``float64[holders, resources]``: the decayed sums.

        They are exact for the decays that are kept. For others they are worked out from the hours, as if use had been
        even during each hour.
        """
        found = self.decayed.get(decay)
        if found is not None:
            return found
        result = self.present * hour_weight(0.0, self.present_seconds, decay.half_life)
        ages = self.at - self.ends
        counts = np.flatnonzero((self.lengths > 0) & (ages < decay.window))
        for hour in counts.tolist():
            result += self.hours[hour].astype(np.float64) * hour_weight(
                float(ages[hour]), float(self.lengths[hour]), decay.half_life
            )
        return result

    def record(self) -> HistoryRecord:
        """The history in parts, without the rows that are not in use."""
        rows = [row for row, holder in enumerate(self.holders) if not row or holder != CLUSTER]
        hours = [
            _hour(end, seconds, sums[rows])
            for end, seconds, sums in zip(self.ends.tolist(), self.lengths.tolist(), self.hours, strict=True)
            if seconds > 0
        ]
        present = _hour(self.at, self.present_seconds, self.present[rows]) if self.present_seconds > 0 else None
        decayed = tuple(
            DecayedSums(_finite(decay.half_life), _finite(decay.window), tuple(map(tuple, sums[rows].tolist())))
            for decay, sums in self.decayed.items()
        )
        holders = tuple(self.holders[row] for row in rows)
        return HistoryRecord(self.at, self.since, self.resources, holders, decayed, tuple(hours), present)


def _finite(seconds: float) -> float | None:
    return None if seconds == inf else seconds


def _hour(end: float, seconds: float, sums: Floats | Sums) -> HistoryHour:
    rows = np.flatnonzero(sums.any(axis=1)).tolist()
    return HistoryHour(end, seconds, tuple((row, tuple(sums[row].tolist())) for row in rows))


NO_HISTORY = UsageHistory()


def history_of(record: HistoryRecord, held: Mapping[Holder, Vector] | None = None) -> UsageHistory:
    """The history of a record; raises ValueError where its parts do not match."""
    rows, width = len(record.holders), len(record.resources)
    if record.since and (not rows or record.holders[0] != CLUSTER):
        raise ValueError(words.NO_CLUSTER)
    decayed: dict[Decay, Floats] = {}
    for found in record.decayed:
        if len(found.used) != rows or any(len(row) != width for row in found.used):
            raise ValueError(words.SUMS_NOT_OF_ALL)
        half_life, window = (inf if seconds is None else seconds for seconds in (found.half_life, found.window))
        decayed[Decay(half_life, window)] = np.array(found.used, dtype=np.float64).reshape(rows, width)
    earlier, present = record.hours, np.zeros((rows, width))
    if record.present is not None:
        _fill(present, record.present)
    hours = np.zeros((len(earlier), rows, width), np.float32)
    for at, hour in enumerate(earlier):
        _fill(hours[at], hour)
    if not are_amounts(hours) or not all(map(are_amounts, (present, *decayed.values()))):
        raise ValueError(words.NOT_FINITE)
    return UsageHistory(
        at=record.at,
        since=record.since,
        resources=record.resources,
        holders=record.holders,
        held=held or {},
        decayed=decayed,
        present=present,
        present_seconds=0.0 if record.present is None else record.present.seconds,
        ends=np.array([hour.end for hour in earlier], dtype=np.float64),
        lengths=np.array([hour.seconds for hour in earlier], dtype=np.float64),
        hours=hours,
    )


def are_amounts(sums: Floats | Sums) -> bool:
    """Whether all of these are finite numbers of at least 0."""
    return bool(np.isfinite(sums).all() and (sums >= 0).all())


def _fill(sums: Floats | Sums, hour: HistoryHour) -> None:
    for row, used in hour.used:
        if not 0 <= row < len(sums) or len(used) != sums.shape[1]:
            raise ValueError(words.sums_of_an_hour(len(used), row, len(sums)))
        sums[row] = used


def fading(seconds: float, half_life: float) -> float:
    """How much use of so many seconds ago counts."""
    return 1.0 if half_life == inf else 0.5 ** (seconds / half_life)


def faded_seconds(seconds: float, half_life: float) -> float:
    """The integral of ``fading`` over the last seconds: how much a unit counts that was held all this time."""
    return seconds if half_life == inf else half_life / log(2) * -expm1(-log(2) * seconds / half_life)


def hour_weight(age: float, length: float, half_life: float) -> float:
    """How much a unit of use in an hour counts, on average over the ``length`` seconds of it that were counted.

    ``age`` is the time since the hour ended, seconds.
    """
    return fading(age, half_life) * faded_seconds(length, half_life) / length if length > 0 else 0.0
