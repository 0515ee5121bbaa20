"""One gang: reserve what it claims, wait until it is there, verify it, or give everything back."""

from __future__ import annotations

from enum import StrEnum

from vsched.writes.claims.gang import GangBinding, Obstacle
from vsched.writes.claims.reserving import Reservation
from vsched.writes.claims.undoing import undo
from vsched.writes.claims.waiting import GangWait, WaitSettings


class TransactionPhase(StrEnum):
    """What a transaction is doing."""

    QUEUED = "queued"
    """Another one writes objects that both need."""
    RESERVING = "reserving"
    WAITING = "waiting"
    """For volumes to be bound and devices to be ready."""
    VERIFYING = "verifying"
    BINDING = "binding"
    UNDOING = "undoing"


class GangTransaction:
    """Puts the phases together. It writes nothing but claims and volumes; the caller binds the pods."""

    def __init__(self, gang: GangBinding, settings: WaitSettings) -> None:
        self.gang = gang
        self.phase = TransactionPhase.QUEUED
        self._reservation = Reservation(gang)
        self._settings = settings
        self._waiting: GangWait | None = None
        self.keys = gang.wish.holds()
        """The objects that it is concerned with."""
        self._holding = False

    def changed(self, key: str) -> None:
        """A watch shows a change of a claim ``namespace/name``."""
        if self._waiting is not None:
            self._waiting.changed(key)

    async def prepare(self, bind_seconds: float) -> Obstacle | None:
        """Reserve, wait and verify; returns why the gang cannot be bound, None where it can.

        The caller calls ``end`` in any case, after ``undo`` where there is an obstacle.
        """
        await self.gang.holds.begin(self.keys)
        self._holding = True
        try:
            self.phase = TransactionPhase.RESERVING
            await self._reservation.reserve()
        finally:
            self.gang.holds.written(self.keys)
        if self.gang.obstacle is None:
            await self._wait(bind_seconds)
        if self.gang.obstacle is None:
            self.phase = TransactionPhase.VERIFYING
            await self._reservation.verify()
        return self.gang.obstacle

    async def _wait(self, bind_seconds: float) -> None:
        self.phase = TransactionPhase.WAITING
        claims = [*self.gang.wish.devices, *(plan.claim for plan in self._reservation.plans)]
        self._waiting = GangWait(self.gang, claims, self._settings)
        await self._waiting.run(bind_seconds)
        self._waiting = None

    async def undo(self) -> list[str]:
        """Give everything back; returns why something could not be."""
        self.phase = TransactionPhase.UNDOING
        return await undo(self.gang, self._reservation.plans)

    def end(self) -> None:
        """Others may have the objects that this transaction was concerned with."""
        if self._holding:
            self._holding = False
            self.gang.holds.end(self.keys)
