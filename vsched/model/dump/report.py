"""The report of a cycle to JSON parts and back: records are tables, and refer to pods by position."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from vsched.errors import BadInput
from vsched.model import words
from vsched.model.dump.tables import Numbered, Piece, batches, column_of, pieces, raw_column, records
from vsched.model.plan import CycleReport, JobOutcome, NamespaceOutcome, QueueOutcome, Unschedulable
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

ReportParts = dict[str, msgspec.Raw]
"""JSON by field of the report."""

POD = ("uid", "namespace", "name", "job")
"""Fields that identify the pod of a record."""
AT = "pod"
"""The column that replaces these fields: positions in the table of pods."""

KEYS: Mapping[type, Callable[[Any], str]] = {
    JobOutcome: lambda found: str(found.key),
    Unschedulable: lambda found: f"{found.namespace}/{found.name}",
    QueueOutcome: lambda found: str(found.name),
    NamespaceOutcome: lambda found: f"{found.queue}/{found.namespace}",
}
"""How the keys of a report's maps follow from their values."""


class Table(NamedTuple):
    """A field of a report with records of one type."""

    record: type[msgspec.Struct]
    keyed: bool
    """Whether the field is a map; else it is a tuple."""

    @property
    def about_pods(self) -> bool:
        return set(POD) <= set(self.record.__struct_fields__)


@cache
def tables() -> dict[str, Table | None]:
    """The fields of a report: a ``Table``, or None for a field that is written as it is."""
    return {name: _table(hint) for name, hint in get_type_hints(CycleReport).items()}


def _table(hint: Any) -> Table | None:
    record = next((one for one in get_args(hint) if isinstance(one, type) and issubclass(one, msgspec.Struct)), None)
    keyed = issubclass(get_origin(hint) or object, Mapping)
    return None if record is None or (keyed and record not in KEYS) else Table(record, keyed)


# -- writing --------------------------------------------------------------------------------------------------------


def report_parts(report: CycleReport, snapshot: Snapshot, uids: Numbered[str]) -> Iterator[tuple[str, object]]:
    """Name and content of each part in turn; pods of the snapshot are referred to by position."""
    for name, table in tables().items():
        found = getattr(report, name)
        if table is None:
            yield name, found
        else:
            rows = _rows(name, found, KEYS[table.record]) if table.keyed else found
            yield name, _about_pods(rows, snapshot, uids) if table.about_pods else pieces(rows)


def _rows(name: str, found: Mapping[str, msgspec.Struct], key_of: Callable[[Any], str]) -> Iterator[msgspec.Struct]:
    for key, row in found.items():
        if key_of(row) != key:
            raise ValueError(words.not_its_key(name, key))
        yield row


def _about_pods(rows: Iterable[Any], snapshot: Snapshot, uids: Numbered[str]) -> Iterator[Piece]:
    for some in batches(rows):
        positions = [_position(row, snapshot, uids) for row in some]
        for piece in pieces(some):
            if None in positions:
                yield piece
            else:
                rest = {name: column for name, column in piece.columns.items() if name not in POD}
                yield Piece(piece.rows, {AT: raw_column(positions), **rest})


def _position(row: Any, snapshot: Snapshot, uids: Numbered[str]) -> int | None:
    """The position of the record's pod; None where the table of pods has no pod with all the same fields."""
    job = snapshot.jobs.get(row.job)
    task = job.tasks.get(row.uid) if job is not None else None
    known = task is not None and (task.namespace, task.name, task.job) == (row.namespace, row.name, row.job)
    return uids.find(row.uid) if known else None


# -- reading --------------------------------------------------------------------------------------------------------


def report_of(parts: ReportParts, tasks: Sequence[Task]) -> CycleReport:
    """The report of these parts; raises BadInput, or IndexError where a position is wrong."""
    hints, found = get_type_hints(CycleReport), dict[str, Any]()
    for name, raw in parts.items():
        if name not in hints:
            raise BadInput(words.record_has_no_field("a report", name))
        table = tables()[name]
        if table is None:
            found[name] = msgspec.json.decode(raw, type=hints[name])
            continue
        rows = records(_with_pods(msgspec.json.decode(raw, type=list[Piece]), tasks), table.record)
        found[name] = {KEYS[table.record](row): row for row in rows} if table.keyed else tuple(rows)
    return CycleReport(**found)


def _with_pods(found: Iterable[Piece], tasks: Sequence[Task]) -> Iterator[Piece]:
    for piece in found:
        if AT not in piece.columns:
            yield piece
            continue
        positions = column_of(piece.columns[AT], int, piece.rows)
        if positions and min(positions) < 0:
            raise BadInput(words.VERDICT_ABOUT_NO_POD)
        pods = [tasks[at] for at in positions]
        named = {name: raw_column([getattr(pod, name) for pod in pods]) for name in POD}
        yield Piece(piece.rows, {**named, **{name: raw for name, raw in piece.columns.items() if name != AT}})
