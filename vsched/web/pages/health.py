"""Whether the daemon is alive and ready. The route table serves the answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NotRequired, TypedDict

from vsched.clock import Clock


class LiveShown(TypedDict):
    """Whether the daemon is alive."""

    ok: bool
    loopAgeSeconds: float


class ReadyShown(TypedDict):
    """Whether the daemon is ready: see ``Health.ready``."""

    ok: bool
    role: str
    synced: dict[str, bool]
    absent: dict[str, str]
    usage: NotRequired[dict[str, Any]]
    lease: NotRequired[dict[str, str]]
    rivals: NotRequired[dict[str, Any]]
    vcjobs: NotRequired[dict[str, Any]]
    flows: NotRequired[dict[str, Any]]
    nodeShard: NotRequired[dict[str, Any]]
    shards: NotRequired[dict[str, Any]]


class HealthCheck(NamedTuple):
    """The result of a health check, with details."""

    ok: bool
    details: dict[str, Any]


STALE_SECONDS = 60.0
"""A loop that has not turned for so long is taken for dead."""


class Health:
    """The daemon's health: when its loop last turned, and which kinds are listed."""

    def __init__(
        self,
        clock: Clock,
        synced: Callable[[], Mapping[str, bool]],
        absent: Callable[[], Mapping[str, str]] = dict,
        role: Callable[[], str] = lambda: "leader",
        more: Mapping[str, Callable[[], Mapping[str, object]]] | None = None,
    ) -> None:
        """``role`` is that of this process: ``leader`` acts, any other only watches. ``absent`` has optional kinds that
        cannot be listed, with the reason. ``more`` is said of a ready daemon by name, where there is something to say.
        """
        self._clock = clock
        self._synced = synced
        self._absent = absent
        self._turned = clock.monotonic()
        self._role = role
        self._more = more or {}

    def turned(self) -> None:
        """The loop has turned: it waits for the next session or has just finished one."""
        self._turned = self._clock.monotonic()

    def live(self) -> HealthCheck:
        """Alive if the loop has turned recently: a restart helps against a session that never ends."""
        age_seconds = self._clock.monotonic() - self._turned
        return HealthCheck(age_seconds <= STALE_SECONDS, {"loopAgeSeconds": round(age_seconds, 3)})

    def ready(self) -> HealthCheck:
        """Ready if every kind has been listed, so that decisions see the whole cluster."""
        synced, absent = dict(self._synced()), dict(self._absent())
        ok = bool(synced) and all(listed or kind in absent for kind, listed in synced.items())
        more = {name: dict(said) for name, say in self._more.items() if (said := say())}
        return HealthCheck(ok, {"role": self._role(), "synced": synced, "absent": absent, **more})
