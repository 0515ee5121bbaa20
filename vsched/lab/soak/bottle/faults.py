"""What goes wrong in a bottle: requests that fail, as for the embedded cluster, and what happens to processes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import Annotated

import msgspec

from vsched.handlers import Handlers
from vsched.lab.soak.bottle.daemons import BottleDaemon
from vsched.lab.soak.bottle.network import Network
from vsched.sim.api.fault_plan import RULES, FaultPlan

Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
SERVER = "server"
"""The name of the process of the API server and the controllers."""


class ProcessFaultKind(StrEnum):
    """What may happen to a daemon."""

    KILL = "kill"
    """It ends between two of its steps; what it has sent arrives."""
    PAUSE = "pause"
    """It does nothing for a while, and goes on."""
    CUT = "cut"
    """It and the API server do not reach each other for a while."""
    DEAF = "deaf"
    """What it sends arrives, and no answer comes back, for a while."""
    SKEW = "skew"
    """Its wall clock jumps, and is set right after a while."""


class ProcessFault(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault, and how often it happens."""

    fault: ProcessFaultKind
    every_seconds: Seconds
    """On average; the times are drawn."""
    lasts_seconds: Seconds = 30.0
    """At most; drawn as well."""
    skew_seconds: Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)] = 300.0
    """By how much a clock jumps at most, forward or back."""


class BottleFaults(FaultPlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file of faults: of requests, as for ``vsched cluster --faults``, and of processes."""

    processes: Annotated[tuple[ProcessFault, ...], msgspec.Meta(max_length=RULES)] = ()


class Misfortune:
    """Has the faults of processes happen."""

    def __init__(self, daemons: Sequence[BottleDaemon], network: Network, random: Random) -> None:
        self._daemons, self._network, self._random = daemons, network, random
        self.on_fault: Handlers[[str, str]] = Handlers()
        """Called with each."""

    async def run(self, rule: ProcessFault) -> None:
        """Have one kind of fault happen, until cancelled."""
        while True:
            await asyncio.sleep(self._random.expovariate(1.0 / rule.every_seconds))
            daemon = self._random.choice(self._daemons)
            if daemon.process is not None:
                self.on_fault(rule.fault, daemon.name)
                await self._happen(rule, daemon)

    async def _happen(self, rule: ProcessFault, daemon: BottleDaemon) -> None:
        process, seconds = daemon.process, self._random.uniform(0.0, rule.lasts_seconds)
        assert process is not None, "it was asked"
        match rule.fault:
            case ProcessFaultKind.KILL:
                daemon.kill()
            case ProcessFaultKind.PAUSE:
                process.pause(seconds)
            case ProcessFaultKind.CUT | ProcessFaultKind.DEAF:
                ways = [(SERVER, daemon.name)]
                if rule.fault is ProcessFaultKind.CUT:
                    ways.append((daemon.name, SERVER))
                for source, to in ways:
                    self._network.cut(source, to)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    for source, to in ways:
                        self._network.join(source, to)
            case ProcessFaultKind.SKEW:
                process.skew_seconds = self._random.uniform(-rule.skew_seconds, rule.skew_seconds)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    process.skew_seconds = 0.0
