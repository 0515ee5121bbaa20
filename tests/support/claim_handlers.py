"""A kind of claim as small as can be, for tests of the engine that need no volumes or devices."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from vsched.framework.claims.handler import ClaimRoom, Unfit
from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.framework.refusal import Refusal
from vsched.model.claims.plan import ClaimPlan
from vsched.model.nodes.table import Floats
from vsched.model.pods.claims import PodClaims, PodDevices
from vsched.model.pods.task import Task

TAKEN = "node(s) had no free slot"
ODD = "node(s) had an odd number"
MISSING = "no-such-claim"


def slots(*names: str) -> PodClaims:
    """Claims for one slot each. A name that begins with ``even`` only gets slots with even numbers."""
    return PodClaims(devices=tuple(PodDevices(name, name) for name in names))


class Slots:
    """Nodes with numbered slots. A pod with claims takes a slot for each, the lowest that are free.

    The pods ``running`` hold the slots given; those that leave give them free later.
    """

    def __init__(self, rows: Sequence[int], running: dict[str, list[int]], *, exact: bool = True) -> None:
        self.rows = list(rows)
        """How many slots each node has."""
        self.exact = exact
        self.held: list[dict[int, str]] = [{} for _ in rows]
        """By node: the holder of each slot, by uid."""
        self.going: set[str] = set()
        """Holders that were evicted."""
        self.running = running
        self.taken: dict[str, list[int]] = {}
        self.later: list[dict[int, str]] = [{} for _ in rows]
        """Slots that somebody leaves, and who gets them."""

    def hold(self, uid: str, row: int) -> None:
        """A running pod holds its slots."""
        for slot in self.running[uid]:
            self.held[row][slot] = uid

    def picture(self) -> object:
        """All that is kept, to compare."""
        return [dict(one) for one in self.held], set(self.going), dict(self.taken), [dict(one) for one in self.later]

    # -- the handler ------------------------------------------------------------------------------------------------

    def concerns(self, task: Task) -> bool:
        return task.claims is not None

    def obstacle(self, task: Task) -> Refusal | None:
        assert task.claims is not None
        missing = [one.claim for one in task.claims.devices if one.claim == MISSING]
        return Refusal("Claim", f"claim {missing[0]} not found", code=Code.CLAIM) if missing else None

    def class_of(self, task: Task) -> Hashable:
        return task.claims

    def free(self, row: int, *, later: bool) -> list[int]:
        """Slots that a pod can have now; with ``later``, also those that somebody leaves."""
        return [
            slot
            for slot in range(self.rows[row])
            if (slot not in self.held[row] or (later and self.held[row][slot] in self.going))
            and slot not in self.later[row]
        ]

    def checks(self, task: Task) -> Sequence[Check]:
        assert task.claims is not None
        wanted = len(task.claims.devices)
        now = np.array([len(self.free(row, later=False)) >= wanted for row in range(len(self.rows))], dtype=np.bool_)
        then = np.array([len(self.free(row, later=True)) >= wanted for row in range(len(self.rows))], dtype=np.bool_)
        return (Check(TAKEN, now, resolvable=True, code=Code.DEVICES, later=then),)

    def is_exact(self, task: Task) -> bool:
        return self.exact

    def fits(self, task: Task, row: int, *, later: bool) -> bool:
        return self._chosen(task, row, later=later) is not None

    def unfit(self, task: Task) -> Unfit:
        return Unfit(ODD, Code.DEVICES)

    def limits(self, task: Task) -> Sequence[ClaimRoom]:
        assert task.claims is not None
        free = [len(self.free(row, later=True)) // len(task.claims.devices) for row in range(len(self.rows))]
        return (ClaimRoom(TAKEN, Code.DEVICES, np.array(free, dtype=np.int64)),)

    def score(self, task: Task) -> Floats | None:
        return None

    def take(self, task: Task, row: int, way: object = None, *, later: bool) -> None:
        chosen = self._chosen(task, row, later=later)
        assert chosen is not None, "the row fits"
        self._give(task.uid, row, chosen)

    def give_back(self, task: Task, row: int) -> None:
        self._lose(task.uid, row)

    def withdraw(self, task: Task, row: int) -> object:
        return self._lose(task.uid, row)

    def reinstate(self, task: Task, row: int, had: object) -> None:
        assert isinstance(had, list)
        self._give(task.uid, row, had)

    def evict(self, task: Task, row: int) -> None:
        self.going.add(task.uid)

    def restore(self, task: Task, row: int) -> None:
        self.going.remove(task.uid)

    def plan(self, task: Task) -> ClaimPlan | None:
        assert task.claims is not None
        return ClaimPlan(reserve=tuple(f"{task.namespace}/{one.claim}" for one in task.claims.devices))

    def _chosen(self, task: Task, row: int, *, later: bool) -> list[int] | None:
        """The slots for each claim, the first solution; None where there is none."""
        assert task.claims is not None
        free, chosen = self.free(row, later=later), list[int]()
        for one in sorted(task.claims.devices, key=lambda one: not one.claim.startswith("even")):
            fitting = (slot for slot in free if slot % 2 == 0 or not one.claim.startswith("even") or self.exact)
            slot = next(fitting, None)
            if slot is None:
                return None
            free.remove(slot)
            chosen.append(slot)
        return chosen

    def _give(self, uid: str, row: int, chosen: list[int]) -> None:
        self.taken[uid] = chosen
        for slot in chosen:
            (self.later if slot in self.held[row] else self.held)[row][slot] = uid

    def _lose(self, uid: str, row: int) -> list[int]:
        chosen = self.taken.pop(uid)
        for slot in chosen:
            holders = self.later if self.later[row].get(slot) == uid else self.held
            del holders[row][slot]
        return chosen
