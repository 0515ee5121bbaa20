"""What ``vsched bench-live`` is asked to measure."""

from __future__ import annotations

import msgspec

from vsched.apimachinery.manifests.node_groups import DEFAULT_CAPACITY
from vsched.errors import BadInput
from vsched.lab.bench.words import live as words

WARM_UP = 64
"""Pods that are bound before anything is measured, so that connections are open and code has run before."""


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of the command."""

    nodes: int = 200
    pods: int = 2_000
    """Pods of the burst, which are placed while they are created."""
    gang: int = 20
    """Pods in a gang; 1 for a burst of single pods, without a PodGroup."""
    waiting: int = 0
    """Pods that are all there before their PodGroups are created."""
    singles: int = 100
    """Pods created one at a time."""
    posts: int = 0
    """Pods that plain loops bind, each in its way."""
    seed: int = 1
    claims: str | None = None
    """What each pod claims."""
    tls: bool = True
    real: bool = True
    """Pods of the size that real ones have, instead of as small as can be."""
    server_ms: float = 0.0
    """Processor time of the server for each write at least, in milliseconds."""

    @property
    def warm_up(self) -> int:
        return min(WARM_UP, self.pods)

    def check(self) -> None:
        """Raise BadInput where the pods have no room; those of the loops ask for none."""
        room = self.nodes * int(DEFAULT_CAPACITY["cpu"])
        if self.warm_up + self.pods + self.waiting + self.singles > room:
            further = self.waiting + self.singles + self.warm_up
            raise BadInput(words.no_room(self.pods, further, self.nodes, room))
