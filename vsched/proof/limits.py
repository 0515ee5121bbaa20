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
    got, holds = queues.got(), queues.after()
    for name, amounts in got.items():
        for column, most in queues.all[name].capability if any(amounts.values()) else ():
            over = amounts.get(column, 0) > 0 and holds[name].get(column, 0) > most
            what = f"{cycle.words({column: holds[name].get(column, 0)})} of at most {cycle.words({column: most})}"
            yield f"queue {name} holds {what}" if over else ""


def guarantees_are_kept_free(cycle: Cycle) -> Iterator[str]:
    """What a queue gets beyond its own guarantee leaves free what is guaranteed to the others and not used by them.

    config/README.md: ``guarantee`` is kept free for the queue, whether it asks for it or not. So with what each queue
    holds, or is guaranteed if that is more, all queues side by side are within what is above them.
    """
    if not LIMITING & cycle.facts.limits:
        return
    queues = Queues(cycle)
    holds = queues.after()
    for name, amounts in queues.got().items():
        parent = queues.parents[name]
        above = queues.limit(parent) if parent else queues.total
        if not queues.sound(name):
            continue
        for column in [column for column, value in amounts.items() if value > 0]:
            if holds[name].get(column, 0) <= queues.guarantee(name).get(column, 0):
                yield ""
                continue
            kept = sum(queues.claimed(other, holds, column) for other in queues.beside(name))
            over = any(queues.guarantee(other).get(column, 0) for other in queues.beside(name) if other != name)
            over = over and kept > above.get(column, 0)
            what = f"{cycle.words({column: kept - above.get(column, 0)})} of what is guaranteed to others"
            yield f"queue {name} takes {what}" if over else ""


def queues_get_what_they_deserve(cycle: Cycle) -> Iterator[str]:
    """With ``proportion``, a queue that got more holds no more than it deserves of what its pods ask for.

    A pod that was nominated before keeps its room, though what its queue deserves may drop for a moment. Amounts are
    whole numbers, so a share may be rounded by one.
    """
    queues = Queues(cycle)
    deserved, holds = queues.parts if "proportion" in cycle.facts.limits else {}, queues.after()
    backfilled = {uid for uid in cycle.bound if cycle.tasks[uid].shape.best_effort}
    new = [uid for uid in (*cycle.bound, *cycle.kept) if uid not in backfilled and not cycle.tasks[uid].nominated]
    for name, amounts in queues.amounts_of(new).items():
        for column in amounts if name in deserved else ():
            if column != PODS:
                over = holds[name].get(column, 0) >= deserved[name][column] + 1
                has, part = holds[name].get(column, 0), int(deserved[name][column])
                yield (
                    f"queue {name} holds {cycle.words({column: has})} of {cycle.words({column: part})}" if over else ""
                )
