"""The mirror as the sessions of a daemon see it that decides for some shards of the cluster."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from vsched.daemon.lead.shards import ShardElection
from vsched.mirror.cache import Cache
from vsched.mirror.sharding import Division, narrowed, territory
from vsched.model.plan import CycleReport
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

SETTLE_SECONDS = 5.0
"""How long the decisions for a shard may take to be carried out before it is given away."""


class ShardMirror:
    """Narrows snapshots to the shards that this daemon holds at the time."""

    def __init__(self, cache: Cache, election: ShardElection, division: Division, moved: Callable[[], None]) -> None:
        """``moved`` is called when the shards are others than in the session before."""
        self._cache = cache
        self._election = election
        self.division = division
        self._moved = moved
        self._held: frozenset[int] = frozenset()
        self._latest: Snapshot | None = None
        self._seen = asyncio.Event()
        """Set by every snapshot."""
        election.settle = self.settle

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now, with the jobs of our shards as those that are decided on."""
        held = self._election.shards
        if held != self._held:
            # Daemons before may not have written the statuses of jobs that are ours from now on.
            self._held = held
            self._cache.review()
            self._moved()
        whole = self._latest = self._cache.snapshot(now)
        self._seen.set()
        mask = None if len(held) == self.division.count else territory(whole.nodes.statics, self.division, held)
        return narrowed(whole, self.division, held, mask)

    def assume(self, report: CycleReport) -> None:
        """Assume the decisions of a cycle."""
        self._cache.assume(report)

    def owns(self, task: Task) -> bool:
        """Whether a pod belongs to a job that is decided on here."""
        latest = self._latest
        job = None if latest is None else latest.jobs.get(task.job)
        return job is None or latest is None or self.division.shard_of_job(job, latest.queues) in self._held

    async def settle(self, shard: int) -> None:
        """Wait until no binding of a shard is on its way that sessions decide on no more; not for ever."""
        # What is later finds its pod bound, or binds it: the API server takes one binding a pod.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                while shard in self._held or self._binds(shard):
                    self._seen.clear()
                    await self._seen.wait()

    def _binds(self, shard: int) -> bool:
        latest = self._latest
        if latest is None:
            return False
        return any(
            task.status is Status.BINDING
            for job in latest.jobs.values()
            if job.holding and self.division.shard_of_job(job, latest.queues) == shard
            for task in job.tasks.values()
        )
