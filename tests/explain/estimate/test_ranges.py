"""Whether starts come in the range that was told: a backlog from its first job to its last, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from random import Random

import msgspec
import pytest

from tests.explain.estimate.judging import is_in_range
from tests.support.examples import seeds
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.explain.estimate.passing import Decided, Passing
from vsched.explain.estimate.start_times import estimate
from vsched.explain.order import waiting_order
from vsched.explain.records import Estimate
from vsched.explain.simulation import Goal
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.reports.effects import decided
from vsched.framework.trace import Trace
from vsched.mirror.state.durations import DurationStore
from vsched.model.frozen import freeze
from vsched.model.pods.status import Status
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

JOBS, CORES = 16, 12
KINDS = {"train": 3600, "eval": 600, "prep": 1500}
"""Kinds of work, and how long they take about, seconds."""
ENDS = 3
"""After so many ends, one of the jobs that come next is asked about."""
NEXT = 6
"""So many jobs come next."""
CYCLES = 120
"""An estimate takes so many, which makes it less precise."""

Takes = Callable[[Random, float], tuple[bool, float]]
"""Whether a job declares its run time, and how long it takes, given how long it would say that it takes."""


def a_third_overrun(random: Random, declared: float) -> tuple[bool, float]:
    return True, declared * (random.uniform(1.05, 2.0) if random.random() < 1 / 3 else 1.0)


def one_in_five_undeclared(random: Random, declared: float) -> tuple[bool, float]:
    return random.random() >= 0.2, declared


def backlog(random: Random, takes: Takes) -> tuple[str, dict[str, float]]:
    """Jobs that all wait, oldest first, and how long each takes."""
    lines = ["queue a weight=1", "queue b weight=2", f"node n1 cpu={CORES}"]
    lengths: dict[str, float] = {}
    for number in range(JOBS):
        user, kind = random.choice(["u1", "u2", "u3"]), random.choice([*KINDS])
        key, declared = f"{user}/{kind}-{number}", KINDS[kind] * random.choice([0.5, 1.0, 2.0])
        says, lengths[key] = takes(random, declared)
        annotation = f"vsched.io/expected-duration={declared:g}s" if says else ""
        pods, cpu, queue = random.randint(1, 4), random.choice([1, 1, 2]), "a" if user == "u1" else "b"
        lines.append(f"job {key} min={pods} queue={queue} age={10 * (JOBS - number)} {annotation}")
        lines.append(f"pods {key} {pods} cpu={cpu} restart=Never")
    return "\n".join(lines), lengths


def told_and_come(seed: int, takes: Takes) -> Iterator[tuple[Estimate, float | None]]:
    """What is told of jobs while the others run, and when they come."""
    random = Random(seed)
    text, lengths = backlog(random, takes)
    snapshot = freeze(mirror(manifests(text)).snapshot(NOW))
    passing, store, now, number = Passing(snapshot), DurationStore(), NOW, 0
    told: list[tuple[str, Estimate]] = []
    came: dict[str, float] = {}
    ends: list[tuple[float, str]] = []
    keys = frozenset(snapshot.jobs)
    while True:
        session = run_actions(passing.at(now, keys), DEFAULT_POLICY, REGISTRY, Trace())
        made = Decided(decided(session), {key: view.phase for key, view in session.jobs.items()})
        session.plugins.release()
        for task in passing.settle(made, now).started:
            came.setdefault(task.job, now)
            heappush(ends, (now + lengths[task.job], task.uid))
        following = [key for key in lengths if key not in came][:NEXT]
        if following and number % ENDS == 0:
            key = random.choice(following)
            told.append((key, asked(replace(passing.at(now, keys), learnt=store.publish()), key)))
        if not ends:
            break
        now, number = ends[0][0], number + 1
        gone = []
        while ends and ends[0][0] <= now:
            task = passing.task(heappop(ends)[1])
            assert task is not None
            gone.append(task)
            ended = msgspec.structs.replace(task, status=Status.SUCCEEDED, finished=now)
            store.learn(snapshot.jobs[task.job].spec, ended)
        passing.end(gone)
    yield from ((found, came.get(key)) for key, found in told if found.earliest is not None)


def asked(snapshot: Snapshot, key: str) -> Estimate:
    here = freeze(snapshot)
    report = run_cycle(here, DEFAULT_POLICY, REGISTRY)
    order, cycles = waiting_order(here, DEFAULT_POLICY, REGISTRY), count()
    return estimate(here, DEFAULT_POLICY, REGISTRY, report, Goal(key), order, spent=lambda: next(cycles) >= CYCLES)


@pytest.mark.parametrize(
    ("takes", "worlds", "share"),
    [
        pytest.param(a_third_overrun, 3, 0.6, id="a third takes longer than declared"),
        pytest.param(one_in_five_undeclared, 2, 0.4, id="one in five declares nothing"),
    ],
)
def test_starts_come_in_the_range_that_is_told(takes: Takes, worlds: int, share: float) -> None:
    """Nearly always: 276 of 286 where a third takes longer, 225 of 228 where one in five declares nothing."""
    drawn = seeds(worlds, takes.__name__)
    right = [is_in_range(*one) for seed in drawn for one in told_and_come(seed, takes)]

    assert right.count(True) >= share * len(right), drawn
