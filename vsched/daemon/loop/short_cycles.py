"""Which cycles run on the event loop itself: short ones, for which the way to a thread and back costs too much.

A cycle is expected to be short if the last ones of like size were. It is never expected of large clusters, of many
waiting pods, and of policies that call services.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from vsched.framework.policy import Policy
from vsched.model.snapshot import Snapshot

Size = tuple[int, int, int]
"""Of a session: nodes, jobs and pods that wait, each as the power of two above it."""


class ShortCycleSettings(msgspec.Struct, frozen=True):
    """Bounds of what runs on the event loop."""

    short_seconds: float = 0.002
    """Processor time of a short cycle."""
    in_a_row: int = 5
    """So many cycles of a size have to be short before one runs on the loop."""
    long_seconds: float = 0.01
    """A cycle that takes so long on the loop is followed by ten times as many in a thread."""
    nodes: int = 1_000
    """In larger clusters, a pod that is hard to place may take long although the last ones did not."""
    jobs: int = 64
    pods: int = 64


class ShortCycles:
    """Keeps for each size of sessions how many cycles in a row were short."""

    def __init__(self, settings: ShortCycleSettings | None = None) -> None:
        self._settings = settings or ShortCycleSettings()
        self._policy: Policy | None = None
        self._waits = True
        """Whether cycles of this policy may wait for others."""
        self._in_a_row: Counter[Size] = Counter()

    def expects(self, snapshot: Snapshot, policy: Policy) -> bool:
        """Whether the cycle of this session may run on the event loop."""
        if policy is not self._policy:
            self._policy, self._waits = policy, policy.calls_out()
            self._in_a_row.clear()
        if self._waits:
            return False
        size = self._size_of(snapshot)
        return size is not None and self._in_a_row[size] >= self._settings.in_a_row

    def took(self, snapshot: Snapshot, seconds: float) -> None:
        """The cycle of this session took so much processor time."""
        size, settings = self._size_of(snapshot), self._settings
        if size is None:
            return
        if seconds < settings.short_seconds:
            self._in_a_row[size] = min(self._in_a_row[size] + 1, settings.in_a_row)
        else:
            self._in_a_row[size] = 0 if seconds < settings.long_seconds else -10 * settings.in_a_row

    def _size_of(self, snapshot: Snapshot) -> Size | None:
        """None where no cycle is expected to be short."""
        settings, nodes, active = self._settings, len(snapshot.nodes.statics), snapshot.active
        if nodes > settings.nodes or len(active) > settings.jobs:
            return None
        pods = sum(len(snapshot.jobs[key].pending) for key in active)
        return None if pods > settings.pods else (nodes.bit_length(), len(active).bit_length(), pods.bit_length())
