"""How the daemons that share a cluster arbitrate it together.

Each works out the same shares from the same cluster, so that its sessions keep to them. One writes them, takes back and
makes promises: the holder of the first shard. The others read on its Lease until when it keeps room for a pod.
"""

from __future__ import annotations

from typing import Protocol

from vsched.daemon.lead.shards import ShardElection
from vsched.daemon.parts.shard_mirror import ShardMirror
from vsched.mirror.mirror import Mirror
from vsched.model.snapshot import Snapshot

PROMISED = "vsched.io/arbitration-promised-until"
"""The annotation of the first shard's Lease: until then, in seconds since the epoch, nothing is lent."""
FIRST = 0


class Sharing(Protocol):
    """What rounds of arbitration need to know of other daemons."""

    def acts(self) -> bool:
        """Whether this daemon writes what a round decides, and takes back."""
        ...

    def snapshot(self, now: float) -> Snapshot:
        """The cluster now, as sessions see it."""
        ...

    def in_turn(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot without the jobs that wait for the turn of their shard."""
        ...

    def promise(self, until: float) -> None:
        """Say until when room is kept; 0 for no room."""
        ...

    def promised(self, now: float) -> bool:
        """Whether the daemon that acts keeps room for a pod."""
        ...


class Alone:
    """A daemon that decides for the whole cluster."""

    def __init__(self, mirror: Mirror) -> None:
        self.snapshot = mirror.snapshot

    def acts(self) -> bool:
        return True

    def in_turn(self, snapshot: Snapshot) -> Snapshot:
        return snapshot

    def promise(self, until: float) -> None:
        """Nobody asks."""

    def promised(self, now: float) -> bool:
        return False


class Together:
    """A daemon that decides for some shards."""

    def __init__(self, mirror: ShardMirror, election: ShardElection) -> None:
        self.snapshot, self.in_turn = mirror.snapshot, mirror.in_turn
        self._election = election
        self._said = -1.0

    def acts(self) -> bool:
        return FIRST in self._election.shards

    def promise(self, until: float) -> None:
        if until != self._said:
            self._said = until
            self._election.say(FIRST, {PROMISED: f"{until:.0f}" if until else None})

    def promised(self, now: float) -> bool:
        self._said = -1.0  # another daemon says so now: what this one said last does not stand there any more
        said = self._election.annotations(FIRST).get(PROMISED, "")
        return said.isdecimal() and now < float(said)
