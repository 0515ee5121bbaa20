"""Which of several daemons acts: what a daemon asks of an election, with a Lease and without any.

A standby keeps its mirror warm and neither decides nor writes. A daemon that has lost its lease stops writing at once
(``holds`` is the writer's permit) and ends; its supervisor starts it again. Nothing is lost by that: what it knows is
in the API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

import msgspec

from vsched.clock import Clock
from vsched.daemon.observe.numbers import Numbers
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.config import IN_CLUSTER
from vsched.kube.connection import Connection
from vsched.kube.deltas import State, Statistics
from vsched.kube.lease import CandidateState, Elector, LeaseLost, Role
from vsched.kube.lease_record import LeaseSettings

EVERYBODYS_NAMESPACE = "kube-system"
"""Where the Lease is for daemons outside the cluster, wherever they run."""
ONCE = ClientSettings(connections=2, attempts=1)
"""The elector has its own rule about repeating, and connections of its own: it must not wait behind bindings."""


class Election(Protocol):
    """Whether this daemon acts, as the daemon sees it."""

    leading: asyncio.Event
    """Set when this daemon begins to act; sessions wait for it."""

    @property
    def role(self) -> str:
        """What ``/readyz`` says: ``leader``, ``standby``, ``lost`` or ``released``."""
        ...

    def holds(self) -> bool:
        """Whether this daemon may write at this very moment."""
        ...

    async def run(self) -> None:
        """Take part, until cancelled; ends by itself only when leadership is lost."""
        ...

    async def end(self, *, release: bool = True) -> None:
        """Once nothing of the daemon runs any more: let another lead at once. Raises LeaseLost if it was lost.

        Without ``release`` another leads when the lease runs out: for a daemon that has writes on their way.
        """
        ...

    def numbers(self) -> Numbers:
        """Figures for metrics."""
        ...


class Narrator(Protocol):
    """Who is told what happens."""

    def note(self, event: str, **fields: object) -> None: ...

    def worry(self, event: str, **fields: object) -> None: ...


class NoElection:
    """For a daemon that is alone: it always leads."""

    def __init__(self) -> None:
        self.leading = asyncio.Event()
        self.leading.set()

    @property
    def role(self) -> str:
        return Role.LEADER.value

    def holds(self) -> bool:
        return True

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def end(self, *, release: bool = True) -> None:
        """Nobody waits for it."""

    def numbers(self) -> Numbers:
        return {"vsched_leader": {"": 1.0}}


class LeaseElection:
    """For daemons of which one at a time acts: the one that holds the Lease."""

    def __init__(
        self,
        settings: LeaseSettings,
        connection: Connection,
        narrator: Narrator,
        on_lost: Callable[[], None],
        *,
        on_role: Callable[[str], None] = lambda role: None,
        on_answer: Callable[[str, int], None] = lambda verb, code: None,
        clock: Clock | None = None,
    ) -> None:
        if not settings.namespace:
            settings = msgspec.structs.replace(settings, namespace=home_of(connection))
        self._connection = connection
        self._narrator = narrator
        self._on_lost = on_lost
        self._on_role = on_role
        self._on_answer = on_answer
        self._before = CandidateState()
        self._lost: LeaseLost | None = None
        self._elector = Elector(settings, clock=clock, told=self._told, watched=self._watched)
        self.leading = self._elector.leading

    @property
    def identity(self) -> str:
        """What the Lease says when this daemon leads."""
        return self._elector.identity

    @property
    def role(self) -> str:
        return self._elector.standing.role.value

    def holds(self) -> bool:
        return self._elector.holds()

    async def run(self) -> None:
        self._narrator.note("seeking the lease", lease=str(self._elector.settings), identity=self.identity)
        try:
            async with self._client() as client:
                await self._elector.run(client)
        except LeaseLost as lost:
            self._lost = lost
            self._on_lost()

    async def end(self, *, release: bool = True) -> None:
        if self._lost is not None:
            raise self._lost
        if release and self.holds():
            async with self._client() as client:
                await self._elector.release(client)

    def _client(self) -> ApiClient:
        client = ApiClient(self._connection, ONCE)
        client.on_answer = self._on_answer
        return client

    def numbers(self) -> Numbers:
        name = self._elector.settings.name
        return {
            "vsched_leader": {name: float(self.holds())},
            "vsched_leader_transitions_total": {name: float(self._elector.standing.transitions)},
            "vsched_leader_failures_total": {name: float(self._elector.failures)},
        }

    def _told(self, standing: CandidateState) -> None:
        before, self._before = self._before, standing
        lease = str(self._elector.settings)
        if standing.role is Role.LOST:
            self._narrator.worry("lease lost", lease=lease, holder=standing.holder, problem=standing.problem)
        elif standing.problem:
            self._narrator.worry("lease attempt failed", lease=lease, role=self.role, problem=standing.problem)
        elif standing.role is Role.LEADER:
            self._narrator.note("leading", lease=lease, transitions=standing.transitions)
        elif standing.role is Role.RELEASED:
            self._narrator.note("lease released", lease=lease)
        elif standing.holder != before.holder or before.problem:
            self._narrator.note("standing by", lease=lease, holder=standing.holder)
        if standing.role is not before.role:
            self._on_role(standing.role.value)

    def _watched(self, statistics: Statistics) -> None:
        """A watch that is refused is a matter of rights, for a person to mend; until then a hand-over takes longer."""
        if statistics.state is State.REFUSED:
            lease = str(self._elector.settings)
            self._narrator.worry("lease is polled, it cannot be watched", lease=lease, problem=statistics.problem)


def home_of(connection: Connection) -> str:
    """The namespace of the pod we run in; from outside, one that everybody agrees on."""
    return connection.namespace if connection.source == IN_CLUSTER else EVERYBODYS_NAMESPACE


def led(election: Election, run: Callable[[], Coroutine[Any, Any, Any]]) -> Callable[[], Coroutine[Any, Any, Any]]:
    """A long-lived task of a daemon that acts: the same, but begun only once this daemon leads."""
    return partial(_led, election, run)


async def _led(election: Election, run: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    await election.leading.wait()
    await run()
