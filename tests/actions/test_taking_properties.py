"""preempt and reclaim over random full clusters: what must hold under every policy, for cycle after cycle."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from functools import cache
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import aged, contended, seeded
from tests.support.examples import examples
from tests.support.outcomes import carried_out
from tests.support.plans import NOW, decide, manifests, mirror
from tests.support.taking import Busy, taking
from tests.support.views import view
from vsched.framework.jobs import JobView
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.nominations import reserve_nominations
from vsched.framework.policy import Policy
from vsched.framework.reports.closing import close
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.amounts.resources import Vector, add
from vsched.model.maps import as_dict
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

ORDERS = (
    "allocate, preempt, reclaim, backfill",
    "enqueue, allocate, reclaim, preempt, backfill",
    "preempt, reclaim, allocate, backfill",
    "reclaim, allocate, preempt, backfill",
)
PROPORTION = (
    ("priority gang-P conformance", "overcommit drf-P predicates proportion nodeorder binpack"),
    ("priority gang-R conformance proportion", "drf-P predicates nodeorder pdb"),
    ("priority gang conformance proportion pdb", "drf predicates nodeorder"),
    ("gang-P conformance drf", "predicates proportion nodeorder"),
    ("priority gang conformance drf-H", "predicates proportion nodeorder"),
    ("priority gang-P conformance proportion", "drf predicates nodeorder eviction-cost minruntime"),
)
FLAT_CAPACITY = (
    ("priority gang conformance capacity", "drf-P predicates nodeorder"),
    ("priority gang-P conformance capacity pdb", "drf predicates nodeorder"),
    ("priority gang conformance capacity", "drf-N predicates nodeorder"),
)
CAPACITY_IN_A_TREE = (
    ("priority gang conformance capacity-H", "drf-P predicates nodeorder"),
    ("priority gang-P conformance capacity-L pdb", "drf-P predicates nodeorder"),
)
WITHOUT_SHARES = (
    ("priority gang eviction-cost", "drf-P predicates nodeorder"),
    ("priority", "drf gang-P predicates"),
    ("gang", "predicates"),
    ("gang conformance", "drf-H predicates nodeorder"),
)
TIERS = PROPORTION + FLAT_CAPACITY + CAPACITY_IN_A_TREE + WITHOUT_SHARES
END = 25
"""Cycles after which the smallest clusters have long come to rest."""
quickly = settings(max_examples=examples(20), deadline=None)
more = settings(max_examples=examples(35), deadline=None)


@cache
def policy(tiers: tuple[str, ...], order: str) -> Policy:
    return taking(order, *tiers)


def policies(*kinds: tuple[str, ...], without: str = "") -> st.SearchStrategy[Policy]:
    """A policy of these tiers with the actions in one of the orders, one action left out where it is named."""
    orders = [", ".join(word for word in order.split(", ") if word != without) for order in ORDERS]
    return st.builds(policy, st.sampled_from(kinds), st.sampled_from(orders))


class Step:
    """One cycle of a cluster: what was there, what was decided, and what is there once that has come true."""

    def __init__(self, world: Busy) -> None:
        before = world.snapshot()
        self.queues: dict[str, Queue] = dict(before.queues)
        self.held = {name: dict(books.allocated) for name, books in before.books.items()}
        self.total = list(before.total)
        self.rows = dict(before.nodes.statics.row)
        self.idle = before.nodes.idle.copy()
        self.tasks: dict[str, Task] = {task.uid: task for job in before.jobs.values() for task in job.tasks.values()}
        self.queue_of = {key: job.spec.queue for key, job in before.jobs.items()}
        self.booked: dict[str, dict[str, str]] = {}
        """By action: the nodes of the tasks for which it kept room, without victims, until its end; by uid."""
        self.report = self._decide(before, world.policy)
        world.carry_out(self.report)
        self.after: Snapshot = world.snapshot()

    def _decide(self, before: Snapshot, policy: Policy) -> CycleReport:
        """One cycle, action by action."""
        session = Session(before, policy, REGISTRY, Trace())
        reserve_nominations(session)
        for name in policy.actions:
            steps = len(session.ledger.log)
            REGISTRY.actions[name].run(session)
            withdrawn = (step for step in session.ledger.log[steps:] if step.before is Status.PIPELINED)
            names = session.nodes.statics.names
            self.booked[name] = {step.task.uid: names[step.row] for step in withdrawn}
        session.plugins.end_cycle()
        return close(session, Trace())

    def given(self, action: str) -> dict[str, str]:
        """The nodes of the tasks that have got places, or for which this action kept room until its end; by uid."""
        found = self.booked[action] | {task.uid: task.nominated for task in self.tasks.values() if task.nominated}
        found |= {one.uid: one.node for one in self.report.nominations}
        return found | {bind.uid: bind.node for bind in self.report.binds}

    def held_after(self, name: str) -> Vector:
        """What a queue holds in the end."""
        books = self.after.books.get(name)
        return {} if books is None else dict(books.allocated)

    def reserved(self, name: str, action: str = "") -> Vector:
        """What a queue's pods wait for with a node that is kept for them, or was until this action ended."""
        waiting: Vector = {}
        told = {one.uid for one in self.report.nominations} | self.booked.get(action, {}).keys()
        for job in self.after.jobs.values():
            if job.spec.queue == name:
                for task in job.pending.values():
                    if task.nominated or task.uid in told:
                        add(waiting, task.shape.request)
        return waiting

    def left_over(self, name: str, beneficiary: str) -> Vector:
        """What evictions for other jobs of a queue freed there beyond what these were given: victims are whole pods."""
        placed = {bind.uid for bind in self.report.binds} | {one.uid for one in self.report.nominations}
        left: dict[str, Vector] = {}
        for eviction in self.report.evictions:
            if self.queue_of[eviction.job] == name == self.queue_of.get(eviction.beneficiary):
                add(left.setdefault(eviction.beneficiary, {}), self.tasks[eviction.uid].shape.request)
        for task in self.tasks.values():
            if task.uid in placed and task.job in left:
                add(left[task.job], [(column, -amount) for column, amount in task.shape.request])
        found: Vector = {}
        for job, amounts in left.items():
            if job != beneficiary:
                add(found, [(column, max(0, amount)) for column, amount in amounts.items()])
        return found


@more
@given(contended() | aged(), policies(*TIERS), st.integers(0, 2))
def test_with_constant_demand_evictions_come_to_an_end(text: str, chosen: Policy, terminating: int) -> None:
    """Whatever is evicted comes back at once, so two jobs that could take from each other in turn would go on."""
    world = Busy(text, chosen, returning=True, terminating=terminating)
    quiet = 0
    for _ in range(END):
        report = world.cycle()
        quiet = 0 if report.evictions or report.binds else quiet + 1
        if quiet == 3:
            return
    raise AssertionError("still evicting or binding")


@quickly
@given(contended(), policies(*FLAT_CAPACITY, *CAPACITY_IN_A_TREE, without="preempt"))
def test_reclaim_leaves_every_queue_what_it_is_guaranteed(text: str, chosen: Policy) -> None:
    world = Busy(text, chosen)
    for _ in range(3):
        step = Step(world)
        robbed = {step.queue_of[eviction.job] for eviction in step.report.evictions}
        for name in robbed:
            held = step.held_after(name)
            assert all(held.get(column, 0) >= amount for column, amount in step.queues[name].guarantee), name


@quickly
@given(contended(), policies(*FLAT_CAPACITY, *CAPACITY_IN_A_TREE, *PROPORTION))
def test_no_queue_comes_to_hold_or_wait_for_more_than_its_capability(text: str, chosen: Policy) -> None:
    conf = chosen.plugin("capacity")
    in_a_tree = conf is not None and conf.switches.hierarchy
    world = Busy(text, chosen)
    for _ in range(3):
        step = Step(world)
        for name, queue in step.queues.items():
            below = [name] + ([one for one, found in step.queues.items() if found.parent == name] if in_a_tree else [])
            before, after = Vector(), Vector()
            for one in below:
                add(before, step.held.get(one, {}).items())
                add(after, step.held_after(one).items())
                add(after, step.reserved(one).items())
            for column, limit in queue.capability:
                assert after.get(column, 0) <= max(limit, before.get(column, 0)), (name, column)


@quickly
@given(contended(), policies(*TIERS))
def test_the_books_are_what_a_fresh_mirror_of_the_outcome_has(text: str, chosen: Policy) -> None:
    objects = manifests(text)
    world = Busy(text, chosen)
    for _ in range(3):
        report = world.cycle()
        objects = carried_out(objects, report)
        assert amounts_of(world.snapshot()) == amounts_of(mirror(objects).snapshot(NOW))


def amounts_of(snapshot: Snapshot) -> Any:
    """All but what disruption budgets allow: the objects' status is not written anew as pods come and go."""
    return {name: found for name, found in view(snapshot).items() if name != "budgets"}


@quickly
@given(contended() | aged(), policies(*TIERS), st.integers(0, 2))
def test_gangs_are_placed_and_given_room_as_a_whole(text: str, chosen: Policy, terminating: int) -> None:
    world = Busy(text, chosen, returning=True, terminating=terminating)
    for _ in range(4):
        step = Step(world)
        bound = Counter(bind.job for bind in step.report.binds)
        for key in {*bound, *(eviction.beneficiary for eviction in step.report.evictions)}:
            job = JobView(step.after.jobs[key])
            kept = sum(1 for task in job.job.pending.values() if task.nominated and not task.shape.best_effort)
            assert job.ready + job.best_effort_pending + kept >= job.min_member, key
        for key in bound:
            assert JobView(step.after.jobs[key]).is_ready, key


@quickly
@given(contended(ruled=False) | aged(ruled=False), policies(*PROPORTION, *FLAT_CAPACITY, *WITHOUT_SHARES))
def test_every_victim_of_a_job_is_needed_for_its_places(text: str, chosen: Policy) -> None:
    """By amounts alone: with any one of them back, the node or the queue has no room for what the job was given."""
    world = Busy(text, chosen)
    for _ in range(3):
        step = Step(world)
        for eviction in step.report.evictions:
            if eviction.job != eviction.beneficiary:
                assert not has_room_again(step, eviction), eviction


def has_room_again(step: Step, eviction: Evict) -> bool:
    victim, beneficiary = step.tasks[eviction.uid], eviction.beneficiary
    free: dict[int, int] = {column: int(step.idle[column, step.rows[victim.node]]) for column in range(len(step.idle))}
    for other in step.report.evictions:
        if other.node == victim.node and other.beneficiary == beneficiary and other.uid != eviction.uid:
            for column, amount in step.tasks[other.uid].shape.request:
                free[column] += amount
    for uid, node in step.given(eviction.action).items():
        if node == victim.node and uid in step.tasks:
            for column, amount in step.tasks[uid].shape.request:
                free[column] -= amount
    if any(amount < 0 for amount in free.values()) or takes_what_is_guaranteed(step, victim, eviction):
        return False
    queue = step.queue_of[victim.job]
    return queue != step.queue_of[beneficiary] or not is_full_with(step, queue, victim, eviction)


def takes_what_is_guaranteed(step: Step, task: Task, eviction: Evict) -> bool:
    """Whether queues would hold, with the task, what others are guaranteed: it stays free, whoever shares the rest.

    Victims for other jobs count as held: they may have been chosen later.
    """
    claimed: Vector = {}
    others = [one for one in step.report.evictions if one.beneficiary != eviction.beneficiary]
    for one in step.queues.values():
        owed, has = dict(one.guarantee), step.held_after(one.name)
        add(has, step.reserved(one.name, eviction.action).items())
        for victim in (step.tasks[other.uid] for other in others if step.queue_of[other.job] == one.name):
            add(has, victim.shape.request)
        if one.name == step.queue_of[task.job]:
            add(has, task.shape.request)
        add(claimed, [(column, max(owed.get(column, 0), has.get(column, 0))) for column in {*owed, *has}])
    guaranteed = {column for one in step.queues.values() for column, _ in one.guarantee}
    return any(claimed[column] > step.total[column] for column in guaranteed)


def is_full_with(step: Step, name: str, task: Task, eviction: Evict) -> bool:
    """Whether the task would lead its queue past what the report says it deserves, its capability, or others' due.

    What is left over of evictions for other jobs does not count as room: it may have come later.
    """
    held, names = step.held_after(name), step.after.axis.names
    add(held, step.left_over(name, eviction.beneficiary).items())
    add(held, step.reserved(name, eviction.action).items())
    add(held, task.shape.request)
    told, queue = step.report.queues[name], step.queues[name]
    others: Vector = {}
    for one in step.queues.values():
        if one.name != name:
            add(others, one.guarantee)
    limits = [dict(queue.capability), {column: step.total[column] - amount for column, amount in others.items()}]
    if told.deserved:
        limits.append({column: told.deserved.get(names[column], 0) for column in held})
    return any(
        held[column] > limit[column] for limit in limits for column in limit if column in dict(task.shape.request)
    )


@quickly
@given(contended(), policies(*TIERS))
def test_what_is_remembered_of_nodes_is_what_a_fresh_look_sees(text: str, chosen: Policy) -> None:
    """After each action, so after searches that came to nothing and were taken back."""
    session = Session(mirror(manifests(text)).snapshot(NOW), chosen, REGISTRY, Trace())
    reserve_nominations(session)
    for name in chosen.actions:
        REGISTRY.actions[name].run(session)
        fresh = NodeSelection(
            session.nodes,
            session.ledger.journal,
            session.plugins.node_plugins,
            lambda task: session.jobs[task.job].queue,
        )
        for job in session.jobs.values():
            for task in job.job.pending.values():
                assert session.node_selection.choose(task) == fresh.choose(task), (name, task.key)


@quickly
@given(contended(), policies(*TIERS))
def test_a_search_that_comes_to_nothing_leaves_no_trace(text: str, chosen: Policy) -> None:
    session = Session(mirror(manifests(text)).snapshot(NOW), chosen, REGISTRY, Trace())
    for name in chosen.actions:
        before, steps = deepcopy(books(session)), len(session.ledger.log)
        REGISTRY.actions[name].run(session)
        session.ledger.undo_to(steps)
        assert books(session) == before


def books(session: Session) -> Any:
    nodes, views = session.nodes, {**session.jobs, **session.victimised}
    arrays = (nodes.idle, nodes.releasing, nodes.pipelined, nodes.requested, nodes.scoring)
    jobs = {
        key: (view.ready, view.waiting, view.leaving, view.running, view.pending_count, nonzero(view.allocated))
        for key, view in views.items()
        if key in session.jobs or view.moved
    }
    queues = {name: nonzero(session.usage.queue(name)) for name in session.snapshot.queues}
    moved = {(key, uid) for key, view in views.items() for uid in view.moved}
    return [array.tobytes() for array in arrays], jobs, queues, moved, session.ledger.evicted


def nonzero(amounts: Any) -> Vector:
    return {column: amount for column, amount in amounts.items() if amount}


@quickly
@given(contended(), policies(*TIERS), seeded)
def test_equal_objects_in_any_order_give_equal_bytes(text: str, chosen: Policy, random: Any) -> None:
    objects = manifests(text)
    shuffled = objects.copy()
    random.shuffle(shuffled)

    first, second = (
        msgspec.json.encode(decide(found, chosen, cycles=3).reports, order="sorted", enc_hook=as_dict)
        for found in (objects, shuffled)
    )

    assert first == second
