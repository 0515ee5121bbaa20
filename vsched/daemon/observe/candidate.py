"""Decides with the candidate of a rollout beside the policy in force, on the same snapshots; nothing is carried out.

Sessions go first: the candidate has a small part of one processor on average, so where sessions are many or long, fewer
are compared. A decision that is under way is not interrupted.
"""

from __future__ import annotations

import asyncio

from vsched.clock import thread_time
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.policy.config_map import PolicyMap
from vsched.daemon.policy.rollout.figures import Counts, times_of
from vsched.daemon.words import rollout as words
from vsched.errors import Unavailable
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.plugins.allocation import ALLOCATION
from vsched.web.snapshots import FrozenSnapshot

LOOK_SECONDS = 1.0
PART = 0.1
"""The part of one processor that the candidate has on average."""
FAILED_SECONDS = 10.0
MOST_EVICTED = 10_000
"""Pods that are remembered as evicted by the candidate, so that each counts once a step."""


class CandidateShadow:
    """Compares sessions one at a time."""

    def __init__(
        self,
        policy: PolicyMap,
        snapshots: SnapshotService,
        registry: Registry,
        telemetry: Telemetry,
        *,
        arbitrates: bool,
    ) -> None:
        self._policy = policy
        self._snapshots = snapshots
        self._registry = registry
        self._telemetry = telemetry
        self._arbitrates = arbitrates
        self._step: tuple[str, int] | None = None
        """The rollout and its step that pods are remembered for."""
        self._evicted: set[str] = set()

    async def run(self) -> None:
        """Compare while the rollout says so, until cancelled; errors are logged and end nothing else."""
        pause_seconds = LOOK_SECONDS
        while True:
            await asyncio.sleep(pause_seconds)
            pause_seconds = LOOK_SECONDS
            candidate = self._policy.shadowed
            if candidate is None:
                continue
            policy = candidate.policy.with_plugin(ALLOCATION) if self._arbitrates else candidate.policy
            try:
                frozen = await self._snapshots.look(urgent=False)
                counts, evicted = await asyncio.to_thread(_compared, frozen, policy, self._registry)
            except Unavailable:
                continue
            except Exception as error:  # the policy in force goes on
                self._telemetry.worry(words.SHADOW_FAILED, problem=f"{type(error).__name__}: {error}")
                pause_seconds = FAILED_SECONDS
                continue
            if self._policy.shadowed is candidate:
                counts.evictions = self._new(evicted)
                self._telemetry.shadowed.add(counts)
            pause_seconds = max(LOOK_SECONDS, counts.seconds * (1.0 / PART - 1.0))

    def _new(self, evicted: set[str]) -> int:
        """How many of these pods the candidate had not evicted in this step."""
        state = self._policy.state
        step = None if state is None else (state.id, state.step)
        if step != self._step:
            self._step, self._evicted = step, set()
        new = evicted - self._evicted
        if len(self._evicted) < MOST_EVICTED:
            self._evicted |= new
        return len(new)


def _compared(frozen: FrozenSnapshot, policy: Policy, registry: Registry) -> tuple[Counts, set[str]]:
    """What the candidate decides beside a session, and the pods that it would evict. In a thread."""
    began = thread_time()
    report, there = run_cycle(frozen.snapshot, policy, registry), frozen.report
    seconds = thread_time() - began
    evicted = {eviction.uid for eviction in report.evictions}
    alike = evicted == {eviction.uid for eviction in there.evictions} and {
        (bind.uid, bind.node) for bind in report.binds
    } == {(bind.uid, bind.node) for bind in there.binds}
    return Counts(sessions=times_of([seconds]), compared=1, alike=int(alike), seconds=seconds), evicted
