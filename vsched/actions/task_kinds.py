"""The tasks of a gang by kind: tasks of one kind find room on the same nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.session import Session
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.task import Task


class TaskKinds(NamedTuple):
    """The tasks of a gang by kind: tasks of one kind find room on the same nodes."""

    all: Sequence[Task]
    usable: Sequence[Task]
    """Those that may be placed at all."""
    of: Mapping[str, int]
    """The kind of each, by uid."""
    firsts: Sequence[Task]
    """A task of each kind."""
    parts: Sequence[str]
    """By kind: the part of the gang that its tasks belong to, which may have a minimum of its own."""
    are_plain: bool
    """Whether amounts and attributes of nodes alone decide where they may go, and not other pods, or claims."""


def kinds_of(session: Session, tasks: Sequence[Task], part_of: Callable[[Task], str]) -> TaskKinds:
    """The kinds of these tasks, but for those whose claims cannot be used."""
    selection = session.node_selection
    usable = [task for task in tasks if task.claims is None or session.claims.obstacle(task) is None]
    numbers: dict[Hashable, int] = {}
    of: dict[str, int] = {}
    firsts: list[Task] = []
    for task in usable:
        kind = selection.kind(task), part_of(task), selection.label_class(task)
        of[task.uid] = numbers.setdefault(kind, len(numbers))
        if len(numbers) > len(firsts):
            firsts.append(task)
    plain = all(map(selection.is_free_of_others, firsts))
    return TaskKinds(tasks, usable, of, firsts, [part_of(task) for task in firsts], plain)


class KindsInDomain(NamedTuple):
    """Kinds of tasks that have to be in one domain together."""

    kinds: frozenset[int]
    domains: Sequence[Mask]
    """bool[nodes]: the domains that may be theirs, the best first."""


def mask_of(session: Session, rows: Ints) -> Mask:
    """bool[nodes]: these rows."""
    mask = np.zeros(len(session.nodes), dtype=np.bool_)
    mask[rows] = True
    return mask
