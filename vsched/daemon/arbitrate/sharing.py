"""How the daemons that share a cluster arbitrate it together.

Each works out the same shares from the same cluster, so that its sessions keep to them. One writes them, takes back and
makes promises: the holder of the first shard. The others read on its Lease until when it keeps room for a pod.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Protocol

from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.parts.shard_mirror import ShardMirror
from vsched.mirror.cache import Cache
from vsched.mirror.turns import NO_REST, resting
from vsched.model.snapshot import Snapshot

PROMISED = "vsched.io/arbitration-promised-until"
"""The annotation of the first shard's Lease: until then, in seconds since the epoch, nothing is lent."""
FIRST = 0


class Sharing(Protocol):
    """What rounds of arbitration need to know of other daemons."""

    def acts(self) -> bool:
        """Whether this daemon writes what a round decides, and takes back."""
        ...

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now, as sessions see it."""
        ...

    def in_turn(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot without the jobs that wait for the turn of their shard."""
        ...

    def promise(self, until: float) -> None:
        """Say until when room is kept; 0 for no room."""
        ...

    def promised(self, now: float) -> bool:
        """Whether the daemon that acts keeps room for a pod."""
        ...


class Alone:
    """A daemon that decides for the whole cluster."""

    def __init__(self, cache: Cache) -> None:
        self.snapshot = cache.snapshot

    def acts(self) -> bool:
        return True

    def in_turn(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def promise(self, until: float) -> None:
        """Nobody asks."""

    def promised(self, now: float) -> bool:
        return False


class Together:
    """A daemon that decides for some shards."""

    def __init__(self, mirror: ShardMirror, election: ShardElection, wake: Callable[[], None]) -> None:
        self.snapshot = mirror.snapshot
        self._mirror = mirror
        self._election = election
        self._wake = wake
        self._said = -1.0
        self._owed: set[str] = set()
        """Keys of jobs that have changed while they were left out: sessions are told in their turn."""
        self._held: frozenset[int] = frozenset()
        self._waking: asyncio.TimerHandle | None = None

    def acts(self) -> bool:
        return FIRST in self._election.shards

    def in_turn(self, snapshot: Snapshot) -> Snapshot:
        held, active = self._election.shards, self._mirror.active()
        if held != self._held:  # the mirror shows all jobs as changed then
            self._owed, self._held = set(), held
        found = NO_REST if not snapshot.ceilings else resting(snapshot, active, self._mirror.division, held)
        if not found.namespaces and not self._owed:
            return snapshot
        if found.namespaces:
            self._wake_in(found.seconds)
        return self._without(snapshot, found.namespaces)

    def promise(self, until: float) -> None:
        if until != self._said:
            self._said = until
            self._election.say(FIRST, {PROMISED: f"{until:.0f}" if until else None})

    def promised(self, now: float) -> bool:
        self._said = -1.0
        said = self._election.annotations(FIRST).get(PROMISED, "")
        return said.isdecimal() and now < float(said)

    def _without(self, snapshot: Snapshot, namespaces: Collection[str]) -> Snapshot:
        jobs = snapshot.jobs

        def rests(key: str) -> bool:
            return key in jobs and jobs[key].spec.namespace in namespaces

        changed = dict.fromkeys((*snapshot.changed, *sorted(self._owed)))
        self._owed = {key for key in changed if rests(key)}
        return replace(
            snapshot,
            active=tuple(key for key in snapshot.active if not rests(key)),
            changed=[key for key in changed if key not in self._owed],
        )

    def _wake_in(self, seconds: float) -> None:
        """Start a session when it may be our turn, rather than at the next period."""
        if self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(seconds, self._woken)

    def _woken(self) -> None:
        self._waking = None
        self._wake()
