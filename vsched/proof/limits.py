"""Limits: what queues may hold, and what is kept free for others."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.model.amounts.resources import PODS
from vsched.proof.cycle import Cycle
from vsched.proof.queues import Queues

LIMITING = frozenset({"capacity", "proportion"})


def queues_stay_within_capability(cycle: Cycle) -> Iterator[str]:
    """A queue that got more, and each queue above it, holds no more than its capability.

    config/README.md: ``capability`` is the most that a queue may ever hold; 0 is none, and pods count.
    """
    if not LIMITING & cycle.facts.limits:
        return
    queues = Queues(cycle)
    got, holds = queues.got(), queues.holds(cycle.evicted)
    for name, amounts in got.items():
        for column, most in queues.all[name].capability if any(amounts.values()) else ():
            over = amounts[column] > 0 and holds[name][column] > most
            what = f"{cycle.words({column: holds[name][column]})} of at most {cycle.words({column: most})}"
            yield f"queue {name} holds {what}" if over else ""


def guarantees_are_kept_free(cycle: Cycle) -> Iterator[str]:
    """What a queue gets beyond its own guarantee leaves free what is guaranteed to the others and not used by them.

    config/README.md: ``guarantee`` is kept free for the queue, whether it asks for it or not. So with what each queue
    holds, or is guaranteed if that is more, all queues side by side are within what is above them.
    """
    if not LIMITING & cycle.facts.limits:
        return
    queues = Queues(cycle)
    held = queues.standing(queues.holds(cycle.evicted))
    for name, amounts in queues.got().items():
        for column in [column for column, value in amounts.items() if value > 0 and queues.sound(name)]:
            over = held.claims_below[queues.parents[name]][column] - queues.above(name)[column]
            beyond = held.own[name][column] > queues.guarantee(name)[column]
            what = f"{cycle.words({column: over})} of what is guaranteed to others"
            wrong = over > 0 and beyond and queues.guaranteed_beside(name, column)
            yield f"queue {name} takes {what}" if wrong else ""


def queues_get_what_they_deserve(cycle: Cycle) -> Iterator[str]:
    """With ``proportion``, a queue that got more holds no more than it deserves of what its pods ask for.

    A pod that was nominated before keeps its room, though what its queue deserves may drop for a moment. Amounts are
    whole numbers, so a share may be rounded by one.
    """
    queues = Queues(cycle)
    deserved, holds = queues.parts if "proportion" in cycle.facts.limits else {}, queues.holds(cycle.evicted)
    backfilled = {uid for uid in cycle.bound if cycle.tasks[uid].shape.best_effort}
    new = [uid for uid in (*cycle.bound, *cycle.kept) if uid not in backfilled and not cycle.tasks[uid].nominated]
    for name, amounts in queues.amounts_of(new).items():
        for column in amounts if name in deserved else ():
            if column != PODS:
                has, part = holds[name][column], deserved[name][column]
                what = f"{cycle.words({column: has})} of {cycle.words({column: int(part)})}"
                yield f"queue {name} holds {what}" if has >= part + 1 else ""
