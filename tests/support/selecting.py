"""A session whose choice of nodes is asked directly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.framework.nodes.masks import shards_of
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.nodes.masks import NodeMask
from vsched.model.pods.task import Task
from vsched.settings.built_in import REGISTRY


class World:
    """A session over nodes and jobs of one task shape each."""

    def __init__(self, text: str, masks: Sequence[NodeMask] = ()) -> None:
        snapshot = replace(mirror(manifests(text)).snapshot(NOW), masks=tuple(masks))
        self.session = Session(snapshot, DEFAULT_POLICY, REGISTRY, Trace())
        self.shards = shards_of(masks, snapshot.nodes.statics)
        self.node_selection = self.session.node_selection
        self.names = self.session.nodes.statics.names

    def tasks(self, job: str) -> list[Task]:
        return list(self.session.jobs[f"ns/{job}"].job.pending.values())

    def fresh(self) -> NodeSelection:
        """A fitting that remembers nothing, over the amounts as they are now."""
        journal, plugins = self.session.ledger.journal, self.session.plugins.node_plugins
        return NodeSelection(self.session.nodes, journal, plugins, lambda task: "default", shards=self.shards)

    def place(self, job: str, number: int = 0) -> str | None:
        """Place one task of a job where it fits best, for good; the node's name, with a star where it waits."""
        task, view = self.tasks(job)[number], self.session.jobs[f"ns/{job}"]
        choice = self.node_selection.choose(task)
        if choice is None:
            return None
        with self.session.statement() as statement:
            (statement.pipeline if choice.waits else statement.allocate)(view, task, choice.row)
            statement.keep()
        return self.names[choice.row] + "*" * choice.waits
