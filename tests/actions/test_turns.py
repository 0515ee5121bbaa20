"""Turns: queue, namespace, job, each put back with a new key; no policy, only the orders a test gives."""

from __future__ import annotations

from typing import Any

from tests.support.small import SmallCluster
from vsched.actions.turns import Turns
from vsched.framework.jobs import JobView
from vsched.framework.pluginset import PluginSet
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.queue import Queue


class Orders(PluginSet):
    """Orders by what was handed out so far: whoever had the fewest turns goes first."""

    def __init__(self, *, namespaces: bool = False) -> None:
        super().__init__(Policy((), ()), Registry.of((), ()), Trace())
        self.orders_namespaces = namespaces
        self.had: dict[str, int] = {}

    def job_key(self, job: JobView) -> Any:
        return self.had.get(job.key, 0), job.key

    def queue_key(self, queue: Queue) -> Any:
        return self.had.get(queue.name, 0), queue.name

    def namespace_key(self, queue: str, namespace: str) -> Any:
        return (self.had.get(f"{queue}/{namespace}", 0),)

    def take(self, queue: Queue, job: JobView) -> str:
        for name in (queue.name, f"{queue.name}/{job.namespace}", job.key):
            self.had[name] = self.had.get(name, 0) + 1
        return job.key


def jobs(*keys: str) -> list[JobView]:
    """Jobs by ``queue:namespace/name``."""
    cluster = SmallCluster()
    for key in keys:
        queue, _, rest = key.partition(":")
        namespace, _, name = rest.partition("/")
        cluster.job(name, 1, namespace=namespace, queue=queue)
    return [JobView(job) for job in cluster.jobs.values()]


def played(orders: Orders, waiting: list[JobView], turns_each: int) -> list[str]:
    """The jobs in turn, when every job wants this many turns."""
    queues = [Queue(name) for name in sorted({job.queue for job in waiting})]
    order = []
    for queue, job, lane in Turns(orders, queues, waiting):
        order.append(orders.take(queue, job))
        lane.end_turn(job if orders.had[job.key] < turns_each else None)
    return order


def test_without_jobs_there_are_no_turns() -> None:
    assert played(Orders(), [], 1) == []


def test_queues_alternate_and_jobs_within_them() -> None:
    waiting = jobs("p:x/a", "p:x/b", "q:x/c")

    assert played(Orders(), waiting, 2) == ["x/a", "x/c", "x/b", "x/c", "x/a", "x/b"]


def test_namespaces_come_before_jobs() -> None:
    waiting = jobs("p:x/a", "p:x/b", "p:x/c", "p:y/d")

    assert played(Orders(namespaces=True), waiting, 2) == ["x/a", "y/d", "x/b", "y/d", "x/c", "x/a", "x/b", "x/c"]


def test_without_an_order_of_namespaces_only_jobs_count() -> None:
    waiting = jobs("p:x/a", "p:x/b", "p:x/c", "p:y/d")

    assert played(Orders(), waiting, 1) == ["x/a", "x/b", "x/c", "y/d"]


def test_namespaces_that_are_equal_leave_it_to_their_first_jobs() -> None:
    class Equal(Orders):
        def namespace_key(self, queue: str, namespace: str) -> Any:
            return ()

    assert played(Equal(namespaces=True), jobs("p:x/b", "p:y/a", "p:x/c"), 1) == ["x/b", "x/c", "y/a"]


def test_a_closed_lane_gives_no_more_turns() -> None:
    orders, order = Orders(), []
    for queue, job, lane in Turns(orders, [Queue("p"), Queue("q")], jobs("p:x/a", "p:x/b", "q:x/c")):
        order.append(orders.take(queue, job))
        lane.end_turn(None)
        lane.closed = queue.name == "p"
        if lane.closed:
            assert [waiting.key for waiting in lane.waiting()] == ["x/b"]

    assert order == ["x/a", "x/c"]
