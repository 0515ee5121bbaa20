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


class Health:
    """The daemon's health: when its loop last turned, and which kinds are listed."""

    def __init__(
        self,
        clock: Clock,
        synced: Callable[[], Mapping[str, bool]],
        absent: Callable[[], Mapping[str, str]] = dict,
        usage: Callable[[], Mapping[str, object]] = dict,
        role: Callable[[], str] = lambda: "leader",
        rivals: Callable[[], Mapping[str, object]] = dict,
        vcjobs: Callable[[], Mapping[str, object]] = dict,
        flows: Callable[[], Mapping[str, object]] = dict,
        shard: Callable[[], Mapping[str, object]] = dict,
        shards: Callable[[], Mapping[str, object]] = dict,
        lease: Callable[[], str] = str,
        stale_seconds: float = 60.0,
    ) -> None:
        self._clock = clock
        self._synced = synced
        self._absent = absent
        self._usage = usage
        self._stale_seconds = stale_seconds
        self._turned = clock.monotonic()
        self._role = role
        self._lease = lease
        self._more = {"rivals": rivals, "vcjobs": vcjobs, "flows": flows, "nodeShard": shard, "shards": shards}

    def turned(self) -> None:
        """The loop has turned: it waits for the next session or has just finished one."""
        self._turned = self._clock.monotonic()

    def live(self) -> HealthCheck:
        """Alive if the loop has turned recently: a restart helps against a session that never ends."""
        age_seconds = self._clock.monotonic() - self._turned
        return HealthCheck(age_seconds <= self._stale_seconds, {"loopAgeSeconds": round(age_seconds, 3)})

    def ready(self) -> HealthCheck:
        """Ready if every kind has been listed, so that decisions see the whole cluster.

        ``role`` is that of this process: ``leader`` acts, any other only watches. ``absent`` has optional kinds that
        cannot be listed, with the reason. ``usage`` has the state of its source, if usage is collected. ``rivals`` is
        there while another scheduler binds pods of ours, and ``vcjobs`` while they are left to Volcano's controllers or
        Volcano's Lease may not be read. ``lease`` is there while the own Lease cannot be had, read or kept.
        ``flows`` has counts of Volcano's CronJobs and JobFlows, if there are any. ``nodeShard`` says how many nodes are
        ours, where a NodeShard says so, ``shards`` which shards of the work, where it is divided.
        """
        synced, absent = dict(self._synced()), dict(self._absent())
        ok = bool(synced) and all(listed or kind in absent for kind, listed in synced.items())
        usage = self._usage()
        more: dict[str, object] = {"usage": dict(usage)} if usage else {}
        if problem := self._lease():
            more["lease"] = {"problem": problem}
        for name, say in self._more.items():
            if said := say():
                more[name] = dict(said)
        return HealthCheck(ok, {"role": self._role(), "synced": synced, "absent": absent, **more})
