"""Jobs as the stable JSON shape, and as tables for people. Pure: what is known in, what is shown out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vsched.cli.job.source import Job, Jobs, Line
from vsched.cli.show.columns import JOB, Rows, columned, named
from vsched.cli.show.drawing import Look
from vsched.explain.records import Explanation
from vsched.model.status import Phase
from vsched.sim.tables.ages import short_duration

Document = dict[str, Any]

PHASE_STYLES = {
    Phase.PENDING: "yellow",
    Phase.INQUEUE: "cyan",
    Phase.RUNNING: "green",
    Phase.UNKNOWN: "magenta",
    Phase.COMPLETED: "dim",
}
WIDE = frozenset({"priority", "min", "pending", "running"})
"""Columns that most terminals have no room for."""
LEAST = frozenset({"job", "phase", "reason"})
"""Those that even the narrowest has room for."""


# -- which, and in which order


def _by_order(line: Line) -> tuple[Any, ...]:
    return line.queue, line.position is None, line.position or 0, not line.waits, line.key


def _by_priority(line: Line) -> tuple[Any, ...]:
    known = line.priority if isinstance(line.priority, int) else 0
    return -known, *_by_order(line)


SORTS: dict[str, Callable[[Line], Any]] = {
    "order": _by_order,
    "name": lambda line: line.key,
    "age": lambda line: (line.created is None, line.created or 0.0, line.key),
    "priority": _by_priority,
    "phase": lambda line: (line.phase, *_by_order(line)),
    "reason": lambda line: (not line.reason, line.reason, *_by_order(line)),
    "size": lambda line: (-line.min_member, line.key),
}
"""What lists can be sorted by: ``order`` is the order of their queues, then those that do not wait."""


def chosen(
    lines: Iterable[Line], namespace: str | None, queue: str | None, phase: str | None, waiting: bool, sort: str
) -> list[Line]:
    """The jobs that are meant, in the order that is meant."""
    found = (
        line
        for line in lines
        if (namespace is None or line.key.startswith(f"{namespace}/"))
        and (queue is None or line.queue == queue)
        and (phase is None or line.phase == phase)
        and (line.waits or not waiting)
    )
    return sorted(found, key=SORTS[sort])


# -- for programs


def as_document(line: Line) -> Document:
    """A job for programs; null where nobody knows."""
    return {
        "job": line.key,
        "queue": line.queue,
        "phase": line.phase,
        "priority": line.priority,
        "minMember": line.min_member,
        "ready": line.ready,
        "pending": line.pending,
        "running": line.running,
        "succeeded": line.succeeded,
        "failed": line.failed,
        "created": None if line.created is None else _moment(line.created),
        "position": line.position,
        "reason": line.reason,
        "message": line.message,
        "reasons": dict(line.reasons),
    }


def list_document(jobs: Jobs, lines: Sequence[Line]) -> Document:
    """Jobs for programs, in the order that is meant."""
    return {"source": jobs.source, "jobs": [as_document(line) for line in lines]}


def get_document(job: Job) -> Document:
    """Everything about one job for programs."""
    import msgspec

    told = as_document(job.line) | {"source": job.source}
    if job.explanation is not None:
        return told | {"explanation": msgspec.to_builtins(job.explanation)}
    return told | {"conditions": [dict(condition) for condition in job.conditions]}


def _moment(since: float) -> str:
    return datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- for people


def as_table(lines: Sequence[Line], look: Look, now: float, *, messages: bool = False) -> RenderableType:
    """A line a job; a wide table says in a sentence why it waits, others do, cut short, where ``messages`` says so."""
    if not lines:
        return Text("no jobs")
    headings = _headings(look)
    told = messages or look.wide
    rows: list[list[str | Text]] = []
    for line in lines:
        cells = _cells(line, look, now)
        # A sentence gives way where there is no room, and takes no second line.
        sentence = [named(line.message, unicode=look.unicode)] if told else []
        rows.append([*(cells[heading] for heading in headings), *sentence])
    return Rows([*headings, *(["message"] if told else [])], rows, look.unicode)


def _headings(look: Look) -> list[str]:
    if look.narrow:
        return [heading for heading in JOB if heading in LEAST]
    return [heading for heading in JOB if look.counts or heading not in WIDE]


def _cells(line: Line, look: Look, now: float) -> dict[str, str | Text]:
    return {
        "job": named(line.key, unicode=look.unicode),
        "queue": named(line.queue, unicode=look.unicode),
        "phase": Text(line.phase, style=PHASE_STYLES.get(line.phase, "")),
        "priority": _known(line.priority),
        "min": str(line.min_member),
        "ready": _known(line.ready),
        "pending": _known(line.pending),
        "running": str(line.running),
        "age": age(line.created, now),
        "position": _known(line.position),
        "reason": Text(line.reason or "-", style="" if line.reason else "dim"),
    }


def _known(value: float | str | None) -> str | Text:
    return Text("-", style="dim") if value is None else str(value)


def age(created: float | None, now: float) -> str:
    """How long ago, as kubectl says it."""
    return "-" if created is None else short_duration(max(0.0, now - created))


def as_page(job: Job, now: float) -> RenderableType:
    """Everything about one job."""
    line = job.line
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column()
    counts = ((line.ready, "ready"), (line.pending, "pending"), (line.running, "running"))
    ended = ((line.succeeded, "succeeded"), (line.failed, "failed"))
    rows: list[tuple[str, RenderableType]] = [
        ("job", Text(line.key, style="bold")),
        ("queue", Text(line.queue)),
        ("phase", Text(line.phase, style=PHASE_STYLES.get(line.phase, ""))),
        ("priority", _known(line.priority)),
        ("min", str(line.min_member)),
        ("pods", ", ".join(f"{count} {word}" for count, word in (*counts, *ended) if count is not None) or "-"),
        ("age", age(line.created, now)),
        ("position", _position(job)),
        ("reason", Text(line.reason or "-", style="yellow" if line.reason else "dim")),
    ]
    for row in rows:
        facts.add_row(*row)
    return Group(facts, *_why(job), Text(f"\nvsched explain {line.key} tells more", style="dim"))


def _position(job: Job) -> RenderableType:
    place = job.explanation.place if job.explanation is not None else None
    if place is None:
        return _known(job.line.position)
    return f"{place.position} of {place.of} in its queue, {place.overall} of {place.overall_of} in all"


def _why(job: Job) -> list[RenderableType]:
    """The sentence, nodes by reason, and what would help, as far as somebody told."""
    line, parts = job.line, list[RenderableType]()
    explanation = job.explanation
    message = explanation.message if explanation is not None else line.message
    if message:
        parts += [Text(), Text(message)]
    reasons = explanation.reasons if explanation is not None else line.reasons
    if reasons:
        table = columned(["nodes", "why"])
        for reason, count in sorted(reasons.items(), key=lambda found: (-found[1], found[0])):
            table.add_row(str(count), Text(reason))
        parts += [Text(), table]
    parts += _outlook(explanation) if explanation is not None else []
    for condition in job.conditions:
        if condition.get("status") == "True" and condition.get("message", "") != message:
            told = f"{condition.get('type', '')}: {condition.get('reason', '')}: {condition.get('message', '')}"
            parts += [Text(), Text(told)]
    return parts


def _outlook(explanation: Explanation) -> list[RenderableType]:
    told: list[RenderableType] = []
    if explanation.changes:
        told += [Text(), Text.assemble(("would start with ", "dim"), explanation.changes[0].message)]
    if explanation.start is not None:
        told += [Text.assemble(("estimate ", "dim"), explanation.start.message)]
    return told
