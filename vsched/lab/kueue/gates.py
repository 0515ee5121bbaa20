"""A range file of Kueue's performance tests: what its results have to reach, and whether others reach it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vsched.lab.kueue import words
from vsched.lab.kueue.fields import GeneratorFields, read_fields
from vsched.settings.reading.problems import Problems, did_you_mean

MOST_MS = 10**12


@dataclass(frozen=True, slots=True)
class Gates:
    """The limits of a range file; a class without one may take any time."""

    wall_ms: int | None = None
    """At most so long until the last workload has ended."""
    usage_percent: Mapping[str, float] = field(default_factory=dict)
    """At least so much of its nominal quota each class of queues uses."""
    admission_ms: Mapping[str, int] = field(default_factory=dict)
    """At most so long, on average, workloads of each class wait for their admission."""
    left_out: tuple[str, ...] = ()
    """Limits that are not compared, and why."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value and its limit."""

    kind: str
    """``wall``, ``usage`` or ``admission``."""
    of: str
    """The class; empty for the whole run."""
    value: float | None
    """None where nothing was measured."""
    gate: float | None = None
    """None where the range file has none."""

    @property
    def passed(self) -> bool | None:
        """Whether the limit is kept; None where there is none."""
        if self.gate is None:
            return None
        if self.value is None:
            return False
        return self.value >= self.gate if self.kind == "usage" else self.value <= self.gate

    def document(self) -> dict[str, Any]:
        """The same for a JSON document."""
        unit = "percent" if self.kind == "usage" else "ms"
        value = None if self.value is None else round(self.value, 2)
        return {"figure": self.kind, "class": self.of, unit: value, "gate": self.gate, "passed": self.passed}


def read_gates(path: Path, queues: Collection[str], workloads: Collection[str]) -> Gates:
    """The gates of a file for these classes of queues and workloads; raises BadInput with a line for each problem."""
    problems = Problems(str(path))
    root = read_fields(path, problems, words.RANGE_FILE, words.CMD_AND_CLASSES)
    wall_ms, left_out = None, list[str]()
    if (cmd := root.section("cmd")) is not None:
        wall_ms = cmd.whole("maxWallMs", most=MOST_MS) or None
        for name in ("mCPU", "maxrss"):
            if cmd.whole(name, most=MOST_MS):
                left_out.append(words.limit_of_process(name))
        cmd.end()
    usage = _by_class(root.section("clusterQueueClassesMinUsage"), queues)
    admission = _by_class(root.section("wlClassesMaxAvgTimeToAdmissionMs"), workloads)
    root.end()
    problems.raise_if_any()
    return Gates(wall_ms, usage, {name: int(value) for name, value in admission.items()}, tuple(left_out))


def _by_class(one: GeneratorFields | None, known: Collection[str]) -> dict[str, float]:
    if one is None:
        return {}
    for name in one.names():
        if name not in known:
            why = words.no_such_class(", ".join(sorted(known)))
            one.wrong(name, f"{why}{did_you_mean(name, known)}")
    return {name: one.number(name) for name in one.names()}


def compared(
    gates: Gates, wall_ms: float, usage: Mapping[str, float | None], admission: Mapping[str, float | None]
) -> Iterator[Figure]:
    """Each figure with its gate."""
    yield Figure("wall", "", wall_ms, gates.wall_ms)
    for name, percent in usage.items():
        yield Figure("usage", name, percent, gates.usage_percent.get(name))
    for name, mean_ms in admission.items():
        yield Figure("admission", name, mean_ms, gates.admission_ms.get(name))
