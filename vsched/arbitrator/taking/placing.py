"""Where pods could go, tried on a private copy of the nodes: no change to it leaves the round of arbitration.

Pods of every scheduler are judged by the same rules, which kube-scheduler has too: amounts, and the plugin
``predicates``. Terminating pods count as gone, so their room is free for pending pods. What pods claim, volumes and
devices, does not count: a process that only arbitrates does not know ResourceClaims.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from vsched.framework.combine.pluginset import PluginSet
from vsched.framework.jobs import JobView
from vsched.framework.ledger.ledger import EvictionCause, Ledger
from vsched.framework.ledger.usage import SessionUsage
from vsched.framework.nodes.selection import NodeSelection
from vsched.framework.points.extension import SessionContext
from vsched.framework.points.victims import Purpose, VictimProtection
from vsched.framework.policy import PluginConf, PluginTier, Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.snapshot import Snapshot

ACTION = "arbitrate"
"""The action that evictions by the arbitrator name."""
JUDGES = ("predicates", "binpack")
"""Plugins that choose nodes. Fuller nodes come first, so that pods placed first leave room for larger ones."""


class Placing(NamedTuple):
    """The policy and the registry that decide where pods can go."""

    policy: Policy
    registry: Registry

    @classmethod
    def of(cls, registry: Registry, policy: Policy | None = None) -> Placing:
        """The plugins in ``JUDGES``, which every build has, with their default arguments.

        Besides, the plugins of a policy that protect pods from every eviction (``VictimProtection``).
        """
        judges = [PluginConf(name, registry.plugins[name].args_type()) for name in JUDGES]
        if policy is not None:
            judges += [one for one in policy.plugins() if issubclass(registry.plugins[one.name], VictimProtection)]
        return cls(Policy((), (PluginTier(tuple(judges)),)), registry)


class PlacementTrial:
    """The nodes as they will be once all terminating pods are gone, with the trial changes of the round."""

    def __init__(self, snapshot: Snapshot, placing: Placing, leaving: Iterable[Task]) -> None:
        self.nodes = snapshot.nodes.copy()
        # Slots of terminating pods count as free: no pod is evicted for room that will be free anyhow.
        self.nodes.terminating[:] = 0
        holdings = SessionUsage(snapshot)
        self._plugins = PluginSet(placing.policy, placing.registry, Trace())
        self._plugins.open(SessionContext(snapshot, self.nodes, {}, holdings, snapshot.jobs.get))
        listeners = self._plugins.listeners
        self._ledger = Ledger(self.nodes, holdings, listeners)
        self.node_selection = NodeSelection(self.nodes, self._ledger.journal, self._plugins.node_plugins, lambda _: "")
        self._job = JobView(Job("", JobSpec("", "")))
        """Stands for all jobs: the ledger counts by job, but the trial does not use these counts."""
        self.rows = self.nodes.statics.row
        self.protected = self._plugins.victim_rules.protected(Purpose.RECLAIM)
        """Says which pods may not be evicted yet; None where no pod is protected."""
        for task in leaving:
            row = self.rows.get(task.node)
            if row is not None:
                for listener in listeners:
                    listener.on_release(self._job, task, row)

    def mark(self) -> int:
        """A point to go back to."""
        return len(self._ledger.log)

    def undo_to(self, mark: int) -> None:
        """Undo everything since the mark."""
        self._ledger.undo_to(mark)

    def place(self, task: Task, preferred: int | None) -> bool:
        """Keep room for a pod on a node that has it now or once terminating pods are gone; False if none has."""
        choice = self.node_selection.choose(task, self.rows.get(task.nominated) if preferred is None else preferred)
        if choice is None:
            return False
        self._ledger.place(self._job, task, choice.row, Status.PIPELINED if choice.waits else Status.ALLOCATED)
        return True

    def reserve(self, task: Task, row: int) -> None:
        """Keep room for a pod on the row from which its victims were evicted."""
        self._ledger.place(self._job, task, row, Status.PIPELINED)

    def evict(self, victim: Task, row: int, beneficiary: str) -> None:
        """Evict a pod from its row, in the trial only."""
        self._ledger.evict(self._job, victim, row, EvictionCause(ACTION, beneficiary))

    def may_go(self, victims: Sequence[Task]) -> bool:
        """Whether PodDisruptionBudgets still allow the eviction of all these, after the evictions of this round."""
        return len(self._plugins.budgets.allowed(victims)) == len(victims)

    def likeness(self, task: Task) -> Hashable:
        """A key: pods with the same key could go to the same nodes. It may change as pods are placed."""
        filters = self._plugins.node_plugins.filters
        return task.shape, tuple(one.task_class(task) for one in filters)
