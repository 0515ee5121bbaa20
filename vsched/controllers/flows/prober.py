"""Asks pods over the network for the probes of JobFlows, in rounds, each as often as a period allows.

A round asks the pods of one JobFlow, a few at once, and ends with the first that does not answer. At any time there is
at most one round for each namespace: whoever writes many probes slows those of the same namespace, and no others.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address

import msgspec

from vsched.clock import Clock
from vsched.controllers.flows import words
from vsched.controllers.flows.made import namespace_of
from vsched.controllers.flows.probes import (
    ANSWERED,
    Answers,
    Network,
    PodProbe,
    answer_of,
    request_bytes,
    why_not_asked,
)
from vsched.together import together
from vsched.writes.workqueue import Workqueue, WorkqueueSettings


class ProbeSettings(msgspec.Struct, frozen=True):
    """Limits of what is asked of pods."""

    workqueue: WorkqueueSettings = WorkqueueSettings(workers=8, per_second=100.0, burst=100.0, limit=100_000)
    """Rounds."""
    at_once: int = 8
    """Connections of one round at the same time."""
    timeout_seconds: float = 1.0
    """So long may a pod take to answer."""
    round_seconds: float = 30.0
    """So long may a round take: pods that were not asked by then have not answered."""
    period_seconds: float = 10.0
    """From the end of a round of a JobFlow to its next one, where the same pods are to be asked."""
    spacing_seconds: float = 1.0
    """The same where other pods are to be asked."""
    line_bytes: int = 1024
    """Nothing is read of an answer but its first line, up to this length."""
    networks: tuple[Network, ...] = ()
    """The only networks in which pods are asked; empty for all that pods may have addresses of."""
    loopback: bool = False
    """Whether addresses of the own machine are asked, too."""


class _Wanted(msgspec.Struct):
    """What is to be asked for one JobFlow."""

    asks: tuple[PodProbe, ...]
    due: float
    ended: float | None = None
    """When its last round was over."""
    answers: Answers = {}


class Prober:
    """Keeps asking what is wanted, until it is no longer wanted."""

    def __init__(self, clock: Clock, told: Callable[[str], None], settings: ProbeSettings) -> None:
        """``told`` is called with the key of each JobFlow for which a round is over."""
        self._clock = clock
        self._told = told
        self._settings = settings
        self._wanted: dict[str, dict[str, _Wanted]] = {}
        """By namespace, and by the key of the JobFlow."""
        self._due: dict[str, list[tuple[float, str]]] = {}
        """Heaps by namespace. Entries that are no longer wanted at that time are passed over."""
        self._workqueue: Workqueue[str, None] = Workqueue(settings.workqueue, self._turn, clock.monotonic)
        self.counts: Counter[str] = Counter({"answered": 0, "failed": 0})
        """Pods that were asked, by what came of it."""

    def __len__(self) -> int:
        """For how many JobFlows pods are asked."""
        return sum(len(wanted) for wanted in self._wanted.values())

    async def run(self) -> None:
        """Ask until cancelled. What was answered before is not believed any more: it may be long ago."""
        for wanted in self._wanted.values():
            for each in wanted.values():
                each.answers = {}
        await self._workqueue.run()

    def want(self, key: str, asks: tuple[PodProbe, ...]) -> None:
        """From now on, ask these for a JobFlow; nothing where there are none."""
        if not asks:
            self.forget(key)
            return
        namespace = namespace_of(key)
        wanted = self._wanted.setdefault(namespace, {})
        known = wanted.get(key)
        if known is not None and known.asks == asks:
            return
        due = now = self._clock.monotonic()
        if known is not None and known.ended is not None:
            due = max(now, known.ended + self._settings.spacing_seconds)
        wanted[key] = _Wanted(asks, due, None if known is None else known.ended)
        self._plan(namespace, due, key)

    def forget(self, key: str) -> None:
        """Ask nothing more for a JobFlow."""
        namespace = namespace_of(key)
        wanted = self._wanted.get(namespace, {})
        if wanted.pop(key, None) is not None and not wanted:
            del self._wanted[namespace]
            self._due.pop(namespace, None)
            self._workqueue.discard(namespace)

    def answers(self, key: str) -> Answers:
        """What came of the last round of a JobFlow."""
        known = self._wanted.get(namespace_of(key), {}).get(key)
        return {} if known is None else known.answers

    def _plan(self, namespace: str, due: float, key: str) -> None:
        heapq.heappush(self._due.setdefault(namespace, []), (due, key))
        self._workqueue.put(namespace, None, max(0.0, due - self._clock.monotonic()))

    async def _turn(self, namespace: str, _: None) -> None:
        """One round of the JobFlow of a namespace that is due first; the others of it come after other namespaces."""
        heap, wanted = self._due.get(namespace, []), self._wanted.get(namespace, {})
        while heap and (heap[0][1] not in wanted or wanted[heap[0][1]].due != heap[0][0]):
            heapq.heappop(heap)
        if heap and heap[0][0] <= self._clock.monotonic():
            key = heapq.heappop(heap)[1]
            await self._round(namespace, key, wanted[key])
        heap = self._due.get(namespace, [])
        if heap:
            self._workqueue.put(namespace, None, max(0.0, heap[0][0] - self._clock.monotonic()))

    async def _round(self, namespace: str, key: str, asked: _Wanted) -> None:
        answers = await self._ask_all(asked.asks)
        now = self._clock.monotonic()
        known = self._wanted.get(namespace, {}).get(key)
        if known is None:
            return
        known.ended = now
        if known is asked:
            known.answers, known.due = answers, now + self._settings.period_seconds
            self._plan(namespace, known.due, key)
            self._told(key)

    async def _ask_all(self, asks: Sequence[PodProbe]) -> Mapping[PodProbe, str]:
        """Ask until one does not answer."""
        answers: dict[PodProbe, str] = {}
        end = self._clock.monotonic() + self._settings.round_seconds
        for first in range(0, len(asks), self._settings.at_once):
            some = asks[first : first + self._settings.at_once]
            if self._clock.monotonic() > end:
                answers.update((ask, words.PROBES_TOO_SLOW) for ask in some)
            else:
                answers.update(zip(some, await together(*map(self._ask, some)), strict=True))
            if any(answers[ask] != ANSWERED for ask in some):
                break
        return answers

    async def _ask(self, ask: PodProbe) -> str:
        loopback = self._settings.loopback
        answer = why_not_asked(ask.address, self._settings.networks, loopback=loopback)
        if not answer and not loopback and is_own(ask.address):
            answer = words.address_of_this_daemon(ask.address)
        if not answer:
            try:
                async with asyncio.timeout(self._settings.timeout_seconds):
                    answer = await self._exchange(ask)
            except TimeoutError:
                answer = words.no_answer_within(self._settings.timeout_seconds)
            except ValueError:
                answer = words.NOT_HTTP  # a line that does not end
            except OSError as error:
                answer = (os.strerror(error.errno) if error.errno else type(error).__name__).lower()
        self.counts["failed" if answer else "answered"] += 1
        return answer

    async def _exchange(self, ask: PodProbe) -> str:
        reader, writer = await asyncio.open_connection(ask.address, ask.probe.port, limit=self._settings.line_bytes)
        try:
            if ask.probe.path is None:
                return ANSWERED
            writer.write(request_bytes(ask))
            return answer_of(await reader.readline())
        finally:
            writer.transport.abort()


def is_own(address: str) -> bool:
    """Whether an address is one of this machine: then what is sent there comes from the same one. Nothing is sent."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as trial:
            trial.connect((address, 9))
            return ip_address(trial.getsockname()[0]) == ip_address(address)
    except OSError:
        return False  # there is no way to it
