"""What held the loop in each part of a run, from the notes of a metered daemon."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from vsched.lab.bench.held.meter import CALL, COLLECTION, THREAD, Note
from vsched.lab.bench.words import restart as words

BOUND_SECONDS = 0.02
"""The loop is to be held no longer."""
TOLD = 5
"""So many of the longest are told of each part."""


class RunPhase(NamedTuple):
    """A part of a run, which lasts until the next one begins."""

    name: str
    began: float


class Phases:
    """The parts of a run so far."""

    def __init__(self) -> None:
        self._begun: list[RunPhase] = []

    def begin(self, name: str) -> None:
        """Another part begins now."""
        self._begun.append(RunPhase(name, time.perf_counter()))

    def held(self, notes: Iterable[Note]) -> dict[str, Any]:
        """For each part what took long in it."""
        return {name: summary(found) for name, found in by_phase(self._begun, notes)}


def read_notes(path: Path) -> list[Note]:
    """The notes in a file; a line that is not complete is left out."""
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    decode = msgspec.json.Decoder(Note).decode
    return [decode(line) for line in lines if line.endswith(b"\n")]


def by_phase(phases: Sequence[RunPhase], notes: Iterable[Note]) -> Iterator[tuple[str, list[Note]]]:
    """The notes of each part."""
    known = list(notes)
    ends = [phase.began for phase in phases[1:]] + [float("inf")]
    for phase, end in zip(phases, ends, strict=True):
        yield phase.name, [note for note in known if phase.began <= note.at < end]


def summary(notes: Sequence[Note]) -> dict[str, Any]:
    """The longest of each kind, in milliseconds of processor time."""
    calls, threads, collections = (longest(notes, kind) for kind in (CALL, THREAD, COLLECTION))
    return {
        "held_ms": ms(calls),
        "over_20_ms": sum(note.seconds > BOUND_SECONDS for note in calls),
        "calls": told(calls),
        "thread_ms": ms(threads),
        "threads": told(threads),
        "collections": {
            "count": len(collections),
            "longest_ms": ms(collections),
            "seconds": round(sum(note.seconds for note in collections), 3),
            "longest": collections[0].name if collections else "",
        },
    }


def longest(notes: Iterable[Note], kind: str) -> list[Note]:
    """The notes of this kind, the longest first."""
    return sorted((note for note in notes if note.kind == kind), key=lambda note: -note.seconds)


def ms(notes: Sequence[Note]) -> float:
    """How long the first one took."""
    return round(notes[0].seconds * 1e3, 1) if notes else 0.0


def told(notes: Sequence[Note]) -> list[dict[str, Any]]:
    """The first ones, for people."""
    return [{"ms": round(note.seconds * 1e3, 1), "by": note.name, "where": list(note.where)} for note in notes[:TOLD]]


def held_rows(part: str, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Lines of a table about one part of a run."""
    by = next((f" {one['where'][-1] if one['where'] else one['by']}" for one in found["calls"]), "")
    figures = f"{found['held_ms']} / {found['thread_ms']} / {found['collections']['longest_ms']}"
    yield words.held(part), figures
    if by:
        yield f"  {by.strip()}", ""
