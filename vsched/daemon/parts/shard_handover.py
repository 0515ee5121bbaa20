"""How a shard goes from one daemon to the next.

Who gives it away decides nothing more for it, and keeps the Lease until every write for it has ended. Who gets it
decides nothing before the mirror has all that was written under the Lease: a list that began after it was ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vsched.daemon.lead.shards import ShardElection
from vsched.kube.lease.candidate import Elector
from vsched.model.plan import Bind
from vsched.writes.bindings import Dispatcher
from vsched.writes.claims.claim_writes import ClaimWrites

LOOK_SECONDS = 0.1
"""How often to look whether the writes for a shard have ended."""


class ShardHandover:
    """The beginning and the end of each term of a shard."""

    def __init__(
        self, election: ShardElection, dispatcher: Dispatcher, claims: ClaimWrites, changed: Callable[[], None]
    ) -> None:
        """``changed`` is called when more shards may be decided for."""
        self._election = election
        self._dispatcher = dispatcher
        self._claims = claims
        self._changed = changed
        self._caught_up: set[Elector] = set()
        """The terms of which the mirror has all that was written before."""
        self._behind = asyncio.Event()

    @property
    def shards(self) -> frozenset[int]:
        """The shards that may be decided for."""
        terms = {shard: self._election.term(shard) for shard in self._election.shards}
        # A Lease that nobody had before was made for us.
        self._caught_up.update(term for term in terms.values() if not term.standing.transitions)
        self._caught_up.intersection_update(terms.values())
        if len(self._caught_up) < len(terms):
            self._behind.set()
        return frozenset(shard for shard, term in terms.items() if term in self._caught_up)

    async def run(self, catch_up: Callable[[], Awaitable[None]]) -> None:
        """Catch up with each shard that is new, until cancelled.

        ``catch_up`` waits until the mirror has everything that the API server has by now.
        """
        while True:
            await self._behind.wait()
            self._behind.clear()
            terms = {self._election.term(shard) for shard in self._election.shards} - self._caught_up
            await catch_up()
            self._caught_up |= terms
            self._changed()

    async def ended(self, concerns_job: Callable[[str], bool], concerns_node: Callable[[str], bool]) -> None:
        """Wait until nothing is being written any more for such jobs, or about such nodes."""

        def concerns(bind: Bind) -> bool:
            return concerns_job(bind.job) or concerns_node(bind.node)

        while True:
            self._claims.leave(concerns)
            binds = (*self._dispatcher.under_way.values(), *self._claims.gangs.under_way)
            if not any(map(concerns, binds)) and not any(map(concerns_job, self._claims.releases.under_way)):
                return
            await asyncio.sleep(LOOK_SECONDS)
