"""A policy in a ConfigMap: read and watched through the API, with its result written on the object.

The leader writes the result of each reading as an Event and an annotation. The annotation changes the object, but not
the policy, so it causes no further reading.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

import msgspec
import orjson

from vsched.api.base import Metadata, Wire
from vsched.api.resources import CONFIG_MAPS
from vsched.clock import Clock
from vsched.daemon.policy.reload import PolicyInForce, PolicyReading
from vsched.daemon.policy.rollout.machine import RolloutState, shadows
from vsched.daemon.policy.rollout.reading import Rollout, rollout_of, shown
from vsched.daemon.words import files as files_words
from vsched.daemon.words import log as words
from vsched.daemon.words import rollout as rollout_words
from vsched.errors import UNREADABLE, BadInput, BadPolicy, Unavailable, VschedError, why_unreadable
from vsched.framework.registry import Registry
from vsched.handlers import Handlers
from vsched.kube.backoff import BackOff, BackOffSettings
from vsched.kube.client import MERGE_PATCH, ApiClient
from vsched.kube.errors import NotFound
from vsched.kube.times import time_stamp
from vsched.kube.watch.deltas import BrokenObject, Delta
from vsched.kube.watch.reflector import Reflector, WatchedKind
from vsched.settings import Settings, load_text
from vsched.settings.load import MOST_BYTES
from vsched.settings.reach import NOTHING, Reach
from vsched.writes.bodies import ObjectReference
from vsched.writes.events import NORMAL, WARNING, EventRecorder
from vsched.writes.limits import Attempts
from vsched.writes.writer import Write, Writer

USUAL_KEY = "volcano-scheduler.conf"
"""The key of Volcano's own ConfigMap."""
STATUS = "vsched.io/policy-status"
"""The annotation with the result of reading the latest content."""
ATTEMPTS = Attempts(5, first_seconds=0.2, ceiling_seconds=5.0)
FIRST_WAIT = BackOffSettings(first_seconds=0.5, ceiling_seconds=5.0)
MOST_TOLD = 1000
"""The longest message of an annotation, in characters."""


class ConfigMapKey(NamedTuple):
    """The ConfigMap and key of a policy."""

    namespace: str
    name: str
    key: str = ""
    """Empty for Volcano's key, or for the only one."""

    def __str__(self) -> str:
        return f"configmap {self.namespace}/{self.name}"


def map_key(text: str) -> ConfigMapKey:
    """``NAMESPACE/NAME`` or ``NAMESPACE/NAME/KEY``; raises BadInput."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise BadInput(f"--scheduler-configmap: {text!r} (expected NAMESPACE/NAME/KEY, or NAMESPACE/NAME)")
    return ConfigMapKey(*parts)


class ConfigMap(Wire):
    """v1 ConfigMap."""

    metadata: Metadata
    data: dict[str, str] | None = None


_DECODER = msgspec.json.Decoder(ConfigMap)


class PolicyMap(PolicyInForce):
    """The policy of a ConfigMap, and the sink of its watch."""

    def __init__(
        self, at: ConfigMapKey, found: ConfigMap, client: ApiClient, registry: Registry, clock: Clock, reach: Reach
    ) -> None:
        self.at = at
        self.found: ConfigMap | None = found
        """None once it is gone; the last good policy stays in force."""
        self._client = client
        self._seen = asyncio.Event()
        """Set when the watch shows it."""
        self.rollout: Rollout | None = None
        """None without one, and where it is refused: then the policy of its own key is in force."""
        self.rollout_problems: tuple[str, ...] = ()
        """Why the rollout is refused."""
        self.state: RolloutState | None = None
        """Of the rollout, where this process carries it out."""
        self.looked = asyncio.Event()
        """Set when the ConfigMap was read again."""
        self.on_switch: Handlers[[]] = Handlers()
        """Called when the candidate takes the place of the policy, or gives it back."""
        self._shards = 1
        super().__init__(registry, clock, reach)
        self._read_rollout()
        self._used = self.settings
        """The settings that were in force when ``on_switch`` was called last."""

    @classmethod
    async def open(
        cls,
        at: ConfigMapKey,
        client: ApiClient,
        registry: Registry,
        clock: Clock,
        worry: Callable[..., None],
        reach: Reach = NOTHING,
    ) -> Self:
        """Read it for the first time, waiting for the API server; raises BadInput, BadPolicy or ApiError."""
        back_off = BackOff(FIRST_WAIT)
        while True:
            try:
                answer = await client.request("GET", CONFIG_MAPS.path(at.namespace, at.name))
                return cls(at, _DECODER.decode(answer.body), client, registry, clock, reach)
            except NotFound:
                raise BadInput(files_words.not_found(at)) from None
            except UNREADABLE as error:
                raise BadInput(f"--scheduler-configmap: {at}: {why_unreadable(error)}") from None
            except Unavailable as error:
                wait_seconds = back_off.next_seconds()
                worry(words.API_SERVER_SILENT, problem=str(error), again_in_seconds=round(wait_seconds, 1))
                await asyncio.sleep(wait_seconds)

    @property
    def settings(self) -> Settings:
        """Those of the candidate while its rollout says so."""
        rollout, state = self.rollout, self.state
        in_force = rollout is not None and state is not None and state.in_force and state.id == rollout.id
        return rollout.candidate if rollout is not None and in_force else self.own

    @property
    def shadowed(self) -> Settings | None:
        """Those of the candidate while it decides beside the policy in force."""
        rollout, state = self.rollout, self.state
        if rollout is None or state is None or state.id != rollout.id or not state.alone:
            return None
        return rollout.candidate if shadows(state, rollout.spec) else None

    def rollout_dict(self) -> dict[str, object]:
        """Where the rollout is, without what was measured in detail."""
        if self.rollout_problems:
            return {"problems": list(self.rollout_problems)}
        return {} if self.rollout is None or self.state is None else shown(self.state)

    def rollout_told(self) -> str:
        """Which policy is in force by the rollout, and why; empty without one."""
        if self.rollout_problems:
            return rollout_words.refused("; ".join(self.rollout_problems))
        if self.rollout is None or self.state is None:
            return ""
        return rollout_words.told(self.state.phase.value, self.state.message, in_force=self.state.in_force)

    def divide(self, shards: int) -> None:
        """The cluster is decided for in so many shards: only rollouts of one of them can be carried out."""
        self._shards = shards
        self._read_rollout()

    def take(self, state: RolloutState | None) -> None:
        """The rollout has come to this state; what is in force follows from it."""
        self.state = state
        used, self._used = self._used, self.settings
        if self._used is not used:
            self.on_switch()

    def read(self, *, asked: bool = False) -> PolicyReading | None:
        """Read the policy, then its rollout."""
        reading = super().read(asked=asked)
        self._read_rollout()
        return reading

    def _read_rollout(self) -> None:
        data = {} if self.found is None else self.found.data or {}
        try:
            own_key, own = self._key(data), self.own.sha256
            found = rollout_of(data, str(self.at), own_key, own, self._load_candidate, self._shards)
        except BadPolicy as error:
            self.rollout, self.rollout_problems = None, tuple(error.problems)
            return
        self.rollout_problems = ()
        if found is None or self.rollout is None or found.id != self.rollout.id:
            self.rollout = found

    def _load_candidate(self, text: str, where: str) -> Settings:
        return load_text(text, where, self._registry, generation=self.own.generation, reach=self.reach)

    def _key(self, data: Mapping[str, str]) -> str:
        """The key of the policy."""
        return self.at.key or (USUAL_KEY if USUAL_KEY in data or len(data) != 1 else next(iter(data)))

    def _load(self, generation: int) -> Settings:
        where = str(self.at)
        if self.found is None:
            raise BadPolicy([files_words.gone(where)])
        data = self.found.data or {}
        key = self._key(data)
        text = data.get(key)
        if text is None:
            there = files_words.has(", ".join(sorted(data)[:10])) if data else files_words.EMPTY
            raise BadPolicy([files_words.no_key(where, key, there)])
        if len(text) > MOST_BYTES:
            raise BadPolicy([files_words.too_large(where, key, MOST_BYTES // 1024)])
        return load_text(text, f"{where} {key}", self._registry, generation=generation, reach=self.reach)

    def _is_fixed(self) -> bool:
        return False

    async def _watch(self, on_reading: Callable[[PolicyReading], None]) -> None:
        selectors = {"fieldSelector": f"metadata.name={self.at.name}"}
        reflector = Reflector(
            self._client,
            WatchedKind(CONFIG_MAPS, _DECODER.decode, namespace=self.at.namespace, selectors=selectors),
            self,
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            while True:
                await self._seen.wait()
                self._seen.clear()
                await self._read(on_reading)
                self.looked.set()

    async def ask(self) -> None:
        """Wait until it was asked for and read anew: the watch may be behind what another process has written."""
        back_off = BackOff(FIRST_WAIT)
        while True:
            try:
                answer = await self._client.request("GET", CONFIG_MAPS.path(self.at.namespace, self.at.name))
                self.looked.clear()
                self._see(_DECODER.decode(answer.body))
            except NotFound:
                self._see(None)
            except (*UNREADABLE, VschedError):
                await asyncio.sleep(back_off.next_seconds())
                continue
            await self.looked.wait()
            return

    # -- what the watch tells

    def replace(self, items: list[ConfigMap], resource_version: str) -> None:
        """This is all there is of it."""
        self._see(items[0] if items else None)

    def apply(self, delta: Delta, item: ConfigMap) -> None:
        """It changed."""
        self._see(None if delta is Delta.DELETED else item)

    def broken(self, raw: bytes, error: BrokenObject) -> None:
        """It cannot be decoded: the last good policy stays in force, and the reflector counts it."""

    def _see(self, found: ConfigMap | None) -> None:
        self.found = found
        self._seen.set()


class PolicyStatus:
    """Writes the result of readings on the ConfigMap, once this process leads."""

    def __init__(self, policy: PolicyMap, writer: Writer, events: EventRecorder) -> None:
        self._policy = policy
        self._writer = writer
        self._events = events
        self._changed = asyncio.Event()
        self._changed.set()

    def on_reading(self, reading: PolicyReading) -> None:
        """There was a reading; ``run`` writes the latest."""
        self._changed.set()

    async def run(self) -> None:
        """Write what is new, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            found, reading = self._policy.found, self._policy.last
            if found is None:
                continue
            status = status_of(reading, self._policy.own)
            if _same((found.metadata.annotations or {}).get(STATUS, ""), status):
                continue
            self._say(found, reading)
            await self._annotate(found, status)

    def _say(self, found: ConfigMap, reading: PolicyReading) -> None:
        metadata = found.metadata
        about = ObjectReference("v1", "ConfigMap", metadata.namespace, metadata.name, metadata.uid)
        if reading.ok:
            self._events.record(about, NORMAL, "PolicyInForce", reading.text)
        else:
            self._events.record(about, WARNING, "PolicyRefused", "; ".join(reading.problems))

    async def _annotate(self, found: ConfigMap, status: dict[str, object]) -> None:
        metadata = found.metadata
        annotations = {STATUS: orjson.dumps(status).decode()}
        body = orjson.dumps({"metadata": {"uid": metadata.uid, "annotations": annotations}})
        path = CONFIG_MAPS.path(metadata.namespace, metadata.name)
        await self._writer.send(Write("configmap", "PATCH", path, body, MERGE_PATCH), ATTEMPTS)


def status_of(reading: PolicyReading, settings: Settings) -> dict[str, object]:
    """The content of the annotation: the policy in force, and the result of the latest reading."""
    message = reading.text if reading.ok else "; ".join(reading.problems)
    return {
        "state": "InForce" if reading.ok else "Refused",
        "message": message[:MOST_TOLD],
        "sha256": settings.sha256,
        "generation": reading.generation,
        "time": time_stamp(reading.at),
    }


def _same(written: str, status: dict[str, object]) -> bool:
    """Whether the annotation already says the same; the time may differ, as another process may have written it."""
    try:
        before = orjson.loads(written)
    except UNREADABLE:
        return False
    if not isinstance(before, dict) or before.get("state") != status["state"]:
        return False
    key = "sha256" if status["state"] == "InForce" else "message"
    return bool(before.get(key) == status[key])
