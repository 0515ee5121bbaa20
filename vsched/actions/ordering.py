"""In which order an action takes queues and their jobs: by what plugins compare, or by what they score (seed 004)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec

from vsched.framework.combine.pluginset import OrderKey, PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import SortKey
from vsched.model.queues.queue import Queue

Weight = Annotated[float, msgspec.Meta(ge=0)]


class OrderingArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of every action that takes queues in turn."""

    by_score: bool = msgspec.field(default=False, name="QueueScoreOrderEnable")
    """Queues by the sum of the plugins' scores, the highest first, in place of the plugins' comparisons."""
    weights: dict[str, Weight] = msgspec.field(default_factory=dict, name="QueueScoreOrder.*.weight")
    """What a plugin's score counts, by plugin; one that is not named, or gives no scores, has no say."""
    across_queues: bool = msgspec.field(default=False, name="JobOrderAcrossQueues")
    """Jobs of higher priority first, whatever their queue; the order of queues decides among jobs of one priority."""

    def named_plugins(self) -> Mapping[str, str]:
        """The plugins that weights are given for."""
        return {f"QueueScoreOrder.{plugin}.weight": plugin for plugin in self.weights}


class QueueOrdering:
    """The order of queues, and of jobs across them, that one action was told to keep."""

    def __init__(self, plugins: PluginSet, args: OrderingArgs, *, admitting: bool = False) -> None:
        self.plugins = plugins
        self._args = args
        self._admitting = admitting
        """Whether what was admitted and is not held yet counts as held."""

    def queue_key(self, queue: Queue) -> OrderKey:
        """Where a queue stands as of now; smaller goes first. Equal scores go by age, then uid, then name."""
        if not self._args.by_score:
            return self.plugins.queue_key(queue, admitting=self._admitting)
        score = self.plugins.queue_score(queue, self._args.weights, admitting=self._admitting)
        return -score, queue.created, queue.uid, queue.name

    def queue_parts(self, queue: Queue) -> list[tuple[Hashable, tuple[Any, ...]]]:
        """The same in parts; queues whose parts have equal names from the first on share them."""
        if not self._args.by_score:
            return self.plugins.queue_parts(queue, admitting=self._admitting)
        return [(queue.name, self.queue_key(queue))]

    @property
    def moves_together(self) -> bool:
        """Whether what one queue is given can change where another stands."""
        return self.plugins.queue_scores_move_together if self._args.by_score else self.plugins.queues_move_together

    def epoch(self) -> object:
        """Something else when the parts of any queue may have changed; of scores that is not known."""
        if not self._args.by_score:
            return self.plugins.queue_epoch(admitting=self._admitting)
        return object() if self.plugins.queue_scores_move_together else None

    def namespace_key(self, queue: str, namespace: str) -> tuple[SortKey, ...]:
        """Where a namespace stands in a queue as of now; smaller goes first."""
        return self.plugins.namespace_key(queue, namespace, admitting=self._admitting)

    def waves(self, jobs: Iterable[JobView]) -> Iterator[list[JobView]]:
        """Jobs that compete by queue, namespace and the plugins' order, one list after the other.

        One list of all; across queues a list for each priority, the highest first. Empty lists are left out.
        """
        waves: dict[int, list[JobView]] = {}
        for job in jobs:
            waves.setdefault(-job.priority if self._args.across_queues else 0, []).append(job)
        for _, wave in sorted(waves.items()):
            yield wave

    def lanes(self, jobs: Iterable[JobView], queues: Mapping[str, Queue]) -> list[list[JobView]]:
        """Jobs by queue, the queues in the order they have now."""
        lanes: dict[str, list[JobView]] = {}
        for job in jobs:
            lanes.setdefault(job.queue, []).append(job)
        return [lanes[name] for name in sorted(lanes, key=lambda name: self.queue_key(queues[name]))]

    def drained(self, jobs: Iterable[JobView], queues: Mapping[str, Queue]) -> list[JobView]:
        """The jobs in order, worked out once: all of the first queue, then all of the next; across queues by wave."""
        order: list[JobView] = []
        for wave in self.waves(jobs):
            keys = {name: self.queue_key(queues[name]) for name in {job.queue for job in wave}}
            order += sorted(wave, key=lambda job: (keys[job.queue], self.plugins.job_key(job)))
        return order
