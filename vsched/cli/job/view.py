"""Jobs as the stable JSON shape, and as tables for people. Pure: what is known in, what is shown out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.job import words
from vsched.cli.job.source import JobDetails, JobLine, JobList
from vsched.cli.show.amounts import facts
from vsched.cli.show.claims import claims_table
from vsched.cli.show.columns import JOB, RowTable, columned, named, sentence
from vsched.cli.show.drawing import Look
from vsched.cli.show.places import places_table
from vsched.explain.records import Explanation
from vsched.kube.times import time_stamp
from vsched.model.amounts.durations import short_duration
from vsched.model.pods.status import Phase

Document = dict[str, Any]

PHASE_STYLES = {
    Phase.PENDING: "yellow",
    Phase.INQUEUE: "cyan",
    Phase.RUNNING: "green",
    Phase.UNKNOWN: "magenta",
    Phase.COMPLETED: "dim",
}
WIDE = frozenset({"priority", "min", "pending", "running"})
"""Columns for which most terminals have no room."""
LEAST = frozenset({"job", "phase", "reason"})
"""Columns of the narrowest table."""


# -- which, and in which order


def _by_order(line: JobLine) -> tuple[Any, ...]:
    return line.queue, line.position is None, line.position or 0, not line.waits, line.key


def _by_priority(line: JobLine) -> tuple[Any, ...]:
    known = line.priority if isinstance(line.priority, int) else 0
    return -known, *_by_order(line)


SORTS: dict[str, Callable[[JobLine], Any]] = {
    "order": _by_order,
    "name": lambda line: line.key,
    "age": lambda line: (line.created is None, line.created or 0.0, line.key),
    "priority": _by_priority,
    "phase": lambda line: (line.phase, *_by_order(line)),
    "reason": lambda line: (not line.reason, line.reason, *_by_order(line)),
    "size": lambda line: (-line.min_member, line.key),
}
"""Sort keys of ``--sort``. ``order``: the order in which queues try their jobs, then those that do not wait."""


def chosen(
    lines: Iterable[JobLine], namespace: str | None, queue: str | None, phase: str | None, waiting: bool, sort: str
) -> list[JobLine]:
    """The jobs that all filters let through, sorted."""
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


def as_document(line: JobLine) -> Document:
    """A job for programs; null for what is not known."""
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
        "created": None if line.created is None else time_stamp(line.created),
        "position": line.position,
        "reason": line.reason,
        "message": line.message,
        "reasons": dict(line.reasons),
        **({"called": line.called} if line.called else {}),
    }


def list_document(jobs: JobList, lines: Sequence[JobLine]) -> Document:
    """Jobs for programs, in this order."""
    return {"source": jobs.source, "jobs": [as_document(line) for line in lines]}


def get_document(job: JobDetails) -> Document:
    """Everything about one job for programs."""
    import msgspec

    document = as_document(job.line) | {"source": job.source}
    if job.explanation is not None:
        return document | {"explanation": msgspec.to_builtins(job.explanation)}
    return document | {"conditions": [dict(condition) for condition in job.conditions]}


# -- for people


def as_table(lines: Sequence[JobLine], look: Look, now: float, *, messages: bool = False) -> RenderableType:
    """A line a job. A wide table ends with the sentence why it waits; another does with ``messages``, cut short."""
    if not lines:
        return Text("no jobs")
    headings = _headings(look)
    with_message = messages or look.wide
    rows: list[list[str | Text]] = []
    for line in lines:
        cells = _cells(line, look, now)
        # A sentence is cut off where there is no room, and never takes a second line.
        message = [sentence(line.message, unicode=look.unicode)] if with_message else []
        rows.append([*(cells[heading] for heading in headings), *message])
    return RowTable([*headings, *(["message"] if with_message else [])], rows, look.unicode)


def _headings(look: Look) -> list[str]:
    if look.narrow:
        return [heading for heading in JOB if heading in LEAST]
    return [heading for heading in JOB if look.counts or heading not in WIDE]


def _cells(line: JobLine, look: Look, now: float) -> dict[str, str | Text]:
    return {
        "job": named(line.title, unicode=look.unicode),
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
    """How long ago, written as kubectl writes ages."""
    return "-" if created is None else short_duration(max(0.0, now - created))


def as_page(job: JobDetails, now: float, look: Look) -> RenderableType:
    """Everything about one job."""
    line = job.line
    counts = ((line.ready, "ready"), (line.pending, "pending"), (line.running, "running"))
    ended = ((line.succeeded, "succeeded"), (line.failed, "failed"))
    rows: list[tuple[str, RenderableType]] = [
        ("job", Text(line.title, style="bold")),
        *([("PodGroup", Text(line.key))] if line.called else []),
        ("queue", Text(line.queue)),
        ("phase", Text(line.phase, style=PHASE_STYLES.get(line.phase, ""))),
        ("priority", _known(line.priority)),
        ("min", str(line.min_member)),
        ("pods", ", ".join(f"{count} {word}" for count, word in (*counts, *ended) if count is not None) or "-"),
        ("age", age(line.created, now)),
        ("position", _position(job)),
        ("reason", Text(line.reason or "-", style="yellow" if line.reason else "dim")),
    ]
    return Group(facts(rows), *_why(job, look), Text(words.explain_shows_more(line.key), style="dim"))


def _position(job: JobDetails) -> RenderableType:
    place = job.explanation.place if job.explanation is not None else None
    if place is None:
        return _known(job.line.position)
    return words.position(place.position, place.of, place.overall, place.overall_of)


def _why(job: JobDetails, look: Look) -> list[RenderableType]:
    """Why it waits: the sentence, nodes by reason, and what would help; what is not known is left out."""
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
    if explanation is not None and explanation.places is not None:
        parts += [Text(), places_table(explanation.places, look)]
    if explanation is not None and explanation.claims:
        parts += [Text(), claims_table(explanation.claims)]
    parts += _outlook(explanation) if explanation is not None else []
    for condition in job.conditions:
        if condition.get("status") == "True" and condition.get("message", "") != message:
            said = (condition.get(key, "") for key in ("type", "reason", "message"))
            parts += [Text(), Text(": ".join(said))]
    return parts


def _outlook(explanation: Explanation) -> list[RenderableType]:
    lines: list[RenderableType] = []
    if explanation.changes:
        lines += [Text(), Text.assemble((words.WOULD_START_WITH, "dim"), explanation.changes[0].message)]
    if explanation.start is not None:
        lines += [Text.assemble(("estimate ", "dim"), explanation.start.message)]
    return lines
