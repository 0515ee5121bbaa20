"""Everything that is written about claims: gangs that need some, and claims that are given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence

from vsched import api
from vsched.clock import Clock
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.model.plan import Bind, CycleReport
from vsched.model.snapshot import Snapshot
from vsched.writes.bindings import Dispatcher
from vsched.writes.claims.holds import HeldObjects
from vsched.writes.claims.releases import Releases
from vsched.writes.claims.settling import Settling
from vsched.writes.claims.transactions import (
    GangTransactions,
    TransactionReports,
    TransactionSettings,
)
from vsched.writes.writer import Writer

IN_FLIGHT = 16
"""Reads and writes of claims on the wire at once; bindings have their own bound."""


class ClaimWrites:
    """Takes the decisions of each cycle about claims."""

    def __init__(
        self,
        client: ApiClient,
        writer: Writer,
        dispatcher: Dispatcher,
        mirror: Mirror,
        clock: Clock,
        reports: TransactionReports,
        bind_seconds: Callable[[], float],
        settings: TransactionSettings,
    ) -> None:
        """``bind_seconds`` is how long volumes and devices may take, by the policy in force."""

        def written(kind: str, body: bytes) -> None:
            # The next session must not count on what was taken back, nor take it for missing, until the watch shows it.
            mirror.intake.written(kind, api.read(kind, body))

        settling, holds = Settling(client, writer, IN_FLIGHT, settings.attempts, written), HeldObjects()
        self.gangs = GangTransactions(settling, holds, dispatcher, mirror, clock, reports, bind_seconds, settings)
        self.releases = Releases(settling, holds, mirror)

    def submitting(self, report: CycleReport, snapshot: Snapshot) -> Generator[None, None, Sequence[Bind]]:
        """Take what concerns claims, a gang a step; returns the placements that need none. The snapshot is the cycle's.

        Other tasks may run between the steps.
        """
        self.releases.submit(report.released, snapshot)
        return (yield from self.gangs.submitting(report.binds, snapshot))

    async def run(self) -> None:
        """Write what is submitted, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.gangs.run(), name="gangs with claims")
            group.create_task(self.releases.run(), name="releases of claims")

    def leave(self, concerns: Callable[[Bind], bool]) -> None:
        """Give up the gangs that wait and have such a placement: another daemon decides from now on."""
        self.gangs.leave(concerns)

    def answered_again(self) -> None:
        """The API server answers again: gangs and claims that wait for another try have it at once."""
        self.gangs.backoff.release()
        self.releases.backoff.release()

    async def drain(self, deadline_seconds: float) -> int:
        """Finish what is under way; gangs that wait for volumes are left to the next daemon. Counts what is left."""
        return await self.gangs.drain(deadline_seconds)

    def numbers(self) -> Mapping[str, Mapping[str, float]]:
        """For metrics: by name, then by the only label."""
        return {
            "vsched_gang_phases": {phase: float(count) for phase, count in self.gangs.phases().items()},
            "vsched_gang_transactions_total": {result: float(n) for result, n in self.gangs.results.items()},
            "vsched_claim_releases_total": {result: float(n) for result, n in self.releases.results.items()},
        }
