"""Every figure of what really happened is worked out a second time, plainly, second by second from the lines.

Fragmentation is left out: it is a measure of nodes for typical pods, and has its own tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.support.examples import seeds
from vsched.lab.trace.as_recorded import as_recorded
from vsched.lab.trace.recorded import work_of
from vsched.lab.trace.run import weights_of
from vsched.record.history import History
from vsched.record.lines import (
    DELETED,
    SUCCEEDED,
    AnyLine,
    Began,
    Complete,
    Ended,
    JobThere,
    NodeThere,
    PodBound,
    PodEnded,
    PodThere,
    QueueThere,
)

MIB = 1 << 20
NODES, GPUS, CPUS, MEMORY_MIB = 3, 4, 64, 65536
WEIGHTS = {"research": 3, "batch": 1}
END = 400


def a_course(random: Random) -> list[AnyLine]:
    """Jobs of one pod and gangs of two that come, wait, run and end; some pods are evicted and come again."""
    lines: list[AnyLine] = [
        Began(at=0.0, schedulers=("volcano",)),
        *(NodeThere(at=0.0, name=f"n{number}", has=_node()) for number in range(NODES)),
        *(QueueThere(at=0.0, name=name, weight=weight) for name, weight in WEIGHTS.items()),
        Complete(at=0.0),
    ]
    free: dict[str, list[int]] = {f"n{number}": [0] * GPUS for number in range(NODES)}
    """By node: when each of its GPUs is free again."""
    for number in range(40):
        came, size, queue = random.randrange(1, END - 100), random.choice((1, 1, 2)), random.choice([*WEIGHTS])
        job = f"j{number:02}"
        lines.append(JobThere(at=came, id=job, namespace="ns", name=job, queue=queue, created=came, min_member=size))
        gpus, start, seconds = random.randint(0, 2), came + random.randint(0, 60), random.randint(1, 90)
        for member in range(size):
            lines += _pod_of(random, free, f"{job}-{member}", job, came, gpus, (start, seconds))
    lines.sort(key=lambda line: line.at)
    return [*lines, Ended(at=float(END))]


def _node() -> dict[str, int]:
    return {"cpu": 1000 * CPUS, "memory": MEMORY_MIB * MIB, "nvidia.com/gpu": 1000 * GPUS, "pods": 110}


def _pod_of(
    random: Random, free: dict[str, list[int]], id: str, job: str, came: int, gpus: int, run: tuple[int, int]
) -> Iterator[AnyLine]:
    """A pod from when it came: evicted once by chance where it is a job of its own, or never with a node."""
    start, seconds = run
    asks = {"cpu": 1000, "memory": 100 * MIB, **({"nvidia.com/gpu": 1000 * gpus} if gpus else {})}
    alone = id.endswith("-0") and random.random() < 0.2
    for again in range(1 + alone):
        name = f"{id}{'b' * again}"
        yield PodThere(at=came, id=name, job=job, created=came, asks=asks)
        node = next((each for each, ends in free.items() if sum(end <= start for end in ends) >= gpus), "")
        if not node:
            return
        for place in [place for place, end in enumerate(free[node]) if end <= start][:gpus]:
            free[node][place] = start + seconds
        yield PodBound(at=start, id=name, node=node)
        if start + seconds > END:
            return
        evicted = alone and not again
        yield PodEnded(at=start + seconds, id=name, how=DELETED if evicted else SUCCEEDED)
        came = start + seconds
        start = came + 5


@dataclass
class _Pod:
    """A pod by the lines: an evicted one goes on as the one that came in its place."""

    job: str
    queue: str
    gang: bool
    first: bool
    came: int
    asks: Mapping[str, int]
    runs: list[list[int]] = field(default_factory=list)
    """When each began and ended; an end far away for none."""

    def waited(self) -> int:
        ends = [self.came, *(end for _, end in self.runs)]
        return sum(begin - before for before, (begin, _) in zip(ends, self.runs, strict=False))

    def runs_at(self, at: int) -> bool:
        return any(begin <= at < end for begin, end in self.runs)

    def waits_at(self, at: int) -> bool:
        over = self.runs and self.runs[-1][1] <= at
        return self.came <= at and not self.runs_at(at) and not over

    def gpus(self) -> int:
        return self.asks.get("nvidia.com/gpu", 0) // 1000


def pods_of(lines: list[AnyLine]) -> list[_Pod]:
    """The pods by the lines alone."""
    jobs: dict[str, JobThere] = {}
    found: dict[str, _Pod] = {}
    for line in lines:
        match line:
            case JobThere():
                jobs[line.id] = line
            case PodThere(id=id, job=job):
                key = id.rstrip("b")
                if key not in found:
                    first = key.endswith("-0")
                    found[key] = _Pod(job, jobs[job].queue, jobs[job].min_member > 1, first, int(line.at), line.asks)
            case PodBound(id=id):
                found[id.rstrip("b")].runs.append([int(line.at), 10**9])
            case PodEnded(id=id):
                found[id.rstrip("b")].runs[-1][1] = int(line.at)
    return [*found.values()]


def entitled(room: float, wanted: Mapping[str, float]) -> dict[str, float]:
    """Shares by weight of which nobody gets more than it wants: the level is found by halving."""
    low, high = 0.0, room
    for _ in range(100):
        level = (low + high) / 2
        if sum(min(want, level * WEIGHTS[name]) for name, want in wanted.items()) < room:
            low = level
        else:
            high = level
    return {name: min(want, high * WEIGHTS[name]) for name, want in wanted.items()}


def fairness(pods: list[_Pod], at: int) -> float:
    used, wanted = defaultdict[str, float](float), defaultdict[str, float](float)
    for pod in pods:
        used[pod.queue] += pod.gpus() * pod.runs_at(at)
        wanted[pod.queue] += pod.gpus() * (pod.runs_at(at) or pod.waits_at(at))
    due = entitled(NODES * GPUS, wanted)
    parts = [min(1.0, used[name] / share) for name, share in due.items() if share > 1e-9]
    total = sum(parts)
    return total**2 / (len(parts) * sum(part**2 for part in parts)) if total else 1.0


def spread(values: list[int], never: int) -> dict[str, float]:
    values = sorted(values)
    parts = {name: values[ceil(len(values) * part) - 1] for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))}
    return {"count": len(values), "mean": sum(values) / len(values), **parts, "max": values[-1], "never": never}


def waits(pods: list[_Pod], chosen: Callable[[_Pod], bool]) -> dict[str, float]:
    jobs = [pod for pod in pods if pod.first and chosen(pod)]
    placed = [pod.waited() for pod in jobs if pod.runs]
    return spread(placed, len(jobs) - len(placed))


@pytest.mark.parametrize("seed", [2101803196, 1604035658, *seeds(3, "figures of what was recorded")])
def test_figures_of_what_really_happened_are_those_of_the_lines(seed: int) -> None:
    """What went wrong once: pods that wait after the last one came, and members that come as another one is evicted."""
    lines = a_course(Random(seed))
    trace = work_of(Path("work"), History(lines))
    found: dict[str, Any] = as_recorded(trace, weights_of(trace, {}))
    pods = pods_of(lines)
    first, last = min(pod.came for pod in pods), max(pod.came for pod in pods)
    whole = range(first, last + 1)

    runs = [run for pod in pods for run in pod.runs]
    assert found["pods"] == {
        "created": len(pods),
        "placed": len(runs),
        "never_placed": sum(not pod.runs for pod in pods),
        "evicted": sum(max(0, len(pod.runs) - 1) for pod in pods),
        "in_pieces": 0,
    }
    for name, key, room in (
        ("gpu", "nvidia.com/gpu", NODES * GPUS * 1000),
        ("cpu", "cpu", NODES * CPUS * 1000),
        ("memory", "memory", NODES * MEMORY_MIB * MIB),
    ):
        used = [sum(pod.asks.get(key, 0) for pod in pods if pod.runs_at(at)) / room for at in whole]
        assert found["utilisation"][name] == over_time(used, "peak", max(used))
    waiting = [float(sum(pod.waits_at(at) for pod in pods)) for at in whole]
    assert found["waiting_pods"] == over_time(waiting, "peak", max(waiting))
    index = [fairness(pods, at) for at in whole]
    assert found["fairness"] == over_time(index, "least", min(index))

    by = found["waiting_seconds"]
    assert by["all"] == pytest.approx(waits(pods, lambda pod: True), abs=1e-4)
    for queue in WEIGHTS:
        assert by["by_queue"][queue] == pytest.approx(
            waits(pods, lambda pod, queue=queue: pod.queue == queue), abs=1e-4
        )
    assert by["by_size"]["gangs"] == pytest.approx(waits(pods, lambda pod: pod.gang), abs=1e-4)
    assert found["last_start_seconds"] == max(begin for begin, _ in runs) - first
    cut_short = [(pod, end - begin) for pod in pods for begin, end in pod.runs[:-1]]
    assert found["lost_seconds"] == {
        "cpu": sum(seconds for _, seconds in cut_short),
        "gpu": sum(seconds * pod.gpus() for pod, seconds in cut_short),
    }


def over_time(values: list[float], name: str, extreme: float) -> Any:
    """The mean over the seconds, of which the last one only counts for the extreme."""
    return pytest.approx({"mean": sum(values[:-1]) / (len(values) - 1), name: extreme}, abs=1e-4)
