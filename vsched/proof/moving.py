"""Pods that are moved to other nodes: each of them has a place there now, beside all others."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.model.amounts.resources import subtract
from vsched.model.plan import Evict
from vsched.model.pods.task import Task
from vsched.proof import words
from vsched.proof.cycle import MOVING, Cycle
from vsched.proof.placement import forbids


def moved_pods_are_made_again(cycle: Cycle) -> Iterator[str]:
    """A pod that is moved has a controller that makes a new one, which may be on the other node by its own rules."""
    for eviction in cycle.evicted.values():
        if eviction.action in MOVING or eviction.to:
            why = _forbids(cycle, eviction, cycle.tasks[eviction.uid])
            yield words.moved_wrongly(cycle.tasks[eviction.uid].key, eviction.to, why) if why else ""


def _forbids(cycle: Cycle, eviction: Evict, task: Task) -> str:
    if not task.owned or task.returns:
        return words.NOT_MADE_AGAIN
    if eviction.to not in cycle.nodes:
        return words.NO_PLACE
    if eviction.to == eviction.node:
        return words.SAME_NODE
    if not cycle.facts.checks >= {"node_affinity", "taint_toleration"}:
        return ""
    return forbids(task.shape.rules, cycle.nodes[eviction.to])


def moved_pods_have_a_place_now(cycle: Cycle) -> Iterator[str]:
    """A node has idle room for all that is moved there, beside what was bound: nobody has to leave it before.

    And once all that is leaving has left, it has room for these beside what it is kept for.
    """
    for node, uids in cycle.moved_to.items():
        asked, why = cycle.sum_of(uids), ""
        for left in (cycle.room_on(node), cycle.room_on(node, gone=True, kept=True)) if node in cycle.nodes else ():
            subtract(left, asked.items())
            short = {column: value for column, value in asked.items() if left[column] < 0 < value}
            why = why or (words.too_much_moved(cycle.words(short), node) if short else "")
        yield why
