"""What the demo shows: its state as one value, and that as a screen, a summary or a document. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.show.drawing import Look, bar
from vsched.lab.demo import words

LOOK = Look(cells=28, ranks=True, counts=True)
"""Bars of the demo show a part of the whole cluster and are longer than those of other commands."""
QUEUE_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")


@dataclass(frozen=True, slots=True)
class QueueLine:
    """The state of a queue; amounts in cpus."""

    name: str
    weight: int
    share: float = 0.0
    """The used part of what it deserves."""
    allocated: float = 0.0
    deserved: float = 0.0
    running: int = 0
    pending: int = 0
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    used_lately: float | None = None
    """The part of the cluster that it has used, recent use counting more; None where the demo does not show memory."""


@dataclass(frozen=True, slots=True)
class NamespaceLine:
    """What a namespace uses in all queues together."""

    name: str
    weight: int
    allocated: float = 0.0
    """In cpus."""
    pending: int = 0


@dataclass(frozen=True, slots=True)
class DemoState:
    """The state of the demo at one moment."""

    elapsed_seconds: float
    seconds: float
    nodes: int
    nodes_used: int = 0
    cpus: int = 0
    created: int = 0
    bound: int = 0
    finished: int = 0
    per_second: int = 0
    peak_per_second: int = 0
    gangs_bound: int = 0
    partial_gangs: int = 0
    latency_ms: Mapping[str, float] = field(default_factory=lambda: {"p50": 0.0, "p99": 0.0})
    queues: tuple[QueueLine, ...] = ()
    namespaces: tuple[NamespaceLine, ...] = ()
    decisions: tuple[str, ...] = ()
    """The latest ones, newest first."""
    errors: int = 0
    last_error: str = ""
    sessions: int = 0
    page: str = ""
    """The address of the web page."""
    contested: Mapping[str, float] = field(default_factory=dict)
    """The mean part of the cluster that each queue has held since all ask; empty where memory is not shown."""

    @property
    def waiting(self) -> int:
        return self.created - self.bound


def as_document(state: DemoState) -> dict[str, Any]:
    """The outcome as a document."""
    return {
        "seconds": round(state.elapsed_seconds, 2),
        "nodes": state.nodes,
        "nodes_used": state.nodes_used,
        "pods_created": state.created,
        "pods_bound": state.bound,
        "pods_finished": state.finished,
        "pods_waiting": state.waiting,
        "pods_per_second": round(state.bound / state.elapsed_seconds, 1) if state.elapsed_seconds else 0.0,
        "pods_per_second_peak": state.peak_per_second,
        "latency_ms": dict(state.latency_ms),
        "gangs_bound": state.gangs_bound,
        "partial_gangs": state.partial_gangs,
        "sessions": state.sessions,
        "queues": {
            queue.name: {
                "weight": queue.weight,
                "share": round(queue.share, 4),
                "allocated_cpu": round(queue.allocated, 3),
                "deserved_cpu": round(queue.deserved, 3),
                "running": queue.running,
                "pending": queue.pending,
                "latency_ms": dict(queue.latency_ms),
                **({} if queue.used_lately is None else {"used_lately": round(queue.used_lately, 4)}),
            }
            for queue in state.queues
        },
        "namespaces": {
            found.name: {
                "weight": found.weight,
                "allocated_cpu": round(found.allocated, 3),
                "pending": found.pending,
            }
            for found in state.namespaces
        },
        **(
            {"held_since_all_ask": {name: round(part, 4) for name, part in state.contested.items()}}
            if state.contested
            else {}
        ),
        "errors": state.errors,
        **({"last_error": state.last_error} if state.errors else {}),
    }


def as_line(state: DemoState) -> str:
    """The progress in one line."""
    used = ", ".join(f"{queue.name} {queue.allocated:.0f}/{queue.deserved:.0f}" for queue in state.queues)
    lately = ", ".join(f"{one.name} {one.used_lately:.0%}" for one in state.queues if one.used_lately is not None)
    return words.progress(
        state.elapsed_seconds,
        state.bound,
        state.per_second,
        state.waiting,
        state.nodes_used,
        state.nodes,
        _latency(state.latency_ms),
        used,
    ) + (words.used_lately(lately) if lately else "")


def as_live(state: DemoState) -> RenderableType:
    """The screen of a terminal."""
    parts: list[RenderableType] = [_headline(state), Text(), _queues(state), Text(), _namespaces(state)]
    if state.decisions:
        parts += [Text(), Text("last decisions", style="bold"), *(Text(f"  {line}") for line in state.decisions)]
    if state.errors:
        parts.append(Text(words.errors(state.errors, state.last_error), style="red"))
    return Group(*parts)


def as_summary(state: DemoState) -> RenderableType:
    """The outcome as a table."""
    table = Table(show_header=False, show_edge=False, box=None)
    table.add_column(style="dim")
    table.add_column()
    rows = (
        ("pods bound", f"{state.bound:,} of {state.created:,} in {state.elapsed_seconds:.1f} s"),
        ("pods a second", words.rate(_rate(state), state.peak_per_second)),
        (words.CREATION_TO_BINDING, words.with_waiting(_latency(state.latency_ms))),
        *((f"  in {queue.name}", _latency(queue.latency_ms)) for queue in state.queues),
        ("gangs", words.gangs(state.gangs_bound, state.partial_gangs)),
        *((words.held_by(name), words.of_cluster(part)) for name, part in state.contested.items()),
        ("sessions", f"{state.sessions:,}"),
        ("errors", f"{state.errors}" + (words.last_error(state.last_error) if state.errors else "")),
    )
    for row in rows:
        table.add_row(*row)
    return table


def _headline(state: DemoState) -> Text:
    left = max(0.0, state.seconds - state.elapsed_seconds)
    text = Text.assemble(
        ("vsched demo", "bold"),
        words.headline(state.nodes_used, state.nodes, left),
        (f"   {state.page}" if state.page else "", "dim"),
    )
    return text.append_text(
        Text.assemble(
            "\n",
            (f"{state.per_second:,} pods/s", "bold green"),
            words.totals(state.peak_per_second, state.bound, state.waiting, state.finished, _latency(state.latency_ms)),
        )
    )


def _table(*headings: str) -> Table:
    table = Table(show_edge=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        numbers = heading in ("weight", "share", "cpus", "deserved", "running", "pending")
        table.add_column(heading, justify="right" if numbers else "left", no_wrap=heading == words.PART)
    return table


def _queues(state: DemoState) -> Table:
    has_memory = any(queue.used_lately is not None for queue in state.queues)
    lately = [words.LATELY] if has_memory else []
    headings = (
        "queue",
        "weight",
        "share",
        words.PART,
        "cpus",
        "deserved",
        "running",
        "pending",
        words.CREATION_TO_BINDING,
    )
    table = _table(*headings, *lately)
    for queue, colour in zip(state.queues, cycle(QUEUE_COLOURS), strict=False):
        table.add_row(
            Text(queue.name, style=colour),
            str(queue.weight),
            f"{queue.share:.0%}",
            bar(LOOK, state.cpus or 1, queue.allocated, fair=queue.deserved, style=colour, beyond=colour),
            f"{queue.allocated:,.0f}",
            f"{queue.deserved:,.0f}",
            f"{queue.running:,}",
            f"{queue.pending:,}",
            _latency(queue.latency_ms),
            *([] if queue.used_lately is None else [bar(LOOK, 1.0, queue.used_lately, style=colour, beyond=colour)]),
        )
    return table


def _namespaces(state: DemoState) -> Table:
    table = _table("namespace", "weight", "cpus", "pending")
    for found in state.namespaces:
        table.add_row(found.name, str(found.weight), f"{found.allocated:,.0f}", f"{found.pending:,}")
    return table


def _rate(state: DemoState) -> float:
    return state.bound / state.elapsed_seconds if state.elapsed_seconds else 0.0


def _latency(spread: Mapping[str, float]) -> str:
    """Median and 99th percentile, in a readable unit."""
    return f"p50 {_time(spread.get('p50', 0.0))} / p99 {_time(spread.get('p99', 0.0))}"


def _time(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
