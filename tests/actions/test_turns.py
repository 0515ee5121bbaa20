"""Turns: queue, namespace, job, each put back with a new key; no policy, only the orders a test gives."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.small import SmallCluster
from vsched.actions.ordering import OrderingArgs, QueueOrdering
from vsched.actions.turns import JobTurns
from vsched.framework.classes import JobClass, Segment, Span
from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.queues.queue import Queue


class Orders(PluginSet):
    """Orders by what was handed out so far: whoever had the fewest turns goes first."""

    def __init__(self, *, namespaces: bool = False) -> None:
        super().__init__(Policy((), ()), Registry.of((), ()), Trace())
        self.orders_namespaces = namespaces
        self.had: dict[str, int] = {}

    def job_key(self, job: JobView) -> Any:
        return self.had.get(job.key, 0), job.key

    def queue_key(self, queue: Queue, *, admitting: bool = False) -> Any:
        return self.had.get(queue.name, 0), queue.name

    def namespace_key(self, queue: str, namespace: str, *, admitting: bool = False) -> Any:
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


def turns(orders: Orders, waiting: list[JobView], args: OrderingArgs | None = None) -> JobTurns:
    queues = {job.queue: Queue(job.queue) for job in waiting}
    segments = [Segment.again(job, orders.job_key(job)) for job in waiting]
    return JobTurns(QueueOrdering(orders, args or OrderingArgs()), queues, segments)


def played(orders: Orders, waiting: list[JobView], turns_each: int, args: OrderingArgs | None = None) -> list[str]:
    """The jobs in turn, when every job wants this many turns."""
    order, views = [], {job.key: job for job in waiting}
    for queue, segment, queue_turns in turns(orders, waiting, args):
        job = next_of(segment, views)
        order.append(orders.take(queue, job))
        queue_turns.end_turn(Segment.again(job, orders.job_key(job)) if orders.had[job.key] < turns_each else None)
    return order


def next_of(segment: Segment, views: Mapping[str, JobView]) -> JobView:
    job = views[segment.first]
    segment.at += 1
    return job


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
        def namespace_key(self, queue: str, namespace: str, *, admitting: bool = False) -> Any:
            return ()

    assert played(Equal(namespaces=True), jobs("p:x/b", "p:y/a", "p:x/c"), 1) == ["x/b", "x/c", "y/a"]


def test_only_where_a_queue_has_several_namespaces_are_they_asked_for_keys() -> None:
    class Asked(Orders):
        def namespace_key(self, queue: str, namespace: str, *, admitting: bool = False) -> Any:
            asked.add((queue, namespace))
            return super().namespace_key(queue, namespace, admitting=admitting)

    asked: set[tuple[str, str]] = set()
    assert played(Asked(namespaces=True), jobs("p:x/a", "p:x/b", "q:x/c", "q:y/d"), 1) == ["x/a", "x/c", "x/b", "y/d"]
    assert asked == {("q", "x"), ("q", "y")}


def test_a_closed_queue_gives_no_more_turns() -> None:
    orders, order, waiting = Orders(), [], jobs("p:x/a", "p:x/b", "q:x/c")
    views = {job.key: job for job in waiting}
    for queue, segment, queue_turns in turns(orders, waiting):
        order.append(orders.take(queue, next_of(segment, views)))
        queue_turns.end_turn(None)
        queue_turns.closed = queue.name == "p"
        if queue_turns.closed:
            assert [left.first for left in queue_turns.segments()] == ["x/b"]

    assert order == ["x/a", "x/c"]


def test_across_queues_each_priority_has_its_own_turns_the_highest_first() -> None:
    waiting = jobs("p:x/a", "p:x/b", "q:x/c", "q:x/d", "q:x/e")
    for job, priority in zip(waiting, (1, 2, 2, 1, 3), strict=True):
        job.priority = priority

    order = played(Orders(), waiting, 2, OrderingArgs(across_queues=True))

    assert order == ["x/e", "x/e", "x/b", "x/b", "x/c", "x/c", "x/a", "x/a", "x/d", "x/d"]


def test_a_queue_closed_in_one_wave_is_offered_again_in_the_next() -> None:
    waiting = jobs("p:x/a", "p:x/b", "p:x/c")
    waiting[2].priority = -1
    order, orders, views = [], Orders(), {job.key: job for job in waiting}
    for _, segment, queue_turns in turns(orders, waiting, OrderingArgs(across_queues=True)):
        order.append(segment.first)
        job = next_of(segment, views)
        queue_turns.end_turn(Segment.again(job, orders.job_key(job)))
        queue_turns.closed = True

    assert order == ["x/a", "x/c"]


def test_where_one_queue_moves_others_all_of_them_are_looked_at_again() -> None:
    class Grouped(Orders):
        """Queues of one first letter stand where the letter stands."""

        def queue_key(self, queue: Queue, *, admitting: bool = False) -> Any:
            return sum(turns for name, turns in self.had.items() if name[0] == queue.name[0]), queue.name

        def queue_parts(self, queue: Queue, *, admitting: bool = False) -> Any:
            letters, name = self.queue_key(queue)
            return [(name[0], (letters,)), (name, (name,))]

    orders, waiting = Grouped(), jobs("p1:x/a", "p2:x/b", "q1:x/c", "q2:x/d")
    orders.queues_move_together = True

    assert played(orders, waiting, 1) == ["x/a", "x/c", "x/b", "x/d"]


# -- classes ----------------------------------------------------------------------------------------------------------


class Played(NamedTuple):
    """How many turns had decided something when a job had its own or was passed over; and who decided, in order."""

    before: dict[str, int]
    deciding: list[str]


def with_classes(waiting: list[JobView], random: Random, *, namespaces: bool, together: bool) -> Played:
    """Turns in which jobs named after one letter are a class; what such a class gets is known until something is
    decided."""
    orders, views = Orders(namespaces=namespaces), {job.key: job for job in waiting}
    by_class: dict[tuple[str, str, str], list[JobView]] = {}
    for job in waiting:
        letter = job.key[2] if together and job.key[2].islower() else job.key
        by_class.setdefault((job.queue, job.namespace if namespaces else "", letter), []).append(job)
    segments = [
        Segment(Span(JobClass(own[0], sorted(map(orders.job_key, own))), 0, len(own), "")) for own in by_class.values()
    ]
    seeds, found = [random.random() for _ in waiting], Played({}, [])

    def failed(key: str) -> bool:
        return key[2].islower() and Random(f"{seeds[len(found.deciding)]}{key[2]}").random() < 0.7

    queues = {job.queue: Queue(job.queue) for job in waiting}
    for queue, segment, queue_turns in JobTurns(QueueOrdering(orders, OrderingArgs()), queues, segments):
        job = next_of(segment, views)
        assert job.key not in found.before
        found.before[job.key] = len(found.deciding)
        decides = not failed(job.key) and Random(f"{seeds[0]}{job.key}").random() < 0.4
        known = len(found.deciding) if together and failed(job.key) else None
        if decides:
            orders.take(queue, job)
            found.deciding.append(job.key)
        queue_turns.end_turn(idle=not decides, changes=decides, known=known)
    for segment in segments:
        for span in segment.passed:
            found.before.update(dict.fromkeys(span.keys, span.value))
    return found


@settings(max_examples=examples(200), deadline=None)
@given(random=st.randoms(use_true_random=False), namespaces=st.booleans())
def test_jobs_of_a_class_are_passed_over_when_they_would_have_had_their_turns(random: Random, namespaces: bool) -> None:
    names = {f"{random.choice('pq')}:{random.choice('xy')}/{random.choice('abXY')}{at:02}" for at in range(30)}
    waiting, seed = jobs(*sorted(names)), random.random()
    one_by_one = with_classes(waiting, Random(seed), namespaces=namespaces, together=False)
    assert with_classes(waiting, Random(seed), namespaces=namespaces, together=True) == one_by_one
