"""Where pods could go, tried on books of one's own: nothing that is done to them leaves a round of arbitration.

Pods of every scheduler are judged alike, by what kube-scheduler looks at too: amounts, and the plugin ``predicates``.
What is on its way out counts as gone: its room is there for those who wait.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import Cause, Ledger
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.points.extension import SessionContext
from vsched.framework.policy import PluginConf, Policy, Tier
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.jobs.job import Job, JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

ACTION = "arbitrate"
"""What evictions of the arbitrator are called."""
JUDGES = ("predicates", "binpack")
"""Where pods may go; fuller nodes first, so that pods tried first leave room for larger ones."""


class Placing(NamedTuple):
    """Who judges where pods can go."""

    policy: Policy
    registry: Registry

    @classmethod
    def of(cls, registry: Registry) -> Placing:
        """The judges that every build has, with their defaults."""
        node_plugins = tuple(PluginConf(name, registry.plugins[name].args_type()) for name in JUDGES)
        return cls(Policy((), (Tier(node_plugins),)), registry)


class Trial:
    """The nodes as they will be once all that leaves has left, and what a round would do to them."""

    def __init__(self, snapshot: Snapshot, placing: Placing, leaving: Iterable[Task]) -> None:
        self.nodes = snapshot.nodes.copy()
        # Slots of pods on their way out count here: nobody is evicted for what will be free anyhow.
        self.nodes.terminating[:] = 0
        holdings = SessionUsage(snapshot)
        self._plugins = PluginSet(placing.policy, placing.registry, Trace())
        self._plugins.open(SessionContext(snapshot, self.nodes, {}, holdings, snapshot.jobs.get))
        listeners = self._plugins.listeners
        self._ledger = Ledger(self.nodes, holdings, listeners)
        self.node_selection = NodeSelection(self.nodes, self._ledger.journal, self._plugins.node_plugins, lambda _: "")
        self._job = JobView(Job("", JobSpec("", "")))
        """Stands for all jobs: the ledger counts by job, and here nobody reads it."""
        self.rows = self.nodes.statics.row
        for task in leaving:
            row = self.rows.get(task.node)
            if row is not None:
                for listener in listeners:
                    listener.on_release(self._job, task, row)

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._ledger.log)

    def undo_to(self, mark: int) -> None:
        """Take back everything since."""
        self._ledger.undo_to(mark)

    def place(self, task: Task, preferred: int | None) -> bool:
        """Keep room for a pod where there is any, now or once what leaves has left; False where there is none."""
        choice = self.node_selection.choose(task, self.rows.get(task.nominated) if preferred is None else preferred)
        if choice is None:
            return False
        self._ledger.place(self._job, task, choice.row, Status.PIPELINED if choice.waits else Status.ALLOCATED)
        return True

    def reserve(self, task: Task, row: int) -> None:
        """Keep for a pod what others leave to it on a row."""
        self._ledger.place(self._job, task, row, Status.PIPELINED)

    def evict(self, victim: Task, row: int, beneficiary: str) -> None:
        """Have a pod leave its row."""
        self._ledger.evict(self._job, victim, row, Cause(ACTION, beneficiary))

    def may_go(self, victim: Task) -> bool:
        """Whether a pod may be evicted, by the budgets that are about it and what was taken of them."""
        return bool(self._plugins.budgets.allowed([victim]))

    def likeness(self, task: Task) -> Hashable:
        """What of a pod decides where it could go; may change as pods are placed."""
        filters = self._plugins.node_plugins.filters
        return task.shape, tuple(one.task_class(task.shape, task.labels) for one in filters)
