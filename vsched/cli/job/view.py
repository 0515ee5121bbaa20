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
from vsched.cli.show.columns import TableColumn, columned, entries, known, named, row_table_of, sentence
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


def columns(now: float = 0.0, *, messages: bool = False) -> list[TableColumn[JobLine]]:
    """What is shown of each job, in the order of tables and of documents; null for what is not known.

    A wide table ends with the sentence why it waits; another does with ``messages``, cut short.
    """

    def messaged(look: Look) -> bool:
        return messages or look.wide

    return [
        TableColumn(
            "job", lambda one: one.key, lambda one, look: named(one.title, unicode=look.unicode), "job", gives=True
        ),
        TableColumn("queue", lambda one: one.queue, key="queue", gives=True, fits=_roomy),
        TableColumn("phase", lambda one: one.phase, lambda one, _: _phase(one), "phase"),
        TableColumn("priority", lambda one: one.priority, key="priority", number=True, fits=_whole),
        TableColumn("min", lambda one: one.min_member, key="minMember", number=True, fits=_whole),
        TableColumn("ready", lambda one: one.ready, key="ready", number=True, fits=_roomy),
        TableColumn("pending", lambda one: one.pending, key="pending", number=True, fits=_whole),
        TableColumn("running", lambda one: one.running, key="running", number=True, fits=_whole),
        TableColumn(key="succeeded", value=lambda one: one.succeeded),
        TableColumn(key="failed", value=lambda one: one.failed),
        TableColumn("age", _created, lambda one, _: age(one.created, now), "created", number=True, fits=_roomy),
        TableColumn("position", lambda one: one.position, key="position", number=True, fits=_roomy),
        TableColumn("reason", lambda one: one.reason, key="reason"),
        TableColumn("message", lambda one: one.message, _message, "message", gives=True, fits=messaged),
        TableColumn(key="reasons", value=lambda one: dict(one.reasons)),
    ]


def _roomy(look: Look) -> bool:
    return not look.narrow


def _whole(look: Look) -> bool:
    """Of columns for which most terminals have no room."""
    return look.counts and not look.narrow


def _phase(one: JobLine) -> Text:
    return Text(one.phase, style=PHASE_STYLES.get(one.phase, ""))


def _created(one: JobLine) -> str | None:
    return None if one.created is None else time_stamp(one.created)


def _message(one: JobLine, look: Look) -> Text:
    """A sentence is cut off where there is no room, and never takes a second line."""
    return sentence(one.message, unicode=look.unicode)


def as_document(line: JobLine) -> Document:
    """A job for programs."""
    return entries(columns(), line) | ({"called": line.called} if line.called else {})


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
    """A line a job."""
    return row_table_of(columns(now, messages=messages), lines, look) if lines else Text("no jobs")


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
        ("phase", _phase(line)),
        ("priority", known(line.priority)),
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
        return known(job.line.position)
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
