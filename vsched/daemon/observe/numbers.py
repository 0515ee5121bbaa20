"""Gauges that are read from the parts of a daemon at every scrape."""

from __future__ import annotations

from collections.abc import Mapping

from vsched import api
from vsched.clock import monotonic
from vsched.controllers.allocations import AllocationWriter
from vsched.daemon.watches import is_required
from vsched.kube.watch.reflector import Reflector
from vsched.mirror.mirror import Mirror
from vsched.writes.bindings import Dispatcher
from vsched.writes.evictions import Evictor
from vsched.writes.writeback import Writeback

Numbers = Mapping[str, Mapping[str, float]]
"""Values by name of the metric, then by its only label."""


def of_watches(reflectors: Mapping[str, Reflector[api.Object]]) -> Numbers:
    """Counts and ages of the watch of each kind."""
    statistics = {kind: reflector.statistics for kind, reflector in reflectors.items()}
    now = monotonic()
    silence = {
        kind: now - found.last_event_monotonic
        for kind, found in statistics.items()
        if found.last_event_monotonic is not None
    }
    needed = [seconds for kind, seconds in silence.items() if is_required(kind)]
    return {
        "vsched_watch_events_total": {kind: float(found.events) for kind, found in statistics.items()},
        "vsched_watch_relists_total": {kind: float(found.relists) for kind, found in statistics.items()},
        "vsched_watch_restarts_total": {kind: float(found.restarts) for kind, found in statistics.items()},
        "vsched_watch_silence_seconds": silence,
        **({"vsched_mirror_age_seconds": {"": max(needed)}} if needed else {}),
    }


def last_shown(reflectors: Mapping[str, Reflector[api.Object]]) -> float:
    """When a watch showed something last, by the monotonic clock; 0 where none has."""
    shown = (reflector.statistics.last_event_monotonic for reflector in reflectors.values())
    return max((at for at in shown if at is not None), default=0.0)


def of_mirror(mirror: Mirror) -> Numbers:
    """Sizes of the mirror."""
    return {"vsched_mirror_size": {name: float(size) for name, size in mirror.describe().items()}}


def of_writes(
    dispatcher: Dispatcher,
    evictor: Evictor,
    writeback: Writeback,
    allocations: AllocationWriter | None,
) -> Numbers:
    """Depths of the workqueues."""
    workqueues = {name: float(len(workqueue)) for name, workqueue in writeback.workqueues.items()}
    if allocations is not None:
        workqueues["allocations"] = float(len(allocations.workqueue))
    depths = {"bindings": float(dispatcher.depth), "evictions": float(evictor.depth)}
    return {
        "vsched_queue_depth": {**depths, **workqueues},
        "vsched_in_flight": {"bindings": float(dispatcher.in_flight), "evictions": float(evictor.in_flight)},
        "vsched_events_dropped_total": dict(writeback.events.dropped),
    }
