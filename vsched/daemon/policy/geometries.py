"""Follows the ConfigMap that says how devices are divided, which the policy in force names, for the mirror.

It has MIG geometries of GPUs, and models of NPUs. Where it does not exist, or may not be read, the usual ones count.
Where it cannot be understood, the last good ones stay; before there are any, GPUs that are divided by MIG get no pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from vsched.api.resources import CONFIG_MAPS
from vsched.daemon.policy.config_map import ConfigMap, ConfigMapKey
from vsched.daemon.words import log as words
from vsched.errors import BadInput
from vsched.framework.policy import DeviceConfigAt
from vsched.kube.client import ApiClient
from vsched.kube.watch.deltas import BrokenObject, Delta
from vsched.kube.watch.reflector import Reflector, WatchedKind
from vsched.mirror.mirror import Mirror
from vsched.model.deviceshare.geometries import UNKNOWN_DIVISIONS, USUAL_DIVISIONS
from vsched.settings.geometries import KEY, divisions_in

_DECODER = msgspec.json.Decoder(ConfigMap)


class GeometryWatch:
    """Watches a ConfigMap while the policy names one."""

    def __init__(
        self,
        wanted: Callable[[], DeviceConfigAt | None],
        client: ApiClient,
        mirror: Mirror,
        note: Callable[..., None],
        worry: Callable[..., None],
    ) -> None:
        """``wanted`` says which ConfigMap the policy in force names; ``note`` and ``worry`` are told what is read."""
        self.settled = asyncio.Event()
        """Set once it is known which geometries count at first."""
        self._wanted = wanted
        self._client = client
        self._mirror = mirror
        self._note, self._worry = note, worry
        self._changed = asyncio.Event()

    def nudge(self) -> None:
        """The policy may have changed."""
        self._changed.set()

    async def run(self) -> None:
        """Follow what the policy names until cancelled."""
        while True:
            wanted = self._wanted()
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._follow(wanted), name="MIG geometries")
                while self._wanted() == wanted:
                    self._changed.clear()
                    await self._changed.wait()
                watching.cancel()

    async def _follow(self, wanted: DeviceConfigAt | None) -> None:
        if wanted is None:
            self._mirror.inputs.use_divisions(USUAL_DIVISIONS)
            self.settled.set()
            return
        self._mirror.inputs.use_divisions(UNKNOWN_DIVISIONS)  # nothing is divided before it is known how
        sink = GeometrySink(ConfigMapKey(wanted.namespace, wanted.name, KEY), self._mirror, self._note, self._worry)
        selectors = {"fieldSelector": f"metadata.name={wanted.name}"}
        reflector = Reflector(
            self._client,
            WatchedKind(CONFIG_MAPS, _DECODER.decode, namespace=wanted.namespace, selectors=selectors),
            sink,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            await reflector.settled.wait()
            if not reflector.synced.is_set():
                sink.refused(reflector.statistics.problem)
            self.settled.set()


class GeometrySink:
    """Takes the geometries of a ConfigMap to the mirror."""

    def __init__(self, at: ConfigMapKey, mirror: Mirror, note: Callable[..., None], worry: Callable[..., None]) -> None:
        self._at = at
        self._mirror = mirror
        self._note, self._worry = note, worry

    def replace(self, items: list[ConfigMap], resource_version: str) -> None:
        """This is all there is of it."""
        self._see(items[0] if items else None)

    def apply(self, delta: Delta, item: ConfigMap) -> None:
        """It changed."""
        self._see(None if delta is Delta.DELETED else item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """It cannot be decoded: the last good geometries stay in force, and the reflector counts it."""

    def refused(self, problem: str) -> None:
        """It cannot be read."""
        self._worry(
            words.GEOMETRIES_UNREAD,
            where=str(self._at),
            problem=problem,
        )
        self._mirror.inputs.use_divisions(USUAL_DIVISIONS)

    def _see(self, found: ConfigMap | None) -> None:
        text = None if found is None else (found.data or {}).get(KEY)
        if text is None:
            self._note(words.NO_GEOMETRIES, where=f"{self._at} {KEY}")
            self._mirror.inputs.use_divisions(USUAL_DIVISIONS)
            return
        try:
            known = divisions_in(text, f"{self._at} {KEY}")
        except BadInput as error:
            self._worry(words.GEOMETRIES_REJECTED, problem=str(error))
            return
        if self._mirror.inputs.use_divisions(known):
            models = sum(len(one.models) for one in known.geometries)
            self._note(words.GEOMETRIES_LOADED, where=str(self._at), models=models, npus=len(known.chips))
