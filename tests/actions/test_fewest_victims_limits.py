"""Victims where queues hold all that they may: a gang starts wherever some victims make that possible, on any nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.taking import Busy, evicted, kept, taking

FAR = 5000
POLICIES = {
    (action, layout): taking(
        f"allocate, {action}",
        "priority gang",
        f"predicates nodeorder capacity{'-H' if layout == 'tree' else ''}",
        steps=FAR,
    )
    for action in ("preempt", "reclaim")
    for layout in ("flat", "tree")
}
CLASSES = {"": 0, "mid": 5, "high": 9}


class Pod(NamedTuple):
    """A pod that runs."""

    job: int
    node: int
    cpu: int


class World(NamedTuple):
    """Queues ``w`` of the gang, ``v`` beside it and ``u``; in a tree, ``w`` and ``v`` are below ``dept``."""

    action: str
    in_tree: bool
    nodes: list[int]
    jobs: list[tuple[int, str, str]]
    """Minimum, priority class and queue of each."""
    running: list[Pod]
    gang: list[int]
    capability: dict[str, int]
    guarantee: int
    """Of a queue that holds nothing."""

    def text(self) -> str:
        deserved = " deserved=cpu:99" if self.action == "reclaim" else ""
        lines = ["class mid 5", "class high 9"]
        for name in ("dept", "w", "v", "u", "spare"):
            words = [f"queue {name}"]
            words += ["parent=dept" if name in "wv" else "parent=root"] if self.in_tree else []
            words += [f"capability=cpu:{self.capability[name]}"] if name in self.capability else []
            words += [f"guarantee=cpu:{self.guarantee}"] if name == "spare" else []
            lines.append(" ".join(words) + (deserved if name in ("dept", "w") else ""))
        lines += [f"node n{at} cpu={cpu}" for at, cpu in enumerate(self.nodes)]
        for at, (minimum, name, queue) in enumerate(self.jobs):
            about = f" class={name}" if name else ""
            lines.append(f"job x/j{at} min={minimum} queue={queue} phase=Running{about}")
            lines += [f"pods x/j{at} 1 cpu={pod.cpu} on=n{pod.node}" for pod in self.running if pod.job == at]
        lines.append(f"job x/want min={len(self.gang)} queue=w class=high phase=Inqueue")
        return "\n".join([*lines, *(f"pods x/want 1 cpu={cpu}" for cpu in self.gang)])

    def least(self, highest: int) -> int | None:
        """The fewest victims of no more than this priority that make room; None where none do."""
        may = [pod for pod in range(len(self.running)) if self._may_leave(pod, highest)]
        for count in range(len(may) + 1):
            for gone in combinations(may, count):
                if self._is_allowed(gone) and self._is_within_limits(gone) and self._fits(gone):
                    return count
        return None

    def _may_leave(self, pod: int, highest: int) -> bool:
        _, name, queue = self.jobs[self.running[pod].job]
        if self.action == "reclaim":
            return queue != "w"
        return queue == "w" and CLASSES[name] <= min(highest, 5)

    def _is_allowed(self, gone: Sequence[int]) -> bool:
        had, lost = Counter(pod.job for pod in self.running), Counter(self.running[pod].job for pod in gone)
        return all(had[job] - number >= self.jobs[job][0] for job, number in lost.items())

    def _is_within_limits(self, gone: Sequence[int]) -> bool:
        stay = [pod for at, pod in enumerate(self.running) if at not in gone]
        limits = {"w": "w", "dept": "wv"}
        held = {name: sum(pod.cpu for pod in stay if self.jobs[pod.job][2] in below) for name, below in limits.items()}
        free = sum(self.nodes) - self.guarantee - sum(pod.cpu for pod in stay)
        return sum(self.gang) <= min([free, *(most - held[name] for name, most in self.capability.items())])

    def _fits(self, gone: Sequence[int]) -> bool:
        free = list(self.nodes)
        for at, pod in enumerate(self.running):
            free[pod.node] -= 0 if at in gone else pod.cpu

        def place(at: int) -> bool:
            for node in range(len(free)) if at < len(self.gang) else ():
                if free[node] >= self.gang[at]:
                    free[node] -= self.gang[at]
                    fits = place(at + 1)
                    free[node] += self.gang[at]
                    if fits:
                        return True
            return at == len(self.gang)

        return place(0)


@st.composite
def worlds(draw: st.DrawFn, action: str, layout: str) -> World:
    """Queues hold no more than they may, and the one with a guarantee needs no pod to leave for it."""
    nodes = draw(st.lists(st.integers(2, 6), min_size=2, max_size=4))
    free, running = list(nodes), list[Pod]()
    for _ in range(draw(st.integers(3, 8))):
        pod = Pod(draw(st.integers(0, 2)), draw(st.integers(0, len(nodes) - 1)), draw(st.integers(1, 3)))
        if free[pod.node] >= pod.cpu:
            free[pod.node] -= pod.cpu
            running.append(pod)
    had, reclaims = Counter(pod.job for pod in running), action == "reclaim"
    jobs = [
        (
            draw(st.integers(0, had[job])) if draw(st.booleans()) else 0,
            "" if reclaims else draw(st.sampled_from(("", "", "mid", "high"))),
            draw(st.sampled_from(("v", "v", "u") if reclaims else ("w", "w", "v"))),
        )
        for job in range(3)
    ]
    gang = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(sorted))
    held = {
        name: sum(pod.cpu for pod in running if jobs[pod.job][2] in below)
        for name, below in (("w", "w"), ("dept", "wv"))
    }
    limited = ["w", *(["dept"] if layout == "tree" else [])] if not reclaims else ["dept"] if layout == "tree" else []
    capability = {name: max(held[name], sum(gang) if reclaims else 0) + draw(st.integers(0, 3)) for name in limited}
    guarantee = draw(st.integers(0, min(2, sum(free)))) if layout == "flat" else 0
    return World(action, layout == "tree", nodes, jobs, running, gang, capability, guarantee)


@pytest.mark.parametrize(("action", "layout"), POLICIES)
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_a_gang_starts_wherever_victims_make_that_possible(action: str, layout: str, data: st.DataObject) -> None:
    world = data.draw(worlds(action, layout))
    report = Busy(world.text(), POLICIES[action, layout]).cycle()

    is_served = bool({bind.job for bind in report.binds} | {one.job for one in report.nominations if one.node})
    assert is_served is (world.least(9) is not None)
    highest = max((CLASSES[world.jobs[int(one.job[-1])][1]] for one in report.evictions), default=0)
    assert not is_served or len(report.evictions) == world.least(highest)


MANY = range(70)


def test_of_many_nodes_those_are_found_whose_pods_make_room_in_the_queue() -> None:
    """None of them is large enough for the pod."""
    nodes = "\n".join(f"node n{at:02} cpu=1\npods x/low 1 cpu=1 on=n{at:02}" for at in MANY)
    text = f"""
        class high 9
        queue q capability=cpu:72
        job x/low min=0 queue=q phase=Running
        {nodes}
        node z cpu=9
        job x/want queue=q class=high phase=Inqueue pods=1 cpu=4
    """
    report = Busy(text, POLICIES["preempt", "flat"]).cycle()

    assert evicted(report) == ["low.0", "low.1"]
    assert kept(report) == {"want.0": "z"}


def test_of_many_nodes_those_are_found_whose_pods_may_leave() -> None:
    """Of all others one pod would be enough, and a budget protects it."""
    nodes = "\n".join(f"node n{at:02} cpu=4\npods x/guarded 1 cpu=4 on=n{at:02}" for at in MANY)
    text = f"""
        class high 9
        pdb x/none selector=job:guarded allowed=0
        job x/guarded phase=Running
        {nodes}
        node y cpu=4 gpu=1
        node z cpu=4
        job x/low min=0 phase=Running
        pods x/low 4 cpu=1 on=y
        pods x/low 4 cpu=1 on=z
        job x/want min=2 class=high phase=Inqueue
        pods x/want 1 cpu=3
        pods x/want 1 cpu=3 gpu=1
    """
    report = Busy(text, taking("allocate, preempt", "priority gang pdb", "predicates nodeorder")).cycle()

    assert kept(report) == {"want.0": "z", "want.1": "y"}
    assert len(report.evictions) == 6
