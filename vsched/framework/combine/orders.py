"""What goes first: the sort keys of all plugins with an order, one after the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

from vsched.framework.combine.tiers import PluginTiers, PolicyLayout
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import (
    JobOrder,
    NamespaceOrder,
    QueueOrder,
    QueueScore,
    SortKey,
    SubGroupOrder,
    TaskOrder,
    UserOrder,
)
from vsched.framework.points.victims import VictimQueueOrder
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.subgroups import SubGroup
from vsched.framework.trace import Trace
from vsched.model.pods.task import Task, numbers_of
from vsched.model.queues.queue import Queue

OrderKey = tuple[SortKey | str, ...]


class PluginOrders(PluginTiers):
    """The combined orders of queues, namespaces, users, jobs, sub-groups and tasks."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace, layout: PolicyLayout | None = None) -> None:
        super().__init__(policy, registry, trace, layout)
        self._job_orders = self.taking_part(JobOrder)
        self._queue_orders = self.taking_part(QueueOrder)
        self._namespace_orders = self.taking_part(NamespaceOrder)
        self.orders_namespaces = bool(self._namespace_orders)
        """Whether any plugin orders namespaces within a queue."""
        self._user_orders = self.taking_part(UserOrder)
        self.orders_users = bool(self._user_orders)
        """Whether any plugin orders users within a namespace."""
        self._orders_by_job_alone = JobOrder not in self._layout.looking_around
        self._known_keys: dict[JobView, OrderKey] = {}
        """Sort keys of jobs whose pods all wait, where they follow from the jobs alone."""

    # Plugins know these once they are open.

    @cached_property
    def queues_move_together(self) -> bool:
        """Whether a placement in one queue can change another queue's key."""
        return any(one.queues_move_together() for one in self._queue_orders)

    @cached_property
    def queue_scores_move_together(self) -> bool:
        """Whether a placement in one queue can change another queue's score."""
        return any(one.queue_scores_move_together() for one in self.taking_part(QueueScore))

    def job_key(self, job: JobView) -> OrderKey:
        """The sort key of a job; smaller goes first."""
        lasts = self._orders_by_job_alone and not job.moved and job.pending_count == len(job.job.tasks)
        if lasts and (known := self._known_keys.get(job)) is not None:
            return known
        made = (*[plugin.job_key(job) for plugin in self._job_orders], job.created, job.key)
        if lasts:
            self._known_keys[job] = made
        return made

    def sub_group_key(self, group: SubGroup) -> OrderKey:
        """The sort key of a sub-group among those of its job; smaller goes first."""
        return (
            *[plugin.sub_group_key(group) for plugin in self.taking_part(SubGroupOrder)],
            group.key.number,
            group.name,
        )

    def queue_key(self, queue: Queue, *, admitting: bool = False) -> OrderKey:
        """The sort key of a queue; smaller goes first. With ``admitting``, pledges count as held."""
        orders = self._queue_orders
        keys = [one.queue_admission_key(queue) if admitting else one.queue_key(queue) for one in orders]
        return (*keys, queue.created, queue.name)

    def queue_parts(self, queue: Queue, *, admitting: bool = False) -> list[tuple[Hashable, tuple[Any, ...]]]:
        """The queue's sort key as a list of named parts, compared one by one (see ``QueueOrder.queue_parts``).

        The first part after those of a plugin starts with an empty tuple. So, of two keys that start with the same
        parts, the one where the plugin gives fewer parts goes first.
        """
        parts: list[tuple[Hashable, tuple[Any, ...]]] = []
        ended = False
        for plugin in self._queue_orders:
            for name, value in plugin.queue_parts(queue, admitting=admitting):
                parts.append(((None, name), ((), value)) if ended else (name, (value,)))
                ended = False
            ended = bool(parts)
        parts.append(((None, queue.name), ((), queue.created, queue.name)))
        return parts

    def queue_epoch(self, *, admitting: bool = False) -> tuple[int, ...]:
        """A value that changes when the parts of queues without new placements have changed."""
        return tuple([plugin.queue_epoch(admitting=admitting) for plugin in self._queue_orders])

    def namespace_key(self, queue: str, namespace: str, *, admitting: bool = False) -> tuple[SortKey, ...]:
        """The sort key of a namespace in a queue; where keys are equal, the order of their jobs decides."""
        if admitting:
            return tuple([plugin.namespace_admission_key(queue, namespace) for plugin in self._namespace_orders])
        return tuple([plugin.namespace_key(queue, namespace) for plugin in self._namespace_orders])

    def user_key(self, queue: str, namespace: str, user: str) -> tuple[SortKey, ...]:
        """The sort key of a user in a namespace; where keys are equal, the order of their jobs decides."""
        return tuple([plugin.user_key(queue, namespace, user) for plugin in self._user_orders])

    def queue_score(self, queue: Queue, weights: Mapping[str, float], *, admitting: bool = False) -> float:
        """The urgency of a queue: the weighted sum of the plugins' scores. Plugins without a weight do not count."""
        scoring = {plugin.name: plugin for plugin in self.taking_part(QueueScore)}
        return sum(
            weight * (scoring[name].queue_admission_score(queue) if admitting else scoring[name].queue_score(queue))
            for name, weight in weights.items()
            if name in scoring
        )

    def victim_queue_key(self, victim: Queue, evictor: Queue) -> tuple[SortKey, ...]:
        """The sort key of a queue as a source of victims; victims come from the queue with the smaller key first."""
        return tuple([plugin.victim_queue_key(victim, evictor) for plugin in self.taking_part(VictimQueueOrder)])

    def ordered_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        """The tasks of one job in order: by plugins, then the index at the end of the name, then age, then name."""
        found = list(tasks)
        if len(found) < 2:
            return found
        numbers = numbers_of(found)
        plugins = self.taking_part(TaskOrder)
        ranks = [
            (*[plugin.task_key(task) for plugin in plugins], number, task.created, task.name, task.uid)
            for task, number in zip(found, numbers, strict=True)
        ]
        return [found[at] for at in sorted(range(len(found)), key=ranks.__getitem__)]
