"""Leader election: which of several daemons acts, with a Lease or without.

A standby keeps its mirror up to date, and neither decides nor writes. A daemon that has lost its lease stops writing
at once (``holds`` is the writer's permit) and ends; its supervisor starts it again. Nothing is lost: all state is in
the API server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Protocol

import msgspec

from vsched.daemon.observe.numbers import Numbers
from vsched.daemon.words import log as words
from vsched.kube.auth.config import IN_CLUSTER
from vsched.kube.auth.connection import Connection
from vsched.kube.client import ApiClient, ClientSettings
from vsched.kube.lease.candidate import CandidateState, Elector, LeaseLost, Role
from vsched.kube.lease.record import LeaseSettings
from vsched.kube.watch.deltas import Statistics, WatchState

EVERYBODYS_NAMESPACE = "kube-system"
"""The namespace of the Lease for daemons outside of the cluster."""
ONCE = ClientSettings(connections=2, attempts=1)
"""The elector has its own retries, and connections of its own so that it does not wait behind bindings."""

Settle = Callable[[int], Awaitable[None]]
"""Waits until what was decided for a shard that is being given back is carried out."""


class Election(Protocol):
    """What a daemon needs of an election."""

    leading: asyncio.Event
    """Set when this daemon becomes the leader; sessions wait for it."""
    first: asyncio.Event
    """Set when it is the one that does what is done once for the whole cluster: with shards, one of several leaders."""

    @property
    def role(self) -> str:
        """What ``/readyz`` says: ``leader``, ``standby``, ``lost`` or ``released``."""
        ...

    @property
    def problem(self) -> str:
        """Why the last attempt to get or keep a Lease has failed; empty if it has not."""
        ...

    def holds(self) -> bool:
        """Whether this daemon may write now."""
        ...

    def prepare(self) -> None:
        """The mirror is complete: this daemon could act at once."""
        ...

    async def run(self, settle: Settle) -> None:
        """Take part until cancelled; returns only when the lead is lost."""
        ...

    async def end(self, *, release: bool = True) -> None:
        """Give up the lead once all tasks have ended. Raises LeaseLost if it was lost.

        Without ``release`` the lease runs out instead: for a daemon that still has writes on the wire.
        """
        ...

    def numbers(self) -> Numbers:
        """Figures for metrics."""
        ...


class Reporter(Protocol):
    """What logs the course of the election."""

    def note(self, event: str, **fields: object) -> None: ...

    def worry(self, event: str, **fields: object) -> None: ...


class NoElection:
    """The election of a daemon that is alone: it always leads."""

    def __init__(self) -> None:
        self.leading = asyncio.Event()
        self.leading.set()
        self.first = self.leading

    @property
    def role(self) -> str:
        return Role.LEADER.value

    @property
    def problem(self) -> str:
        return ""

    def holds(self) -> bool:
        return True

    def prepare(self) -> None:
        """It acts anyway."""

    async def run(self, settle: Settle) -> None:
        await asyncio.Event().wait()

    async def end(self, *, release: bool = True) -> None:
        """Nobody waits for it."""

    def numbers(self) -> Numbers:
        return {"vsched_leader": {"": 1.0}}


class LeaseElection:
    """The election by a Lease: its holder leads."""

    def __init__(
        self,
        settings: LeaseSettings,
        connection: Connection,
        reporter: Reporter,
        on_lost: Callable[[], None],
        *,
        on_role: Callable[[str], None] = lambda role: None,
        on_answer: Callable[[str, int], None] = lambda verb, code: None,
    ) -> None:
        if not settings.namespace:
            settings = msgspec.structs.replace(settings, namespace=home_of(connection))
        self._connection = connection
        self._reporter = reporter
        self._on_lost = on_lost
        self._on_role = on_role
        self._on_answer = on_answer
        self._before = CandidateState()
        self._lost: LeaseLost | None = None
        self._elector = Elector(settings, told=self._on_state, watched=self._on_watch)
        self.leading = self.first = self._elector.leading

    @property
    def identity(self) -> str:
        """The holder's name in the Lease when this daemon leads."""
        return self._elector.identity

    @property
    def role(self) -> str:
        return self._elector.standing.role.value

    @property
    def problem(self) -> str:
        return self._elector.standing.problem

    def holds(self) -> bool:
        return self._elector.holds()

    def prepare(self) -> None:
        """It takes the Lease in any case."""

    async def run(self, settle: Settle) -> None:
        self._reporter.note(words.WAITING_FOR_LEASE, lease=str(self._elector.settings), identity=self.identity)
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
        client.on_answer.add(self._on_answer)
        return client

    def numbers(self) -> Numbers:
        name = self._elector.settings.name
        return {
            "vsched_leader": {name: float(self.holds())},
            "vsched_leader_transitions_total": {name: float(self._elector.standing.transitions)},
            "vsched_leader_failures_total": {name: float(self._elector.failures)},
        }

    def _on_state(self, state: CandidateState) -> None:
        before, self._before = self._before, state
        lease = str(self._elector.settings)
        if state.role is Role.LOST:
            self._reporter.worry(words.LEASE_LOST, lease=lease, holder=state.holder, problem=state.problem)
        elif state.problem:
            self._reporter.worry(words.LEASE_ATTEMPT_FAILED, lease=lease, role=self.role, problem=state.problem)
        elif state.role is Role.LEADER:
            self._reporter.note("leading", lease=lease, transitions=state.transitions)
        elif state.role is Role.RELEASED:
            self._reporter.note(words.LEASE_RELEASED, lease=lease)
        elif state.holder != before.holder or before.problem:
            self._reporter.note("standby", lease=lease, holder=state.holder)
        if state.role is not before.role:
            self._on_role(state.role.value)

    def _on_watch(self, statistics: Statistics) -> None:
        """Log a refused watch: rights are missing, and a hand-over takes longer until they are given."""
        if statistics.state is WatchState.REFUSED:
            lease = str(self._elector.settings)
            self._reporter.worry(words.LEASE_NOT_WATCHED, lease=lease, problem=statistics.problem)


def home_of(connection: Connection) -> str:
    """The namespace of this pod; outside of a cluster, the one that all daemons use."""
    return connection.namespace if connection.source == IN_CLUSTER else EVERYBODYS_NAMESPACE


def led(
    election: Election, run: Callable[[], Coroutine[Any, Any, Any]], *, first: bool = False
) -> Callable[[], Coroutine[Any, Any, Any]]:
    """The task, but begun only once this daemon leads; with ``first``, once it is the first of several that do."""
    return partial(_led, election.first if first else election.leading, run)


async def _led(event: asyncio.Event, run: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    await event.wait()
    await run()
