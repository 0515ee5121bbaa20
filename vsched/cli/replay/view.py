"""The result of a replay as a document and as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from vsched.cli.plan.view import Planned, as_document
from vsched.cli.replay import words
from vsched.cli.replay.differences import Difference
from vsched.cli.replay.run import Replayed, TimeSpan
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import count_text
from vsched.cli.show.output import Output, console_for, look_of, print_document
from vsched.model.dump.cycle import ASKED, Recording, RecordingHead
from vsched.model.plan import CycleReport

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 20
"""Differences of one kind that are shown; -o json has all."""
MOST_SPANS = 15


def show(found: Replayed, output: Output) -> None:
    """Print what came of a replay."""
    if output.output == "text":
        _print(found, console_for(output.no_color, wide=False))
    else:
        print_document(document(found), output.output)


# -- for programs ---------------------------------------------------------------------------------------------------


def document(found: Replayed) -> dict[str, Any]:
    """The result as a document; ``plan`` has the format of ``vsched plan``."""
    snapshot = found.recording.snapshot
    planned = Planned(found.reports, snapshot.queues, {}, snapshot.now) if found.reports else None
    return {
        "recording": {**msgspec.to_builtins(found.recording.head), **sizes(found.recording)},
        "config": "" if found.config is None else str(found.config),
        "same": found.same,
        "differences": [difference._asdict() for difference in found.found],
        "notes": list(found.notes),
        "seconds": round(found.seconds, 6),
        "profile": [{"kind": kind, "name": name, "seconds": round(took, 6)} for kind, name, took in found.spans],
        "error": found.error,
        "plan": None if planned is None else as_document(planned),
    }


def sizes(recording: Recording) -> dict[str, int]:
    """The numbers of nodes, queues, jobs and pods of a recording."""
    snapshot = recording.snapshot
    return {
        "nodes": len(snapshot.nodes),
        "queues": len(snapshot.queues),
        "jobs": len(snapshot.jobs),
        "pods": sum(len(job.tasks) for job in snapshot.jobs.values()),
    }


# -- for people -----------------------------------------------------------------------------------------------------


def _print(found: Replayed, console: Console) -> None:
    for line in described(found.recording):
        console.print(line, markup=False)
    for note in found.notes:
        console.print(f"note: {note}", markup=False, style="yellow")
    console.print(_verdict(found), markup=False, style="bold")
    if found.traceback:
        console.print(found.traceback.rstrip(), markup=False)
    if found.found:
        _print_differences(found, console)
    for number, report in enumerate(found.reports[1:], start=2):
        console.print(f"cycle {number}: {decided(report)}", markup=False)
    if found.spans:
        _print_profile(found.spans, found.seconds, console)


def described(recording: Recording) -> Iterator[str]:
    """What a recording holds, in one or two lines."""
    head, amounts = recording.head, sizes(recording)
    amount = ", ".join(f"{count:,} {name if count != 1 else name[:-1]}" for name, count in amounts.items())
    hidden = words.NAMES_MADE_UP if head.anonymous else ""
    yield f"session {head.number} at {moment(head.at)}: {amount}{hidden}"
    if head.why != ASKED:
        yield words.kept_for(head.why, head.says or head.error)


def moment(at: float) -> str:
    """Seconds since the epoch as a time with milliseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def decided(report: CycleReport) -> str:
    """The decisions of a cycle in one line."""
    counts = {
        "bindings": len(report.binds),
        "evictions": len(report.evictions),
        "nominations": len(report.nominations),
        "gates opened": len(report.ungated),
    }
    parts = [f"{count:,} {name}" for name, count in counts.items() if count or name in ("bindings", "evictions")]
    return ", ".join([*parts, count_text(len(report.unschedulable), "pod waits", "pods wait")])


def _verdict(found: Replayed) -> str:
    head: RecordingHead = found.recording.head
    if found.error:
        if found.same:
            return words.same_error(found.error)
        expected = words.recorded_was(head.error) if head.error else words.RECORDED_DECISIONS
        return words.an_error(found.error, expected)
    now = decided(found.reports[0])
    if found.recording.report is None:
        return words.no_error(now, head.error)
    if found.same:
        return words.same(now)
    if found.config is not None:
        return words.by_config(found.config, now, decided(found.recording.report))
    return words.not_same(now, decided(found.recording.report))


def _print_differences(found: Replayed, console: Console) -> None:
    look = look_of(console, wide=False)
    after = "again" if found.config is None else str(found.config)
    counts = Counter(difference.what for difference in found.found)
    for what, count in counts.items():
        console.print()
        table = columned((what, "recorded", after), unicode=look.unicode)
        for column in table.columns:
            column.no_wrap, column.overflow = False, "fold"
        for difference in _some(found.found, what):
            table.add_row(difference.about, difference.before, difference.after)
        console.print(table)
        if count > MOST_ROWS:
            console.print(words.more_rows(count - MOST_ROWS), markup=False)


def _some(found: Sequence[Difference], what: str) -> list[Difference]:
    return [difference for difference in found if difference.what == what][:MOST_ROWS]


def _print_profile(spans: Sequence[TimeSpan], seconds: float, console: Console) -> None:
    console.print()
    table = columned(("time", "ms", words.OF_THE_CYCLE), numbers={"ms", words.OF_THE_CYCLE})
    for kind, name, took in sorted(spans, key=lambda span: -span[2])[:MOST_SPANS]:
        table.add_row(f"{kind} {name}", f"{took * 1e3:,.2f}", f"{took / seconds:.0%}" if seconds else "")
    console.print(table)
    click.echo(words.TIMES_OVERLAP)
