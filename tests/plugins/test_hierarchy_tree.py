"""The tree of hierarchical fairness against its definition: whatever was placed, evicted, undone and asked before."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.small import SmallCluster
from tests.support.voting import RECLAIM, agreed
from vsched.framework.points.extension import NoArgs, SessionContext
from vsched.model.amounts.resources import CPU, MEMORY
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.plugins.drf import Drf
from vsched.plugins.queues.hierarchy import HierarchyTree, path_of

PATHS = ("root/a/x", "root/a/y", "root/b", "root/b/z", "root/c/u/v", "")
Step = tuple[int, bool]


class Stand(NamedTuple):
    held: list[float]
    share: float
    saturated: bool


def from_definition(opening: SessionContext) -> dict[str, tuple[float, ...]]:
    """The key of every queue, worked out from nothing by the definition."""
    snapshot = opening.snapshot
    total, width = snapshot.total, range(len(snapshot.total))
    taken = [sum(job.allocated.get(column, 0) for job in opening.jobs.values()) for column in width]
    children: dict[tuple[str, ...], list[tuple[str, ...]]] = {(): []}
    weights: dict[tuple[str, ...], float] = {}
    leaves: dict[tuple[str, ...], list[Stand]] = {}

    def share_of(held: list[float]) -> float:
        return max(held[c] / total[c] if total[c] else float(held[c] != 0) for c in width)

    ends = {}
    for name in sorted(snapshot.queues):
        at: tuple[str, ...] = ()
        for part, weight in path_of(snapshot.queues[name]):
            if (*at, part) not in weights:
                children.setdefault(at, []).append((*at, part))
                weights[(*at, part)] = weight
            at = (*at, part)
        ends[name] = at
    for job in opening.jobs.values():
        held = [float(job.allocated.get(c, 0)) for c in width]
        wanted = [job.job.allocated.get(c, 0) + job.job.pending_request.get(c, 0) for c in width]
        saturated = any(
            (held[c] and wanted[c] and held[c] >= wanted[c]) or (taken[c] >= total[c] and wanted[c])
            for c in width
            if held[c] or c in (CPU, MEMORY)
        )
        if any(wanted) or any(held):
            leaves.setdefault(ends[job.queue], []).append(Stand(held, share_of(held), saturated))
    stands: dict[tuple[str, ...], Stand] = {}

    def work_out(at: tuple[str, ...]) -> Stand:
        below = leaves.get(at, []) + [work_out(child) for child in children.get(at, [])]
        least = min([1.0, *(one.share for one in below if one.share and not one.saturated)])
        held = [0.0] * len(total)
        for one in below:
            factor = 1.0 if one.saturated else least / one.share if one.share else 0.0
            held = [sum_ + value * factor for sum_, value in zip(held, one.held, strict=True)]
        stands[at] = Stand(held, share_of(held), all(one.saturated for one in below))
        return stands[at]

    work_out(())
    return {
        name: tuple(
            part
            for depth in range(1, len(end) + 1)
            for part in (float(stands[end[:depth]].saturated), stands[end[:depth]].share / weights[end[:depth]])
        )
        for name, end in ends.items()
    }


def small_world() -> SmallCluster:
    """Two jobs in each queue, of pods that want different things, some running and some not."""
    cluster = SmallCluster().node("n1", cpu=8000, memory=12 << 30)
    del cluster.queues["default"]
    shapes = [
        cluster.shape(cpu=1000, memory=0),
        cluster.shape(cpu=0, memory=1 << 30),
        cluster.shape(cpu=1000, memory=2 << 30),
    ]
    for at, path in enumerate(PATHS):
        cluster.queue(
            f"q{at}",
            weight=at + 1,
            annotations=(("volcano.sh/hierarchy", path), ("volcano.sh/hierarchy-weights", "1/2/1/3")) if path else (),
        )
        for number in range(2):
            job = cluster.running(f"j{at}{number}", number, shape=shapes[at % 3], queue=f"q{at}")
            for more in range(3):
                cluster.task(job, f"{job.spec.name}-more-{more}", shapes[(at + number) % 3])
    return cluster


def carry_out(
    opening: SessionContext, plugin: Drf, tasks: list[Task], now: dict[str, Status], steps: Iterable[Step]
) -> None:
    """Place what is pending, evict what runs and undo either, as the ledger does; ask in between where told to."""
    for number, ask in steps:
        task = tasks[number % len(tasks)]
        job, before = opening.jobs[task.job], now[task.uid]
        home = task.status
        away = Status.ALLOCATED if home is Status.PENDING else Status.RELEASING
        after = away if before is home else home
        gains = after in (Status.ALLOCATED, Status.RUNNING)
        if not gains:
            plugin.on_release(job, task, 0)
        job.move(task, before, after, "n1" if after is not Status.PENDING else "")
        opening.usage.shift(job.queue, job.namespace, task.shape.request, 1 if gains else -1)
        if gains:
            plugin.on_allocate(job, task, 0)
        now[task.uid] = after
        if ask:
            plugin.queue_key(opening.snapshot.queues[job.queue])


@given(st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=40))
def test_after_any_placements_the_tree_is_what_a_new_one_would_be_and_what_the_definition_says(
    steps: list[Step],
) -> None:
    cluster = small_world()
    plugin, opening = Drf(NoArgs()), cluster.opening(hierarchy=True)
    plugin.open(opening)
    queues = cluster.queues.values()
    plugin.queue_key(next(iter(queues)))
    tasks = [task for job in cluster.jobs.values() for task in job.tasks.values()]
    carry_out(opening, plugin, tasks, {task.uid: task.status for task in tasks}, steps)
    found = {queue.name: plugin.queue_key(queue) for queue in queues}
    fresh = HierarchyTree(opening)

    assert found == {name: fresh.key(name) for name in cluster.queues}
    expected = from_definition(opening)
    for name, key in found.items():
        assert key == pytest.approx(expected[name], abs=1e-12)


STEPS = st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=6)


@settings(max_examples=examples(30))
@given(STEPS, STEPS)
def test_a_question_about_victims_leaves_no_trace_and_is_answered_anew_after_placements(
    before: list[Step], after: list[Step]
) -> None:
    cluster = small_world()
    plugin, opening = Drf(NoArgs()), cluster.opening(hierarchy=True)
    plugin.open(opening)
    tasks = [task for job in cluster.jobs.values() for task in job.tasks.values()]

    def keys(asked: Drf) -> dict[str, tuple[float, ...]]:
        return {queue.name: asked.queue_key(queue) for queue in cluster.queues.values()}

    def answers(asked: Drf) -> list[list[str]]:
        running = [
            task for task in tasks if task.status is Status.RUNNING and task.uid not in opening.jobs[task.job].moved
        ]
        pending = list({task.job: task for task in tasks if task.status is Status.PENDING}.values())
        return [
            [
                victim.uid
                for victim in agreed(asked, task, [one for one in running if one.job != task.job], RECLAIM) or ()
            ]
            for task in pending
        ]

    now = {task.uid: task.status for task in tasks}
    carry_out(opening, plugin, tasks, now, before)
    seen = keys(plugin)
    answers(plugin)
    assert keys(plugin) == seen

    carry_out(opening, plugin, tasks, now, after)
    fresh = Drf(NoArgs())
    fresh.open(opening)
    assert answers(plugin) == answers(fresh)
