"""The sums of a comparison: findings are added up one by one, as they come or as a log has them.

Everything that is shown follows from the findings, so a log gives the same sums as the comparison that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappush, heappushpop
from operator import attrgetter
from typing import Generic, TypeVar

import msgspec

from vsched.shadow.findings import (
    Evicted,
    Finding,
    Interval,
    Partial,
    QueueShare,
    ShadowBegan,
    Started,
    StoppedWaiting,
    Verdict,
    WouldEvict,
    WouldStart,
)
from vsched.shadow.words import LIMITS

T = TypeVar("T")
SHOWN_MAX = 100
"""So many gangs of each sort are named: those with the longest waits, else the latest."""
GAP_SECONDS = 1.0
"""Less between two intervals is no gap."""
OPEN_MAX = 20_000
QUEUES_MAX = 500
RESOURCES_MAX = 100
DAYS_MAX = 400
DAY_SECONDS = 86_400.0


class WaitingShown(msgspec.Struct, frozen=True):
    """A gang that waits there and would start here, or would have."""

    job: str
    queue: str
    minimum: int
    decided: float
    """When it would have started here first."""
    seconds: float
    """How long that is ago."""


class StartCounts(msgspec.Struct, frozen=True):
    """How gangs started there."""

    later: int
    alike: int
    waits_here: int
    unseen: int
    later_seconds: float
    """How much later those of ``later`` started, together."""


class Incidents(msgspec.Struct, frozen=True):
    """Things of one sort that happened there."""

    all: int
    in_vain: int = 0


class QueueOverTime(msgspec.Struct, frozen=True):
    """A queue over the time that was seen."""

    queue: str
    seconds: float
    share: float
    """Mean dominant share of what it deserves by the candidate policy; 1 is all of it."""
    short_seconds: float
    """How long it asked for more, and held less than it deserves of everything that it asked for."""


class ShadowDay(msgspec.Struct):
    """What was found on one day, UTC."""

    begin: float
    later: int = 0
    later_seconds: float = 0.0
    waits_here: int = 0
    would_evict_pods: int = 0
    in_vain: int = 0
    partials: int = 0
    idle: dict[str, float] = {}
    """Node-seconds by resource, of the intervals that ended on it."""
    queues: dict[str, QueueShare] = {}
    """The queues in these intervals."""


class Comparing(msgspec.Struct, frozen=True):
    """The findings of a shadow so far."""

    since: float
    until: float
    gap_seconds: float
    """How much of the time between was not seen."""
    gaps: int
    schedulers: tuple[str, ...]
    policy: str
    starts: StartCounts
    waiting: tuple[WaitingShown, ...]
    waiting_more: int
    """How many more there are than are named."""
    later: tuple[Started, ...]
    waits_here: tuple[Started, ...]
    would_evict: tuple[WouldEvict, ...]
    would_evict_pods: int
    evictions: Incidents
    in_vain: tuple[Evicted, ...]
    partials: int
    partial_seconds: float
    partial: tuple[Partial, ...]
    idle: dict[str, float]
    """Node-seconds by resource."""
    queues: tuple[QueueOverTime, ...]
    days: tuple[ShadowDay, ...] = ()
    """The last ones; those on which nothing was found and nothing was seen are not among them."""
    limits: tuple[str, ...] = LIMITS


class _Top(Generic[T]):
    """The findings with the highest ranks, in bounded memory."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, T]] = []
        self._number = 0

    def add(self, rank: float, found: T) -> None:
        self._number += 1
        ranked = rank, self._number, found
        if len(self._heap) < SHOWN_MAX:
            heappush(self._heap, ranked)
        else:
            heappushpop(self._heap, ranked)

    @property
    def found(self) -> tuple[T, ...]:
        """The highest rank first."""
        return tuple(found for _, _, found in sorted(self._heap, reverse=True))


class Summary:
    """Adds findings up. Amounts of state are bounded, however long it goes on."""

    def __init__(self) -> None:
        self.open: dict[str, WouldStart] = {}
        """Gangs that wait there and would have started here, by job."""
        self.starts: dict[Verdict, int] = {"later": 0, "alike": 0, "waits-here": 0, "unseen": 0}
        self.later_seconds = 0.0
        self.would_evict_pods = 0
        self.evictions = self.in_vain = 0
        self.partials, self.partial_seconds = 0, 0.0
        self.idle: dict[str, float] = {}
        self.queues: dict[str, QueueShare] = {}
        self.since = self.until = 0.0
        self.gaps, self.gap_seconds = 0, 0.0
        self._days: dict[float, ShadowDay] = {}
        """By when they begin."""
        self._seen_until = 0.0
        """The end of the last interval."""
        self._began = ShadowBegan(0.0)
        self._later, self._waits_here = _Top[Started](), _Top[Started]()
        self._would_evict, self._in_vain, self._partial = _Top[WouldEvict](), _Top[Evicted](), _Top[Partial]()

    def follow(self, found: ShadowBegan | WouldStart | Started | StoppedWaiting) -> None:
        """Know which gangs wait there after this, and count nothing."""
        if isinstance(found, ShadowBegan):
            self._began = found
        elif not isinstance(found, WouldStart):
            self.open.pop(found.job, None)
        elif len(self.open) < OPEN_MAX:
            self.open[found.job] = found

    def add(self, found: Finding) -> None:
        """Add what was found next."""
        self.since = self.since or (found.since if isinstance(found, Interval) else found.at)
        day = self._day(found.at)
        match found:
            case ShadowBegan() | WouldStart() | StoppedWaiting():
                self.follow(found)
            case Started():
                self.follow(found)
                self._start(found, day)
            case WouldEvict():
                self.would_evict_pods += found.pods
                day.would_evict_pods += found.pods
                self._would_evict.add(found.at, found)
            case Evicted():
                self.evictions += 1
                if found.in_vain:
                    self.in_vain += 1
                    day.in_vain += 1
                    self._in_vain.add(found.at, found)
            case Partial():
                self.partials += 1
                day.partials += 1
                self.partial_seconds += found.at - found.since
                self._partial.add(found.at - found.since, found)
            case Interval():
                self._pass(found)
                _add_idle(day.idle, found.idle)
                _add_shares(day.queues, found.queues)
        self.until = max(self.until, found.at)

    def _day(self, at: float) -> ShadowDay:
        begin = _day_of(at)
        day = self._days.get(begin)
        if day is None:
            day = self._days[begin] = ShadowDay(begin)
            if len(self._days) > DAYS_MAX:
                del self._days[min(self._days)]
        return day

    def _start(self, found: Started, day: ShadowDay) -> None:
        self.starts[found.verdict] += 1
        if found.verdict == "later":
            day.later += 1
            day.later_seconds += found.later_seconds
            self.later_seconds += found.later_seconds
            self._later.add(found.later_seconds, found)
        elif found.verdict == "waits-here":
            day.waits_here += 1
            self._waits_here.add(found.at, found)

    def _pass(self, found: Interval) -> None:
        gap = self._gap_before(found)
        self.gaps += gap > 0
        self.gap_seconds += gap
        self._seen_until = found.at
        _add_idle(self.idle, found.idle)
        _add_shares(self.queues, found.queues)

    def _gap_before(self, found: Interval) -> float:
        """How long nothing was seen before an interval."""
        gap = found.since - self._seen_until if self._seen_until else 0.0
        return gap if gap > GAP_SECONDS else 0.0

    def shown(self, so_far: Interval | None = None) -> Comparing:
        """All of it, for people and programs; with the interval that is under way."""
        waiting = sorted(self.open.values(), key=attrgetter("at", "job"))
        idle, queues, until, gap = dict(self.idle), dict(self.queues), self.until, 0.0
        days = {
            begin: msgspec.structs.replace(day, idle=dict(day.idle), queues=dict(day.queues))
            for begin, day in sorted(self._days.items())
        }
        if so_far is not None:
            gap = self._gap_before(so_far)
            _add_idle(idle, so_far.idle)
            _add_shares(queues, so_far.queues)
            today = days.setdefault(_day_of(so_far.at), ShadowDay(_day_of(so_far.at)))
            _add_idle(today.idle, so_far.idle)
            _add_shares(today.queues, so_far.queues)
            until = max(until, so_far.at)
        return Comparing(
            since=self.since,
            until=until,
            gap_seconds=self.gap_seconds + gap,
            gaps=self.gaps + (gap > 0),
            schedulers=self._began.schedulers,
            policy=self._began.policy,
            starts=StartCounts(
                later=self.starts["later"],
                alike=self.starts["alike"],
                waits_here=self.starts["waits-here"],
                unseen=self.starts["unseen"],
                later_seconds=self.later_seconds,
            ),
            waiting=tuple(
                WaitingShown(one.job, one.queue, one.minimum, one.at, until - one.at) for one in waiting[:SHOWN_MAX]
            ),
            waiting_more=max(0, len(waiting) - SHOWN_MAX),
            later=self._later.found,
            waits_here=self._waits_here.found,
            would_evict=self._would_evict.found,
            would_evict_pods=self.would_evict_pods,
            evictions=Incidents(self.evictions, self.in_vain),
            in_vain=self._in_vain.found,
            partials=self.partials,
            partial_seconds=self.partial_seconds,
            partial=self._partial.found,
            idle=dict(sorted(idle.items())),
            queues=tuple(
                QueueOverTime(
                    name, one.seconds, one.share_seconds / one.seconds if one.seconds else 0.0, one.short_seconds
                )
                for name, one in sorted(queues.items())
            ),
            days=tuple(days.values()),
        )


def _day_of(at: float) -> float:
    """When the day of a moment begins, UTC."""
    return at // DAY_SECONDS * DAY_SECONDS


def _add_idle(sums: dict[str, float], more: Mapping[str, float]) -> None:
    for name, seconds in more.items():
        if name in sums or len(sums) < RESOURCES_MAX:
            sums[name] = sums.get(name, 0.0) + seconds


def _add_shares(sums: dict[str, QueueShare], more: Mapping[str, QueueShare]) -> None:
    for name, share in more.items():
        before = sums.get(name)
        if before is not None or len(sums) < QUEUES_MAX:
            sums[name] = share if before is None else before.plus(share)


def summed(findings: Iterable[Finding], since: float = 0.0) -> Summary:
    """The sums of these findings; of those before ``since``, only what has not ended by then counts."""
    summary = Summary()
    for found in findings:
        if found.at > since:
            summary.add(found)
        elif isinstance(found, ShadowBegan | WouldStart | Started | StoppedWaiting):
            summary.follow(found)
    return summary
