"""A cluster in the language of ``tests.support.plans``, as the plugins of one cycle see it."""

from __future__ import annotations

from typing import Any, TypeVar

from tests.support.plans import NOW, manifests, mirror, reading
from vsched.api.manifests import Origin, decode_manifests
from vsched.framework.jobs import JobView
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.points.extension import Plugin, SessionContext
from vsched.framework.policy import Switches
from vsched.model.pods.task import Task

PluginT = TypeVar("PluginT", bound=Plugin[Any])


class World:
    """The cluster that a text describes, at a time; ``previous`` is when the cycle before was."""

    def __init__(self, text: str, *, now: float = NOW, previous: float | None = None) -> None:
        self._cache = mirror(manifests(text))
        self._cache.inputs.use(reading(text))
        if previous is not None:
            self._cache.snapshot(previous)
        self.turn(now)

    def add(self, text: str) -> None:
        """Objects of this text come, or take the place of those of their name; the next cycle sees them."""
        decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(manifests(text)))
        for kind, found in decoded.objects.items():
            self._cache.intake.replace(kind, found)

    def turn(self, now: float) -> None:
        """The next cycle begins."""
        self.snapshot = self._cache.snapshot(now)
        self.nodes = self.snapshot.nodes.copy()
        self.jobs = {key: JobView(job) for key, job in self.snapshot.jobs.items()}

    def opened(self, plugin: PluginT, *, hierarchy: bool = False) -> PluginT:
        """The plugin at the beginning of the cycle."""
        switches = Switches(hierarchy=hierarchy)
        plugin.open(
            SessionContext(self.snapshot, self.nodes, self.jobs, SessionUsage(self.snapshot), self.jobs.get, switches)
        )
        return plugin

    def task(self, name: str) -> Task:
        """The pod ``job.number`` of whatever namespace."""
        found = [task for job in self.snapshot.jobs.values() for task in job.tasks.values() if task.name == name]
        assert len(found) == 1, name
        return found[0]

    def tasks(self, names: str) -> list[Task]:
        """Several pods, by names with blanks in between."""
        return [self.task(name) for name in names.split()]

    def row(self, node: str) -> int:
        """The row of a node."""
        return self.nodes.statics.row[node]
