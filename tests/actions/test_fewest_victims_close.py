"""A gang that asks for closeness gets room in some domain, each of its sub-groups in its own, and the fewest leave."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.taking import taking
from tests.support.topologies import RACK, RACKS, snapshot_of, vacated, with_sub_groups
from vsched.framework.cycle import run_actions
from vsched.framework.trace import Trace
from vsched.model.topology.constraints import SubGroupPolicy
from vsched.settings.built_in import REGISTRY

PREEMPT = taking("allocate, preempt", "priority gang", "predicates nodeorder", steps=5000)
IN_RACKS = ((0, 1), (2, 3), (4, 5), (6, 7))
"""The nodes of ``RACKS``."""
MOST = 3
"""More victims than that are not tried by brute force."""


class World(NamedTuple):
    """Eight nodes of four cores in four racks, and a gang of one part, or two."""

    gpus: list[int]
    """Of each node."""
    running: list[tuple[int, int, int]]
    """Node, cpu and job of each."""
    minima: list[int]
    parts: list[list[tuple[int, int]]]
    """Cpu and GPUs of each pod; those of one part go to one rack."""

    def text(self) -> str:
        lines = ["class high 9", *(f"node n{at} cpu=4 gpu={gpu}" for at, gpu in enumerate(self.gpus, 1))]
        lines += [f"job x/f{at} min={minimum} phase=Running" for at, minimum in enumerate(self.minima)]
        lines += [f"pods x/f{job} 1 cpu={cpu} on=n{node + 1}" for node, cpu, job in self.running]
        lines.append(f"job ns/a class=high phase=Inqueue min={sum(map(len, self.parts))}")
        for at, part in enumerate(self.parts):
            lines += [f"pods ns/a 1 cpu={cpu} gpu={gpu} labels=w:g{at}" for cpu, gpu in part]
        return "\n".join(lines)

    def least(self) -> int | None:
        """How many leave at least; None where ``MOST`` are not enough."""
        had = Counter(job for _, _, job in self.running)
        for count in range(MOST + 1):
            for gone in combinations(range(len(self.running)), count):
                lost = Counter(self.running[pod][2] for pod in gone)
                if all(had[job] - number >= self.minima[job] for job, number in lost.items()) and self._fits(gone):
                    return count
        return None

    def _fits(self, gone: tuple[int, ...]) -> bool:
        cpu, gpu = [4] * 8, list(self.gpus)
        for pod, (node, amount, _) in enumerate(self.running):
            cpu[node] -= 0 if pod in gone else amount

        def place(part: int, at: int, rack: tuple[int, ...]) -> bool:
            if at == len(self.parts[part]):
                return part + 1 == len(self.parts) or any(place(part + 1, 0, one) for one in IN_RACKS)
            for node in rack:
                cores, gpus = self.parts[part][at]
                if cpu[node] >= cores and gpu[node] >= gpus:
                    cpu[node] -= cores
                    gpu[node] -= gpus
                    if place(part, at + 1, rack):
                        return True
                    cpu[node] += cores
                    gpu[node] += gpus
            return False

        return any(place(0, 0, rack) for rack in IN_RACKS)


@st.composite
def worlds(draw: st.DrawFn, parts: int) -> World:
    rarely = st.sampled_from((0, 0, 1))
    left, running = [4] * 8, list[tuple[int, int, int]]()
    for _ in range(draw(st.integers(8, 16))):
        node, cpu = draw(st.integers(0, 7)), draw(st.integers(1, 3))
        if left[node] >= cpu:
            left[node] -= cpu
            running.append((node, cpu, draw(st.integers(0, 2))))
    had = Counter(job for _, _, job in running)
    pod = st.tuples(st.integers(1, 3), rarely)
    size = 2 if parts > 1 else draw(st.integers(2, 4))
    return World(
        [draw(rarely) for _ in range(8)],
        running,
        [draw(st.sampled_from((0, had[job] // 2))) for job in range(3)],
        [draw(st.lists(pod, min_size=size, max_size=size)) for _ in range(parts)],
    )


@pytest.mark.parametrize("parts", [1, 2], ids=["the whole job in one rack", "each of two sub-groups in one rack"])
@settings(deadline=None, max_examples=examples(30))
@given(data=st.data())
def test_the_fewest_leave_wherever_some_make_room(parts: int, data: st.DataObject) -> None:
    world = data.draw(worlds(parts))
    snapshot = snapshot_of(world.text(), RACKS, {"ns/a": RACK} if parts == 1 else {})
    if parts > 1:
        snapshot = with_sub_groups(snapshot, SubGroupPolicy("w", 2, 2, match_keys=("w",), topology=RACK))
    session = run_actions(snapshot, PREEMPT, REGISTRY, Trace())

    job, least = session.jobs["ns/a"], world.least()
    if least is not None:
        assert job.ready + job.waiting >= job.min_member
        assert len(vacated(session)) == least
