"""All orders in which a small scene may go on: what is on the way to a process may be overtaken, or come late.

A run follows an order: the default one, in which all arrives as it was sent, but for some deviations. Equal orders give
equal runs. ``explore`` makes the runs with no deviation, then those with one, and so on; each level is complete.
What a process does depends on the order in which things arrive at it, and on nothing else. So deviations are tried
only where two arrivals at one process, or an arrival and one of its timers, are not the cause of each other; arrivals
at different processes commute (partial-order reduction, with vector clocks).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import Context
from hashlib import sha256
from random import Random
from typing import Any, NamedTuple, Protocol, TypeVar

from vsched.errors import BadInput
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.loop import BottleLoop, NothingMore, TimedStep
from vsched.lab.soak.bottle.network import End, Network
from vsched.lab.soak.bottle.processes import Process, current, process_of

OVERTAKEN, LATE = "overtaken", "late"
"""The next arrival at the process from elsewhere comes first; or whatever happens within ``late_seconds`` does."""
DELAY_SECONDS = 0.001
"""What everything takes by default."""
TIE_SECONDS = 1e-9
"""What is sent later arrives later."""
VectorClock = Mapping[str, int]
"""Of each process, how many of its steps are known."""


class Deviation(NamedTuple):
    """At which point of a run, counted from 0, what happens in place of the default."""

    at: int
    what: str


Order = tuple[Deviation, ...]
"""Of rising points."""


def as_text(order: Order) -> str:
    """``17:late,40:kill``."""
    return ",".join(f"{each.at}:{each.what}" for each in order)


def parsed(text: str) -> Order:
    """The order that a text is; raises BadInput."""
    found = []
    for part in text.split(",") if text else ():
        at, _, what = part.partition(":")
        if not at.isdecimal() or not what.isalpha():
            raise BadInput(words.bad_order(part))
        found.append(Deviation(int(at), what))
    return tuple(sorted(found))


class SteadyNetwork(Network):
    """A network in which everything takes the same time."""

    def __init__(self, loop: OrderedLoop, random: Random) -> None:
        super().__init__(loop, random)
        self._sent = 0

    def delay(self) -> float:
        self._sent += 1
        return DELAY_SECONDS + self._sent * TIE_SECONDS


class _Thing(TimedStep):
    """Something that will happen to a process: an arrival on a channel, or a timer."""

    __slots__ = ("cause", "channel", "to")

    def __init__(self, when: float, callback: Any, args: Any, loop: OrderedLoop, context: Context | None) -> None:
        super().__init__(when, callback, args, loop, context)
        owner = getattr(callback, "__self__", None)
        self.channel: End | None = None
        """Who sends what arrives; None for a timer."""
        if isinstance(owner, End):
            self.channel = owner if callback.__name__ == "_arrive" else owner.peer
        process = process_of(self) if self.channel is None else self.channel.peer.process
        self.to = _name(process)
        self.cause: VectorClock = {}

    def moved(self, when: float) -> None:
        """Have it happen at another time."""
        self._when = when


class _Step(NamedTuple):
    """What has happened to a process."""

    thing: _Thing
    at: float
    point: int | None
    """None where no deviation is possible."""


class OrderedLoop(BottleLoop):
    """A loop on which things happen in a given order."""

    def __init__(self, random: Random, order: Order = (), late_seconds: float = 1.5) -> None:
        super().__init__(random)
        self.network: SteadyNetwork = SteadyNetwork(self, random)
        self.network.on_write.add(self._writing)
        self.is_open = False
        """Whether deviations are possible; before that, all is as by default."""
        self.is_point: Callable[[End], bool] = lambda channel: True
        """Whether what arrives on a channel now may come in another order."""
        self.strokes: Callable[[End, bytes], Sequence[str]] = lambda channel, data: ()
        """What else may happen to a process just before it writes this."""
        self.strike: Callable[[str, End], None] = lambda what, channel: None
        """Has it happen."""
        self.alternatives: Sequence[Deviation] = ()
        """The deviations from this run that lead to another one; known once it is over."""
        self.trace = ""
        """Equal for runs that nobody can tell apart."""
        self._order = dict(order)
        self._late_seconds = late_seconds
        self._points = 0
        self._struck: list[Deviation] = []
        self._steps: dict[str, list[_Step]] = defaultdict(list)
        self._clocks: dict[str, dict[str, int]] = defaultdict(dict)
        self._written: dict[End, VectorClock] = {}
        self._held: dict[End, _Thing] = {}
        self._overtaken: dict[str, list[_Thing]] = defaultdict(list)

    # -- what happens next

    def _timed(self, when: float, callback: Any, args: Any, context: Context | None) -> _Thing:
        thing = _Thing(when, callback, args, self, context)
        thing.cause = dict(self._clocks[_name(current())])
        return thing

    def _run_once(self) -> None:
        if not self._ready:
            self._ready.append(self._next())
        for _ in range(len(self._ready)):
            step = self._ready.popleft()
            if not step.cancelled():
                step._run()

    def _next(self) -> _Thing:
        while self._scheduled:
            thing = heapq.heappop(self._scheduled)
            assert isinstance(thing, _Thing)
            if thing.cancelled():
                continue
            self._move(thing.when() - self._now)
            point = None
            if thing.channel is not None:
                before = self._held.get(thing.channel)
                if before is not None and before is not thing:
                    self._put_off(thing, before.when() + TIE_SECONDS - self._now)
                    continue
                self._held.pop(thing.channel, None)
                if self.is_open and self.is_point(thing.channel):
                    point, self._points = self._points, self._points + 1
                    if (what := self._order.get(point)) is not None:
                        self._hold(thing, what)
                        continue
                self._release(thing)
            self._note(thing, point)
            thing._scheduled = False  # type: ignore[attr-defined]
            return thing
        raise NothingMore(words.NOTHING_PLANNED)

    def _put_off(self, thing: _Thing, seconds: float) -> None:
        thing.moved(self._now + seconds)
        heapq.heappush(self._scheduled, thing)

    def _hold(self, thing: _Thing, what: str) -> None:
        assert thing.channel is not None
        self._held[thing.channel] = thing
        self._put_off(thing, self._late_seconds)
        if what == OVERTAKEN:
            self._overtaken[thing.to].append(thing)

    def _release(self, thing: _Thing) -> None:
        """What this one has overtaken comes right after it."""
        waiting = self._overtaken.pop(thing.to, None)
        if waiting is None:
            return
        for number, held in enumerate(waiting):
            if held is not thing and held.channel is not None and self._held.get(held.channel) is held:
                held.moved(self._now + number * TIE_SECONDS)
        heapq.heapify(self._scheduled)

    def _note(self, thing: _Thing, point: int | None) -> None:
        clock = self._clocks[thing.to]
        for cause in (thing.cause, self._written.get(thing.channel, {}) if thing.channel is not None else {}):
            for name, count in cause.items():
                clock[name] = max(clock.get(name, 0), count)
        clock[thing.to] = clock.get(thing.to, 0) + 1
        self._steps[thing.to].append(_Step(thing, self._now, point))

    def _writing(self, channel: End, data: bytes) -> None:
        self._written[channel] = dict(self._clocks[_name(channel.process)])
        if not self.is_open:
            return
        possible = self.strokes(channel, data)
        if possible:
            point, self._points = self._points, self._points + 1
            if (what := self._order.get(point)) is not None:
                self.strike(what, channel)
            else:
                self._struck += [Deviation(point, what) for what in possible]

    # -- what else might have happened

    def finish(self) -> None:
        """The run is over: what is cleaned up is not part of it."""
        self.is_open = False
        self.alternatives, self.trace = self._alternatives(), self._trace()

    def _alternatives(self) -> list[Deviation]:
        found = list(self._struck)
        for name, steps in self._steps.items():
            for number, step in enumerate(steps):
                if step.point is not None:
                    found += [Deviation(step.point, what) for what in self._otherwise(name, steps, number)]
        return sorted(found)

    def _otherwise(self, name: str, steps: Sequence[_Step], number: int) -> Iterator[str]:
        """What may happen in place of an arrival: something else that comes after it without being caused by it.

        Of several, all may come first: what those cause that overtake it was caused by it only because it came first.
        """
        step, later, arrivals, timers = steps[number], 0, False, False
        for other in steps[number + 1 :]:
            if other.at > step.at + self._late_seconds:
                break
            if other.thing.channel is step.thing.channel:
                continue
            later += 1
            if other.thing.cause.get(name, 0) <= number:
                timers |= other.thing.channel is None
                arrivals |= other.thing.channel is not None
        if arrivals:
            yield OVERTAKEN
        if timers or (arrivals and later > 1):
            yield LATE

    def _trace(self) -> str:
        """What happened to each process in which order, without times."""
        digest, names = sha256(), self._names()
        for name, steps in sorted(self._steps.items()):
            for step in steps:
                channel = step.thing.channel
                what = step.thing.cause.get(name, 0) if channel is None else names[channel]
                digest.update(f"{name} {what}\n".encode())
        return digest.hexdigest()

    def _names(self) -> Mapping[End, str]:
        """Names of channels that do not depend on what other processes do: the first of a process, the second ..."""
        channels = dict.fromkeys(step.thing.channel for steps in self._steps.values() for step in steps)
        counts, names = Counter[str](), dict[End, str]()
        for channel in sorted((each for each in channels if each is not None), key=_connection):
            pair = f"{_name(channel.process)} to {_name(channel.peer.process)}"
            counts[pair] += 1
            names[channel] = f"{pair} {counts[pair]}"
        return names


def _name(process: Process | None) -> str:
    return "" if process is None else process.name


def _connection(channel: End) -> int:
    """Connections that were made later have higher numbers."""
    return max(channel.name[1], channel.peer.name[1])


class OrderedRun(Protocol):
    """One run of a scene, as far as the explorer looks at it."""

    @property
    def alternatives(self) -> Sequence[Deviation]:
        """The deviations from it that lead to another run."""
        ...

    @property
    def trace(self) -> str:
        """Equal for runs that nobody can tell apart."""
        ...


R = TypeVar("R", bound=OrderedRun)


def explore(run: Callable[[Order], R], deviations: int) -> Iterator[tuple[Order, R]]:
    """Every run that nobody can tell from another one, with at most so many deviations, the fewest first."""
    seen: dict[str, int] = {}
    level: list[Order] = [()]
    for number in range(deviations + 1):
        following: list[Order] = []
        for order in level:
            done, last = run(order), order[-1].at if order else -1
            before = seen.get(done.trace)
            if before is None:
                yield order, done
            if before is None or last < before:
                seen[done.trace] = last
                if number < deviations:
                    following += [(*order, each) for each in done.alternatives if each.at > last]
        level = following


def wander(run: Callable[[Order], R], deviations: int, random: Random) -> Iterator[tuple[Order, R]]:
    """Runs with one deviation more each, up to so many, drawn at random; without end, from the default order again."""
    default = run(())
    while True:
        order: Order = ()
        done = default
        for _ in range(deviations):
            last = order[-1].at if order else -1
            possible = [each for each in done.alternatives if each.at > last]
            if not possible:
                break
            order = (*order, random.choice(possible))
            done = run(order)
            yield order, done
