"""What a rollout is judged by: counts and times of the last hour, in a bounded form that is stored with its state."""

from __future__ import annotations

import math
from collections.abc import Iterable

import msgspec

from vsched.settings.rollout import Measure

PART_SECONDS = 600.0
PARTS = 6
"""An hour is kept in so many parts."""
_RATIO = 1.05
_SHORTEST, _LONGEST = 1e-3, 1e7
"""Seconds; so there are at most 473 classes of times."""

Times = dict[int, int]
"""How many times there were, by class; a class is 5 % wide."""


class Counts(msgspec.Struct, omit_defaults=True):
    """What happened within some time."""

    evictions: int = 0
    in_vain: int = 0
    waits: Times = msgspec.field(default_factory=dict)
    sessions: Times = msgspec.field(default_factory=dict)
    compared: int = 0
    """Sessions that the candidate decided as well, in a shadow step."""
    alike: int = 0
    """Of these, those with the same starts and evictions."""
    seconds: float = 0.0
    """The processor time of that."""

    def add(self, other: Counts) -> None:
        """Count what happened in another time, too."""
        self.evictions += other.evictions
        self.in_vain += other.in_vain
        self.compared += other.compared
        self.alike += other.alike
        self.seconds += other.seconds
        for mine, theirs in ((self.waits, other.waits), (self.sessions, other.sessions)):
            for at, count in theirs.items():
                mine[at] = mine.get(at, 0) + count


class Window(msgspec.Struct, frozen=True):
    """The last hour that was measured, in parts by number."""

    parts: dict[int, Counts] = {}

    def adding(self, clock: float, counts: Counts) -> Window:
        """With what happened at ``clock``, in measured seconds; older parts leave."""
        number = int(clock // PART_SECONDS)
        kept = {at: part for at, part in self.parts.items() if number - PARTS < at <= number}
        here = Counts()
        for found in (kept.get(number), counts):
            if found is not None:
                here.add(found)
        return Window({**kept, number: here})

    def total(self) -> Counts:
        """All of it."""
        found = Counts()
        for part in self.parts.values():
            found.add(part)
        return found


def note(times: Times, seconds: float) -> None:
    """Count one time."""
    at = math.ceil(math.log(min(max(seconds, _SHORTEST), _LONGEST)) / math.log(_RATIO))
    times[at] = times.get(at, 0) + 1


def quantile(times: Times, part: float) -> float | None:
    """Seconds that this part of the times does not exceed, to 2.5 %; None without any."""
    left = math.ceil(part * sum(times.values()))
    for at in sorted(times):
        left -= times[at]
        if left <= 0:
            return float(_RATIO ** (at - 0.5))
    return None


def figures_of(window: Window, waiting: Times) -> dict[Measure, float]:
    """The figures of the last hour; those that nothing was measured of are left out. ``waiting`` are ages of pods that
    wait.
    """
    total = window.total()
    total.add(Counts(waits=waiting))
    found: dict[Measure, float | None] = {
        Measure.EVICTIONS: total.evictions,
        Measure.IN_VAIN: total.in_vain,
        Measure.WAIT: quantile(total.waits, 0.95),
        Measure.SESSION: quantile(total.sessions, 0.99),
    }
    return {measure: value for measure, value in found.items() if value is not None}


def times_of(seconds: Iterable[float]) -> Times:
    """Many times, counted."""
    times: Times = {}
    for one in seconds:
        note(times, one)
    return times
