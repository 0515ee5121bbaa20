"""The accounts of one replay: what is used, waiting and free at every moment, and a summary.

They follow what the embedded cluster was asked for and what came of it; the daemon is not asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vsched.lab.trace import words
from vsched.lab.trace.devices import TypicalPods
from vsched.lab.trace.files import WHOLE_GPU, ClusterTrace, TracePod
from vsched.lab.trace.load import RESOURCES, capacity_of, scarcest
from vsched.lab.trace.machines import Machine
from vsched.lab.trace.measures import Floats, averages, contentment, jain, mean_and_extremes, spread
from vsched.lab.trace.objects import namespace_of, queue_of
from vsched.lab.trace.shares import SharesOverTime

POINTS = 240
"""Points of each line that is drawn."""
SIZES = ("no GPU", words.PART_OF_GPU, "1 GPU", "2 to 7 GPUs", words.EIGHT_GPUS, "gangs")
DIGITS = 4
LONG_SECONDS = 2 * 86_400
"""The least time of arrivals in which fairness over the last week is measured, too."""
WARM_UP = 0.01
"""The first part of the pods is not measured, because it finds an empty cluster; in OpenB it takes half of the time."""
SERIES = ("cpu", "memory", "gpu", "fragmentation", "fairness", "waiting")
"""Figures kept over time: used parts, an index, and a number of pods."""


def size_of(pod: TracePod) -> str:
    """The class in SIZES of a pod; gangs are jobs of several pods that start together."""
    if pod.gang is not None:
        return SIZES[5]
    if not pod.gpus:
        return SIZES[0]
    if not pod.takes_whole_gpus and pod.gpus == 1:
        return SIZES[1]
    return SIZES[2] if pod.gpus == 1 else SIZES[3] if pod.gpus < 8 else SIZES[4]


@dataclass(slots=True)
class _Stay:
    """A pod that has arrived: since when it waits or runs, and how long it has waited in all."""

    pod: TracePod
    since: float
    waited: float = 0.0
    machine: Machine | None = None


class TraceAccounts:
    """Everything that is counted during a replay; times are seconds since the first arrival."""

    def __init__(self, trace: ClusterTrace, weights: Mapping[str, int]) -> None:
        self._trace = trace
        self._weights = weights
        self._capacity = capacity_of(trace.nodes)
        self.scarcest = scarcest(trace)
        self._asks = {name: asks for name, (_, asks) in RESOURCES.items()}
        self._typical = TypicalPods(trace.pods)
        first = trace.pods[0].created
        self.begin = float(trace.pods[int(len(trace.pods) * WARM_UP)].created - first)
        """Figures over time are measured from here, the end of the warm-up ..."""
        self.end = float(trace.pods[-1].created - first)
        """... until here, the last arrival ..."""
        runs = max(pod.run_seconds for pod in trace.pods)
        self.horizon = self.end + (self.end - self.begin or runs)
        """... and drawn until here, to show how long the last pods still wait."""
        self._users = sorted({pod.user for pod in trace.pods} - {""})
        self._stays: dict[str, _Stay] = {}
        """Pods that wait or run, by name in the trace."""
        self.used: Counter[str] = Counter()
        """By resource."""
        self._used_by_queue: Counter[str] = Counter()
        self._requested: Counter[str] = Counter()
        """Both of the scarcest resource, by queue; the latter is the request of waiting pods."""
        self._fragments: dict[str, float] = {}
        self._fragmented = 0.0
        self._waits: dict[str, float] = {}
        self.last_starts: dict[str, float] = {}
        """When pods were bound for the last time, by name in the trace."""
        self.losses: list[tuple[float, float]] = []
        """Evictions: when each was, and the GPU seconds of work that it threw away."""
        self.moments: list[float] = []
        self.series: dict[str, list[float]] = {name: [] for name in SERIES}
        self.shares = SharesOverTime(weights, float(self._capacity[self.scarcest]))
        self.created = self.placed = self.evicted = self.finished = self.in_pieces = 0
        self._lost: dict[str, float] = defaultdict(float)
        """Work that evicted pods had done, as amount times seconds, by resource."""
        self._last_start = self._last_end = 0.0
        self.running = 0
        """Pods on nodes."""

    @property
    def waiting(self) -> int:
        """Pods that have arrived and are not on a node."""
        return len(self._stays) - self.running

    @property
    def waits(self) -> Mapping[str, float]:
        """How long pods that were placed have waited, by name in the trace, seconds."""
        return self._waits

    def machines(self, machines: Sequence[Machine]) -> None:
        """Add machines with nothing on them."""
        for machine in machines:
            self._refresh(machine)

    # -- what happens

    def arrive(self, pod: TracePod, now: float) -> None:
        """Note that a pod has arrived."""
        self.created += 1
        self._stays[pod.name] = _Stay(pod, now)
        self._requested[queue_of(pod)] += self._asks[self.scarcest](pod)

    def start(self, pod: TracePod, machine: Machine, now: float, *, whole: bool) -> None:
        """Note that a waiting pod is on a node."""
        stay = self._stays[pod.name]
        stay.waited += now - stay.since
        stay.since, stay.machine = now, machine
        self.running += 1
        self.placed += 1
        self.in_pieces += not whole
        self._waits[pod.name] = stay.waited
        self.last_starts[pod.name] = now
        self._move(pod, 1)
        self._requested[queue_of(pod)] -= self._asks[self.scarcest](pod)
        self._refresh(machine)
        self._last_start = now
        self._last_end = max(self._last_end, now + pod.run_seconds)

    def finish(self, pod: TracePod) -> None:
        """Note that a pod has ended."""
        self.finished += 1
        self._leave(self._stays.pop(pod.name))

    def evict(self, pod: TracePod, now: float) -> None:
        """Note that a pod was evicted: it waits again, and its work is lost."""
        stay = self._stays[pod.name]
        self.evicted += 1
        for name, asks in self._asks.items():
            self._lost[name] += asks(pod) * (now - stay.since)
        self.losses.append((now, pod.gpu_amount / WHOLE_GPU * (now - stay.since)))
        self._leave(stay)
        stay.since = now
        self._waits.pop(pod.name)
        self._requested[queue_of(pod)] += self._asks[self.scarcest](pod)

    def sample(self, now: float) -> None:
        """Record the figures of this moment, once nothing more happens at it."""
        if self.moments and self.moments[-1] == now:
            self.moments.pop()
            for values in self.series.values():
                values.pop()
            self.shares.forget_last()
        self.moments.append(now)
        for name, amount in self._capacity.items():
            self.series[name].append(self.used[name] / amount if amount else 0.0)
        free = self._capacity["gpu"] - self.used["gpu"]
        self.series["fragmentation"].append(min(1.0, max(0.0, self._fragmented) / free) if free else 0.0)
        self.series["fairness"].append(self._fairness())
        self.shares.sample(now, self._used_by_queue, self._requested)
        self.series["waiting"].append(float(self.waiting))

    def _leave(self, stay: _Stay) -> None:
        assert stay.machine is not None
        machine, stay.machine = stay.machine, None
        self.running -= 1
        self._move(stay.pod, -1)
        self._refresh(machine)

    def _move(self, pod: TracePod, sign: int) -> None:
        for name, asks in self._asks.items():
            self.used[name] += sign * asks(pod)
        self._used_by_queue[queue_of(pod)] += sign * self._asks[self.scarcest](pod)

    def _refresh(self, machine: Machine) -> None:
        if not machine.node.gpus:
            return
        fresh = self._typical.fragments(machine.node, machine.cpu_milli, machine.memory_mib, machine.devices.free)
        self._fragmented += fresh - self._fragments.get(machine.node.name, 0.0)
        self._fragments[machine.node.name] = fresh

    def _fairness(self) -> float:
        used = {name: float(self._used_by_queue[name]) for name in self._weights}
        wanted = {name: used[name] + self._requested[name] for name in self._weights}
        return jain(contentment(self._capacity[self.scarcest], used, wanted, self._weights))

    # -- what comes of it

    def summary(self) -> dict[str, Any]:
        """The summary as one document; equal replays give equal ones."""
        never = [pod for pod in self._trace.pods if pod.name not in self._waits]
        waiting = self._figure("waiting", "mean", "peak")
        return {
            "pods": {
                "created": self.created,
                "placed": self.placed,
                "never_placed": len(never),
                "evicted": self.evicted,
                "in_pieces": self.in_pieces,
            },
            "utilisation": {name: self._figure(name, "mean", "peak") for name in RESOURCES},
            "fragmentation": self._figure("fragmentation", "mean", "peak"),
            "fairness": self._figure("fairness", "mean", "least"),
            **({"fairness_of_a_week": self._of_a_week()} if self._is_long else {}),
            "waiting_pods": {**waiting, "peak": int(waiting["peak"])},
            "waiting_seconds": {
                "all": self._waits_by(lambda _: "all", ["all"])["all"],
                "by_queue": self._waits_by(queue_of, sorted(self._weights)),
                "by_size": self._waits_by(size_of, SIZES),
                **({"by_user": self._waits_by(namespace_of, self._users)} if self._users else {}),
            },
            "measured_seconds": {"begin": self.begin, "end": self.end},
            "last_start_seconds": self._last_start,
            "makespan_seconds": self._last_end,
            "lost_seconds": {name: round(self._lost[name] / 1000, 1) for name in ("cpu", "gpu")},
            "series": self._lines(),
            "shares": self.shares.lines(self._edges),
        }

    def _figure(self, name: str, *parts: str) -> dict[str, float]:
        """The mean over time, the least or the peak value of a figure."""
        found = mean_and_extremes(self.moments, self.series[name], self.begin, self.end)
        values = dict(zip(("mean", "least", "peak"), found, strict=True))
        return {part: round(values[part], DIGITS) for part in parts}

    def _waits_by(self, group_of: Callable[[TracePod], str], groups: Iterable[str]) -> dict[str, dict[str, float]]:
        """The waits of the jobs of each group, and how many were never placed; groups without jobs are left out."""
        waits, never = defaultdict[str, list[float]](list), Counter[str]()
        for pod in self._trace.pods:
            if not pod.is_first_of_job:
                continue  # a gang starts as a whole
            if pod.name in self._waits:
                waits[group_of(pod)].append(self._waits[pod.name])
            else:
                never[group_of(pod)] += 1
        return {name: {**spread(waits[name]), "never": never[name]} for name in groups if waits[name] or never[name]}

    def _lines(self) -> dict[str, list[float]]:
        """Averages over equal periods, for drawing."""
        edges = self._edges
        lines = {"seconds": [round(float(edge), 1) for edge in edges[:-1]]}
        for name in SERIES:
            lines[name] = [round(float(value), DIGITS) for value in averages(self.moments, self.series[name], edges)]
        if self._is_long:
            lines["fairness_of_a_week"] = [round(value, DIGITS) for value in self.shares.fairness(edges[1:])]
        return lines

    @property
    def _edges(self) -> Floats:
        return np.linspace(self.begin, self.horizon, POINTS + 1)

    @property
    def _is_long(self) -> bool:
        """Whether it is worth looking back over a week."""
        return self.end - self.begin >= LONG_SECONDS

    def _of_a_week(self) -> dict[str, float]:
        """The mean and the least of the fairness over the last week, while pods come."""
        found = self.shares.fairness(np.linspace(self.begin, self.end, POINTS + 1)[1:])
        return {"mean": round(sum(found) / len(found), DIGITS), "least": round(min(found), DIGITS)}
