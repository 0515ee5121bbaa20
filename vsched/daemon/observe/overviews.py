"""Makes pictures of the cluster while anybody watches or asks: of sessions, in a thread, one a second at most."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from vsched.clock import Clock
from vsched.daemon.observe.settings import PictureSettings
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.telemetry import Telemetry
from vsched.daemon.policy.reload import PolicyInForce
from vsched.errors import Unavailable
from vsched.explain.order import waiting_order
from vsched.framework.registry import Registry
from vsched.web.overview.assembly import Around, bare_picture, following, nothing_changed, picture
from vsched.web.overview.deltas import Delta
from vsched.web.overview.document import Overview, PolicyRow
from vsched.web.overview.events import Piece, event
from vsched.web.overview.feed import Feed
from vsched.web.serve.routing import aside
from vsched.web.snapshots import LEADER, STOPPING, FrozenSnapshot

UNHURRIED_SECONDS = 3.0
"""So long nobody has a session held for another picture: the timer will."""
ANEW_SECONDS = 10.0
"""So long a picture may serve for sessions that change nothing."""


class Made(NamedTuple):
    """A picture, and how it differs from the one before: as a record and as an event."""

    overview: Overview
    change: Delta | None
    told: Piece | None


class Drawn(NamedTuple):
    """What the last picture was made of."""

    sight: FrozenSnapshot
    around: Around
    at: float
    """On the steady clock."""

    def still_shows(self, later: Drawn) -> bool:
        """Whether there is nothing to draw anew. Now and then there is anyway: places also go by the time."""
        return (
            later.at - self.at < ANEW_SECONDS
            and self.around.besides_sessions() == later.around.besides_sessions()
            and nothing_changed(self.sight, later.sight)
        )


class Picturing:
    """Keeps a feed up to date."""

    def __init__(
        self,
        feed: Feed,
        lookout: SnapshotService,
        policy: PolicyInForce,
        registry: Registry,
        clock: Clock,
        telemetry: Telemetry,
        role: Callable[[], str],
        settings: PictureSettings | None = None,
    ) -> None:
        self._feed = feed
        self._lookout = lookout
        self._policy = policy
        self._registry = registry
        self._clock = clock
        self._telemetry = telemetry
        self._role = role
        """``leader`` where sessions are held; any other word where there is nothing to look at."""
        self._settings = settings or PictureSettings()
        self._complaint = ""
        self._drawn: Drawn | None = None
        self._looked = -UNHURRIED_SECONDS
        """When a session was looked at last, on the steady clock."""

    async def run(self) -> None:
        """Make pictures until cancelled; whatever goes wrong with one must not end anything else."""
        while True:
            if not self._feed.is_wanted:
                self._drawn = None
                await self._feed.wanted()
            began = time.monotonic()
            try:
                worked_seconds = await self._next()
            except Unavailable:
                # The session that was waited for takes its time; the next one will do.
                continue
            except Exception as error:  # the supervisor: nobody has to see anything for pods to be placed
                self._complain(error)
                await asyncio.sleep(self._settings.pause_seconds)
                continue
            self._complaint = ""
            spent_seconds = time.monotonic() - began
            rest_seconds = worked_seconds * (1 / self._settings.part - 1)
            await asyncio.sleep(max(0.0, self._settings.period_seconds - spent_seconds, rest_seconds))

    async def _next(self) -> float:
        """Publish a picture of how things are now; how long the work on it took."""
        feed, role, before = self._feed, self._role(), self._feed.latest
        if role == LEADER:
            sight = await self._look()
            around = self._around(role)
            began = time.monotonic()
            made = await aside(lambda: self._draw(sight, around, before))
            self._looked = self._clock.monotonic()
        else:
            self._drawn = None
            began = time.monotonic()
            around = self._around(role)
            made = self._compare(_without_sessions(around, before), before)
        if made.overview is before:
            feed.confirm(around.at)
        else:
            feed.publish(*made)
        return time.monotonic() - began

    async def _look(self) -> FrozenSnapshot:
        """The next session. Whatever changes has one at once, so those who go on watching can wait for the timer."""
        if self._clock.monotonic() - self._looked < UNHURRIED_SECONDS:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(UNHURRIED_SECONDS):
                    return await self._lookout.look(urgent=False)
        return await self._lookout.look()

    def _draw(self, sight: FrozenSnapshot, around: Around, before: Overview | None) -> Made:
        """In a thread: touches nothing that changes."""
        seen = Drawn(sight, around, self._clock.monotonic())
        if before is not None and self._drawn is not None and self._drawn.still_shows(seen):
            return Made(before, None, None)
        positions = waiting_order(sight.snapshot, sight.policy, self._registry).positions()
        made = self._compare(picture(sight, around._replace(positions=positions), before), before)
        self._drawn = seen
        return made

    def _compare(self, found: Overview, before: Overview | None) -> Made:
        overview, change = following(found, before)
        told = None if change is None else event("delta", self._feed.identity(overview.number), change)
        return Made(overview, change, told)

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
        """Once for as long as it stays the same."""
        text = f"{type(error).__name__}: {error}"
        if text != self._complaint:
            self._complaint = text
            self._telemetry.picture_failed(error)


def _without_sessions(around: Around, before: Overview | None) -> Overview:
    """Of a daemon that holds none: one that is about to stop still shows how it left things."""
    if around.role == STOPPING and before is not None:
        return replace(before, at=around.at, role=around.role, sessions=around.sessions, policy=around.policy)
    return bare_picture(around)


def policy_row(policy: PolicyInForce) -> PolicyRow:
    """The policy in force and the last reading, as pictures show them."""
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
    )
