"""The page over pictures that no daemon made, by way of the daemon's own routes and stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from random import Random
from time import monotonic

from aiohttp import web

from tests.support.plans import NOW, mirror
from tests.web.page.fleets import fleet, later
from vsched.clock import SystemClock
from vsched.controllers.provisioning.shown import AutoscalingShown
from vsched.model.snapshot import Snapshot
from vsched.shadow.summary import Comparing, summed
from vsched.web.evictions import Evictions
from vsched.web.overview.deltas import delta
from vsched.web.overview.document import Overview
from vsched.web.overview.events import event
from vsched.web.overview.feed import OverviewFeed
from vsched.web.overview.share_history import ShareHistory
from vsched.web.overview.streaming import overview_routes
from vsched.web.pages.autoscaling import autoscaling_route
from vsched.web.pages.devices import device_route
from vsched.web.pages.pods import MirrorView, pod_routes
from vsched.web.pages.queue_history import queue_history_route
from vsched.web.pages.shadow import shadow_route
from vsched.web.pages.static import front, page_routes, read_files
from vsched.web.serve.access import Access
from vsched.web.serve.routing import Route, as_json
from vsched.web.serve.server import serving

NOTHING_ASKED = AutoscalingShown(asks=False)
NOTHING_COMPARED = summed([]).shown()
NOTHING_HELD = mirror([]).snapshot(NOW)


class Going:
    """Pictures that go on, one a second, and how many bytes each took."""

    def __init__(self, nodes: int, jobs: int) -> None:
        self.feed = OverviewFeed(SystemClock())
        self.now = fleet(nodes, jobs)
        self._random = Random(5)
        self.whole = len(event("overview", "x", self.now).deflated)
        self.plain = len(event("overview", "x", self.now).plain)
        self.updates: list[int] = []
        self.still = False
        """Whether nothing changes any more: the picture stays as it is, and is a fresh one."""
        self.feed.publish(self.now, None, None)

    def show(self, found: Overview) -> None:
        """Go on from another picture."""
        self.now = found
        self.feed.publish(found, None, None)

    async def run(self) -> None:
        before = began = monotonic()
        for second in count(1):
            # At an even pace, however long each takes: the page tells how many there are a second.
            await asyncio.sleep(began + second - monotonic())
            if self.still:
                self.feed.confirm()
                continue
            since, before = before, monotonic()
            after = later(self._random, self.now, seconds=before - since)
            change = delta(self.now, after)
            told = event("delta", self.feed.identity(after.number), change)
            self.updates.append(len(told.deflated))
            self.feed.publish(after, change, told)
            self.now = after


@asynccontextmanager
async def pictured(
    going: Going,
    address: str = "127.0.0.1:0",
    access: Access | None = None,
    shares: ShareHistory | None = None,
    autoscaling: AutoscalingShown = NOTHING_ASKED,
    holding: Snapshot = NOTHING_HELD,
    comparing: Comparing = NOTHING_COMPARED,
) -> AsyncIterator[str]:
    """The page over these pictures and shares over time, where it is."""
    files = read_files()
    nobody = pod_routes(MirrorView(lambda key: None, lambda node: None, list, str), Evictions(), dict)
    past, asked = queue_history_route(shares or ShareHistory()), autoscaling_route(lambda: autoscaling)
    pictures = (*overview_routes(going.feed), *nobody, past, asked, device_route(lambda: holding))
    pictures = (*pictures, shadow_route(lambda: comparing, None))
    routes: Sequence[Route] = [front(files, Route("/", _nothing, "")), *page_routes(files), *pictures]
    async with serving(routes, address, "--listen-address", access=access) as port:
        turning = asyncio.create_task(going.run())
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            turning.cancel()
            going.feed.close()
            with suppress(asyncio.CancelledError):
                await turning  # what went wrong with it is to be heard of


async def _nothing(_: web.Request) -> web.StreamResponse:
    return as_json({})
