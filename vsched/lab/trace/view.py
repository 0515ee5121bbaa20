"""How replays compare, as a table: a line for each figure, a column for each policy, the best value marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.markup import escape
from rich.table import Table

from vsched.cli.show.drawing import count_text
from vsched.cli.show.output import console_for
from vsched.lab.trace import words
from vsched.model.amounts.durations import short_duration

Document = dict[str, Any]
Shown = Callable[[float], str]
MOST_SHOWN = 5
"""Violations under one policy that are shown; -o json has more."""


class FigureLine(NamedTuple):
    """The values of one figure under each policy."""

    title: str
    values: list[float]
    shown: Shown
    better: int = 0
    """1 where more is better, -1 where less is, else 0."""

    def best(self) -> set[int]:
        """The indexes of the best policies; none where all look the same."""
        if not self.better or len({self.shown(value) for value in self.values}) < 2:
            return set()
        top = self.shown(max(self.values, key=lambda value: self.better * value))
        return {index for index, value in enumerate(self.values) if self.shown(value) == top}


def percent(value: float) -> str:
    return f"{value:.1%}"


def index(value: float) -> str:
    return f"{value:.3f}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def show(document: Document, no_color: bool = False) -> None:
    """Print the comparison."""
    console = console_for(no_color, wide=False)
    console.print(escape(title_of(document["trace"])), soft_wrap=True)
    for note in document["trace"].get("notes", ()):
        console.print(escape(note), style="dim", soft_wrap=True)
    console.print(as_table(columns_of(document)))
    console.print(
        words.LEGEND,
        style="dim",
        soft_wrap=True,
    )
    for policy in document["policies"]:
        for text in policy.get("verify", {}).get("found", ())[:MOST_SHOWN]:
            console.print(escape(f"{policy['policy']}: {text}"), style="red", soft_wrap=True)


def title_of(trace: Document) -> str:
    """What was replayed, in one line."""
    load = ", ".join(f"{share:.2f} of {name}" for name, share in trace["load"].items() if share)
    pods = count_text(trace["pods"], "pod", "pods")
    what = pods if trace["jobs"] == trace["pods"] else f"{count_text(trace['jobs'], 'job', 'jobs')} ({pods})"
    there = f"{what} on {count_text(trace['nodes'], 'node', 'nodes')}"
    speed = _speed(trace["times_as_fast"])
    return words.title(there, count_text(trace["gpus"], "GPU", "GPUs"), speed, load)


def _speed(pace: float) -> str:
    """The pace of arrivals; small numbers have fractions."""
    factor = f"{pace:,.0f}" if pace >= 100 else f"{pace:.3g}"
    return "as recorded" if factor == "1" else words.times_as_fast(factor)


def columns_of(document: Document) -> list[Document]:
    """What to compare: what really happened, where the trace says it, and the policies."""
    recorded = document.get("recorded")
    if recorded is None:
        return [*document["policies"]]
    return [{"policy": words.AS_RECORDED, **recorded, "match": {"as_recorded": 1.0}}, *document["policies"]]


def as_table(policies: Sequence[Document]) -> Table:
    """A line for each figure, a column for each policy."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for policy in policies:
        table.add_column(escape(policy["policy"]), justify="right")
    for line in lines_of(policies):
        best = line.best()
        cells = [
            f"[bold green]{line.shown(value)} *[/]" if place in best else f"{line.shown(value)}  "
            for place, value in enumerate(line.values)
        ]
        table.add_row(escape(line.title), *cells)
    return table


def lines_of(policies: Sequence[Document]) -> Iterator[FigureLine]:
    """All figures, in the order of the table."""

    def of(*path: str) -> list[float]:
        values = []
        for policy in policies:
            found: Any = policy
            for key in path:
                found = found.get(key, {}) if isinstance(found, dict) else found
            values.append(float(found or 0.0))
        return values

    if any("match" in policy for policy in policies):
        yield FigureLine(words.MATCH, of("match", "as_recorded"), percent)
        yield FigureLine(words.OFF_P50, of("match", "difference_seconds", "p50"), short_duration)
        yield FigureLine(words.OFF_P90, of("match", "difference_seconds", "p90"), short_duration)
    for name, title in (("gpu", words.GPUS_IN_USE), ("cpu", words.CPU_IN_USE), ("memory", words.MEMORY_IN_USE)):
        if any(of("utilisation", name, "peak")):
            yield FigureLine(f"{title}, mean", of("utilisation", name, "mean"), percent, 1)
    yield FigureLine(words.GPUS_PEAK, of("utilisation", "gpu", "peak"), percent, 1)
    yield FigureLine(words.FRAGMENTS, of("fragmentation", "mean"), percent, -1)
    yield FigureLine(words.FAIRNESS_MEAN, of("fairness", "mean"), index, 1)
    yield FigureLine(words.FAIRNESS_LEAST, of("fairness", "least"), index, 1)
    if any("fairness_of_a_week" in policy for policy in policies):
        yield FigureLine(words.FAIRNESS_OF_WEEK_MEAN, of("fairness_of_a_week", "mean"), index, 1)
        yield FigureLine(words.FAIRNESS_OF_WEEK_LEAST, of("fairness_of_a_week", "least"), index, 1)
    yield FigureLine(words.WAITING_MEAN, of("waiting_pods", "mean"), count, -1)
    yield FigureLine(words.WAITING_PEAK, of("waiting_pods", "peak"), count, -1)
    for part in ("mean", "p50", "p90", "p99", "max"):
        yield FigureLine(f"wait, {part}", of("waiting_seconds", "all", part), short_duration, -1)
    for group, word in (("by_size", ""), ("by_queue", "queue "), ("by_user", "user ")):
        names = dict.fromkeys(name for policy in policies for name in policy["waiting_seconds"].get(group, ()))
        for name in names:
            yield FigureLine(f"wait, p99, {word}{name}", of("waiting_seconds", group, name, "p99"), short_duration, -1)
    yield FigureLine("never placed", of("pods", "never_placed"), count, -1)
    yield FigureLine("evictions", of("pods", "evicted"), count, -1)
    yield FigureLine(words.GPU_HOURS_LOST, [value / 3600 for value in of("lost_seconds", "gpu")], count, -1)
    yield FigureLine(words.LAST_START, of("last_start_seconds"), short_duration, -1)
    yield FigureLine("makespan", of("makespan_seconds"), short_duration, -1)
    yield FigureLine(words.IN_PIECES, of("pods", "in_pieces"), count)
    yield FigureLine("sessions", of("sessions"), count)
    if any("verify" in policy for policy in policies):
        yield FigureLine(words.SESSIONS_CHECKED, of("verify", "sessions"), count)
        yield FigureLine(words.VIOLATIONS, of("verify", "violations"), count, -1)
