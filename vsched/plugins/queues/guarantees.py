"""Keeps free what queues are guaranteed and do not hold, whoever asks for room and however many share it.

The limit of each queue leaves out what others are guaranteed, but several queues together could still fill that room.
So a request is also compared with what all queues hold and what is kept free: in the cluster and, in a tree, in each
queue above. What a queue holds up to its guarantee takes nothing of what is kept free for others. Where others hold
what is guaranteed already, room that they give up is kept free first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf

from vsched.framework.codes import Code
from vsched.framework.points.extension import SessionContext
from vsched.framework.refusal import Refusal, Shortage
from vsched.model.amounts.resources import Amounts, Vector, add, subtract
from vsched.plugins.words import queues as words

GUARANTEE_KEPT = "GuaranteeKept"
CLUSTER = ""
"""The name of what is above all queues."""
NOTHING: Vector = {}


class Guarantees:
    """The guarantees of one session. Queues are given by name; where they form no tree, nothing is above them."""

    def __init__(
        self,
        context: SessionContext,
        guarantees: Mapping[str, Amounts],
        above: Callable[[str], Sequence[str]],
        limit: Callable[[str], Mapping[int, float]],
        taken: Callable[[str], Mapping[int, int]],
    ) -> None:
        """``above`` names the queues above one, nearest first. ``limit`` and ``taken`` say what a queue and all below
        it may hold together, and what they hold and have reserved."""
        snapshot, nodes = context.snapshot, context.nodes
        self._names = snapshot.axis.names
        self._guarantees = {name: dict(found) for name, found in guarantees.items()}
        self._above, self._limit_of, self._taken_by = above, limit, taken
        self._columns = {column for found in guarantees.values() for column, amount in found if amount}
        self._total = dict(enumerate(snapshot.total))
        self._used = {
            column: int((nodes.allocatable[column] - nodes.future_idle(column)).sum()) for column in self._columns
        }
        """What pods take of the nodes, those of other schedulers included, without those that are leaving."""
        self._kept: dict[str, Vector] = {}
        """By queue: what is kept free for it and for those below it."""
        self._inside: dict[str, Vector] = {}
        """By queue above, and for the cluster: the sum of this over its children."""
        self._stale = set(guarantees)
        """Queues that may hold something else than when this was worked out."""
        self._keepers: dict[tuple[str, str, int], list[str]] = {}

    def shift(self, queue: str, request: Amounts, sign: int) -> None:
        """A queue holds or has reserved one request more (``sign=1``) or less (``sign=-1``)."""
        (add if sign > 0 else subtract)(self._used, request)
        self._stale.add(queue)

    def refusal(self, queue: str, request: Amounts) -> Refusal | None:
        """Why a queue may not hold one more request: it would take what is kept free for others."""
        self._settle()
        path = (queue, *self._above(queue), CLUSTER)
        for column, amount in request:
            if column not in self._columns:
                continue
            less = 0
            for name in path:
                inside = self._inside.get(name, NOTHING).get(column, 0) - less
                most, held = self._limit(name, column), self._taken(name, column)
                if inside > 0 and amount > less and held + amount + inside > most:
                    short = Shortage(self._names[column], held, amount, int(most) - inside)
                    return self._refusal(name, self._keepers_in(name, path, column), short)
                less = self._kept.get(name, NOTHING).get(column, 0) - self._to_keep(name, column, held + amount, inside)
        return None

    def _refusal(self, name: str, keepers: Sequence[str], short: Shortage) -> Refusal:
        message = words.guarantee_kept(keepers, name, short)
        return Refusal(GUARANTEE_KEPT, message, passing=True, code=Code.QUEUE_SHARE, subject=name)

    def _keepers_in(self, name: str, path: Sequence[str], column: int) -> list[str]:
        """For whom a resource is kept free in a queue, or in the cluster, besides the queues of a path; sorted."""
        asked = name, path[0], column
        found = self._keepers.get(asked)
        if found is None:
            found = self._keepers[asked] = sorted(
                queue
                for queue in self._guarantees.keys() - set(path)
                if self._kept.get(queue, NOTHING).get(column) and name in (*self._above(queue), CLUSTER)
            )
        return found

    def _to_keep(self, name: str, column: int, held: int, inside: int) -> int:
        """What is kept free for a queue that holds so much, and inside of which so much is kept free."""
        owed = self._guarantees.get(name, NOTHING).get(column, 0)
        return int(max(owed - held, min(inside, self._limit(name, column) - held), 0))

    def _limit(self, name: str, column: int) -> float:
        return (self._limit_of(name) if name else self._total).get(column, inf)

    def _taken(self, name: str, column: int) -> int:
        return (self._taken_by(name) if name else self._used).get(column, 0)

    def _settle(self) -> None:
        """Work out what is kept free for the queues that hold something else by now, and for those above them."""
        for queue in self._stale:
            path = (queue, *self._above(queue))
            for name, parent in zip(path, (*path[1:], CLUSTER), strict=True):
                inside, before = self._inside.get(name, NOTHING), self._kept.get(name, NOTHING)
                now = {
                    column: self._to_keep(name, column, self._taken(name, column), inside.get(column, 0))
                    for column in self._columns
                }
                if now != before:
                    self._keepers.clear()
                    self._kept[name] = now
                    sums = self._inside.setdefault(parent, {})
                    add(sums, now.items())
                    subtract(sums, before.items())
        self._stale.clear()
