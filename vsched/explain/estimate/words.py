"""Renders an estimated start as a sentence: the range, as clock times and from now, and its assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf
from typing import NamedTuple

from vsched.explain.records import Estimate
from vsched.framework.durations import Basis, TimeLeft
from vsched.framework.times import SOON_SECONDS, clock, length


class Foreseen(NamedTuple):
    """The result of the runs in virtual time; times are seconds since the epoch."""

    now: float
    earliest: float
    latest: float
    """Infinite if there is no upper bound."""
    ends: Sequence[tuple[str, TimeLeft]]
    """The running jobs that have to end first, as people know them, the last to end first, each with its estimate."""
    first: Sequence[str]
    """Keys of jobs that get places before this one."""
    cut_short: bool = False
    """Whether the time was over before the latest start was found."""
    sooner: Sequence[str] = ()
    """Jobs of unknown duration, as sentences name them, some of which let it start earlier if they end."""


def not_to_be_said(why: str) -> Estimate:
    """The estimate for a start that cannot be foreseen, with the reason."""
    return Estimate(None, None, f"unknown: {why}")


def unknown_durations(held_by: Sequence[str], of: int) -> str:
    """Says that jobs of unknown duration hold what is needed; ``held_by`` are all ``of`` jobs if the search failed."""
    if len(held_by) == of > 1:
        return f"some of {of} running jobs of unknown duration (such as {held_by[0]}) hold what it needs"
    if len(held_by) == 1:
        return f"1 running job of unknown duration ({held_by[0]}) holds what it needs"
    return f"{len(held_by)} running jobs of unknown duration (such as {held_by[0]}) hold what it needs"


def told(found: Foreseen) -> Estimate:
    """The estimate as a record, with its sentence."""
    sure = not isinf(found.latest)
    parts = [_by(found) if sure and found.sooner else when(found.now, found.earliest, found.latest)]
    if found.ends:
        parts.append(f"if {_who(found.ends)} {_how([one for _, one in found.ends])}")
    first = len(found.first)
    if first:
        parts.append(f"after {_count(first, 'job')} that {'goes' if first == 1 else 'go'} first")
    message = ", ".join(parts)
    if found.sooner:
        message += f"; {'earlier' if sure else 'so early only'} if {_any_of(found.sooner)}"
    message += "" if sure else _open(found)
    if any(one.basis is Basis.DECLARED and not one.proven for _, one in found.ends):
        message += "; it is not known yet how accurate declared run times are"
    return Estimate(found.earliest, found.latest if sure else None, message)


def _by(found: Foreseen) -> str:
    """``at 14:40 UTC at the latest (in 47m)``."""
    seconds = found.latest - found.now < SOON_SECONDS
    return f"at {clock(found.latest, found.now, seconds)} UTC at the latest (in {length(found.latest - found.now)})"


def _any_of(jobs: Sequence[str]) -> str:
    """``ns/u ends, whose duration is unknown``, ``some of 3 jobs of unknown duration end (such as ns/u)``."""
    if len(jobs) == 1:
        return f"{jobs[0]} ends, whose duration is unknown"
    return f"some of {len(jobs)} jobs of unknown duration end (such as {jobs[0]})"


def _open(found: Foreseen) -> str:
    """Why there is no upper bound."""
    if found.cut_short:
        return "; too many jobs go first to estimate how late"
    overdue = next((key for key, one in found.ends if one.basis is Basis.OVERDUE), "")
    why = f", as {overdue} has already run longer than expected" if overdue else ""
    return f"; how late is unknown{why}"


def when(now: float, earliest: float, latest: float) -> str:
    """``between 14:05 and 14:40 UTC (in 12m to 47m)``, ``about 14:05 UTC (in 12m)``, ``now``."""
    if latest - now < 1.0:
        return "now"
    seconds = (earliest if isinf(latest) else latest) - now < SOON_SECONDS
    begin, from_now = clock(earliest, now, seconds), length(earliest - now)
    if isinf(latest):
        return "from now on" if earliest - now < 1.0 else f"not before {begin} UTC (in {from_now})"
    end, until = clock(latest, now, seconds), length(latest - now)
    if begin == end:
        return f"about {begin} UTC (in {until})"
    if earliest - now < 1.0:
        return f"between now and {end} UTC (in {until} at the latest)"
    return f"between {begin} and {end} UTC (in {from_now} to {until})"


def _who(ends: Sequence[tuple[str, TimeLeft]]) -> str:
    others = len(ends) - 1
    return ends[0][0] if not others else f"{ends[0][0]} and {_count(others, 'other')}"


def _how(ends: Sequence[TimeLeft]) -> str:
    """``ends as declared (2h)``, ``end as declared, or as similar work did before``, …"""
    verb = "ends" if len(ends) == 1 else "end"
    bases = {one.basis for one in ends}
    ways = {
        Basis.DECLARED: _as_declared([one for one in ends if one.basis is Basis.DECLARED]),
        Basis.LEARNT: "as similar work did before",
        Basis.LIMIT: "by its deadline" if len(ends) == 1 else "by their deadlines",
        Basis.LEAVING: "when asked to",
        Basis.ASKED: "when asked to",
        Basis.OVERDUE: "at any moment",
    }
    return f"{verb} {', or '.join(way for basis, way in ways.items() if basis in bases)}"


def _as_declared(ends: Sequence[TimeLeft]) -> str:
    """``as declared (2h)``, ``after 1 to 1.8 times the declared 2h (as similar work did)``."""
    lengths = {one.whole for one in ends}
    alone = length(next(iter(lengths))) if len(lengths) == 1 else ""
    times = sorted({f"{found:.1f}".removesuffix(".0") for one in ends for found in one.worth}, key=float)
    if times in ([], ["1"]):
        return f"as declared ({alone})" if alone else "as declared"
    factor = times[0] if len(times) == 1 else f"{times[0]} to {times[-1]}"
    after = f"after {factor} times the declared {alone or 'time'}"
    return f"{after} (as similar work did)" if all(one.proven for one in ends) else after


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# -- why no start is estimated -----------------------------------------------------------------------------------------

NO_KNOWN_END = "no work with a known end frees enough"
TOOK_TOO_LONG = "it took too long"


def declared_for_years(years: int) -> str:
    return f"work is declared to hold its resources for more than {years} years, as declared"


TOO_MANY_GO_FIRST = "too many jobs go first to estimate its start"
NO_WORK_WOULD_FREE = "no running work with a known end would free enough room"
