"""The election of several daemons that share a cluster: each holds some of N Leases, and decides for these shards.

Every daemon is a candidate for every Lease, so the shards of one that dies go to the others once its Leases have run
out. One that comes later asks for a shard of the daemon with the most: it names itself in an annotation of the Lease.
The holder finishes what it has decided for that shard and gives the Lease back, and the one that was named takes it.

The holder of the first shard also does what is done once for the whole cluster. It never gives that shard away.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from vsched.daemon.lead.election import ONCE, Reporter, Settle, home_of
from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.words import log as words
from vsched.errors import VschedError
from vsched.handlers import Handlers
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient
from vsched.kube.errors import Conflict
from vsched.kube.lease.candidate import CandidateState, Elector, LeaseLost, Role, WakefulClock, new_identity
from vsched.kube.lease.record import LeaseSettings, lease_name
from vsched.kube.watch.deltas import Statistics, WatchState

FAIR = 2
"""A daemon gives a shard to one that has at least so many fewer."""


class ShardElection:
    """The election by one Lease for each shard."""

    def __init__(
        self,
        settings: LeaseSettings,
        count: int,
        connection: Connection,
        reporter: Reporter,
        on_lost: Callable[[], None],
        *,
        on_answer: Callable[[str, int], None] = lambda verb, code: None,
    ) -> None:
        if not settings.namespace:
            settings = msgspec.structs.replace(settings, namespace=home_of(connection))
        self.count = count
        self.identity = new_identity()
        self._settings = settings
        self._connection = connection
        self._reporter = reporter
        self._on_lost = on_lost
        self._on_answer = on_answer
        self._clock = WakefulClock()
        self._lost: LeaseLost | None = None
        self._leaving: set[int] = set()
        """Shards that are about to be given back: nothing more is decided for them."""
        self._given: dict[int, asyncio.Event] = {}
        self._before = [CandidateState()] * count
        self.leading = asyncio.Event()
        self.first = asyncio.Event()
        self.ready = False
        """Set once the mirror is complete: before that, no shard is asked for."""
        self.on_shards: Handlers[[]] = Handlers()
        """Called whenever the shards that this daemon holds have changed."""
        self._electors = [self._candidate_for(shard) for shard in range(count)]

    # -- what others ask

    @property
    def shards(self) -> frozenset[int]:
        """The shards that this daemon decides for."""
        return frozenset(shard for shard, one in enumerate(self._electors) if one.leading.is_set()) - self._leaving

    @property
    def leaving(self) -> frozenset[int]:
        """The shards that are being given back."""
        return frozenset(self._leaving)

    @property
    def role(self) -> str:
        if self._lost is not None:
            return Role.LOST.value
        return Role.LEADER.value if self.leading.is_set() else Role.STANDBY.value

    @property
    def problem(self) -> str:
        return next((one.standing.problem for one in self._electors if one.standing.problem), "")

    def holds(self) -> bool:
        """Whether this daemon may write: it has a shard, and none of its Leases has run out."""
        held = [one for one in self._electors if one.leading.is_set()]
        return bool(held) and all(one.holds() for one in held)

    def prepare(self) -> None:
        """The mirror is complete: from now on, shards are asked for."""
        self.ready = True

    def holder_of(self, shard: int) -> str:
        """The identity of the daemon that decides for a shard, as far as is known; empty for none."""
        return self._electors[shard].standing.holder

    def term(self, shard: int) -> Elector:
        """The candidate that holds, or seeks, the Lease of a shard: another one for each time that it is ours."""
        return self._electors[shard]

    def annotations(self, shard: int) -> Mapping[str, str]:
        """The annotations of the Lease of a shard, as they were seen last."""
        return self._electors[shard].annotations

    def now(self) -> float:
        """The clock by which ``others`` counts."""
        return self._clock.monotonic()

    def others(self, since: float) -> dict[int, Mapping[str, str]]:
        """By shard of another daemon, the annotations of its Lease, if they were read since this moment."""
        found = {shard: one for shard, one in enumerate(self._electors) if not one.leading.is_set()}
        return {shard: one.annotations for shard, one in found.items() if one.looked_at >= since}

    def say(self, shard: int, annotations: Mapping[str, str | None]) -> None:
        """Give the Lease of a shard of ours other annotations, soon; None takes one off."""
        self._electors[shard].notes.update(annotations)
        self._electors[shard].hurry()

    def numbers(self) -> Numbers:
        names = [one.settings.name for one in self._electors]
        return {
            "vsched_leader": {name: float(one.holds()) for name, one in zip(names, self._electors, strict=True)},
            "vsched_leader_transitions_total": {
                name: float(one.standing.transitions) for name, one in zip(names, self._electors, strict=True)
            },
            "vsched_leader_failures_total": {
                name: float(one.failures) for name, one in zip(names, self._electors, strict=True)
            },
        }

    # -- its course

    async def run(self, settle: Settle) -> None:
        self._reporter.note(words.WAITING_FOR_LEASES, shards=self.count, identity=self.identity)
        try:
            async with self._client() as client, asyncio.TaskGroup() as group:
                for shard in range(self.count):
                    group.create_task(self._stand(shard, client), name=f"shard {shard}")
                group.create_task(self._balance(client, settle), name="balance of shards")
        except* LeaseLost as lost:
            self._lost = next(one for one in lost.exceptions if isinstance(one, LeaseLost))
        if self._lost is not None:
            self._on_lost()

    async def end(self, *, release: bool = True) -> None:
        if self._lost is not None:
            raise self._lost
        if release and self.leading.is_set():
            async with self._client() as client:
                for elector in self._electors:
                    if elector.holds():
                        await elector.release(client)

    async def _stand(self, shard: int, client: ApiClient) -> None:
        """Be a candidate for one shard, again and again; raises LeaseLost."""
        while True:
            given = self._given[shard] = asyncio.Event()
            term = asyncio.create_task(self._electors[shard].run(client), name=f"term of shard {shard}")
            leaving = asyncio.create_task(given.wait())
            try:
                await asyncio.wait((term, leaving), return_when=asyncio.FIRST_COMPLETED)
                if term.done():
                    await term  # raises
            finally:
                term.cancel()
                leaving.cancel()
                await asyncio.wait((term, leaving))
            await self._electors[shard].release(client)
            before, self._electors[shard] = self._electors[shard], self._candidate_for(shard)
            self._electors[shard].adopt(before)
            self._leaving.discard(shard)
            self._tell()

    # -- who should have how many

    async def _balance(self, client: ApiClient, settle: Settle) -> None:
        """Give a shard to a daemon that asks and has fewer, or ask for one of the daemon that has the most."""
        while True:
            await asyncio.sleep(self._settings.retry_seconds)
            held = Counter(holder for shard in range(self.count) if (holder := self.holder_of(shard)))
            asked = self._asked(held)
            if asked is not None:
                await self._give(asked, settle)
            elif self.ready and not self._leaving:
                await self._ask(client, held)

    def _asked(self, held: Counter[str]) -> int | None:
        """A shard of ours that somebody with fewer asks for; never the first."""
        ours = self.shards
        for shard in sorted(ours, reverse=True):
            who = self._electors[shard].preferred
            if shard and who and who != self.identity and len(ours) - held[who] >= FAIR:
                return shard
        return None

    async def _give(self, shard: int, settle: Settle) -> None:
        self._reporter.note(words.HANDING_OVER, shard=shard, to=self._electors[shard].preferred)
        self._leaving.add(shard)
        self.on_shards()
        await settle(shard)
        self._given[shard].set()

    async def _ask(self, client: ApiClient, held: Counter[str]) -> None:
        """Ask for a shard where another daemon has more than its part; for one at a time."""
        mine = len(self.shards)
        if any(self._electors[shard].preferred == self.identity for shard in range(self.count)):
            return
        for shard in reversed(range(1, self.count)):
            holder, elector = self.holder_of(shard), self._electors[shard]
            if holder and holder != self.identity and held[holder] - mine >= FAIR and not elector.preferred:
                try:
                    await elector.ask(client)
                except Conflict:
                    pass  # it was renewed meanwhile; the next round asks again
                except (VschedError, TimeoutError) as error:
                    self._reporter.worry(words.CANNOT_REQUEST, lease=str(elector.settings), problem=str(error))
                return

    # -- the candidates

    def _candidate_for(self, shard: int) -> Elector:
        named = msgspec.structs.replace(self._settings, name=lease_name(self._settings.name, shard))
        return Elector(
            named,
            self.identity,
            clock=self._clock,
            told=partial(self._on_state, shard),
            watched=partial(self._on_watch, named),
        )

    def _client(self) -> ApiClient:
        client = ApiClient(self._connection, msgspec.structs.replace(ONCE, connections=ONCE.connections + self.count))
        client.on_answer.add(self._on_answer)
        return client

    def _on_state(self, shard: int, state: CandidateState) -> None:
        before, self._before[shard] = self._before[shard], state
        lease = lease_name(str(self._settings), shard)
        if state.role is Role.LOST:
            self._reporter.worry(words.LEASE_LOST, lease=lease, holder=state.holder, problem=state.problem)
        elif state.problem:
            self._reporter.worry(words.LEASE_ATTEMPT_FAILED, lease=lease, role=self.role, problem=state.problem)
        elif state.role is not before.role:
            self._reporter.note("shard", shard=shard, role=state.role.value, lease=lease)
        if state.role is not before.role:
            self._tell()

    def _tell(self) -> None:
        """The shards may be others now. Parts that act have begun once there was one, and go on until the end."""
        shards = self.shards
        if shards:
            self.leading.set()
        if 0 in shards:
            self.first.set()
        self.on_shards()

    def _on_watch(self, settings: LeaseSettings, statistics: Statistics) -> None:
        """Log a refused watch: rights are missing, and a hand-over takes longer until they are given."""
        if statistics.state is WatchState.REFUSED:
            self._reporter.worry(words.LEASE_NOT_WATCHED, lease=str(settings), problem=statistics.problem)


def shards_held(election: object) -> dict[str, object]:
    """For ``/readyz``: the shards that a daemon decides for, and of how many; empty where there are none."""
    if not isinstance(election, ShardElection):
        return {}
    return {"held": sorted(election.shards), "of": election.count}
