"""The sets of pods on one node whose leaving could help a job, by how many leave, the cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil, comb
from typing import NamedTuple

import numpy as np

from vsched.actions.consolidation.movers import NEVER, MoveCost, Mover, Movers
from vsched.actions.consolidation.trial import total_cost
from vsched.actions.task_kinds import TaskKinds
from vsched.framework.jobs import JobView
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints, Mask

SETS_MAX = 256
"""So many sets of one size are looked at on a node; where there are more, some are built pod by pod."""
OTHERS_PART = 4
"""This part of what is looked at is for sets that give no more room by themselves."""
GAINS_MAX = 16
"""Up to so many more tasks on one node, it is counted how many pods have to leave before."""


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


class MoveOptions:
    """The options of one job in the order of their size, of equal sizes the cheapest first; made on demand.

    Sets without an idle member come first: with any pod less, nodes would have less room for some kind of the job's
    pods. The others may help as well: by room for a successor beside the job, or for pods of several kinds together.
    """

    def __init__(self, session: Session, job: JobView, kinds: TaskKinds, movers: Movers, looks: int) -> None:
        """``looks``: how many sets are looked at, at most."""
        self._session, self._job, self._movers = session, job, movers
        self._firsts, self._counts = kinds.firsts, np.bincount(list(kinds.of.values()), minlength=len(kinds.firsts))
        self._columns = sorted({column for task in kinds.firsts for column, _ in task.shape.request})
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
        self._looks_at_others = looks // OTHERS_PART
        """Those that are left for nodes whose pods, as many as that, give no more room."""

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

    def pods_for(self, tasks: int, size: int) -> int:
        """How many pods have to leave, at least, before there is room for so many more tasks, in options of that size.

        Larger ones count as well.
        """
        most = sum(max(gain / max(pods, size) for gain, pods in of_kind) for of_kind in self._fewest if of_kind)
        return ceil(tasks / most - 1e-9) if most else tasks

    @cached_property
    def _fewest(self) -> list[list[tuple[int, int]]]:
        """By kind: for how many more tasks there is room on one node at most, and after how many pods at least."""
        found: list[list[tuple[int, int]]] = []
        for kind, allowed in enumerate(self._allowed):
            most = int(np.max((self._counts[kind] - self._room[:, kind])[allowed], initial=0))
            pairs: list[tuple[int, int]] = []
            for gain in range(1, most + 1):
                pods = int(self._needed(kind, gain).min(initial=NEVER))
                if pods == NEVER:
                    break
                pairs.append((gain if gain < GAINS_MAX else most, pods))
                if gain == GAINS_MAX:
                    break
            found.append(pairs)
        return found

    # -- nodes --------------------------------------------------------------------------------------------------------

    @cached_property
    def _room(self) -> Ints:
        """int64[nodes, kinds]: how many tasks of each kind a node has room for, by amounts and attributes alone."""
        found: Ints = np.zeros((len(self._free), len(self._firsts)), dtype=np.int64)
        for kind, (request, allowed) in enumerate(zip(self._asked, self._allowed, strict=True)):
            most = np.full(len(found), self._counts[kind])
            for number, amount in request:
                np.minimum(most, np.maximum(self._free[:, number], 0) // amount, out=most)
            found[:, kind] = np.where(allowed, most, 0)
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
        has_room: Mask = np.any(self._room, axis=1)
        return [*first, *(row for row in sorted(self._movers.by_row) if has_room[row] and row not in self._least)]

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
        least = np.min([self._needed(kind, 1) for kind in range(len(self._firsts))], axis=0)
        return {row: int(least[row]) for row in np.flatnonzero(least < NEVER).tolist()}

    def _needed(self, kind: int, gain: int) -> Ints:
        """int64[nodes]: how many pods have to leave a node before it has room for so many more tasks of a kind."""
        wanted = self._room[:, kind] + gain
        needed: Ints = np.ones(len(wanted), dtype=np.int64)
        for number, amount in self._asked[kind]:
            lack = wanted * amount - self._free[:, number]
            needed = np.maximum(needed, self._movers.fewest(self._columns[number], lack))
        needed[~self._allowed[kind] | (wanted > self._counts[kind])] = NEVER
        return needed

    # -- sets ---------------------------------------------------------------------------------------------------------

    def _of_size(self, size: int) -> Iterator[Option]:
        yield from self._built.pop(size, ())
        # Nodes that give room only by so many pods come first; sets of the others bring room for more tasks.
        of_size = [row for row in self._rows if self._least.get(row, 0) == size]
        fewer = [row for row in self._rows if 0 < self._least.get(row, 0) < size]
        others = [row for row in self._rows if not 0 < self._least.get(row, 0) <= size and self._room[row].any()]
        for row in (*of_size, *fewer, *others):
            is_other = not 0 < self._least.get(row, 0) <= size
            movers = self._movers_at(row) if (self._looks_at_others if is_other else self._looks) > 0 else []
            if sum(mover.cost.pods for mover in movers) < size:
                continue
            if comb(len(movers), min(size, len(movers))) > SETS_MAX:
                if self._least.get(row) == size:
                    yield from self._build(row, movers)
                continue
            for chosen in _sets(movers, size):
                self._looks -= 1
                self._looks_at_others -= is_other
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
