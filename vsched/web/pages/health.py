"""Whether the daemon is alive and ready, as values; who asks and how is the route table's business."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from vsched.clock import Clock


class HealthCheck(NamedTuple):
    """The answer to a health question, with what it rests on."""

    ok: bool
    details: dict[str, Any]


class Health:
    """What is known of the daemon's health: when its loop last turned, and which kinds are mirrored."""

    def __init__(
        self,
        clock: Clock,
        synced: Callable[[], Mapping[str, bool]],
        absent: Callable[[], Mapping[str, str]] = dict,
        usage: Callable[[], Mapping[str, object]] = dict,
        role: Callable[[], str] = lambda: "leader",
        rivals: Callable[[], Mapping[str, object]] = dict,
        stale_seconds: float = 60.0,
    ) -> None:
        self._clock = clock
        self._synced = synced
        self._absent = absent
        self._usage = usage
        self._stale_seconds = stale_seconds
        self._turned = clock.monotonic()
        self._role = role
        self._rivals = rivals

    def turned(self) -> None:
        """The loop has come round: it waits for work, or just did some."""
        self._turned = self._clock.monotonic()

    def live(self) -> HealthCheck:
        """The loop came round not long ago; a session that never ends is the one thing a restart cures."""
        age_seconds = self._clock.monotonic() - self._turned
        return HealthCheck(age_seconds <= self._stale_seconds, {"loopAgeSeconds": round(age_seconds, 3)})

    def ready(self) -> HealthCheck:
        """Every kind has been listed, so decisions rest on the whole cluster.

        ``role`` is what this process is at the moment: ``leader`` acts, anything else only watches. Under ``absent``
        are the kinds that can be done without and cannot be had, each with the reason. Under ``usage``, where it is
        collected, how its source is doing: decisions go on without. Under ``rivals`` that somebody else binds pods of
        ours, while that is so.
        """
        synced, absent = dict(self._synced()), dict(self._absent())
        ok = bool(synced) and all(listed or kind in absent for kind, listed in synced.items())
        usage = self._usage()
        more = {"usage": dict(usage)} if usage else {}
        rivals = self._rivals()
        if rivals:
            more["rivals"] = dict(rivals)
        return HealthCheck(ok, {"role": self._role(), "synced": synced, "absent": absent, **more})
