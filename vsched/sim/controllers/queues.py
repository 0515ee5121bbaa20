"""Volcano Queues: a new one opens. The counts in the status are the scheduler's affair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.sim.controllers.actions import Action, SetStatus
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.objects import is_deleting
from vsched.sim.kinds import Obj

QUEUES = "scheduling.volcano.sh/queues"

SYSTEM_QUEUES: tuple[Obj, ...] = (
    {"name": "root", "spec": {"weight": 1, "reclaimable": False}},
    {"name": "default", "spec": {"weight": 1, "parent": "root"}},
)
"""There from the start, as Volcano makes them."""


def system_queue(row: Obj) -> Obj:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": row["name"]},
        "spec": row["spec"],
    }


def open_queue(queue: Obj) -> list[Action]:
    """A queue whose state nobody has said is Open."""
    status = queue.get("status") or {}
    if is_deleting(queue) or status.get("state"):
        return []
    return [SetStatus(QUEUES, "", queue["metadata"]["name"], {**status, "state": "Open"})]


class Queues(Controller):
    """Opens new queues."""

    name: ClassVar[str] = "queues"
    primary: ClassVar[str] = QUEUES
    watches: ClassVar[tuple[str, ...]] = (QUEUES,)

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return () if gone else (obj["metadata"]["name"],)

    def reconcile(self, key: str) -> Sequence[Action]:
        queue = self.find(key)
        return [] if queue is None else open_queue(queue)
