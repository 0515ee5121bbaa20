"""Everything for those who look closer: sights of sessions, and the pages and records made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vsched.daemon.observe.advisor import Advisor
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.observe.overviews import Picturing
from vsched.daemon.observe.recordings import Recorder
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.parts.base import Base
from vsched.daemon.tasks import LongLived
from vsched.web.overview.feed import Feed
from vsched.web.overview.streaming import picture_routes
from vsched.web.pages.divisions import with_division
from vsched.web.pages.dumps import dump_routes
from vsched.web.pages.explanations import explanation_routes
from vsched.web.pages.pods import Seen, pod_routes
from vsched.web.pages.recording import Whose
from vsched.web.pages.static import front, page_routes, read_files
from vsched.web.serve.routing import Route
from vsched.web.snapshots import FrozenSnapshot


class Showing:
    """What a daemon has for people who ask; sessions do not wait for any of it."""

    def __init__(self, base: Base, role: Callable[[], str]) -> None:
        """``role`` says what this process is for those who look on."""
        options, registry, clock, telemetry, cache = (
            base.options,
            base.registry,
            base.clock,
            base.telemetry,
            base.cache,
        )
        self.lookout = SnapshotService(base.trigger.pull, role)
        self._advisor: Advisor | None = None
        if options.advise and options.schedule:
            self._advisor = Advisor(self.lookout, registry, cache.advise, telemetry)
        whose = Whose(options.scheduler_names, options.default_queue, options.schedule)
        self.recorder = Recorder(
            options.recordings, self.lookout, whose, clock, telemetry, base.observing.binding_tries
        )
        self._dumps = dump_routes(self.lookout.look, self.recorder.ring, whose, registry)
        self._findings = telemetry.findings
        self._explanations = explanation_routes(self._look, registry, cache.unused, self.lookout.at_rest.wait)
        seen = Seen(cache.tasks_of, cache.tasks_on, lambda: cache.axis.names)
        self._pods = pod_routes(seen, telemetry.history.evictions, lambda: self._findings.pods)
        self._files = read_files()
        self._feed = Feed(clock)
        self._picturing = Picturing(
            self._feed, self.lookout, base.policy, registry, clock, telemetry, role, base.observing.pictures
        )

    @property
    def tasks(self) -> Sequence[LongLived]:
        """What runs for long."""
        says = "makes pictures of the cluster for those who watch"
        tasks = [LongLived("pictures", self._picturing.run, says)]
        tasks.append(LongLived("recordings", self.recorder.run, "packs cycles in which something looked wrong"))
        if self._advisor is not None:
            says = "finds what would let waiting jobs start"
            tasks.append(LongLived("advice", self._advisor.run, says, acts=True))
        return tasks

    @property
    def routes(self) -> Sequence[Route]:
        """What is served at ``--listen-address``."""
        looks = (*picture_routes(self._feed), *self._pods, *self._explanations)
        return (*looks, *self._dumps, *page_routes(self._files))

    def front(self, index: Route) -> Route:
        """The page for browsers, the list of paths for everybody else."""
        return front(self._files, index)

    async def positions(self) -> Mapping[str, int]:
        """The place of each waiting job in the order of its queue."""
        return await self._feed.positions()

    async def _look(self) -> FrozenSnapshot:
        return with_division(await self.lookout.look(), self._findings)

    def numbers(self) -> Numbers:
        """How many watch."""
        return {"vsched_watchers": {"": float(self._feed.watchers)}}

    def close(self) -> None:
        """Let those go who watch."""
        self._feed.close()
