"""Values to try of an argument, by its type and its name: rungs that a person would write, not all there are between.

Pure. Values are texts as a policy file has them; an empty one stands for an argument that is not given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from msgspec import inspect as kinds

from vsched.model.amounts.durations import parse_duration
from vsched.settings.reading.scalars import bare, marked
from vsched.settings.reading.values import Key

NOT_GIVEN = ""
MINUTE, HOUR = 60.0, 3600.0
DURATIONS = (
    *(0.0, 10.0, 30.0, *(MINUTE * one for one in (1, 2, 5, 10, 15, 30))),
    *(HOUR * one for one in (1, 2, 3, 6, 12, 24, 48, 72, 120, 168, 336, 720)),
)
"""In seconds."""
WEIGHTS = (0, 1, 2, 3, 5, 10, 20)
RUNGS = 12
"""The most between two ends; fewer where there are not so many whole numbers."""

RANGES: dict[tuple[str, str], tuple[str, str]] = {
    ("usage-history", "halfLife"): ("1h", "336h"),
    ("easy-backfill", "depth"): ("1", "20"),
    ("easy-backfill", "reserveFor.waited"): ("0", "12h"),
    ("minruntime", "reclaimMinRuntime"): ("0", "24h"),
    ("minruntime", "preemptMinRuntime"): ("0", "24h"),
    ("preemption-delay", "preemptionDelay"): ("0", "2h"),
    ("binpack", "binpack.weight"): ("1", "20"),
    ("nodeorder", "leastrequested.weight"): ("0", "20"),
    ("nodeorder", "mostrequested.weight"): ("0", "20"),
    ("fragmentation", "weight"): ("1", "20"),
    ("overcommit", "overcommit-factor"): ("1", "3"),
    ("sla", "sla-waiting-time"): ("10m", "72h"),
    ("consolidate", "minRunningTime"): ("10m", "24h"),
    ("consolidate", "defragment.movesPerHour"): ("10", "600"),
}
"""The arguments that are searched unless an objective says which, by plugin or action and key, with their ends."""


class Ladder(NamedTuple):
    """Values in their order."""

    values: tuple[str, ...]
    ordered: bool
    """Whether neighbours are alike, as with numbers."""


def ladder(kind: kinds.Type, key: str, ends: tuple[str, str] | None) -> Ladder | None:
    """The values between two ends, or those that the type and the name suggest; None where they suggest none.

    Also None where the ends are none of this type, or the first is not below the second.
    """
    inner = bare(kind)
    if marked(kind, "duration"):
        return _durations(ends or (_short(DURATIONS[0]), _short(DURATIONS[-1])))
    match inner:
        case kinds.BoolType():
            return None if ends else Ladder(("true", "false"), ordered=False)
        case kinds.LiteralType(values=values):
            return None if ends else Ladder(tuple(str(one) for one in values), ordered=False)
        case kinds.IntType(ge=low, le=high):
            if ends is None and low is not None and high is not None:
                ends = str(low), str(high)
            return _numbers(ends, _whole) if ends else _weights(key)
        case kinds.FloatType():
            return _numbers(ends, _broken) if ends else _weights(key)
    return None


def _weights(key: str) -> Ladder | None:
    return Ladder(tuple(map(str, WEIGHTS)), ordered=True) if "weight" in key.lower() else None


def _durations(ends: tuple[str, str]) -> Ladder | None:
    low, high = (parse_duration(end) for end in ends)
    if low is None or high is None or not 0 <= low < high:
        return None
    rungs = sorted({low, high, *(one for one in DURATIONS if low < one < high)})
    return Ladder(tuple(map(_short, rungs)), ordered=True)


def _numbers(ends: tuple[str, str], rungs: Callable[[float, float], Sequence[float]]) -> Ladder | None:
    try:
        low, high = (float(end) for end in ends)
    except ValueError:
        return None
    if not 0 <= low < high <= 1e12 or (rungs is _whole and (low % 1 or high % 1)):
        return None
    return Ladder(tuple(f"{one:.12g}" for one in rungs(low, high)), ordered=True)


def _whole(low: float, high: float) -> Sequence[float]:
    if high - low < RUNGS:
        return np.arange(floor(low), ceil(high) + 1).tolist()
    return sorted({low, high, *(float(round(one)) for one in np.geomspace(max(low, 1.0), high, RUNGS).tolist())})


def _broken(low: float, high: float) -> Sequence[float]:
    spaced = np.geomspace(low, high, RUNGS) if low > 0 and high / low >= 10 else np.linspace(low, high, RUNGS)
    return sorted({low, high, *(float(f"{one:.2g}") for one in spaced.tolist()[1:-1])})


# -- one value --------------------------------------------------------------------------------------------------------


def written(key: Key, value: Any) -> str:
    """A value as ``flat_arguments`` has it, in the words of a file; empty where there is none."""
    if value is None:
        return NOT_GIVEN
    if marked(key.kind, "duration"):
        seconds = parse_duration(str(value))
        return str(value) if seconds is None else _short(seconds)
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:.12g}"
        case list():
            return f"[{', '.join(map(str, value))}]"
        case _:
            return str(value)


def same(key: Key, value: Any, text: str) -> bool:
    """Whether a value as ``flat_arguments`` has it is the one that a text stands for."""
    found = written(key, value)
    sizes = _size_if_any(found), _size_if_any(text)
    return found == text.strip() if None in sizes else sizes[0] == sizes[1]


def with_value(found: Ladder, value: str) -> Ladder:
    """The ladder with one more value, in its place among numbers and durations."""
    if value in found.values:
        return found
    if not found.ordered or value == NOT_GIVEN:
        return found._replace(values=(value, *found.values))
    return found._replace(values=tuple(sorted((*found.values, value), key=_size)))


def _size(text: str) -> float:
    seconds = parse_duration(text)
    return float(text) if seconds is None else seconds


def _size_if_any(text: str) -> float | None:
    try:
        return _size(text)
    except ValueError:
        return None


def _short(seconds: float) -> str:
    """A duration in its largest whole unit."""
    for unit, length in (("h", HOUR), ("m", MINUTE)):
        if seconds and not seconds % length:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:.9g}s"
