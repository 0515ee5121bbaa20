"""The sets of pods on one node whose leaving could help a job, by how many leave, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import comb
from typing import NamedTuple

import numpy as np

from vsched.actions.assigning import TaskKinds
from vsched.actions.consolidation.movers import MoveCost, Mover, Movers
from vsched.actions.consolidation.trial import total_cost
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.amounts.resources import Amounts
from vsched.model.nodes.table import Ints, Mask

SETS_MAX = 256
"""So many sets of one size are looked at on a node; where there are more, some are built pod by pod."""
NEVER = np.iinfo(np.int64).max


class Option(NamedTuple):
    """Pods on one node that may leave together."""

    row: int
    movers: tuple[Mover, ...]
    cost: MoveCost
    gain: tuple[int, ...]
    """How many more tasks of each kind nodes have room for then."""
    is_idle: bool
    """Whether nodes would have as much room for each kind, counted alone, with some of these pods."""

    @property
    def pods(self) -> int:
        """How many pods leave."""
        return self.cost.pods


class Options:
    """The options of one job in the order of their size, of equal sizes the cheapest first; made on demand.

    Sets without an idle member come first: with any pod less, nodes would have less room for some kind of the job's
    pods. The others may help as well: by room for a successor beside the job, or for pods of several kinds together.
    """

    def __init__(self, session: Session, job: JobView, kinds: TaskKinds, movers: Movers, looks: int) -> None:
        """``looks``: how many sets are looked at, at most."""
        self._session, self._job, self._movers = session, job, movers
        self._firsts, self._counts = kinds.firsts, np.bincount(list(kinds.of.values()), minlength=len(kinds.firsts))
        self._columns = sorted({column for task in kinds.firsts for column, _ in task.shape.request})
        self._requests: Ints = _amounts([task.shape.request for task in kinds.firsts], self._columns)
        self._number = {column: number for number, column in enumerate(self._columns)}
        self._asked = [
            [(self._number[column], amount) for column, amount in task.shape.request] for task in kinds.firsts
        ]
        self._at: dict[int, list[Mover]] = {}
        self._found: list[Option] = []
        self._seen: set[frozenset[str]] = set()
        self._useful: dict[int, list[tuple[frozenset[str], list[int]]]] = {}
        """By row: the sets without an idle member, and the room that there is then."""
        self._built: dict[int, list[Option]] = {}
        """By size: options that were built pod by pod."""
        self._size, self._looks = 0, looks

    def __getitem__(self, at: int) -> Option | None:
        """The option of this number; None where there are fewer."""
        while len(self._found) <= at and self._size < self._largest and (self._looks > 0 or self._built):
            self._size += 1
            self._found += sorted(self._of_size(self._size), key=lambda one: (one.is_idle, one.cost, one.row))
        return self._found[at] if at < len(self._found) else None

    @cached_property
    def room(self) -> tuple[int, ...]:
        """How many tasks of each kind the nodes have room for without any move, at most: each kind counted alone."""
        return tuple(self._room.sum(axis=0).tolist())

    @cached_property
    def most_per_pod(self) -> int:
        """For how many tasks, at most, one pod makes room by leaving."""
        amounts = {task.shape: task.shape.request for row in self._rows for task in self._movers.by_row[row]}
        if not amounts:
            return 1
        taken = _amounts(list(amounts.values()), self._columns)
        most = np.zeros(len(taken), dtype=np.int64)
        for request in self._requests:
            asked = request > 0
            most += np.max(-(-taken[:, asked] // request[asked]), axis=1)
        return max(1, int(most.max()))

    # -- nodes --------------------------------------------------------------------------------------------------------

    @cached_property
    def _room(self) -> Ints:
        """int64[nodes, kinds]: how many tasks of each kind a node has room for, by amounts and attributes alone."""
        found: Ints = np.zeros((len(self._free), len(self._firsts)), dtype=np.int64)
        for kind, (request, allowed) in enumerate(zip(self._requests, self._allowed, strict=True)):
            asked = request > 0
            most = np.min(np.maximum(self._free[:, asked], 0) // request[asked], axis=1)
            found[:, kind] = np.where(allowed, np.minimum(most, self._counts[kind]), 0)
        return found

    @cached_property
    def _largest(self) -> int:
        """The most pods that could leave one node, with those that leave together with them."""
        jobs = self._session.snapshot.jobs
        return max(
            (
                sum(
                    len(job.tasks) if (job := jobs[one.job]).spec.leaves_whole else 1
                    for one in self._movers.by_row[row]
                )
                for row in self._rows
            ),
            default=0,
        )

    @cached_property
    def _rows(self) -> Sequence[int]:
        """The nodes whose pods are looked at: those first that have more room if few leave."""
        first = sorted(self._least, key=lambda row: (self._least[row], row))
        some = np.logical_or.reduce(self._allowed)
        return [*first, *(row for row in sorted(self._movers.by_row) if some[row] and row not in self._least)]

    @cached_property
    def _free(self) -> Ints:
        """int64[nodes, columns]: what nodes have for the job without any move."""
        nodes = self._session.nodes
        return np.stack([nodes.future_idle(column) for column in self._columns], axis=1)

    @cached_property
    def _allowed(self) -> Sequence[Mask]:
        """By kind, bool[nodes]: nodes that it may use, and that have room for one once all have left that may."""
        freeable = self._movers.freeable
        return [self._session.node_selection.candidates(task, freeable) for task in self._firsts]

    @cached_property
    def _least(self) -> dict[int, int]:
        """By row, how many pods have to leave it, at least, before there is more room for the job."""
        nodes = len(self._session.nodes)
        least: Ints = np.full(nodes, NEVER)
        for kind, allowed in enumerate(self._allowed):
            wanted = self._room[:, kind] + 1
            needed = np.zeros(nodes, dtype=np.int64)
            for number in np.flatnonzero(self._requests[kind]).tolist():
                lack = wanted * self._requests[kind][number] - self._free[:, number]
                needed = np.maximum(needed, _fewest(self._movers.rows, self._movers.held(self._columns[number]), lack))
            able = allowed & (wanted <= self._counts[kind]) & (needed < NEVER)
            least[able] = np.minimum(least[able], np.maximum(needed[able], 1))
        return {row: int(least[row]) for row in np.flatnonzero(least < NEVER).tolist()}

    # -- sets ---------------------------------------------------------------------------------------------------------

    def _of_size(self, size: int) -> Iterator[Option]:
        yield from self._built.pop(size, ())
        # Nodes that give room only by so many pods come first; sets of the others bring room for more tasks.
        of_size = [row for row in self._rows if self._least.get(row, 0) == size]
        fewer = [row for row in self._rows if 0 < self._least.get(row, 0) < size]
        others = [row for row in self._rows if not 0 < self._least.get(row, 0) <= size]
        for row in (*of_size, *fewer, *others):
            movers = self._movers_at(row) if self._looks > 0 else []
            if sum(mover.cost.pods for mover in movers) < size:
                continue
            if comb(len(movers), min(size, len(movers))) > SETS_MAX:
                if self._least.get(row) == size:
                    yield from self._build(row, movers)
                continue
            for chosen in _sets(movers, size):
                self._looks -= 1
                if (option := self._option(row, chosen)) is not None:
                    yield option

    def _movers_at(self, row: int) -> list[Mover]:
        found = self._at.get(row)
        if found is None:
            found = self._at[row] = self._movers.at(row, self._job, self._firsts[0])
        return found

    def _option(self, row: int, movers: tuple[Mover, ...]) -> Option | None:
        """These pods as an option; None where no pod of the job could be on the node then, or they are one already."""
        key = frozenset(mover.uid for mover in movers)
        if key in self._seen:
            return None
        room = {at: self._room_on(at, movers) for at in sorted({row, *(at for one in movers for _, at in one.tasks)})}
        before = {at: self._room[at].tolist() for at in room}
        gain = tuple([sum(room[at][kind] - before[at][kind] for at in room) for kind in range(len(self._firsts))])
        here, useful = room[row], self._useful.setdefault(row, [])
        if not any(here):
            return None
        is_idle = not any(gain) or any(fewer < key and _covers(other, here) for fewer, other in useful)
        if not is_idle:
            useful.append((key, here))
        self._seen.add(key)
        return Option(row, movers, total_cost(movers), gain, is_idle)

    def _room_on(self, row: int, movers: Sequence[Mover]) -> list[int]:
        """By kind: how many tasks a node has room for once these pods have left."""
        free = self._free_on(row, movers)
        found: list[int] = []
        for allowed, request, count in zip(self._allowed, self._asked, self._counts.tolist(), strict=True):
            most = min([max(0, free[at]) // amount for at, amount in request], default=count)
            found.append(min(most, count) if allowed[row] else 0)
        return found

    def _free_on(self, row: int, movers: Sequence[Mover]) -> list[int]:
        """What a node has of each column once these pods have left."""
        free: list[int] = self._free[row].tolist()
        for mover in movers:
            for task, at in mover.tasks:
                for column, amount in task.shape.request if at == row else ():
                    if (number := self._number.get(column)) is not None:
                        free[number] += amount
        return free

    def _build(self, row: int, movers: Sequence[Mover]) -> Iterator[Option]:
        """Sets built pod by pod: each time the one that brings the next task nearest, till there is no more to gain.

        Those that are not needed in the end are left out.
        """
        chosen: list[Mover] = []
        left, best = list(movers), self._room_on(row, ())
        while left and self._looks > 0:
            chosen.append(left.pop(self._nearest(row, chosen, left)))
            room = self._room_on(row, chosen)
            if _covers(best, room):
                continue
            best, kept = room, list(chosen)
            for mover in chosen:
                fewer = [one for one in kept if one is not mover]
                if _covers(self._room_on(row, fewer), room):
                    kept = fewer
            option = self._option(row, tuple(kept))
            if option is not None and option.pods <= self._size:
                yield option
            elif option is not None:
                self._built.setdefault(option.pods, []).append(option)

    def _nearest(self, row: int, chosen: Sequence[Mover], left: Sequence[Mover]) -> int:
        """The position of the pod that brings the next task nearest by leaving, the cheapest of equal ones."""
        room = self._room_on(row, chosen)
        lacks: list[float] = []
        for mover in left:
            self._looks -= 1
            free = self._free_on(row, (*chosen, mover))
            short = (
                sum(max(0, (has + 1) * amount - free[at]) / amount for at, amount in request)
                for has, request in zip(room, self._asked, strict=True)
            )
            lacks.append(min(short))
        return lacks.index(min(lacks))


def _covers(room: Sequence[int], other: Sequence[int]) -> bool:
    """Whether there is as much room for each kind as there."""
    return all(one >= another for one, another in zip(room, other, strict=True))


def _amounts(requests: Sequence[Amounts], columns: Sequence[int]) -> Ints:
    """int64[requests, columns]: what each asks for of these columns."""
    found = [[dict(request).get(column, 0) for column in columns] for request in requests]
    return np.array(found, dtype=np.int64).reshape(len(requests), len(columns))


def _fewest(rows: Ints, amounts: Ints, lack: Ints) -> Ints:
    """int64[nodes]: how many of the amounts on a node, the largest first, cover what it lacks; ``NEVER`` for none."""
    order = np.lexsort((-amounts, rows))
    rows, amounts = rows[order], amounts[order]
    total = np.cumsum(amounts)
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    before = np.repeat(np.concatenate(([0], total[begins[1:] - 1])), np.diff(np.append(begins, len(rows))))
    short = np.bincount(rows[total - before < lack[rows]], minlength=len(lack))
    there = np.bincount(rows, minlength=len(lack))
    found: Ints = np.where(lack <= 0, 0, np.where(short < there, short + 1, NEVER))
    return found


def _sets(movers: Sequence[Mover], pods: int) -> Iterator[tuple[Mover, ...]]:
    """The sets of so many pods, those of cheaper ones first. Of pods that are alike, the cheaper ones are taken."""
    kinds = [_kind(mover) for mover in movers]
    before = [
        next((at for at in reversed(range(number)) if kinds[at] == kind), -1) for number, kind in enumerate(kinds)
    ]

    def chosen(start: int, left: int, taken: tuple[int, ...]) -> Iterator[tuple[Mover, ...]]:
        if not left:
            yield tuple(movers[at] for at in taken)
            return
        for at in range(start, len(movers)):
            if movers[at].cost.pods <= left and (before[at] < 0 or before[at] in taken):
                yield from chosen(at + 1, left - movers[at].cost.pods, (*taken, at))

    return chosen(0, pods, ())


def _kind(mover: Mover) -> object:
    """Equal for pods one of which can be moved as well as another, but for what it costs."""
    if len(mover.tasks) > 1 or mover.job.spec.leaves_whole:
        return mover.uid
    task = mover.tasks[0][0]
    return task.shape, task.job, task.labels, task.role, task.unready, task.claims and task.uid
