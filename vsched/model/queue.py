"""A queue, a namespace and a priority class as the scheduler sees them. Immutable records."""

from __future__ import annotations

import msgspec

from vsched.model.resources import NOTHING, Amounts

OPEN, CLOSED, CLOSING, UNKNOWN = "Open", "Closed", "Closing", "Unknown"


class Queue(msgspec.Struct, frozen=True):
    """A Queue object (reference 5.1)."""

    name: str
    uid: str = ""
    created: float = 0.0
    weight: int = 1
    capability: Amounts = NOTHING
    deserved: Amounts = NOTHING
    guarantee: Amounts = NOTHING
    reclaimable: bool = True
    priority: int = 0
    """``spec.priority``, else the value of the queue's priority class, else 0."""
    parent: str = ""
    state: str = OPEN
    annotations: tuple[tuple[str, str], ...] = ()

    @property
    def open(self) -> bool:
        """Whether new work may enter."""
        return self.state == OPEN


class Namespace(msgspec.Struct, frozen=True):
    """A namespace: its weight in fair shares and the labels that selectors look at."""

    name: str
    weight: int = 1
    """The largest valid ``volcano.sh/namespace.weight`` of its ResourceQuotas, else 1 (seed 000)."""
    labels: tuple[tuple[str, str], ...] = ()
    queue: str = ""
    """Default queue named by annotation, empty where there is none."""
