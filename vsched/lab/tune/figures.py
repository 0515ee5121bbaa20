"""Figures of a replay by the names that an objective gives them: "p95 wait of gangs over 64 gpus", "fairness"."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from enum import StrEnum
from functools import partial
from typing import NamedTuple

import numpy as np

from vsched.lab.trace import periods
from vsched.lab.trace.measures import Floats
from vsched.lab.trace.periods import Bools, JobColumns, Periods
from vsched.lab.tune import words
from vsched.model.amounts.durations import short_duration

Measure = Callable[[Periods, Floats], float]
"""A number for periods, each taken so many times."""


class Unit(StrEnum):
    """What a figure is counted in."""

    SECONDS = "seconds"
    SHARE = "share"
    INDEX = "index"
    GPU_HOURS = "GPU hours"
    COUNT = "count"


LEAST = {Unit.SECONDS: 1.0, Unit.SHARE: 0.001, Unit.INDEX: 0.001, Unit.GPU_HOURS: 1.0, Unit.COUNT: 1.0}
"""What a change is measured against where a figure is nearly 0 to begin with."""


class ReplayFigure(NamedTuple):
    """A measure by its name."""

    name: str
    unit: Unit
    measure: Measure
    queue: str = ""
    """The queue that it is about, if it is about one."""

    def of(self, found: Periods) -> float:
        """Its value for a replay."""
        return self.measure(found, found.once)

    def shown(self, value: float) -> str:
        """A value for people."""
        match self.unit:
            case Unit.SECONDS:
                return short_duration(value)
            case Unit.SHARE:
                return f"{value:.1%}"
            case Unit.INDEX:
                return f"{value:.3f}"
            case _:
                return f"{value:,.0f}"


RESOURCES = ("gpu", "cpu", "memory")
_WAIT = re.compile(r"(mean|max|p[1-9][0-9]?) wait(.*)")
_CHOSEN = re.compile(
    r" of gangs| of queue (?P<queue>\S+)| (?P<sign>over|up to) (?P<most>[0-9]{1,6}) (?P<what>gpus|pods)"
)
_UTILISATION = re.compile(r"utili[sz]ation(?: of (\w+))?")
LOST = "gpu-hours lost"
PLAIN: dict[str, tuple[Unit, Measure]] = {
    "fairness": (Unit.INDEX, periods.fairness),
    LOST: (Unit.GPU_HOURS, periods.lost_gpu_hours),
    "ended late": (Unit.SHARE, periods.ended_late),
    "never started": (Unit.SHARE, periods.never_started),
    "evictions": (Unit.COUNT, periods.evictions),
}
LOST_SHARE = ReplayFigure(LOST, Unit.SHARE, periods.lost_share)
"""GPU hours lost where a limit is in per cent: of all that pods held."""


def figure_of(text: str) -> ReplayFigure | None:
    """The figure of this name; None where there is none."""
    name = " ".join(text.lower().split())
    if name in PLAIN:
        return ReplayFigure(name, *PLAIN[name])
    if used := _UTILISATION.fullmatch(name):
        resource = used[1] or RESOURCES[0]
        if resource not in RESOURCES:
            return None
        return ReplayFigure(name, Unit.SHARE, partial(_in_use, resource=resource))
    found = _WAIT.fullmatch(name)
    return None if found is None else _wait(name, found[1], found[2])


def _in_use(found: Periods, times: Floats, resource: str) -> float:
    return periods.utilisation(found, times, resource)


def _wait(name: str, part: str, rest: str) -> ReplayFigure | None:
    """The waits of the jobs that the rest of a name chooses."""
    rules: list[Callable[[JobColumns, Periods], Bools]] = []
    queue = ""
    while rest:
        found = _CHOSEN.match(rest)
        if found is None:
            return None
        rest = rest[found.end() :]
        if found["queue"]:
            queue = found["queue"]
            rules.append(partial(_of_queue, queue=queue))
        elif found["sign"]:
            rules.append(partial(_of_size, most=int(found["most"]), what=found["what"], over=found["sign"] == "over"))
        else:
            rules.append(lambda jobs, _: jobs.gang)
    percent = {"mean": None, "max": 100.0}[part] if part in ("mean", "max") else float(part[1:])

    def measure(found: Periods, times: Floats) -> float:
        chosen = np.ones(len(found.jobs.waits), bool)
        for rule in rules:
            chosen &= rule(found.jobs, found)
        return periods.wait(found, times, percent, chosen)

    return ReplayFigure(name, Unit.SECONDS, measure, queue)


def _of_queue(jobs: JobColumns, found: Periods, queue: str) -> Bools:
    chosen: Bools = jobs.queue == found.queues.index(queue)
    return chosen


def _of_size(jobs: JobColumns, _: Periods, most: int, what: str, over: bool) -> Bools:
    sizes = jobs.gpus if what == "gpus" else jobs.pods
    chosen: Bools = sizes > most if over else sizes <= most
    return chosen


def known_figures(queues: Collection[str] = ()) -> str:
    """The names that there are, for a message."""
    queue = min(queues, default="NAME")
    return words.known_figures(", ".join(PLAIN), queue)
