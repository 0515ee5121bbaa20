"""The record of a soak: what a watch shows of its pods, and which promises were broken.

Pods that are gone are dropped from the record, so a soak may run for days.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

from vsched.kube.watch.deltas import Delta
from vsched.lab.outcomes import PodEntry, PodOutcomes, PodSeen, SubmittedGang
from vsched.lab.soak import words

RECENT = 20_000
"""More than the pods that are bound before the first of them is read."""
PARTIAL_SECONDS = 120.0
"""How long a gang may be partial, whatever goes wrong meanwhile."""
LOOKS = 60
"""How often, a second apart, it is looked whether nothing is wrong any more: much is written a moment later."""
MOST_LISTED = 50
"""Violations of one kind that are listed; all are counted."""


@dataclass(slots=True)
class Violations:
    """Broken promises: the number of each kind, and lines about the first ones."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, list[str]] = field(default_factory=dict)

    def add(self, promise: str, what: str) -> None:
        self.counts[promise] += 1
        lines = self.first.setdefault(promise, [])
        if len(lines) < MOST_LISTED:
            lines.append(what)

    async def settle(self, find: Callable[[], Awaitable[Sequence[tuple[str, str]]]], more: int = 0) -> None:
        """Look until nothing is found any more, so long at most; note what is found in the end, promise and line.

        ``more``: so many looks more than usual, a second each.
        """
        found: Sequence[tuple[str, str]] = ()
        for _ in range(LOOKS + more):
            found = await find()
            if not found:
                return
            await asyncio.sleep(1.0)
        for promise, what in found:
            self.add(promise, what)


class Overdue:
    """Notes what lasts for longer than it may, whatever goes wrong meanwhile; once each time."""

    def __init__(self, violations: Violations, promise: str, most_seconds: float) -> None:
        self._violations, self._promise, self._most_seconds = violations, promise, most_seconds
        self._since: dict[str, float] = {}
        """Since when each has been so; infinity for those that were noted."""

    def look(self, found: Iterable[str], now: float) -> None:
        """These are so now, by their lines; steady clock."""
        since = {line: self._since.get(line, now) for line in found}
        for line, begin in since.items():
            if now - begin > self._most_seconds:
                self._violations.add(self._promise, line)
                since[line] = inf
        self._since = since


class SoakOutcomes(PodOutcomes):
    """A record of pods that notes violations: a pod bound twice, a node with more than fits on it."""

    def __init__(self, node_cpus: int, violations: Violations) -> None:
        super().__init__()
        self.evicted = 0
        self.recent: deque[float] = deque(maxlen=RECENT)
        """When the latest pods were seen to be bound; steady clock."""
        self.violations = violations
        self._node_cpus = node_cpus
        self._partial = Overdue(violations, words.PARTIAL, PARTIAL_SECONDS)
        self._lists = False
        """Whether a list is being read."""
        self._used: Counter[str] = Counter()
        """Cpus of pods that have not ended, by node."""

    def never_bound(self) -> list[str]:
        """Keys of pods that exist, were never bound and not deleted by their user."""
        return [key for key, entry in self._pods.items() if not entry.node and not entry.gang.cancelled]

    def judge(self, waited_seconds: float) -> None:
        """Note the pods that were never bound, though they waited so long more, and the gangs that are partial."""
        for pod in self.never_bound():
            self.violations.add(words.UNBOUND, words.waited(pod, waited_seconds))
        for gang in self.partial():
            self.violations.add(words.PARTIAL, words.partly_bound(gang))

    def look(self, now: float) -> None:
        """Note gangs that have been partial for too long; steady clock."""
        self._partial.look(map(words.partly_bound, self.partial()), now)

    def excuse(self, pod: str) -> SubmittedGang | None:
        """Expect nothing more of the job of a pod, of which a part was taken away; None for a pod of others."""
        entry = self._pods.get(pod)
        if entry is None:
            return None
        entry.gang.cancelled = True
        return entry.gang

    def begin_again(self, present: Container[str]) -> None:
        """The server is back at an earlier state, with these pods: a list is to tell where they are.

        Nothing more is expected of jobs that were done in part, or are not there as a whole.
        """
        for gang in self.gangs.values():
            whole = all(pod in present and pod in self._pods for pod in gang.pods)
            gang.cancelled = gang.cancelled or gang.finished > 0 or not whole
            gang.bound = gang.finished = gang.lost = 0
            gang.nodes.clear()
        for entry in self._pods.values():
            entry.node, entry.finished = "", False
        for counts in (self._used, self.on_nodes, self.running):
            counts.clear()

    def is_expected(self, key: str) -> bool:
        """Whether something is expected of this job, or of the job of this pod."""
        entry = self._pods.get(key)
        gang = self.gangs.get(key) if entry is None else entry.gang
        return gang is not None and not gang.cancelled

    @property
    def present(self) -> int:
        """The number of pods that exist."""
        return len(self._pods)

    def _lost(self, gang: SubmittedGang) -> None:
        """A pod was taken away, and nobody makes it again: a job that is broken up by that is taken back."""
        gang.lost += 1
        if len(gang.pods) - gang.lost < gang.minimum and not gang.cancelled:
            gang.cancelled = True
            self.done.append(gang)

    # -- what the reflector calls

    def replace(self, items: list[PodSeen], resource_version: str) -> None:
        # In a list the pods that came to a node stand before others that have left it.
        self._lists = True
        super().replace(items, resource_version)
        listed = {item.key for item in items}
        # A pod that was never seen may not have been created yet, unless its user has deleted it.
        seen = [key for key, entry in self._pods.items() if entry.node or entry.gang.cancelled]
        for key in seen:
            if key not in listed:
                self._gone(key)
        self._lists = False
        for node in self._used:
            self._check(node, "its pods")

    def apply(self, delta: Delta, item: PodSeen) -> None:
        self._see(item)
        if delta is Delta.DELETED:
            self._gone(item.key)

    def _placed(self, key: str, entry: PodEntry, node: str) -> None:
        super()._placed(key, entry, node)
        self.recent.append(entry.gang.bound_at)
        self._used[node] += entry.gang.cpus
        if not self._lists:
            self._check(node, key)

    def _check(self, node: str, key: str) -> None:
        """Note a node that holds more than it has."""
        if self._used[node] > self._node_cpus:
            used = f"{self._used[node]} of {self._node_cpus} cpus"
            self.violations.add(words.OVER_ITS_SIZE, f"{node} holds {used} with {key}")

    def _moved(self, key: str, entry: PodEntry, node: str) -> None:
        self.violations.add("bound twice", words.was_on(key, entry.node, node or "none"))

    def _ended(self, entry: PodEntry) -> None:
        super()._ended(entry)
        if entry.node:
            self._used[entry.node] -= entry.gang.cpus

    def _gone(self, key: str) -> None:
        entry = self._pods.pop(key, None)
        if entry is None:
            return
        if not entry.finished:
            self.evicted += not entry.gang.cancelled
            self._ended(entry)
            self._lost(entry.gang)
        if not any(pod in self._pods for pod in entry.gang.pods):
            self.gangs.pop(entry.gang.key, None)
