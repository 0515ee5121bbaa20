"""Collects node usage from the source that the policy in force names, and passes every reading to the mirror."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple

from vsched.clock import Clock
from vsched.collectors.make import make_source
from vsched.collectors.poll import Poller, PollSettings, SourceState, numbers_of
from vsched.collectors.source import NodeTarget
from vsched.kube.client import ApiClient
from vsched.mirror.mirror import Mirror
from vsched.model.amounts.resources import CPU, MEMORY, Amounts
from vsched.model.nodes.table import NodeAttributes
from vsched.settings import Settings
from vsched.settings.metrics import MetricsSource
from vsched.settings.reach import Reach


class WantedUsage(NamedTuple):
    """What the policy in force asks for."""

    metrics: MetricsSource | None
    periods: tuple[str, ...]


class UsageCollector:
    """Keeps one poller running while the policy describes a source."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        client: ApiClient,
        mirror: Mirror,
        clock: Clock,
        on_state: Callable[[SourceState], None],
        reach: Reach,
    ) -> None:
        self._reach = reach
        """The Secrets and files that may be used to log in at the source."""
        self._settings = settings
        self._client = client
        self._mirror = mirror
        self._clock = clock
        self._on_state = on_state
        """Called when the state of the source changes."""
        self._changed = asyncio.Event()
        self._state: SourceState | None = None

    def nudge(self) -> None:
        """The policy may have changed."""
        self._changed.set()

    async def run(self, listed: asyncio.Event) -> None:
        """Collect until cancelled, once the nodes are listed."""
        await listed.wait()
        while True:
            wanted = self._wanted()
            async with asyncio.TaskGroup() as group:
                polling = group.create_task(self._poll(wanted), name="usage source")
                while self._wanted() == wanted:
                    self._changed.clear()
                    await self._changed.wait()
                polling.cancel()

    def to_dict(self) -> Mapping[str, object]:
        """For ``/readyz``; empty where nothing is collected."""
        return {} if self._state is None else self._state.to_dict(self._clock.now())

    def numbers(self) -> Mapping[str, Mapping[str, float]]:
        """For metrics; empty where nothing is collected."""
        return {} if self._state is None else numbers_of(self._state, self._clock.now())

    def _wanted(self) -> WantedUsage:
        settings = self._settings()
        return WantedUsage(settings.metrics, settings.policy.usage_periods())

    async def _poll(self, wanted: WantedUsage) -> None:
        before, self._state = self._state, None
        source = None if wanted.metrics is None else make_source(wanted.metrics, self._client, self._clock, self._reach)
        if source is None or wanted.metrics is None:
            if before is not None:
                self._mirror.inputs.use(None)
            return
        label = wanted.metrics.node_label
        poller = Poller(
            source,
            PollSettings(wanted.metrics.interval, wanted.metrics.timeout),
            lambda: [target_of(attributes, has, label) for attributes, has in self._mirror.nodes()],
            wanted.periods,
            self._clock,
            self._mirror.inputs.use,
            self._on_state,
        )
        if before is not None:
            poller.standing.rounds.update(before.rounds)
        self._state = poller.standing
        await poller.run()


def target_of(attributes: NodeAttributes, allocatable: Amounts, label: str = "") -> NodeTarget:
    """A node as sources know it: under the value of this label where it has one, else under its name."""
    has = dict(allocatable)
    instance = attributes.labels.get(label, "") if label else ""
    return NodeTarget(attributes.name, instance, has.get(CPU, 0), has.get(MEMORY, 0))
