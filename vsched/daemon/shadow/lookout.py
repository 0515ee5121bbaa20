"""Compares what a shadow decides with what happens on the cluster, and keeps what is found: in sums, and in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from vsched import api
from vsched.api.base import ObjectCondition
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.shadow.segments import FindingLog
from vsched.daemon.words import shadow as words
from vsched.kube.watch.deltas import BrokenObject, Delta
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.shadow.comparing import ShadowComparison
from vsched.shadow.findings import Finding, Interval, ShadowBegan
from vsched.shadow.summary import Comparing, Summary

FLUSH_SECONDS = 1.0
PENDING_MAX = 50_000
"""So many findings wait to be written; further ones are lost, and counted."""
BY_SCHEDULERS = ("PreemptionByScheduler", "EvictionByEvictionAPI")
"""Reasons of the condition ``DisruptionTarget`` of pods that were evicted on purpose."""


class Lookout:
    """The effects of a daemon that writes nothing: decisions are compared, and nothing else becomes of them."""

    def __init__(
        self,
        began: ShadowBegan,
        comparison: ShadowComparison,
        summary: Summary,
        telemetry: Telemetry,
        log: FindingLog | None,
    ) -> None:
        """``summary`` has what the log had before; ``began`` is the first finding."""
        self.comparison, self.summary = comparison, summary
        self._telemetry, self._log = telemetry, log
        self._pending: list[Finding] = []
        self._lost = 0
        self._failed = False
        """Whether the last attempt to write failed."""
        self._began = began
        self._keep([began])

    # -- what becomes of decisions

    def assuming(self, report: CycleReport) -> Iterator[None]:
        """Nothing is assumed: the next session sees what the scheduler in charge has done."""
        return iter(())

    def handing_over(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        found: list[Finding] = []
        yield from self.comparison.taking(snapshot, report, found)
        self._keep(found)

    def carried_out(self, report: CycleReport) -> CycleReport:
        return replace(
            report,
            binds=(),
            evictions=(),
            nominations=(),
            ungated=(),
            withdrawals=(),
            asks_responders=(),
            released=(),
        )

    def session_failed(self, snapshot: Snapshot, error: Exception) -> None:
        """There is nobody to tell on the cluster; it is logged."""

    # -- what is kept

    def go_on(self, began: ShadowBegan) -> None:
        """The policy was read again: the comparison is about this from now on."""
        if began.policy != self._began.policy:
            self._began = began
            self._keep([began])

    def _keep(self, found: list[Finding]) -> None:
        for one in found:
            self.summary.add(one)
        if self._log is None:
            return
        room = PENDING_MAX - len(self._pending)
        self._pending += found[:room]
        self._lost += max(0, len(found) - room)

    async def run(self) -> None:
        """Write the log until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what waits to be written; what cannot be written waits."""
        if self._log is None or not self._pending:
            return
        findings, self._pending = self._pending, []
        try:
            self._lost += await asyncio.to_thread(self._log.append, findings)
        except OSError as error:
            self._pending = [*findings, *self._pending][:PENDING_MAX]
            if not self._failed:
                self._failed = True
                self._telemetry.worry(words.NOT_LOGGED, problem=error.strerror)
            return
        if self._failed:
            self._failed = False
            self._telemetry.note(words.LOGGED_AGAIN)

    async def end(self) -> None:
        """The last session was compared: what is left is written."""
        self._keep([self.comparison.end()])
        await self.flush()
        if self._log is not None:
            self._log.close()

    # -- what is shown

    @property
    def so_far(self) -> Interval:
        """The interval that is under way."""
        return self.comparison.sums.so_far()

    def shown(self) -> Comparing:
        """The findings until now."""
        return self.summary.shown(self.so_far)

    def numbers(self) -> Numbers:
        """For metrics."""
        summary, comparison = self.summary, self.comparison
        so_far = self.so_far
        idle = {name: summary.idle.get(name, 0.0) + so_far.idle.get(name, 0.0) for name in summary.idle | so_far.idle}
        log = {} if self._log is None else {"vsched_shadow_log_bytes": {"": float(self._log.size)}}
        return {
            "vsched_shadow_gangs": {
                "waiting": float(comparison.waiting),
                "starting": float(len(comparison.starting)),
                "partial": float(len(comparison.partial(so_far.at))),
            },
            "vsched_shadow_starts_total": {name: float(count) for name, count in summary.starts.items()},
            "vsched_shadow_later_seconds_total": {"": summary.later_seconds},
            "vsched_shadow_would_evict_pods_total": {"": float(summary.would_evict_pods)},
            "vsched_shadow_evictions_total": {
                "in-vain": float(summary.in_vain),
                "other": float(summary.evictions - summary.in_vain),
            },
            "vsched_shadow_partial_gangs_total": {"": float(summary.partials)},
            "vsched_shadow_idle_node_seconds_total": idle,
            "vsched_shadow_queue_share": {name: share for name, (share, _) in comparison.sums.shares.items()},
            "vsched_shadow_lost_findings_total": {"": float(self._lost)},
            **log,
        }


class EvictionMarks:
    """A sink beside the mirror's: tells which pods are evicted by their conditions."""

    def __init__(self, mark: Callable[[str], None]) -> None:
        self._mark = mark

    def restart(self) -> None:
        """A list shows what is there."""

    def include(self, item: api.Object) -> None:
        self._see(item)

    def finish(self, resource_version: str) -> Iterator[None]:
        return iter(())

    def apply(self, delta: Delta, item: api.Object) -> None:
        self._see(item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """The reflector counts it."""

    def _see(self, item: api.Object) -> None:
        if isinstance(item, api.Pod) and item.spec.node_name and any(map(_evicts, item.status.conditions or ())):
            self._mark(item.metadata.uid)


def _evicts(condition: ObjectCondition) -> bool:
    """Whether a condition says that its pod is evicted; Volcano says it by the readiness."""
    if condition.type == "DisruptionTarget":
        return condition.status == "True" and condition.reason in BY_SCHEDULERS
    return condition.type == "Ready" and condition.status == "False" and condition.reason == "Evict"
