"""The policy in force, and its source: a good edit takes effect at once, and a bad one changes nothing.

``config_map`` reads a policy in a ConfigMap.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from vsched.clock import Clock
from vsched.daemon.policy.edits import LOOK_MS, edits_of
from vsched.daemon.words import files as words
from vsched.errors import BadPolicy
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.kube.times import time_stamp
from vsched.settings import Settings, default_settings, load_file
from vsched.settings.diff import changes
from vsched.settings.reach import NOTHING, Reach


class PolicyReading(msgspec.Struct, frozen=True):
    """The outcome of reading the policy file once."""

    ok: bool
    at: float
    """Seconds since the epoch."""
    generation: int
    """Generation of the policy that is in force afterwards."""
    text: str = ""
    """What changed, in one line."""
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What may surprise, and what has no effect, in the policy in force."""

    def to_dict(self) -> dict[str, object]:
        """For people."""
        return {**msgspec.to_builtins(self), "at": time_stamp(self.at)}


class PolicyInForce:
    """Owner of the settings in force: the built-in ones, unless a subclass reads others from somewhere.

    The first reading must succeed: raises BadPolicy.
    """

    def __init__(self, registry: Registry, clock: Clock, reach: Reach = NOTHING) -> None:
        self.reach = reach
        """The files, variables and Secrets that the policy may refer to."""
        self._registry = registry
        self._clock = clock
        self._nudged = asyncio.Event()
        self._reading = asyncio.Lock()
        """One reading at a time."""
        self._refused = ""
        self.own = self._load(1)
        """The settings of the policy itself, whether or not a candidate is in force."""
        self.last = self._good(words.read_from(self.settings.source))

    def _load(self, generation: int) -> Settings:
        """The settings as they are to be read now; raises BadPolicy."""
        return default_settings(self._registry)

    def _is_fixed(self) -> bool:
        """Whether the policy can never change."""
        return True

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.own

    @property
    def policy(self) -> Policy:
        return self.settings.policy

    def rollout_dict(self) -> dict[str, object]:
        """Where the rollout is; empty without one."""
        return {}

    def rollout_told(self) -> str:
        """The same in a sentence."""
        return ""

    def to_dict(self) -> dict[str, object]:
        """For ``/configz``."""
        return {**self.settings.to_dict(), "lastReload": self.last.to_dict(), "rollout": self.rollout_dict()}

    def nudge(self) -> None:
        """Read again now, changed or not."""
        self._nudged.set()

    def read(self, *, asked: bool = False) -> PolicyReading | None:
        """Read the policy, and put it in force if it is new and good. Returns None where nothing is to be reported."""
        if self._is_fixed():
            return None
        generation = self.own.generation
        try:
            found = self._load(generation + 1)
        except BadPolicy as error:
            if str(error) == self._refused and not asked:
                return None
            self._refused = str(error)
            self.last = PolicyReading(False, self._clock.now(), generation, problems=tuple(error.problems))
            return self.last
        self._refused = ""
        if found.sha256 == self.own.sha256 and not asked:
            if not self.last.ok:
                self.last = self._good(words.BACK)
                return self.last
            return None
        text = changes(self.own, found)
        if found.sha256 != self.own.sha256:
            self.own = found
        self.last = self._good(text)
        return self.last

    def _good(self, text: str) -> PolicyReading:
        settings = self.own
        return PolicyReading(
            True, self._clock.now(), settings.generation, text, warnings=(*settings.warnings, *settings.no_effect)
        )

    async def follow(self, on_reading: Callable[[PolicyReading], None]) -> None:
        """Read again whenever the policy may have changed, until cancelled."""
        if self._is_fixed():
            await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(on_reading))
            group.create_task(self._answer_nudges(on_reading))

    async def _watch(self, on_reading: Callable[[PolicyReading], None]) -> None:
        """Read when something changes."""

    async def _answer_nudges(self, on_reading: Callable[[PolicyReading], None]) -> None:
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            await self._read(on_reading, asked=True)

    async def _read(self, on_reading: Callable[[PolicyReading], None], *, asked: bool = False) -> None:
        """Read in a thread, because the largest text takes a second."""
        async with self._reading:
            reading = await asyncio.to_thread(self.read, asked=asked)
        if reading is not None:
            on_reading(reading)


class PolicyFile(PolicyInForce):
    """The policy of a file."""

    def __init__(
        self, path: Path, registry: Registry, clock: Clock, reach: Reach = NOTHING, look_ms: int = LOOK_MS
    ) -> None:
        self.path = path
        self._look_ms = look_ms
        super().__init__(registry, clock, reach)

    def _load(self, generation: int) -> Settings:
        return load_file(self.path, self._registry, generation=generation, reach=self.reach)

    def _is_fixed(self) -> bool:
        return False

    async def _watch(self, on_reading: Callable[[PolicyReading], None]) -> None:
        async for _ in edits_of(self.path, self._look_ms):
            await self._read(on_reading)


def policy_of(path: Path | None, registry: Registry, clock: Clock, reach: Reach = NOTHING) -> PolicyInForce:
    """The policy of a file; without one, the built-in one for good. Raises BadPolicy."""
    return PolicyInForce(registry, clock, reach) if path is None else PolicyFile(path, registry, clock, reach)
