"""Decisions are carried out: the mirror assumes them, and each of the parts that write is given its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vsched.controllers.gates import GateKeeper
from vsched.controllers.provisioning.controller import ProvisioningController
from vsched.controllers.sharding.nodeshards import NodeShards
from vsched.daemon.observe.telemetry import Telemetry
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.writes.bindings import Dispatcher
from vsched.writes.claims.claim_writes import ClaimWrites
from vsched.writes.evictions import Evictor
from vsched.writes.writeback import Writeback


@dataclass(frozen=True, slots=True)
class WrittenEffects:
    """The effects of a daemon that schedules: everything is written."""

    assume: Callable[[CycleReport], Iterator[None]]
    """Assumes what was decided, in steps."""
    telemetry: Telemetry
    evictor: Evictor
    dispatcher: Dispatcher
    writeback: Writeback
    claims: ClaimWrites | None = None
    """None where nobody writes about claims, so that no plan may have any."""
    gates: GateKeeper | None = None
    """None where this daemon opens no scheduling gates."""
    provisioning: ProvisioningController | None = None
    """None where this daemon asks for no nodes."""
    node_shards: NodeShards | None = None
    """None where NodeShards do not matter."""
    unserved: Callable[[Snapshot], Iterator[None]] | None = None
    """Looks for what objects state and the policy does not act on, in steps; None where nobody tells of it."""

    def assuming(self, report: CycleReport) -> Iterator[None]:
        return self.assume(report)

    def handing_over(self, snapshot: Snapshot, report: CycleReport) -> Iterator[None]:
        yield from self.telemetry.assumed(snapshot, report)
        yield from self.evictor.submitting((*report.withdrawals, *report.evictions, *report.asks_responders))
        binds = report.binds if self.claims is None else (yield from self.claims.submitting(report, snapshot))
        yield from self.dispatcher.submitting(binds)
        if self.gates is not None:
            self.gates.submit(report.ungated)
        if self.provisioning is not None:
            self.provisioning.submit(snapshot, report)
        if self.node_shards is not None:
            self.node_shards.submit(snapshot)
        if self.unserved is not None:
            yield from self.unserved(snapshot)
        yield
        yield from self.writeback.submitting(report, snapshot)

    def carried_out(self, report: CycleReport) -> CycleReport:
        return report

    def session_failed(self, snapshot: Snapshot, error: Exception) -> None:
        self.writeback.session_failed(snapshot, error)
