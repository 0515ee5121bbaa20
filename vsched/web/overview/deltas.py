"""The difference between two overviews, and how to apply it to the earlier one.

``GET /events`` sends server-sent events. ``event: overview`` carries a whole ``Overview`` as JSON; ``event: delta``
carries a ``OverviewDelta`` to be applied to the overview whose number is ``since``, in this order:

1. ``moves``: of each queue named, ``[[first, last, by], …]``: jobs listed in it whose position was from ``first`` to
   ``last`` before this delta are now ``by`` places further behind (ahead where negative). Runs do not overlap.
2. ``messages``: ``[[message, [key, …]], …]``: the new messages of jobs of which nothing else changed.
3. ``put`` and ``gone`` of ``queues``, ``namespaces``, ``nodes`` and ``jobs``: rows that are new or differ, by key, and
   the keys of those that are no longer there.
4. ``sessions`` come at the end of the list, ``sessions_gone`` (their numbers) leave it.
5. ``at``; and ``role``, ``resources``, ``policy`` and each of ``counts``, where they are there at all.

Empty fields are left out. Comments (lines that begin with a colon) keep the connection alive. The ``id`` of an event is
opaque: a client that reconnects with it in ``Last-Event-ID`` gets what changed since, if that is still known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from vsched.web.overview.document import (
    JobRow,
    NamespaceRow,
    NodeRow,
    Overview,
    PolicyRow,
    QueueRow,
    Resource,
    SessionRow,
)
from vsched.web.overview.history import idle

Row = TypeVar("Row")
Runs = tuple[tuple[int, int, int], ...]
"""First position, last position, and how far the jobs between have moved."""
Step = tuple[str, int]
"""A queue and a position in it."""


class Rows(msgspec.Struct, Generic[Row], frozen=True, omit_defaults=True):
    """What changed in one table."""

    put: dict[str, Row] = {}
    gone: tuple[str, ...] = ()


class OverviewDelta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What changed from one overview to a later one."""

    number: int
    """The number of the later one."""
    since: int
    """The number of the earlier one."""
    at: float
    role: str | None = None
    resources: tuple[Resource, ...] | None = None
    """New amounts of the same resources."""
    queues: Rows[QueueRow] | None = None
    namespaces: Rows[NamespaceRow] | None = None
    nodes: Rows[NodeRow] | None = None
    jobs: Rows[JobRow] | None = None
    moves: dict[str, Runs] = {}
    messages: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sessions: tuple[SessionRow, ...] = ()
    sessions_gone: tuple[int, ...] = ()
    policy: PolicyRow | None = None
    counts: dict[str, int] = {}

    @property
    def empty(self) -> bool:
        """Whether only the time and idle sessions have changed."""
        return all(idle(row) for row in self.sessions) and not (
            self.role
            or self.resources
            or self.queues
            or self.namespaces
            or self.nodes
            or self.jobs
            or self.moves
            or self.messages
            or self.policy
            or self.counts
        )


def delta(before: Overview, after: Overview) -> OverviewDelta | None:
    """What changed. None where the whole overview must be sent: resources differ, or sessions came out of order."""
    known = {session.number: session for session in before.sessions}
    shown = {session.number for session in after.sessions}
    sessions = tuple(row for row in after.sessions if known.get(row.number) != row)
    if not _alike(before, after) or sessions != after.sessions[len(after.sessions) - len(sessions) :]:
        return None
    jobs, moves, messages = _jobs(before.jobs, after.jobs)
    return OverviewDelta(
        number=after.number,
        since=before.number,
        at=after.at,
        role=after.role if after.role != before.role else None,
        resources=after.resources if after.resources != before.resources else None,
        queues=_rows(before.queues, after.queues),
        namespaces=_rows(before.namespaces, after.namespaces),
        nodes=_rows(before.nodes, after.nodes),
        jobs=jobs,
        moves=moves,
        messages=messages,
        sessions=sessions,
        sessions_gone=tuple(number for number, row in known.items() if number not in shown),
        policy=after.policy if after.policy != before.policy else None,
        counts={name: count for name, count in after.counts.items() if before.counts[name] != count},
    )


def apply(change: OverviewDelta, before: Overview) -> Overview:
    """The overview that results from ``before``, which stays as it is."""
    return replace(
        before,
        number=change.number,
        at=change.at,
        role=before.role if change.role is None else change.role,
        resources=before.resources if change.resources is None else change.resources,
        queues=_put(before.queues, change.queues),
        namespaces=_put(before.namespaces, change.namespaces),
        nodes=_put(before.nodes, change.nodes),
        jobs=_put(_with_messages(_moved(before.jobs, change.moves), change.messages), change.jobs),
        sessions=_kept_sessions(before.sessions, change),
        policy=before.policy if change.policy is None else change.policy,
        counts={**before.counts, **change.counts},
    )


def _alike(before: Overview, after: Overview) -> bool:
    """Whether a delta can express the change: same resources, version and counts, and no policy removed."""
    return (
        [(found.name, found.unit) for found in before.resources]
        == [(found.name, found.unit) for found in after.resources]
        and before.version == after.version
        and before.counts.keys() == after.counts.keys()
        and (before.policy is None or after.policy is not None)
    )


# -- tables


def _rows(before: Mapping[str, Row], after: Mapping[str, Row]) -> Rows[Row] | None:
    put = {key: row for key, row in after.items() if (known := before.get(key)) is not row and known != row}
    gone = tuple(key for key in before if key not in after)
    return Rows(put, gone) if put or gone else None


def _put(before: dict[str, Row], rows: Rows[Row] | None) -> dict[str, Row]:
    if rows is None:
        return before
    after = before | rows.put
    for key in rows.gone:
        after.pop(key, None)
    return after


def _kept_sessions(before: tuple[SessionRow, ...], change: OverviewDelta) -> tuple[SessionRow, ...]:
    replaced = {*change.sessions_gone, *(row.number for row in change.sessions)}
    return (*(row for row in before if row.number not in replaced), *change.sessions)


# -- jobs: when one starts, all behind it move up, and messages of thousands change by a number


def _jobs(
    before: Mapping[str, JobRow], after: Mapping[str, JobRow]
) -> tuple[Rows[JobRow] | None, dict[str, Runs], tuple[tuple[str, tuple[str, ...]], ...]]:
    """Rows, moves and messages; a row is sent only for what moves and messages cannot express."""
    put: dict[str, JobRow] = {}
    shifts: defaultdict[Step, set[int]] = defaultdict(set)
    moved: dict[str, tuple[Step, JobRow]] = {}
    said: defaultdict[str, list[str]] = defaultdict(list)
    for key, row in after.items():
        known = before.get(key)
        if known is None or not (known is row or _same(known, row)):
            put[key] = row
            continue
        if known.message != row.message:
            said[row.message].append(key)
        if known.position is not None and row.position is not None:
            step = (known.queue, known.position)
            shifts[step].add(row.position - known.position)
            moved[key] = step, row
    for key, (step, row) in moved.items():
        # Two jobs at one position moved differently, so a move cannot express it.
        if len(shifts[step]) > 1:
            put[key] = row
    messages = tuple(
        (text, tuple(kept)) for text, keys in said.items() if (kept := [key for key in keys if key not in put])
    )
    gone = tuple(key for key in before if key not in after)
    return Rows(put, gone) if put or gone else None, _moves(shifts), messages


def _same(known: JobRow, row: JobRow) -> bool:
    """Whether only position and message changed, and the job had a position before and after, or neither."""
    return (known.position is None) is (row.position is None) and (
        known == row or known == replace(row, position=known.position, message=known.message)
    )


def _moves(shifts: Mapping[Step, set[int]]) -> dict[str, Runs]:
    """Runs of neighbouring positions that moved by the same distance."""
    runs: dict[str, list[tuple[int, int, int]]] = {}
    open_run: tuple[str, int] | None = None
    for (queue, position), found in sorted(shifts.items()):
        if len(found) > 1:
            continue
        (by,) = found
        if by and open_run == (queue, by):
            first, _, _ = runs[queue][-1]
            runs[queue][-1] = (first, position, by)
        elif by:
            runs.setdefault(queue, []).append((position, position, by))
        open_run = (queue, by)
    return {queue: tuple(found) for queue, found in runs.items()}


def _moved(before: dict[str, JobRow], moves: Mapping[str, Runs]) -> dict[str, JobRow]:
    if not moves:
        return before
    firsts = {queue: [first for first, _, _ in runs] for queue, runs in moves.items()}
    after = dict(before)
    for key, row in before.items():
        if row.position is not None and row.queue in moves:
            at = bisect_right(firsts[row.queue], row.position) - 1
            first, last, by = moves[row.queue][at] if at >= 0 else (0, -1, 0)
            if first <= row.position <= last:
                after[key] = replace(row, position=row.position + by)
    return after


def _with_messages(before: dict[str, JobRow], messages: Iterable[tuple[str, tuple[str, ...]]]) -> dict[str, JobRow]:
    after = dict(before)
    for text, keys in messages:
        for key in keys:
            after[key] = replace(after[key], message=text)
    return after
