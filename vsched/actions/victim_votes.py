"""Whether plugins agree to victims for one of several tasks, wherever these go."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import nullcontext

import numpy as np

from vsched.actions.task_kinds import TaskKinds
from vsched.actions.victim_search import VictimSearch
from vsched.framework.points.victims import Purpose
from vsched.framework.session import Session
from vsched.model.nodes.table import Ints
from vsched.model.pods.task import Task


class GangVotes:
    """The votes for a gang."""

    def __init__(self, session: Session, search: VictimSearch, tasks: Sequence[Task]) -> None:
        self._session = session
        self._search = search
        self._askers = of_each_kind(session, tasks)

    def agreed(self, victims: Sequence[Task], row: int) -> list[Task]:
        """Those of one node that the plugins agree to for some task, as things are or once others have come there.

        For ``reclaim``, it matters which resources the node lacks.
        """
        found: dict[str, Task] = {}
        for asker in self._askers if victims else ():
            for taken in self._taken_before(asker, row):
                with self._session.ledger.foreseen(taken) if taken else nullcontext():
                    found |= {victim.uid: victim for victim in self._search.agreed(asker, victims)}
                if len(found) == len(victims):
                    return list(victims)
        return list(found.values())

    def _taken_before(self, asker: Task, row: int) -> Iterator[dict[int, Ints]]:
        """What others may take of a node before a task comes: nothing, all of one resource, and all of each."""
        yield {}
        if self._search.purpose is Purpose.PREEMPT:
            return
        nodes = self._session.nodes
        taken: dict[int, Ints] = {}
        for column, _ in asker.shape.request:
            taken[column] = np.zeros(len(nodes), dtype=np.int64)
            taken[column][row] = -max(0, nodes.future_idle_at(column, row))
            yield {column: taken[column]}
        yield taken


def asker_kind(session: Session, task: Task) -> Hashable:
    """Equal for tasks that fit on the same nodes and may evict the same tasks."""
    selection = session.node_selection
    votes = task.priority, task.priority_class, task.preempts, task.preemptable
    return selection.kind(task), selection.label_class(task), votes


def of_each_kind(session: Session, tasks: Sequence[Task]) -> list[Task]:
    """The last task of each such kind."""
    return list({asker_kind(session, task): task for task in tasks}.values())


def by_votes(session: Session, kinds: TaskKinds) -> TaskKinds:
    """The same kinds, told apart where plugins may vote otherwise for some of their tasks, as by priority."""
    numbers: dict[Hashable, int] = {}
    of, firsts = dict[str, int](), list[Task]()
    for task in kinds.usable:
        key = kinds.of[task.uid], asker_kind(session, task)
        of[task.uid] = numbers.setdefault(key, len(numbers))
        if len(numbers) > len(firsts):
            firsts.append(task)
    parts = [kinds.parts[kinds.of[task.uid]] for task in firsts]
    return kinds._replace(of=of, firsts=firsts, parts=parts)
