"""Brute force: whether pods fit together into the room of some nodes, and which victims that would spare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vsched.model.amounts.resources import Amounts, Vector, add, subtract
from vsched.proof.cycle import Cycle
from vsched.proof.placement import forbids
from vsched.proof.taking import growing, is_within_limits, room_for, takers_in_turn, units

STEPS_MAX = 20_000
"""Where more are needed, the question stays open."""

Pod = tuple[Amounts, tuple[str, ...]]
"""What it asks for, and the nodes that it may be on."""


def fit_together(pods: Sequence[Pod], room: Mapping[str, Vector]) -> bool | None:
    """Whether all pods fit at the same time; None where that takes too long to find out."""
    left, steps = {node: dict(amounts) for node, amounts in room.items()}, 0
    order = sorted(pods, key=lambda pod: (len(pod[1]), [-value for _, value in pod[0]], pod))

    def place(at: int, first: int) -> bool | None:
        nonlocal steps
        steps += 1
        if at == len(order):
            return True
        if steps > STEPS_MAX:
            return None
        request, nodes = order[at]
        for number in range(first, len(nodes)):
            free = left[nodes[number]]
            if all(value <= free.get(column, 0) for column, value in request):
                subtract(free, request)
                # Equal pods are placed from left to right: other orders of them are the same.
                found = place(at + 1, number if at + 1 < len(order) and order[at + 1] == order[at] else 0)
                add(free, request)
                if found is not False:
                    return found
        return False

    return place(0, 0)


def spared(cycle: Cycle) -> Iterator[str]:
    """Victims that could stay if what was placed of the jobs that they leave for were placed on other nodes."""
    for key, queues, holds in takers_in_turn(cycle):
        if growing(cycle, key):
            continue
        victims = cycle.victims[key]
        for together in units(cycle, victims):
            room = room_for(cycle, key, cycle.nodes, [task.uid for task in victims if task not in together])
            shapes = [cycle.tasks[uid].shape for uid in cycle.placed[key]]
            pods = [
                (shape.request, tuple(node for node in room if not forbids(shape.rules, cycle.nodes[node])))
                for shape in shapes
            ]
            if is_within_limits(queues, key, together, holds) and fit_together(pods, room):
                yield ", ".join(task.key for task in together)
