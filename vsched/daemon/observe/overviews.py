"""Makes overviews of the cluster while somebody watches or asks: of sessions, in a thread, at most one a second."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from vsched.clock import Clock, monotonic
from vsched.daemon.observe.settings import OverviewSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.policy.reload import PolicyInForce
from vsched.errors import Unavailable
from vsched.explain.order import waiting_order
from vsched.framework.registry import Registry
from vsched.web.overview.assembly import Around, assemble, assemble_without_session, nothing_changed, with_number
from vsched.web.overview.deltas import OverviewDelta
from vsched.web.overview.document import Overview, PolicyRow
from vsched.web.overview.events import EventBytes, event
from vsched.web.overview.feed import OverviewFeed
from vsched.web.serve.routing import aside
from vsched.web.snapshots import DECIDING, STOPPING, FrozenSnapshot

UNHURRIED_SECONDS = 3.0
"""For so long no session is started for another overview; the timer starts one anyway."""
ANEW_SECONDS = 10.0
"""For so long an overview may stay for sessions that change nothing."""


class MadeOverview(NamedTuple):
    """An overview, and its difference from the one before: as a record and as an event."""

    overview: Overview
    change: OverviewDelta | None
    event_bytes: EventBytes | None


class OverviewSources(NamedTuple):
    """What the last overview was made of."""

    frozen: FrozenSnapshot
    around: Around
    at: float
    """Monotonic time."""

    def still_shows(self, later: OverviewSources) -> bool:
        """Whether the last overview still holds; never longer than ``ANEW_SECONDS``, as positions depend on time."""
        return (
            later.at - self.at < ANEW_SECONDS
            and self.around.besides_sessions() == later.around.besides_sessions()
            and nothing_changed(self.frozen, later.frozen)
        )


class OverviewPublisher:
    """Keeps a feed up to date."""

    def __init__(
        self,
        feed: OverviewFeed,
        snapshots: SnapshotService,
        policy: PolicyInForce,
        registry: Registry,
        clock: Clock,
        telemetry: Telemetry,
        role: Callable[[], str],
        settings: OverviewSettings,
    ) -> None:
        self._feed = feed
        self._snapshots = snapshots
        self._policy = policy
        self._registry = registry
        self._clock = clock
        self._telemetry = telemetry
        self._role = role
        """One of ``DECIDING`` where there are sessions."""
        self._settings = settings
        self._complaint = ""
        self._drawn: OverviewSources | None = None
        self._looked = -UNHURRIED_SECONDS
        """Monotonic time of the last session that was used."""

    async def run(self) -> None:
        """Make overviews until cancelled; errors are logged and end nothing else."""
        while True:
            if not self._feed.is_wanted:
                self._drawn = None
                await self._feed.wanted()
            began = monotonic()
            try:
                worked_seconds = await self._next()
            except Unavailable:
                # The session takes long; wait for the next one.
                continue
            except Exception as error:  # pods are placed without overviews, too
                self._complain(error)
                await asyncio.sleep(self._settings.pause_seconds)
                continue
            self._complaint = ""
            spent_seconds = monotonic() - began
            rest_seconds = worked_seconds * (1 / self._settings.part - 1)
            await asyncio.sleep(max(0.0, self._settings.period_seconds - spent_seconds, rest_seconds))

    async def _next(self) -> float:
        """Publish an overview of the present state; returns the seconds of work."""
        feed, role, before = self._feed, self._role(), self._feed.latest
        if role in DECIDING:
            frozen = await self._look()
            around = self._around(role)
            began = monotonic()
            made = await aside(lambda: self._draw(frozen, around, before))
            self._looked = self._clock.monotonic()
        else:
            self._drawn = None
            began = monotonic()
            around = self._around(role)
            made = self._compare(_without_sessions(around, before), before)
        if made.overview is before:
            feed.confirm(around.at)
        else:
            feed.publish(*made)
        return monotonic() - began

    async def _look(self) -> FrozenSnapshot:
        """The next session. Changes start one at once, so continuous watchers can wait for the timer."""
        if self._clock.monotonic() - self._looked < UNHURRIED_SECONDS:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(UNHURRIED_SECONDS):
                    return await self._snapshots.look(urgent=False)
        return await self._snapshots.look()

    def _draw(self, frozen: FrozenSnapshot, around: Around, before: Overview | None) -> MadeOverview:
        """Runs in a thread; it reads frozen data only."""
        seen = OverviewSources(frozen, around, self._clock.monotonic())
        if before is not None and self._drawn is not None and self._drawn.still_shows(seen):
            return MadeOverview(before, None, None)
        positions = waiting_order(frozen.snapshot, frozen.policy, self._registry).positions()
        made = self._compare(assemble(frozen, around._replace(positions=positions), before), before)
        self._drawn = seen
        return made

    def _compare(self, found: Overview, before: Overview | None) -> MadeOverview:
        overview, change = with_number(found, before)
        event_bytes = None if change is None else event("delta", self._feed.identity(overview.number), change)
        return MadeOverview(overview, change, event_bytes)

    def _around(self, role: str) -> Around:
        findings, history = self._telemetry.findings, self._telemetry.history
        arbitrated = findings.arbitrated
        return Around(
            at=round(self._clock.now(), 3),
            role=role,
            policy=policy_row(self._policy),
            sessions=history.rows(),
            bound=history.bound,
            evicted=history.evicted,
            foreign=history.foreign,
            outcomes=findings.jobs,
            awards=arbitrated.division.namespaces if arbitrated is not None else {},
            weights=arbitrated.weights if arbitrated is not None else {},
        )

    def _complain(self, error: Exception) -> None:
        """Log an error, unless it is the same as last time."""
        text = f"{type(error).__name__}: {error}"
        if text != self._complaint:
            self._complaint = text
            self._telemetry.process.overview_failed(error)


def _without_sessions(around: Around, before: Overview | None) -> Overview:
    """The overview of a daemon without sessions. One that is stopping shows the last state."""
    if around.role == STOPPING and before is not None:
        return replace(before, at=around.at, role=around.role, sessions=around.sessions, policy=around.policy)
    return assemble_without_session(around)


def policy_row(policy: PolicyInForce) -> PolicyRow:
    """The policy in force and its last reading, as overviews show them."""
    settings, last = policy.settings, policy.last
    return PolicyRow(
        generation=settings.generation,
        hash=settings.sha256,
        source=settings.source,
        actions=settings.policy.actions,
        tiers=tuple(tuple(plugin.name for plugin in tier.plugins) for tier in settings.policy.tiers),
        reloaded_at=last.at,
        ok=last.ok,
        text=last.text,
        problems=last.problems,
        rollout=policy.rollout_told(),
    )
