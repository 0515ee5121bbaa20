"""A process that only looks on: it follows the cluster as a daemon does, decides nothing, and records the work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from vsched import api
from vsched.clock import Clock, SystemClock
from vsched.daemon.loop.loop import in_slices, prepare
from vsched.daemon.observe.settings import ObserveSettings
from vsched.daemon.observe.work_trace import WorkTrace, work_trace
from vsched.daemon.options import Options
from vsched.daemon.parts.base import make_base
from vsched.daemon.parts.watches import Watches
from vsched.daemon.policy.reach import reach_of
from vsched.daemon.policy.reload import policy_of
from vsched.daemon.system.first_contact import reach
from vsched.daemon.triggers import Trigger
from vsched.framework.registry import Registry
from vsched.kube.client import ApiClient
from vsched.kube.watch.deltas import BrokenObject, Delta

CALM_SECONDS, WINDOW_SECONDS = 1.0, 0.05
"""The cluster is looked at this often, and so soon after a change."""


LISTED = ("Pod", "Node")
"""Without these nothing is recorded; all other kinds may be missing, or refused."""


class RecordSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded, and where to."""

    folder: Path
    most_bytes: int
    schedulers: tuple[str, ...]
    """The pods that name one of these are recorded."""
    anonymous: bool = False
    user_key: str = Options().user_key
    workloads_file: Path | None = None


class SchedulerNames:
    """Which scheduler each pod names, by uid; as many as there are pods."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._listed: dict[str, str] = {}

    def of(self, uid: str) -> str:
        """Empty where the pod is not known."""
        return self._names.get(uid, "")

    def restart(self) -> None:
        self._listed = {}

    def include(self, item: api.Object) -> None:
        self._put(self._listed, item)

    def finish(self, resource_version: str) -> Iterator[None]:
        self._names, self._listed = self._listed, {}
        return iter(())

    def apply(self, delta: Delta, item: api.Object) -> None:
        if delta is Delta.DELETED:
            self._names.pop(item.metadata.uid or "", None)
        else:
            self._put(self._names, item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """Nothing to do: a pod that cannot be read is not recorded."""

    @staticmethod
    def _put(names: dict[str, str], item: api.Object) -> None:
        if isinstance(item, api.Pod):
            names[item.metadata.uid or ""] = item.spec.scheduler_name or ""


class WorkRecording:
    """One recorder: made, run to the end, and not used again. It only reads from the API server."""

    def __init__(
        self, settings: RecordSettings, client: ApiClient, registry: Registry, clock: Clock | None = None
    ) -> None:
        """Raises BadInput where the folder cannot be used."""
        options = Options(
            scheduler_names=settings.schedulers, user_key=settings.user_key, workloads_file=settings.workloads_file
        )
        clock = clock or SystemClock()
        policy = policy_of(None, registry, clock, reach_of(options, client.connection))
        trigger = Trigger(CALM_SECONDS, WINDOW_SECONDS)
        self._base = make_base(options, client, registry, clock, policy, trigger, ObserveSettings())
        self._pods = SchedulerNames()
        self.watches = Watches(self._base, {"Pod": self._pods})
        self._begun = False
        """Whether all that was there at the beginning was seen."""
        by = self._pods.of if len(settings.schedulers) > 1 else lambda uid: ""
        self.trace: WorkTrace = work_trace(
            settings.folder,
            settings.most_bytes,
            settings.schedulers,
            clock,
            self._base.telemetry.worry,
            anonymous=settings.anonymous,
            scheduler_of=by,
        )

    def stop(self) -> None:
        """Write what was seen, and end."""
        self._base.stopping.set()

    async def run(self, begun: Callable[[Mapping[str, int]], None] = lambda sizes: None) -> None:
        """Record until it is to stop; ``begun`` is called once all that is there was seen, with how much that is."""
        base = self._base
        try:
            await reach(base.client, base.telemetry, base.stopping, lambda: None)
            await self.watches.discover()
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(each.run(), name=each.name) for each in self.watches.tasks]
                running.append(group.create_task(self._look(begun), name="looking"))
                running.append(group.create_task(self.trace.run(), name="writing"))
                await base.stopping.wait()
                for task in running:
                    task.cancel()
            if self._begun:
                await self._see()
            await self.trace.end()
        finally:
            self.trace.close()

    async def _look(self, begun: Callable[[Mapping[str, int]], None]) -> None:
        base = self._base
        for kind, reflector in self.watches.reflectors.items():
            await (reflector.synced if kind in LISTED else reflector.settled).wait()
        await self._see()
        self._begun = True
        begun(base.mirror.describe())
        while True:
            await base.trigger.next()
            await self._see()

    async def _see(self) -> None:
        await prepare(self._base.mirror.preparing)
        await in_slices(self.trace.seeing(self._base.mirror.snapshot(self._base.clock.now())))
