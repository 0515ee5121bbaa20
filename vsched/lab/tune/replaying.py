"""Replays of one trace under many policies, in processes of their own or in this one.

The order of the results is that of the policies, and no result depends on how many processes there are.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.pool import Pool
from typing import NamedTuple

from vsched.clock import FakeClock
from vsched.daemon.system.tuning import tuned
from vsched.lab.trace.direct import DirectCore
from vsched.lab.trace.files import ClusterTrace
from vsched.lab.trace.machines import Machines, virtual_cluster
from vsched.lab.trace.periods import Periods, periods_of
from vsched.lab.trace.run import SCHEDULER, TraceReplay
from vsched.lab.trace.vgpus import knows_vgpus
from vsched.log import LogFormat, configure
from vsched.settings import load_text
from vsched.settings.installed import registry


class TracePart(NamedTuple):
    """A part of a trace that is replayed, and how."""

    trace: ClusterTrace
    begin: float
    """Where its measured time begins, in seconds since its first pod."""
    weights: Mapping[str, int]
    apart_seconds: float
    seed: int
    one_queue: bool


class ReplayJob(NamedTuple):
    """A policy to replay a part under."""

    part: str
    """By name."""
    policy: str
    """The text of a policy file."""


class Replayer:
    """Replays parts under policies; each policy is replayed once."""

    def __init__(self, parts: Mapping[str, TracePart], pool: Pool | None) -> None:
        self._parts = parts
        self._pool = pool
        self._found: dict[ReplayJob, Periods] = {}

    def many(self, part: str, policies: Sequence[str]) -> list[Periods]:
        """What a part comes to under each policy, in this order."""
        jobs = [ReplayJob(part, policy) for policy in policies]
        new = [job for job in dict.fromkeys(jobs) if job not in self._found]
        found = map(self._here, new) if self._pool is None else self._pool.imap(_there, new)
        self._found |= dict(zip(new, found, strict=True))
        return [self._found[job] for job in jobs]

    def _here(self, job: ReplayJob) -> Periods:
        return replayed(self._parts[job.part], job.policy)

    def one(self, part: str, policy: str) -> Periods:
        """What a part comes to under a policy."""
        return self.many(part, [policy])[0]

    def count(self) -> int:
        """How many replays there were."""
        return len(self._found)


def replayed(part: TracePart, policy: str) -> Periods:
    """What one part comes to under the policy in a text."""
    # Nothing in it waits, so a loop that takes SIGTERM for itself would not hear of it before the end.
    found = asyncio.run(_replay(part, policy))
    return periods_of(part.trace, found.accounts, part.weights, part.begin)


async def _replay(part: TracePart, text: str) -> TraceReplay:
    clock = FakeClock()
    policy = load_text(text, "policy", registry()).policy
    async with virtual_cluster(clock, part.seed) as cluster:
        machines = Machines(cluster, clock, SCHEDULER, one_queue=part.one_queue, vgpus=knows_vgpus(policy))
        machines.set_up(part.trace, dict(part.weights))
        core = DirectCore(cluster, policy, clock, SCHEDULER)
        found = TraceReplay(part.trace, part.weights, clock, lambda progress: None, part.apart_seconds)
        await found.run(machines, core)
    return found


# -- processes --------------------------------------------------------------------------------------------------------

_PARTS: dict[str, TracePart] = {}
"""In a process of its own: the parts, which it is given once."""


def _begin(parts: Mapping[str, TracePart]) -> None:
    configure("warning", LogFormat.CONSOLE, sys.stderr)
    _PARTS.update(parts)


def _there(job: ReplayJob) -> Periods:
    with tuned():
        return replayed(_PARTS[job.part], job.policy)


@contextmanager
def replaying(parts: Mapping[str, TracePart], processes: int) -> Iterator[Replayer]:
    """A replayer of these parts while the block runs; with one process, in this one."""
    if processes == 1:
        configure("warning", LogFormat.CONSOLE, sys.stderr)
        with tuned():
            yield Replayer(parts, None)
        return
    # Processes that begin anew share no threads or locks with this one; the pool ends them with the block.
    with get_context("spawn").Pool(processes, _begin, (dict(parts),)) as pool:
        yield Replayer(parts, pool)
