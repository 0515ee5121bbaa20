"""The order in which the candidates of one node are evicted: queues in turn, jobs and tasks from the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from vsched.actions.pricing import cheapest_first
from vsched.framework.combine.orders import OrderKey
from vsched.framework.ledger.ledger import NO_CAUSE
from vsched.framework.session import Session
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue


class EvictionOrder:
    """The order in which the candidates of one node are evicted.

    Queues take turns: each victim comes from the queue that the plugins' order of victim queues names first, of equal
    ones from the last in queue order, once the victims before it are gone. Of one queue, jobs come in reverse job order
    and their tasks in reverse task order; the keys of jobs are looked up once.
    """

    def __init__(self, session: Session, evictor: Queue) -> None:
        self._session = session
        self._evictor = evictor
        self._jobs: dict[str, OrderKey] = {}

    def by_queue(self, tasks: Sequence[Task]) -> dict[str, list[Task]]:
        """The tasks of each queue in the order of eviction."""
        by_job: dict[str, list[Task]] = {}
        for task in tasks:
            by_job.setdefault(task.job, []).append(task)
        plugins, found = self._session.plugins, dict[str, list[Task]]()
        for key in sorted(by_job, key=self._job, reverse=True):
            own = found.setdefault(self._session.snapshot.jobs[key].spec.queue, [])
            own += reversed(plugins.ordered_tasks(by_job[key]))
        if plugins.victim_rules.weighs:
            return {queue: cheapest_first(self._session, own) for queue, own in found.items()}
        return found

    def in_turn(self, by_queue: Mapping[str, Sequence[Task]], row: int) -> list[Task]:
        """The tasks of all queues, which are on one node, in the order of eviction."""
        if len(by_queue) < 2:
            return [task for own in by_queue.values() for task in own]
        ledger, together = self._session.ledger, self._session.plugins.queues_move_together
        left = {queue: deque(own) for queue, own in by_queue.items()}
        found: list[Task] = []
        with ledger.on_paper():
            keys = {queue: self._keys(queue) for queue in left}
            while left:
                first = min(key for key, _ in keys.values())
                queue = max((last, queue) for queue, (key, last) in keys.items() if key == first)[1]
                task = left[queue].popleft()
                found.append(task)
                view = self._session.view(task.job)
                assert view is not None, "candidates are tasks of jobs of the snapshot"
                ledger.evict(view, task, row, NO_CAUSE)
                if not left[queue]:
                    del left[queue], keys[queue]
                keys.update({one: self._keys(one) for one in left if together or one == queue})
        return found

    def _job(self, key: str) -> OrderKey:
        found = self._jobs.get(key)
        if found is None:
            view = self._session.view(key)
            assert view is not None, "candidates are tasks of jobs of the snapshot"
            found = self._jobs[key] = self._session.plugins.job_key(view)
        return found

    def _keys(self, name: str) -> tuple[OrderKey, OrderKey]:
        """The queue's present keys: among the queues that victims come from, and in queue order."""
        plugins, queue = self._session.plugins, self._session.snapshot.queues[name]
        return plugins.victim_queue_key(queue, self._evictor), plugins.queue_key(queue)
