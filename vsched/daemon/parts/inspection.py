"""The parts by which people inspect a daemon: frozen snapshots, pages, overviews, recordings and advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from vsched.daemon.observe.advisor import Advisor
from vsched.daemon.observe.candidate import CandidateShadow
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.observe.overviews import OverviewPublisher
from vsched.daemon.observe.recordings import Recorder
from vsched.daemon.observe.snapshots import SnapshotService
from vsched.daemon.observe.verifier import Verifier
from vsched.daemon.parts.base import Base
from vsched.daemon.policy.config_map import PolicyMap
from vsched.daemon.tasks import LongLived
from vsched.daemon.words import rollout as rollout_words
from vsched.daemon.words import tasks as words
from vsched.model.frozen import frozen_history
from vsched.web.findings import with_division
from vsched.web.overview.feed import OverviewFeed
from vsched.web.overview.streaming import overview_routes
from vsched.web.pages.devices import device_route
from vsched.web.pages.dumps import dump_routes
from vsched.web.pages.explanations import Elsewhere, explanation_routes
from vsched.web.pages.pods import MirrorView, pod_routes
from vsched.web.pages.profile import profile_route
from vsched.web.pages.queue_history import queue_history_route
from vsched.web.pages.recording import Whose
from vsched.web.pages.static import front, page_routes, read_files
from vsched.web.pages.usage_history import usage_history_route
from vsched.web.serve.routing import Route
from vsched.web.snapshots import FrozenSnapshot


class Inspection:
    """Serves what people ask for. Sessions do not wait for it."""

    def __init__(
        self,
        base: Base,
        role: Callable[[], str],
        elsewhere: Elsewhere,
        unmade: Elsewhere,
        uncreated: Elsewhere,
    ) -> None:
        """``role`` is the role of this process, as overviews show it; ``elsewhere`` says what others decide about,
        ``unmade`` why a vcjob has no PodGroup, ``uncreated`` why its pods cannot be created.
        """
        options, registry, clock, telemetry, mirror = (
            base.options,
            base.registry,
            base.clock,
            base.telemetry,
            base.mirror,
        )
        self.snapshots = SnapshotService(base.trigger.pull, role)
        self._advisor: Advisor | None = None
        if options.advise and options.schedule:
            self._advisor = Advisor(self.snapshots, registry, mirror.inputs.advise, telemetry, base.observing.advice)
        whose = Whose(options.scheduler_names, options.default_queue, options.schedule)
        self.recorder = Recorder(
            options.recordings, self.snapshots, whose, clock, telemetry, base.observing.binding_tries
        )
        self._verifier: Verifier | None = None
        if options.verify and options.schedule:
            bounds = base.observing.verifying
            self._verifier = Verifier(options.verify, self.snapshots, self.recorder, telemetry, bounds)
        self._shadow: CandidateShadow | None = None
        if options.schedule and isinstance(base.policy, PolicyMap):
            arbitrates = options.arbitrate
            self._shadow = CandidateShadow(base.policy, self.snapshots, registry, telemetry, arbitrates=arbitrates)
        self._dumps = dump_routes(self.snapshots.look, self.recorder.ring, whose, registry)
        self._findings = telemetry.findings
        at_rest = self.snapshots.at_rest.wait
        self._explanations = explanation_routes(
            self._look, registry, mirror.unused, at_rest, elsewhere=elsewhere, unmade=unmade, uncreated=uncreated
        )
        seen = MirrorView(mirror.tasks_of, mirror.tasks_on, lambda: mirror.axis.names, mirror.called)
        self._pods = pod_routes(seen, telemetry.history.evictions, lambda: self._findings.pods)
        self._devices = device_route(lambda: self._findings.snapshot)
        self._histories = (
            usage_history_route(lambda: frozen_history(mirror.history.publish())),
            queue_history_route(telemetry.shares),
        )
        self._files = read_files()
        self._feed = OverviewFeed(clock)
        self._publisher = OverviewPublisher(
            self._feed, self.snapshots, base.policy, registry, clock, telemetry, role, base.observing.pictures
        )

    @property
    def tasks(self) -> Sequence[LongLived]:
        """What runs for long."""
        says = words.PICTURES
        tasks = [LongLived("pictures", self._publisher.run, says)]
        tasks.append(LongLived("recordings", self.recorder.run, words.RECORDINGS))
        if self._advisor is not None:
            says = words.ADVICE
            tasks.append(LongLived("advice", self._advisor.run, says, acts=True))
        if self._shadow is not None:
            tasks.append(LongLived("candidate", self._shadow.run, rollout_words.SHADOWS, acts=True))
        if self._verifier is not None:
            tasks.append(LongLived("checks", self._verifier.run, words.CHECKS, acts=True))
        return tasks

    @property
    def routes(self) -> Sequence[Route]:
        """What is served at ``--listen-address``."""
        looks = (*overview_routes(self._feed), *self._histories, *self._pods, self._devices, *self._explanations)
        return (*looks, *self._dumps, profile_route(), *page_routes(self._files))

    def front(self, index: Route) -> Route:
        """The page for browsers, the list of paths for everybody else."""
        return front(self._files, index)

    async def positions(self) -> Mapping[str, int]:
        """The place of each waiting job in the order of its queue."""
        return await self._feed.positions()

    async def _look(self) -> FrozenSnapshot:
        return with_division(await self.snapshots.look(), self._findings)

    def numbers(self) -> Numbers:
        """The number of watchers of overviews, for metrics."""
        return {"vsched_watchers": {"": float(self._feed.watchers)}}

    def close(self) -> None:
        """End the streams of all watchers."""
        self._feed.close()
