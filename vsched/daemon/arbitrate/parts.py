"""The parts of a daemon that arbitrate, put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.arbitrator.placing import Placing
from vsched.clock import Clock
from vsched.controllers.allocations import AllocationWriter
from vsched.daemon.arbitrate.admission import Admission, Review
from vsched.daemon.arbitrate.rounds import Arbiter
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.options import Options
from vsched.daemon.tasks import LongLived
from vsched.framework.registry import Registry
from vsched.mirror.cache import Cache
from vsched.web.pages.extender import extender_routes
from vsched.web.pages.webhook import webhook_routes
from vsched.web.serve.routing import Route
from vsched.writes.events import EventRecorder
from vsched.writes.evictions import Evictor
from vsched.writes.writer import Writer


class Arbitration:
    """Rounds, what is written in consequence, and what others may ask."""

    def __init__(
        self,
        options: Options,
        cache: Cache,
        evictor: Evictor,
        writer: Writer,
        events: EventRecorder,
        registry: Registry,
        clock: Clock,
        telemetry: Telemetry,
        nudge: Callable[[], None],
        idle: Callable[[], str],
        incomplete: Callable[[], str],
    ) -> None:
        self.writer = AllocationWriter(writer, events, telemetry.worry)
        placing = Placing.of(registry)
        self._admission = Admission(cache, telemetry.findings, clock, idle)
        granted = self._admission.granted
        self.arbiter = Arbiter(cache, self.writer, evictor, options.rules, placing, clock, telemetry, nudge, granted)
        self._review = Review(cache, incomplete)

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        return (LongLived("allocations", self.writer.run, "writes Consumers and Allocations", acts=True),)

    @property
    def extender_routes(self) -> Sequence[Route]:
        """What kube-scheduler asks."""
        return extender_routes(self._admission)

    @property
    def webhook_routes(self) -> Sequence[Route]:
        """What the API server asks."""
        return webhook_routes(self._review)
