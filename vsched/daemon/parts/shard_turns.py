"""Leaves out the jobs that wait for the turn of their shard, and tells of them when it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from vsched.mirror.sharding import ShardDivision
from vsched.mirror.turns import resting_namespaces, resting_queues
from vsched.model.snapshot import Snapshot


class ShardTurns:
    """Narrows the snapshots of one session after another."""

    def __init__(self, division: ShardDivision, wake: Callable[[], None]) -> None:
        self._division = division
        self._wake = wake
        self._owed: set[str] = set()
        """Keys of jobs that have changed while they were left out: sessions are told in their turn."""
        self._held: frozenset[int] = frozenset()
        self._waking: asyncio.TimerHandle | None = None

    def narrowed(self, snapshot: Snapshot, active: Sequence[str], held: frozenset[int]) -> Snapshot:
        """The snapshot without the jobs whose turn has not come; ``active`` are those of all shards that wait."""
        if held != self._held:  # the mirror shows all jobs as changed then
            self._owed, self._held = set(), held
        namespaces = resting_namespaces(snapshot, active, self._division, held)
        queues = resting_queues(snapshot, active, self._division, held)
        if namespaces.names or queues.names:
            self._wake_in(max(namespaces.seconds, queues.seconds))
        elif not self._owed:
            return snapshot
        jobs = snapshot.jobs

        def rests(key: str) -> bool:
            spec = jobs[key].spec if key in jobs else None
            return spec is not None and (spec.namespace in namespaces.names or spec.queue in queues.names)

        changed = dict.fromkeys((*snapshot.changed, *sorted(self._owed)))
        self._owed = {key for key in changed if rests(key)}
        return replace(
            snapshot,
            active=tuple(key for key in snapshot.active if not rests(key)),
            changed=[key for key in changed if key not in self._owed],
            since=None,
        )

    def _wake_in(self, seconds: float) -> None:
        """Start a session when it may be our turn, rather than at the next period."""
        if self._waking is None:
            self._waking = asyncio.get_running_loop().call_later(seconds, self._woken)

    def _woken(self) -> None:
        self._waking = None
        self._wake()
