"""How sure a gain is, whether it holds where nothing was tuned, and which changes it comes from.

Pure, except that changes are undone by replays that the caller makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from vsched.kernels.resampling import interval
from vsched.lab.trace.measures import Floats
from vsched.lab.trace.periods import Periods
from vsched.lab.tune.objective import Objective
from vsched.lab.tune.rewrite import TextChange

SHRINKS = 0.5
"""Less of the gain than this is left where nothing was tuned: most of it was overfitting."""


class GainEstimate(NamedTuple):
    """A number with its interval: 95 in 100 resamples are within it."""

    value: float
    low: float
    high: float

    def document(self) -> dict[str, float]:
        return {"value": round(self.value, 6), "low": round(self.low, 6), "high": round(self.high, 6)}


class GainVerdict(StrEnum):
    """What became of a gain where nothing was tuned."""

    HOLDS = "holds"
    SHRINKS = "shrinks"
    """Less than half of it is left."""
    UNSURE = "unsure"
    """It may as well be none: its interval has 0 in it."""
    LOST = "lost"
    """It is none, or a loss."""


def gain_of(objective: Objective, before: Sequence[float], after: Sequence[float]) -> float:
    """How much better the goals are together: the mean of the gain of each."""
    gains = [goal.gain(*pair) for goal, *pair in zip(objective.goals, before, after, strict=True)]
    return sum(gains) / len(gains)


def values_of(objective: Objective, found: Periods, times: Floats | None = None) -> list[float]:
    """The goals' figures, in their order."""
    return [goal.figure.measure(found, found.once if times is None else times) for goal in objective.goals]


def excesses(objective: Objective, found: Periods) -> list[float]:
    """By how much each limit is broken; 0 or less where it is kept."""
    return [limit.excess(limit.figure.of(found)) for limit in objective.limits]


def keeps_limits(objective: Objective, found: Periods) -> bool:
    """Whether all limits are kept."""
    return all(excess <= 0 for excess in excesses(objective, found))


def estimated(measure: Callable[[Floats], float], found: Periods, seed: int) -> GainEstimate:
    """A number that follows from how often each period counts, with its interval from resampled periods."""
    return GainEstimate(measure(found.once), *interval(measure, len(found.seconds), seed))


def gain(objective: Objective, before: Periods, after: Periods, seed: int) -> GainEstimate:
    """The gain of all goals together; both replays are resampled alike, as they are of the same days."""
    return estimated(
        lambda times: gain_of(objective, values_of(objective, before, times), values_of(objective, after, times)),
        before,
        seed,
    )


def verdict(tuned: GainEstimate, judged: GainEstimate) -> GainVerdict:
    """What became of a gain of the tuned part in the other one."""
    if judged.value <= 0:
        return GainVerdict.LOST
    if judged.low <= 0:
        return GainVerdict.UNSURE
    return GainVerdict.SHRINKS if judged.value < SHRINKS * tuned.value else GainVerdict.HOLDS


def pareto(values: Sequence[Sequence[float]], minimize: Sequence[bool]) -> list[int]:
    """The places of those that no other one beats in all goals at once; of equal ones the first."""
    signed = [[value if less else -value for value, less in zip(row, minimize, strict=True)] for row in values]
    return [
        at
        for at, one in enumerate(signed)
        if not any(
            all(a <= b for a, b in zip(other, one, strict=True)) and (other != one or place < at)
            for place, other in enumerate(signed)
            if place != at
        )
    ]


def needed(
    changes: tuple[TextChange, ...],
    gain_with: Callable[[Sequence[tuple[TextChange, ...]]], list[float | None]],
    bound: float,
) -> tuple[TextChange, ...]:
    """The smallest of these changes that get most of their gain: each is undone in turn, and stays undone if that loses
    at most ``bound`` of the whole gain.

    ``gain_with`` has the gain of each of several lists of changes, None where they break a limit or cannot be loaded.
    In each round all that are left are undone by themselves, and the one that costs least goes.
    """
    whole = gain_with([changes])[0]
    while whole is not None and len(changes) > 1:
        fewer = [tuple(one for one in changes if one is not change) for change in changes]
        found = [(value, -at) for at, value in enumerate(gain_with(fewer)) if value is not None]
        if not found or max(found)[0] < whole * (1 - bound):
            break
        changes = fewer[-max(found)[1]]
    return changes
