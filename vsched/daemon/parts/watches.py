"""The watches of a daemon and their progress."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from vsched import api
from vsched.daemon.observe.progress import Progress
from vsched.daemon.parts.base import Base
from vsched.daemon.policy.workloads import WorkloadFile
from vsched.daemon.tasks import LongLived
from vsched.daemon.watches import ObjectSink, awaited, is_expected, reflectors, synced_of, workload_reflector
from vsched.daemon.words import tasks as words
from vsched.kube.watch.discovery import Discovery
from vsched.kube.watch.reflector import Reflector
from vsched.kube.watch.streaming import StreamedLists
from vsched.mirror.ingest.workload_kinds import WorkloadKind, WorkloadTable
from vsched.together import together

DECISIVE = ("Pod", "ResourceClaim", "PersistentVolumeClaim", "PersistentVolume")
"""What a daemon before has changed by its decisions, and what is taken from nodes."""


class Watches:
    """One watch for each kind that is followed; those of the table of workload kinds come and go with the table."""

    def __init__(self, base: Base, others: Mapping[str, ObjectSink], not_needed: Collection[str] = frozenset()) -> None:
        """Sessions begin without the kinds that are ``not_needed`` where these cannot be listed."""
        options, telemetry = base.options, base.telemetry
        self._base = base
        self._not_needed = not_needed
        self._discovery = Discovery(base.client, base.clock)
        self.reflectors = reflectors(
            base.client,
            base.mirror,
            others,
            telemetry.process.watch,
            scheduling=options.schedule,
            arbitrating=options.arbitrate,
            user_key=options.user_key,
            streamed=StreamedLists() if options.streaming_lists else None,
            discovery=self._discovery,
        )
        self._always = tuple(self.reflectors)
        self._statistics = {kind: reflector.statistics for kind, reflector in self.reflectors.items()}
        self.progress = Progress(self._statistics, telemetry.note)
        self._running: dict[str, asyncio.Task[None]] = {}
        """The watches of kinds of the table, once they run."""
        for kind in base.mirror.intake.workloads.followed:
            self._add(kind)

    @property
    def tasks(self) -> tuple[LongLived, ...]:
        """What runs for long."""
        follow = (LongLived(f"watch {kind}", self.reflectors[kind].run, words.watch(kind)) for kind in self._always)
        says = words.WORKLOAD_KINDS
        progress = LongLived("progress", self.progress.run, words.PROGRESS)
        return (*follow, LongLived("workload kinds", self._follow_workloads, says), progress)

    async def discover(self) -> None:
        """Find out what the API server serves: other kinds are not asked for until it does."""
        served = await self._discovery.served()
        for reflector in self.reflectors.values():
            reflector.begin_with(served)

    async def catch_up(self) -> None:
        """Wait until the mirror has all pods, and what they claim, as the API server has them by now."""
        decisive = [self.reflectors[kind] for kind in DECISIVE if kind in self.reflectors]
        await together(*(each.catch_up() for each in decisive if each.settled.is_set()))

    def awaited(self) -> Sequence[asyncio.Event]:
        """The events that the first session waits for."""
        return [self._awaited(kind) for kind in self.reflectors]

    def _awaited(self, kind: str) -> asyncio.Event:
        reflector = self.reflectors[kind]
        return reflector.settled if kind in self._not_needed else awaited(kind, reflector)

    def synced(self) -> Mapping[str, bool]:
        """Whether each kind has been listed."""
        return synced_of(self.reflectors)

    def absent(self) -> Mapping[str, str]:
        """The optional kinds that cannot be listed, with the reason."""
        return {
            kind: reflector.statistics.problem
            for kind, reflector in self.reflectors.items()
            if self._awaited(kind).is_set()
            and not reflector.synced.is_set()
            and is_expected(kind, reflector.statistics)
        }

    # -- kinds of the table of workload kinds

    async def _follow_workloads(self) -> None:
        options, telemetry = self._base.options, self._base.telemetry
        async with asyncio.TaskGroup() as group:
            for kind in self._base.mirror.intake.workloads.followed:
                self._start(group, kind.id)
            if options.workloads_file is None or not options.schedule:
                return  # the table stays; the group waits for its watches
            file = WorkloadFile(options.workloads_file, self._base.mirror.intake.workloads)
            async for table in file.tables(telemetry.note, telemetry.worry):
                await self._use(group, table)

    async def _use(self, group: asyncio.TaskGroup, table: WorkloadTable) -> None:
        """Take another table into force: watches begin and end, and what it concerns is listed again."""
        before = {kind.id: kind for kind in self._base.mirror.intake.workloads.followed}
        after = {kind.id: kind for kind in table.followed}
        for id, kind in before.items():
            if id not in after or after[id].resources != kind.resources:
                await self._end(id)
        again = self._base.mirror.intake.use_workloads(table)
        for id, kind in after.items():
            if id not in self.reflectors:
                self._add(kind)
                self._start(group, id)
        for id in again:
            if id in self.reflectors:
                self.reflectors[id].list_again()

    def _add(self, kind: WorkloadKind) -> None:
        base = self._base
        made: Reflector[api.Object] = workload_reflector(
            base.client, base.mirror, kind, base.telemetry.process.watch, base.options.user_key, self._discovery
        )
        self.reflectors[kind.id] = made
        self._statistics[kind.id] = made.statistics

    def _start(self, group: asyncio.TaskGroup, id: str) -> None:
        self._running[id] = group.create_task(self.reflectors[id].run(), name=f"watch {id}")

    async def _end(self, id: str) -> None:
        task = self._running.pop(id)
        task.cancel()
        await asyncio.wait((task,))
        del self.reflectors[id], self._statistics[id]
