"""Whether a gang that found no room may fit if its pods are placed in another order, or on other nodes."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.session import Session

KINDS_MAX = 8
"""Of so many kinds of pods of one gang room is counted; of further ones it is taken to be there."""


def may_fit_otherwise(session: Session, view: JobView) -> bool:
    """Whether the pods that a job lacks may fit although they did not in the way that was tried.

    So it is where they are of several kinds, each kind finds room alone, and all of them together ask for no more than
    is free. For pods of one kind, the way makes no difference.
    """
    if len(view.job.pending) < 2:
        return False
    selection, nodes = session.node_selection, session.nodes
    lacking = [task for uid, task in view.job.pending.items() if not task.gated and uid not in view.moved]
    kinds = {(selection.kind(task), task.role): task for task in sorted(lacking, key=lambda task: task.key)}
    if len({kind for kind, _ in kinds}) < 2:
        return False
    counts = Counter((selection.kind(task), task.role) for task in lacking)
    roles = Counter(task.role for task in lacking)
    missing, of_roles = session.plugins.tasks_missing(view), view.roles_missing()
    asked: Counter[int] = Counter()
    usable = np.zeros(len(nodes), dtype=np.bool_)
    for one, task in islice(kinds.items(), KINDS_MAX):
        others, others_of_role = len(lacking) - counts[one], roles[task.role] - counts[one]
        needed = max(0, missing - others, of_roles.get(task.role, 0) - others_of_role)
        rooms = selection.rooms(task)
        if int(np.minimum(rooms, needed).sum()) < needed:
            return False
        usable |= rooms > 0
        asked.update({column: amount * needed for column, amount in task.shape.request})
    return all(
        float(np.maximum(nodes.future_idle(column)[usable], 0).sum(dtype=float)) >= amount
        for column, amount in asked.items()
    )
