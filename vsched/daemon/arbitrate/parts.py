"""The parts of a daemon that arbitrate, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.arbitrator.taking.placing import Placing
from vsched.controllers.allocations import AllocationWriter
from vsched.daemon.arbitrate.admission import Admission, Review
from vsched.daemon.arbitrate.rounds import Arbiter, ArbitrationWrites, with_granted
from vsched.daemon.arbitrate.sharing import Alone, Sharing, Together
from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.parts.base import Base
from vsched.daemon.parts.write_path import WritePath
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import tasks as words
from vsched.model.snapshot import Snapshot
from vsched.web.pages.extender import extender_routes
from vsched.web.pages.webhook import webhook_routes
from vsched.web.serve.routing import Route


class ArbitrationService:
    """Rounds, what is written in consequence, and what others may ask."""

    def __init__(self, base: Base, writes: WritePath, incomplete: Callable[[], str]) -> None:
        self.writer = AllocationWriter(writes.writer, writes.events, base.telemetry.worry)
        self._admission = Admission(base.mirror, base.telemetry.findings, base.clock, base.idle)
        self._sharing = sharing = _sharing(base, writes)
        self._arbiter = Arbiter(
            base.mirror,
            ArbitrationWrites(self.writer, writes.evictor),
            base.options.rules,
            lambda: Placing.of(base.registry, base.policy_of_sessions()),
            base.clock,
            base.telemetry,
            base.trigger.pull,
            sharing,
        )
        self._review = Review(base.mirror, incomplete)

    async def arbitrate(self, snapshot: Snapshot) -> Snapshot:
        """Divide the cluster if it is time to; what other schedulers' admitted pods use counts until it is watched."""
        divided = await self._arbiter.arbitrate(snapshot)
        return self._sharing.in_turn(with_granted(divided, self._admission.granted()))

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        return (LongLived("allocations", self.writer.run, words.ALLOCATIONS, acts=True),)

    @property
    def extender_routes(self) -> Sequence[Route]:
        """What kube-scheduler asks."""
        return extender_routes(self._admission)

    @property
    def webhook_routes(self) -> Sequence[Route]:
        """What the API server asks."""
        return webhook_routes(self._review)


def _sharing(base: Base, writes: WritePath) -> Sharing:
    if writes.shards is None or not isinstance(base.election, ShardElection):
        return Alone(base.mirror)
    return Together(writes.shards, base.election)
