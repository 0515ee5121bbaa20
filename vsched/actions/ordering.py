"""The order in which an action takes queues and their jobs: by the plugins' sort keys or by their scores."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Annotated, Any, Protocol, TypeVar

import msgspec

from vsched.framework.combine.orders import OrderKey
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import SortKey
from vsched.model.queues.queue import Queue

Weight = Annotated[float, msgspec.Meta(ge=0)]


class Orderable(Protocol):
    """A job, or several of one priority in one queue."""

    @property
    def queue(self) -> str: ...

    @property
    def priority(self) -> int: ...


AnyJob = TypeVar("AnyJob", bound=Orderable)


class OrderingArgs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of every action that takes queues in turn."""

    by_score: bool = msgspec.field(default=False, name="QueueScoreOrderEnable")
    """Whether queues are ordered by the sum of the plugins' scores, highest first, instead of by sort keys."""
    weights: dict[str, Weight] = msgspec.field(default_factory=dict, name="QueueScoreOrder.*.weight")
    """The weight of each plugin's score. Plugins that are not named, or give no scores, do not count."""
    across_queues: bool = msgspec.field(default=False, name="JobOrderAcrossQueues")
    """Whether jobs of higher priority go first, whatever their queue. The queue order decides at equal priority."""

    def named_plugins(self) -> Mapping[str, str]:
        """The plugins that have weights, by the key that names them."""
        return {f"QueueScoreOrder.{plugin}.weight": plugin for plugin in self.weights}


class QueueOrdering:
    """The order of queues, and of jobs across queues, by one action's arguments."""

    def __init__(self, plugins: PluginSet, args: OrderingArgs, *, admitting: bool = False) -> None:
        self.plugins = plugins
        self._args = args
        self._admitting = admitting
        """Whether pledges (admitted, not held yet) count as held."""

    def queue_key(self, queue: Queue) -> OrderKey:
        """The present sort key of a queue; smaller goes first. Equal scores are ordered by age, then uid, then name."""
        if not self._args.by_score:
            return self.plugins.queue_key(queue, admitting=self._admitting)
        score = self.plugins.queue_score(queue, self._args.weights, admitting=self._admitting)
        return -score, queue.created, queue.uid, queue.name

    def queue_parts(self, queue: Queue) -> list[tuple[Hashable, tuple[Any, ...]]]:
        """The sort key as a list of named parts; queues share leading parts of equal names."""
        if not self._args.by_score:
            return self.plugins.queue_parts(queue, admitting=self._admitting)
        return [(queue.name, self.queue_key(queue))]

    @property
    def moves_together(self) -> bool:
        """Whether a placement in one queue can change the key of another queue."""
        return self.plugins.queue_scores_move_together if self._args.by_score else self.plugins.queues_move_together

    def epoch(self) -> object:
        """A value that changes when the parts of any queue may have changed.

        For scores that move together this is not known, so the value is different each time.
        """
        if not self._args.by_score:
            return self.plugins.queue_epoch(admitting=self._admitting)
        return object() if self.plugins.queue_scores_move_together else None

    def namespace_key(self, queue: str, namespace: str) -> tuple[SortKey, ...]:
        """The present sort key of a namespace in a queue; smaller goes first."""
        return self.plugins.namespace_key(queue, namespace, admitting=self._admitting)

    def waves(self, jobs: Iterable[AnyJob]) -> list[list[AnyJob]]:
        """Lists of jobs, or of several together; within each list, queue, namespace and job order decide.

        There is one list of all jobs. With ``across_queues`` there is one for each priority, the highest first.
        """
        if not self._args.across_queues:
            together = [*jobs]
            return [together] if together else []
        waves: dict[int, list[AnyJob]] = {}
        for job in jobs:
            waves.setdefault(-job.priority, []).append(job)
        return [wave for _, wave in sorted(waves.items())]

    def queue_by_queue(self, jobs: Iterable[AnyJob], queues: Mapping[str, Queue]) -> list[list[AnyJob]]:
        """The jobs grouped by queue, with the queues in their present order."""
        found = by_queue(jobs)
        return [found[name] for name in sorted(found, key=lambda name: self.queue_key(queues[name]))]

    def drained(self, jobs: Iterable[JobView], queues: Mapping[str, Queue]) -> list[JobView]:
        """All jobs in an order that is computed once: wave by wave, and within a wave queue by queue."""
        order: list[JobView] = []
        for wave in self.waves(jobs):
            keys = {name: self.queue_key(queues[name]) for name in {job.queue for job in wave}}
            order += sorted(wave, key=lambda job: (keys[job.queue], self.plugins.job_key(job)))
        return order


def by_queue(jobs: Iterable[AnyJob]) -> dict[str, list[AnyJob]]:
    """The jobs grouped by queue."""
    found: dict[str, list[AnyJob]] = {}
    for job in jobs:
        found.setdefault(job.queue, []).append(job)
    return found
