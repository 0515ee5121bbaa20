"""Moves for people and for programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import to_builtins
from rich.console import Group, RenderableType
from rich.text import Text

from vsched.cli.plan.moving import words
from vsched.cli.plan.moving.answer import Consolidated
from vsched.cli.show.columns import columned
from vsched.cli.show.drawing import Look
from vsched.explain.moves import MovesState, PlannedMove
from vsched.framework.times import length

HEADINGS = ("pod", "job", "priority", "from", "to", "cost")


def moves_document(found: Consolidated) -> dict[str, Any]:
    """The moves as data."""
    answer = found.answer
    document: dict[str, Any] = to_builtins(
        {
            "session": found.session,
            "at": found.now,
            "edits": list(found.edits),
            "notes": list(found.notes),
            "job": answer.job,
            "state": answer.state,
            "message": answer.message,
            "moves": list(answer.moves),
            "places": dict(answer.places),
        }
    )
    return document


def moves_text(found: Consolidated, look: Look) -> RenderableType:
    """What would be moved, and where the job would start then."""
    answer = found.answer
    notes = [Text(f"  {note}", style="dim") for note in found.notes]
    if answer.state is not MovesState.MOVES:
        return Group(Text(words.without_moves(answer.called, answer.message)), *notes)
    table = columned(HEADINGS, unicode=look.unicode, giving={"cost"}, numbers={"priority"})
    for move in answer.moves:
        cost = ", ".join(_costs(move))
        table.add_row(move.pod, move.job, str(move.priority), move.node, move.to, Text(cost))
    places = Counter(node for _, node in answer.places)
    starts = ", ".join(words.starts_on(count, node) for node, count in sorted(places.items()))
    heading = Text(words.would_start(answer.called, len(answer.moves)), style="bold")
    return Group(Text.assemble(heading, f": {starts}"), *notes, Text(), table)


def _costs(move: PlannedMove) -> Iterator[str]:
    yield words.lost_work(length(move.lost_seconds))
    if move.breaks_job:
        yield words.PAUSES_JOB
    if move.asked_seconds:
        yield words.asked_first(length(move.asked_seconds))
