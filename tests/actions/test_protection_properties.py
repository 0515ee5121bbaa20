"""preempt and reclaim over random full clusters: nobody is taken whom something protects, in any layout of tiers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clusters import contended
from tests.support.examples import examples
from tests.support.taking import Busy, taking
from vsched.framework.policy import Policy
from vsched.model.amounts.resources import PODS, Vector, add, subtract
from vsched.model.plan import CycleReport, Evict
from vsched.model.pods.status import HOLDS, Status
from vsched.model.pods.task import Task
from vsched.model.queues.queue import ROOT
from vsched.model.snapshot import Snapshot
from vsched.plugins.queues.frame import flat_frame, tree_frame

ACTIONS = (
    "allocate, preempt, reclaim, backfill",
    "enqueue, reclaim, allocate, preempt, backfill",
    "preempt, reclaim, allocate",
)
DIVIDERS = ("proportion", "capacity", "capacity-H", "capacity-L")
LAYOUTS = (
    ("gang", "drf-N predicates {divider}"),
    ("gang conformance", "priority", "predicates {divider}"),
    ("gang", "{divider}", "predicates"),
    ("gang", "drf", "{divider} pdb predicates"),
    ("conformance", "drf-N predicates", "gang {divider}"),
    ("priority drf-P", "{divider} predicates", "gang"),
    ("{divider} pdb", "priority gang", "drf predicates"),
    ("priority gang conformance", "predicates", "{divider}"),
    ("gang conformance pdb {divider} priority predicates",),
)
CYCLES = 3
often = settings(max_examples=examples(20), deadline=None)


@cache
def policy(actions: str, tiers: tuple[str, ...]) -> Policy:
    return taking(actions, *tiers)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Gang and what divides the cluster among queues, in different tiers and alone or with others."""
    divider = draw(st.sampled_from(DIVIDERS))
    tiers = tuple(tier.format(divider=divider) for tier in draw(st.sampled_from(LAYOUTS)))
    return policy(draw(st.sampled_from(ACTIONS)), tiers)


@st.composite
def guarded(draw: st.DrawFn) -> str:
    """A contended cluster in which disruption budgets are about most jobs."""
    text = draw(contended(ruled=False))
    jobs = re.findall(r"^job (\S+)/(\S+) ", text, re.MULTILINE)
    allowed = draw(st.lists(st.integers(-1, 2), min_size=len(jobs), max_size=len(jobs)))
    budgets = [
        f"pdb {namespace}/{name} selector=job:{name} allowed={count}"
        for (namespace, name), count in zip(jobs, allowed, strict=True)
        if count >= 0
    ]
    return "\n".join([text, *budgets])


class Cycle:
    """One cycle: what was there, and what was decided."""

    def __init__(self, world: Busy, chosen: Policy) -> None:
        self.before: Snapshot = world.snapshot()
        conf = chosen.plugin("capacity")
        self.in_a_tree = conf is not None and conf.switches.hierarchy
        self.divides_by_amounts = conf is not None
        self.tasks: dict[str, Task] = {
            task.uid: task for job in self.before.jobs.values() for task in job.tasks.values()
        }
        self.queue_of = {key: job.spec.queue for key, job in self.before.jobs.items()}
        self.held = {name: dict(self.before.books[name].allocated) for name in self.before.books}
        self.ready = {key: job.ready for key, job in self.before.jobs.items()}
        self.staffed = {
            key: Counter(task.role for task in job.tasks.values() if HOLDS[task.status].ready)
            for key, job in self.before.jobs.items()
        }
        """How many pods of each role count towards the minima, by job."""
        self.report: CycleReport = world.cycle()
        self.gained: dict[str, Vector] = {}
        """What queues were given, or were promised, in the cycle."""
        for uid in dict.fromkeys([one.uid for one in (*self.report.binds, *self.report.nominations)]):
            task = self.tasks[uid]
            add(self.gained.setdefault(self.queue_of[task.job], {}), task.shape.request)

    def at_and_above(self, queue: str) -> list[str]:
        """A queue, and in a tree those above it, the root apart."""
        found = [queue]
        while self.in_a_tree and (above := self.before.queues[found[-1]].parent or ROOT) != ROOT:
            found.append(above)
        return found

    def apart(self, eviction: Evict) -> list[str]:
        """The queue of a victim and those above it that are not above whom it was for."""
        shared = self.at_and_above(self.queue_of[eviction.beneficiary])
        return [name for name in self.at_and_above(self.queue_of[eviction.job]) if name not in shared]

    def total(self, queue: str, amounts: dict[str, Vector]) -> Vector:
        """The amounts of a queue, and in a tree of all below it."""
        found: Vector = {}
        for name in self.before.queues:
            if queue in self.at_and_above(name):
                add(found, amounts.get(name, {}).items())
        return found

    def reclaimed(self) -> Iterator[tuple[Evict, dict[str, Vector]]]:
        """Evictions across queues, each with what queues have lost in the cycle before it."""
        lost: dict[str, Vector] = {}
        for eviction in self.report.evictions:
            if eviction.action == "reclaim":
                yield eviction, lost
            add(lost.setdefault(self.queue_of[eviction.job], {}), self.tasks[eviction.uid].shape.request)


@often
@given(guarded(), policies())
def test_no_budget_is_passed(text: str, chosen: Policy) -> None:
    cycle = Cycle(Busy(text, chosen), chosen)
    running = [task for one in cycle.report.evictions if (task := cycle.tasks[one.uid]).status is Status.RUNNING]

    for budgets in cycle.before.budgets.values():
        for budget in budgets:
            gone = [
                task
                for task in running
                if task.namespace == budget.namespace and budget.selector.matches(dict(task.labels.pairs))
            ]
            assert len(gone) <= budget.allowed, budget.name


@often
@given(contended(), policies())
def test_no_gang_falls_below_its_minima(text: str, chosen: Policy) -> None:
    """Of the job, and of each role."""
    world = Busy(text, chosen)
    for _ in range(CYCLES):
        cycle = Cycle(world, chosen)
        for key in {eviction.job for eviction in cycle.report.evictions}:
            left = Counter(cycle.tasks[one.uid].role for one in cycle.report.binds if one.job == key)
            left.subtract(cycle.tasks[one.uid].role for one in cycle.report.evictions if one.job == key)
            spec = cycle.before.jobs[key].spec
            assert cycle.ready[key] + left.total() >= spec.min_member, key
            left.update(cycle.staffed[key])
            for role, minimum in spec.min_task_member:
                assert left[role] >= min(minimum, cycle.staffed[key][role]), (key, role)


@often
@given(contended(), policies())
def test_no_queue_loses_what_it_is_guaranteed(text: str, chosen: Policy) -> None:
    world = Busy(text, chosen)
    for _ in range(CYCLES):
        cycle = Cycle(world, chosen)
        if not cycle.divides_by_amounts:
            return
        for eviction, lost in cycle.reclaimed():
            taken = dict(cycle.tasks[eviction.uid].shape.request)
            for name in cycle.apart(eviction):
                left = cycle.total(name, cycle.held)
                add(left, cycle.total(name, cycle.gained).items())
                subtract(left, cycle.total(name, lost).items())
                for column, amount in cycle.before.queues[name].guarantee:
                    assert column not in taken or left.get(column, 0) - taken[column] >= amount, (name, eviction)


def promised(snapshot: Snapshot, *, in_a_tree: bool) -> dict[tuple[str, int], tuple[int, float]]:
    """What queues hold and what is kept free together, and how much there is, by queue above and resource.

    The cluster is the queue without a name. Pods with a nominated node hold something.
    """
    places = (tree_frame if in_a_tree else flat_frame)(snapshot).places
    below: dict[str, list[str]] = {}
    for name, place in places.items():
        below.setdefault(place.above[0] if place.above else "", []).append(name)
    held: dict[str, Vector] = {name: dict(books.allocated) for name, books in snapshot.books.items()}
    for job in snapshot.jobs.values():
        for task in job.pending.values():
            if task.nominated:
                add(held.setdefault(job.spec.queue, {}), task.shape.request)
    found: dict[tuple[str, int], tuple[int, float]] = {}

    def holds(name: str, column: int) -> int:
        return held.get(name, {}).get(column, 0) + sum(holds(child, column) for child in below.get(name, ()))

    def kept(name: str, column: int) -> int:
        inside, holding = sum(kept(child, column) for child in below.get(name, ())), holds(name, column)
        limit = inf if name == ROOT else places[name].terms.limit.get(column, inf)
        if inside:
            found[name, column] = holding + inside, limit
        owed = 0 if name == ROOT else dict(places[name].terms.guarantee).get(column, 0)
        return int(max(owed - holding, min(inside, limit - holding), 0))

    for column, total in enumerate(snapshot.total):
        if free := sum(kept(name, column) for name in below.get("", ())):
            found["", column] = sum(amounts.get(column, 0) for amounts in held.values()) + free, total
    return found


@often
@given(contended(), policies(), st.booleans(), st.integers(0, 2))
def test_nobody_takes_what_a_queue_is_guaranteed(text: str, chosen: Policy, returning: bool, terminating: int) -> None:
    """Where others hold it already, these hold no more of it."""
    world, conf = Busy(text, chosen, returning=returning, terminating=terminating), chosen.plugin("capacity")
    in_a_tree = conf is not None and conf.switches.hierarchy
    before = promised(world.snapshot(), in_a_tree=in_a_tree)
    for _ in range(CYCLES):
        report = world.cycle()
        after = promised(world.snapshot(), in_a_tree=in_a_tree)
        for place, (amount, most) in after.items():
            found = before[place][0] if place in before else 0
            assert amount <= max(most, found) or not (report.binds or report.nominations), place
        before = after


@often
@given(contended(), policies())
def test_no_queue_loses_what_it_deserves(text: str, chosen: Policy) -> None:
    """A victim's queue, and all above it apart from the reclaimer's, hold more of something that is asked for."""
    world = Busy(text, chosen)
    for _ in range(CYCLES):
        cycle = Cycle(world, chosen)
        for eviction, lost in cycle.reclaimed():
            used = dict(cycle.tasks[eviction.uid].shape.request)
            asked = {
                column
                for task in cycle.before.jobs[eviction.beneficiary].pending.values()
                for column, _ in task.shape.request
            }
            for name in cycle.apart(eviction):
                told, names = cycle.report.queues[name].deserved, cycle.before.axis.names
                deserved = {column: told[names[column]] for column in used if names[column] in told and column != PODS}
                if cycle.divides_by_amounts and not deserved:
                    continue  # of what this pod uses nothing is its queue's
                had = cycle.total(name, cycle.held)
                add(had, cycle.total(name, cycle.gained).items())
                subtract(had, cycle.total(name, lost).items())
                over = {column for column in used if column != PODS and had.get(column, 0) > deserved.get(column, 0)}
                assert over & asked, (name, eviction)
