"""Carries out the rollout of the policy, while this process leads: looks at what is measured, says which policy is in
force, writes the state on the ConfigMap, and tells of it.

Which policy is in force changes at once; the state is written right after that, with every eviction, and once a minute
besides. After a kill, time that was not written is measured again: a step may take a minute longer, never shorter.
"""

from __future__ import annotations

import asyncio

import msgspec
import orjson

from vsched.api.resources import CONFIG_MAPS
from vsched.clock import Clock
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.policy.config_map import ATTEMPTS, PolicyMap
from vsched.daemon.policy.rollout.figures import Times, times_of
from vsched.daemon.policy.rollout.machine import (
    Advance,
    RolloutPhase,
    RolloutState,
    Said,
    advance,
    begin,
    resume,
    shadows,
)
from vsched.daemon.policy.rollout.reading import STATE, Rollout, order_in, state_in
from vsched.daemon.words import rollout as words
from vsched.kube.client import MERGE_PATCH
from vsched.model.snapshot import Snapshot
from vsched.settings.rollout import Measure
from vsched.writes.bodies import ObjectReference
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.writer import Write, Writer

LOOK_SECONDS = 5.0
WRITE_SECONDS = 60.0
_COUNTS = tuple(measure.value for measure in Measure if measure.counts)


class RolloutKeeper:
    """Owner of the state of the rollout."""

    def __init__(
        self, policy: PolicyMap, writer: Writer, events: EventRecorder, telemetry: Telemetry, clock: Clock
    ) -> None:
        self._policy = policy
        self._writer = writer
        self._events = events
        self._telemetry = telemetry
        self._clock = clock
        self._written: RolloutState | None = None
        """What is on the ConfigMap by this process."""
        self._refused: tuple[str, ...] = ()

    async def run(self) -> None:
        """Look every few seconds, and whenever the ConfigMap has changed, until cancelled."""
        await self._policy.ask()
        self._telemetry.take_measured()
        while True:
            await self._look()
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._policy.looked.wait()
            except TimeoutError:
                continue
            self._policy.looked.clear()

    async def _look(self) -> None:
        rollout = self._policy.rollout
        self._tell_refusal()
        if rollout is None:
            await self._end()
            return
        before = self._policy.state
        found = await self._next(rollout, before)
        if self._policy.rollout is not rollout:
            return  # it was edited meanwhile, and is looked at again at once
        self._policy.take(found.state)
        self._telemetry.measured_from = found.state.entered
        self._tell(found.says)
        if self._is_to_be_written(found.state):
            await self._write(found.state)

    async def _next(self, rollout: Rollout, before: RolloutState | None) -> Advance:
        """The state to come; ``before`` is None in a new process."""
        annotations = None if self._policy.found is None else self._policy.found.metadata.annotations
        if before is not None and before.id == rollout.id:
            snapshot, now = self._telemetry.findings.snapshot, self._clock.now()
            waiting = await asyncio.to_thread(_ages, snapshot, before.entered, now)
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
            return Advance(resume(written, now, rollout.spec))
        found = begin(rollout.id, now, rollout.spec)
        if before is None and written is None:
            return found
        says = tuple(Said(said.reason, words.began_anew(said.message)) for said in found.says)
        return Advance(found.state, says)

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
        standing = (written.phase, written.step, written.in_force) == (state.phase, state.step, state.in_force)
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


def _ages(snapshot: Snapshot | None, since: float, now: float) -> Times:
    """Ages of the waiting pods that were created since then."""
    if snapshot is None:
        return {}
    pending = (task for job in snapshot.jobs.values() for task in job.pending.values())
    return times_of(now - task.created for task in pending if task.created >= since)
