"""Refusals of tasks that have a node and cannot start yet, and whether limits are those of the whole cluster."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.codes import Code
from vsched.framework.refusal import Refusal
from vsched.framework.words import jobs as words
from vsched.framework.words.victims import leaving_by_themselves
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

PIPELINED = "Pipelined"
"""The reason of a task that has a node but is not bound yet."""


def to_leave(node: str, asked: Sequence[Task]) -> Refusal:
    """The refusal of a task that has a node and waits for other pods to leave it; ``asked`` may end by themselves."""
    requests = [(task.key, task.asked) for task in asked if task.asked is not None]
    message = words.goes_once(node, leaving_by_themselves(requests) if requests else "")
    return Refusal(PIPELINED, message, code=Code.LEAVING, subject=node)


def to_start(node: str, *, at_once: bool) -> Refusal:
    """The refusal of a task that has a free node and waits for the next session (``at_once``) or for its gang."""
    message = words.goes_next(node) if at_once else words.has_place(node)
    return Refusal(PIPELINED, message, code=Code.STARTING, subject=node)


def is_whole(snapshot: Snapshot, refusal: Refusal) -> bool:
    """Whether every limit in the refusal is the capacity of the whole cluster."""
    totals = dict(zip(snapshot.axis.names, snapshot.total, strict=False))
    short = refusal.shortages
    return bool(short) and all(one.limit >= totals.get(one.resource, one.limit + 1) for one in short)
