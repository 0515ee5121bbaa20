"""What has to hold of Leases: nobody takes one that is in force, and nobody acts without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vsched.daemon.lead.election import EVERYBODYS_NAMESPACE, LeaseElection
from vsched.daemon.lead.shards import ShardElection
from vsched.lab.sender import Obj
from vsched.lab.soak.bottle import words
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.faults import ClusterFault, ClusterFaultKind
from vsched.lab.soak.bottle.loop import BottleLoop
from vsched.lab.soak.bottle.misfortunes.servers import LEASES
from vsched.lab.soak.bottle.network import End
from vsched.lab.soak.outcomes import Violations
from vsched.sim.client import LocalClient

UNDONE = {ClusterFaultKind.STEAL_LEASE, ClusterFaultKind.DELETE_LEASE, ClusterFaultKind.RESTORE}
"""What takes Leases away from those who have them, or brings back others."""
ACTS = (b"/binding ", b"/eviction ")


def are_lasting(faults: Iterable[ClusterFault]) -> bool:
    """Whether who has a Lease keeps it as long as it is renewed."""
    return not any(fault.fault in UNDONE for fault in faults)


class _Held(NamedTuple):
    holder: str
    until: float


class HeldLeases:
    """Who has each Lease, and until when others may not take it."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def changed(self, name: str, spec: Obj, now: float) -> str:
        """A Lease was written; what is wrong with that, empty for nothing."""
        before, holder = self._held.get(name), spec.get("holderIdentity") or ""
        self._held[name] = _Held(holder, now + spec.get("leaseDurationSeconds", 0))
        if before is None or not before.holder or holder in ("", before.holder) or now >= before.until:
            return ""
        return words.taken_early(name, holder, before.until - now)


class LeaseChecks:
    """Sees how the Leases of the daemons change hands, and what is sent meanwhile."""

    def __init__(
        self, client: LocalClient, daemons: Sequence[BottleDaemon], violations: Violations, loop: BottleLoop
    ) -> None:
        self._client, self._daemons, self._violations, self._loop = client, daemons, violations, loop
        loop.network.on_write.add(self._written)

    async def run(self) -> None:
        """Look at each change of a Lease, until cancelled."""
        held = HeldLeases()
        async for _, lease, _ in self._client.watch(LEASES):
            if lease["metadata"]["namespace"] == EVERYBODYS_NAMESPACE:
                told = held.changed(lease["metadata"]["name"], lease.get("spec") or {}, self._loop.time())
                if told:
                    self._violations.add(words.TAKEN_EARLY, told)

    def _written(self, end: End, data: bytes) -> None:
        """Note who binds or evicts a pod while others have all Leases: what it sends may arrive at any time later."""
        if not data.startswith(b"POST ") or not data.split(b"HTTP", 1)[0].endswith(ACTS):
            return
        daemon = next((each for each in self._daemons if each.process is end.process), None)
        found = None if daemon is None or daemon.daemon is None else daemon.daemon.election
        if daemon is None or not isinstance(found, LeaseElection | ShardElection):
            return
        leases = self._client.list(LEASES, EVERYBODYS_NAMESPACE)
        holders = {lease["spec"].get("holderIdentity") for lease in leases}
        if holders and found.identity not in holders:
            self._violations.add(words.WITHOUT_LEASE, words.acts_without(daemon.name, data.split(b" ", 2)[1].decode()))
