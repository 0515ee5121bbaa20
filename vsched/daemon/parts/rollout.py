"""Carries out the rollout of the policy, while this process leads: looks at what is measured, says which policy is in
force, writes the state on the ConfigMap, and tells of it.

Which policy is in force changes at once; the state is written right after that, with every eviction, and once a minute
besides. After a kill, time that was not written is measured again: a step may take a minute longer, never shorter.

Of several daemons that each decide for some shards, the one that has the shard of the rollout carries it out, and the
candidate is in force while it has no other. The others follow what is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import copy

import msgspec
import orjson

from vsched.api.resources import CONFIG_MAPS
from vsched.clock import Clock
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.parts.shard_mirror import ShardMirror
from vsched.daemon.policy.config_map import ATTEMPTS, PolicyMap
from vsched.daemon.policy.rollout.figures import Times, times_of
from vsched.daemon.policy.rollout.machine import (
    Advance,
    RolloutPhase,
    RolloutState,
    Said,
    advance,
    begin,
    followed,
    moved,
    resume,
    shadows,
)
from vsched.daemon.policy.rollout.reading import STATE, Rollout, order_in, state_in
from vsched.daemon.words import rollout as words
from vsched.kube.client import MERGE_PATCH
from vsched.mirror.sharding import ShardDivision
from vsched.model.snapshot import Snapshot
from vsched.settings.rollout import Measure
from vsched.writes.bodies import ObjectReference
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.writer import Write, Writer

LOOK_SECONDS = 5.0
WRITE_SECONDS = 60.0
_STANDING = ("phase", "step", "in_force", "alone")
_COUNTS = tuple(measure.value for measure in Measure if measure.counts)


class RolloutKeeper:
    """Owner of the state of the rollout."""

    def __init__(
        self,
        policy: PolicyMap,
        writer: Writer,
        events: EventRecorder,
        telemetry: Telemetry,
        clock: Clock,
        shards: ShardMirror | None,
    ) -> None:
        """``shards`` is None where this daemon decides for the whole cluster."""
        self._policy = policy
        self._writer = writer
        self._events = events
        self._telemetry = telemetry
        self._clock = clock
        self._shards = shards
        self._keeps = False
        """Whether this daemon carried it out at the look before."""
        self._looking = asyncio.Lock()
        if shards is not None:
            shards.on_moved.add(self._moved)
        self._written: RolloutState | None = None
        """What is on the ConfigMap by this process."""
        self._refused: tuple[str, ...] = ()

    async def run(self) -> None:
        """Look every few seconds, and whenever the ConfigMap has changed, until cancelled."""
        while True:
            async with self._looking:
                await self._look()
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._policy.looked.wait()
            except TimeoutError:
                continue
            self._policy.looked.clear()

    async def settle(self) -> None:
        """Wait until nothing is written any more for a shard that is being given back."""
        async with self._looking:
            pass

    def _moved(self) -> None:
        """A session is about to decide for other shards."""
        rollout, state = self._policy.rollout, self._policy.state
        if rollout is not None and state is not None and self._keeps:
            self._policy.take(moved(state, self._clock.now(), alone=self._is_alone(rollout)))
        self._policy.looked.set()

    def _is_ours(self, rollout: Rollout | None) -> bool:
        """Whether this daemon carries it out; that of the first shard takes off what is left of one before."""
        shard = None if rollout is None else rollout.spec.shard
        return self._shards is None or self._shards.keeps(shard or 0)

    def _is_alone(self, rollout: Rollout) -> bool:
        return self._shards is None or self._shards.held == {rollout.spec.shard}

    async def _look(self) -> None:
        if not self._is_ours(self._policy.rollout):
            self._keeps = False
            written = state_in(self._annotations())
            self._policy.take(None if written is None else followed(written))
            return
        is_new = not self._keeps
        if is_new:
            await self._policy.ask()  # another process may have written it
        rollout = self._policy.rollout
        self._keeps = self._is_ours(rollout)
        if not self._keeps:
            return
        self._tell_refusal()
        if rollout is None:
            await self._end()
            return
        before = None if is_new else self._policy.state
        found = await self._next(rollout, before)
        if self._policy.rollout is not rollout:
            return  # it was edited meanwhile, and is looked at again at once
        state = moved(found.state, self._clock.now(), alone=self._is_alone(rollout))
        self._policy.take(state)
        self._telemetry.measured_from = state.entered
        self._tell(found.says)
        if self._is_to_be_written(state):
            await self._write(state)

    async def _next(self, rollout: Rollout, before: RolloutState | None) -> Advance:
        """The state to come; ``before`` is None in a new process."""
        annotations, alone = self._annotations(), self._is_alone(rollout)
        if before is not None and before.id == rollout.id:
            snapshot, now = self._telemetry.findings.snapshot, self._clock.now()
            before = moved(before, now, alone=alone)
            division = None if self._shards is None else copy(self._shards.division)
            waiting = await asyncio.to_thread(_ages, snapshot, before.entered, now, division, rollout.spec.shard)
            counts, beside = self._telemetry.take_measured(), self._telemetry.take_shadowed()
            if shadows(before, rollout.spec):
                counts, waiting = beside, {}
            order = order_in(annotations, rollout.id)
            return advance(before, now, counts, waiting, rollout.spec, order)
        self._telemetry.take_measured()
        written, now = state_in(annotations), self._clock.now()
        is_known = written is not None and written.id == rollout.id and 0 <= written.step < len(rollout.spec.steps)
        if before is None and written is not None and is_known:
            self._written = written
            return Advance(resume(moved(written, now, alone=alone), now, rollout.spec))
        found = begin(rollout.id, now, rollout.spec, alone=alone)
        if before is None and written is None:
            return found
        says = tuple(Said(said.reason, words.began_anew(said.message)) for said in found.says)
        return Advance(found.state, says)

    def _annotations(self) -> Mapping[str, str] | None:
        return None if self._policy.found is None else self._policy.found.metadata.annotations

    def _tell_refusal(self) -> None:
        problems, self._refused = self._refused, self._policy.rollout_problems
        if self._refused and self._refused != problems:
            self._tell((Said("RolloutRefused", "; ".join(self._refused), is_warning=True),))

    async def _end(self) -> None:
        """There is none, or it is refused: the policy of its own key is in force, and no state is left."""
        found = self._policy.found
        known = self._policy.state is not None
        self._policy.take(None)
        if found is None or (not known and STATE not in (found.metadata.annotations or {})):
            return
        if not self._policy.rollout_problems:
            self._tell((Said("RolloutEnded", words.ENDED),))
        await self._write(None)

    def _tell(self, says: tuple[Said, ...]) -> None:
        found = self._policy.found
        for said in says:
            log = self._telemetry.worry if said.is_warning else self._telemetry.note
            log(words.LOGGED, reason=said.reason, message=said.message)
            if found is not None:
                at = found.metadata
                about = ObjectReference("v1", "ConfigMap", at.namespace, at.name, at.uid)
                self._events.record(about, WARNING if said.is_warning else NORMAL, said.reason, said.message)

    def _is_to_be_written(self, state: RolloutState) -> bool:
        written = self._written
        if written is None or written.id != state.id:
            return True
        standing = all(getattr(written, name) == getattr(state, name) for name in _STANDING)
        counted = any(state.figures.get(measure) != written.figures.get(measure) for measure in _COUNTS)
        return counted or not standing or state.clock >= written.clock + WRITE_SECONDS

    async def _write(self, state: RolloutState | None) -> None:
        """Write it on the ConfigMap; what could not be written is tried again with the next look."""
        found = self._policy.found
        if found is None:
            return
        metadata = found.metadata
        text = None if state is None else msgspec.json.encode(state).decode()
        body = orjson.dumps({"metadata": {"uid": metadata.uid, "annotations": {STATE: text}}})
        path = CONFIG_MAPS.path(metadata.namespace, metadata.name)
        result = await self._writer.send(Write("configmap", "PATCH", path, body, MERGE_PATCH), ATTEMPTS)
        if result.done:
            self._written = state
        else:
            self._telemetry.worry(words.WRITE_FAILED, code=result.code, problem=result.message)


def numbers_of(state: RolloutState | None) -> Numbers:
    """The state, for metrics; None where there is no rollout."""
    phase = None if state is None else state.phase
    begun = state is not None and phase is not RolloutPhase.BASELINE
    return {
        "vsched_rollout_step": {"": float(state.step + 1 if state is not None and begun else 0)},
        "vsched_rollout_in_force": {"": float(state is not None and state.in_force)},
        "vsched_rollout_held": {"": float(phase is RolloutPhase.HELD)},
        "vsched_rollout_taken_back": {"": float(phase is RolloutPhase.TAKEN_BACK)},
    }


def _ages(
    snapshot: Snapshot | None, since: float, now: float, division: ShardDivision | None, shard: int | None
) -> Times:
    """Ages of the waiting pods, of the shard where there is one, that were created since then."""
    if snapshot is None:
        return {}
    queues = snapshot.queues
    jobs = (job for job in snapshot.jobs.values() if not division or division.shard_of_job(job, queues) == shard)
    pending = (task for job in jobs for task in job.pending.values())
    return times_of(now - task.created for task in pending if task.created >= since)
