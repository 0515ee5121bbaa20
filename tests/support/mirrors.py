"""A mirror of a cluster, changed event by event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support import builders as make
from tests.support.views import named
from vsched.mirror.events import MirrorEvents
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.jobs.job import Job
from vsched.model.plan import Bind, CycleReport, Evict, JobOutcome, Nominate
from vsched.model.snapshot import Snapshot

Fields = dict[str, Any]


class World:
    """A mirror fed with versions that only go up, and a count of how often it woke the loop."""

    def __init__(self, *objects: Fields, on_calm_change: Callable[[], None] | None = None, **options: Any) -> None:
        self.wakes = 0
        self.version = 0
        settings = MirrorSettings(frozenset({"volcano"}), **options)
        self.cache = Mirror(settings, MirrorEvents(self.woken, on_calm_change))
        self.add(*objects)

    def woken(self) -> None:
        self.wakes += 1

    def add(self, *objects: Fields, type: str = "MODIFIED") -> None:
        for fields in objects:
            self.version += 1
            versioned = make.merged(fields, {"metadata": {"resourceVersion": str(self.version)}})
            self.cache.intake.apply(fields["kind"], type, make.read(versioned))

    def delete(self, *objects: Fields) -> None:
        self.add(*objects, type="DELETED")

    def wakes_for(self, *objects: Fields) -> bool:
        before = self.wakes
        self.add(*objects)
        return self.wakes > before

    def snapshot(self) -> Snapshot:
        return self.cache.snapshot(0.0)

    def job(self, key: str = "ns/pg") -> Job:
        return self.snapshot().jobs[key]

    def used(self, name: str = "n1") -> dict[str, int]:
        nodes = self.snapshot().nodes
        return named(self.cache.axis, enumerate(nodes.requested[:, nodes.statics.row[name]].tolist()))

    def bind(self, fields: Fields, node: str = "n1") -> None:
        uid, name = fields["metadata"]["uid"], fields["metadata"]["name"]
        self.cache.assumptions.assume(CycleReport(binds=(Bind(uid, "ns", name, node, "ns/pg"),)))

    def evict(self, fields: Fields, node: str = "n1") -> None:
        uid, name = fields["metadata"]["uid"], fields["metadata"]["name"]
        self.cache.assumptions.assume(
            CycleReport(evictions=(Evict(uid, "ns", name, node, "ns/pg", "reclaim", "ns/other"),))
        )

    def nominate(self, fields: Fields, node: str) -> None:
        uid, name = fields["metadata"]["uid"], fields["metadata"]["name"]
        self.cache.assumptions.assume(CycleReport(nominations=(Nominate(uid, "ns", name, node, "ns/pg"),)))

    def decide_phase(self, phase: str, key: str = "ns/pg") -> None:
        self.cache.assumptions.assume(CycleReport(jobs={key: JobOutcome(key, "q", phase, 1, 0, 0, 0, 0, 0)}))
