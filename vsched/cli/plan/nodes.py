"""What may be done to nodes in a what-if: drain one, take one away, add some like one."""

from __future__ import annotations

from dataclasses import dataclass

from vsched.cli.plan.trial import MOST_SHOWN, PlanTrial
from vsched.cli.plan.words import objects as words
from vsched.explain.edits.nodes import AddNodes
from vsched.framework.words.lists import counted
from vsched.mirror.whatif.nodes import cordon
from vsched.mirror.whatif.topology import lists
from vsched.model.pods.status import Status


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordon a node and clear it, as ``kubectl drain`` does; pods of DaemonSets and of the node itself stay."""

    node: str

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"--drain {self.node}"

    def apply(self, trial: PlanTrial) -> None:
        """Make the change."""
        trial.require("Node", self.node, self.text)
        guarded = _guarded(trial, self.node)
        trial.notes.append(words.cordoned(self.node, clear(trial, self.node, staying=True)))
        if guarded:
            trial.notes.append(words.drain_would_wait(", ".join(guarded[:MOST_SHOWN]), self.node))
        cordon(trial.mirror, self.node, cordoned=True)


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a node away with everything on it."""

    node: str

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"--remove-node {self.node}"

    def apply(self, trial: PlanTrial) -> None:
        """Make the change."""
        trial.require("Node", self.node, self.text)
        trial.notes.append(words.gone(self.node, clear(trial, self.node, staying=False)))
        trial.mirror.lose_node(self.node)


@dataclass(frozen=True, slots=True)
class Add:
    """Add empty nodes like one there is."""

    count: int
    like: str

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"--add-nodes {self.count} --like {self.like}"

    def apply(self, trial: PlanTrial) -> None:
        """Make the change."""
        trial.require("Node", self.like, self.text)
        known = set(trial.mirror.names("Node"))
        trial.mirror.edit(AddNodes(self.like, self.count))
        new = next(name for name in trial.mirror.names("Node") if name not in known)
        daemons = sum(task.returns for task in trial.mirror.on(self.like)[0])
        without = words.without_daemons(counted(daemons, "pod", "pods")) if daemons else ""
        nodes = counted(self.count, "node", "nodes")
        trial.notes.append(words.new_nodes(nodes, self.like, without))
        outside = _only_of(trial, self.like, new)
        if outside:
            trial.notes.append(words.lists_others(self.like, new, ", ".join(outside)))


def _only_of(trial: PlanTrial, like: str, new: str) -> list[str]:
    """The HyperNodes that list a node, but not the new one that is like it."""
    one, other = trial.mirror.node_facts(like), trial.mirror.node_facts(new)
    if one is None or other is None:
        return []
    found = trial.mirror.topology.publish().hypernodes
    return [each.name for each in found if lists(each, one.attributes) and not lists(each, other.attributes)]


def _guarded(trial: PlanTrial, name: str) -> list[str]:
    """The disruption budgets that forbid to evict all the pods at once that a drain evicts, in the order of names."""
    leaving = [task for task in trial.mirror.on(name)[0] if not task.returns and task.status is Status.RUNNING]
    labels: dict[str, list[dict[str, str]]] = {}
    for task in leaving:
        labels.setdefault(task.namespace, []).append(dict(task.labels.pairs))
    return [
        f"PodDisruptionBudget {namespace}/{budget.name}"
        for namespace, here in sorted(labels.items())
        for budget in trial.mirror.origin.budgets.get(namespace, ())
        if sum(map(budget.selector.matches, here)) > budget.allowed
    ]


def clear(trial: PlanTrial, name: str, *, staying: bool) -> str:
    """Have the pods of a node leave, all or but for those that are ``staying``; says what becomes of them."""
    ours, others = trial.mirror.on(name)
    stay = [task for task in ours if task.returns and staying]
    again = [task for task in ours if task.owned and not task.returns and task.status is not Status.RELEASING]
    kept = {task.uid for task in (*stay, *again)}
    gone = [task for task in ours if task.uid not in kept]
    for task in again:
        trial.mirror.start_anew(task)
    for task in gone:
        trial.mirror.take_away(task)
    if not staying:
        for task in trial.mirror.bound_for(name):
            trial.mirror.take_away(task)
    trial.mirror.clear_of_others(name)
    told = [
        f"{counted(number, 'pod', 'pods')} {what}"
        for number, what in (
            (len(again), words.CREATED_AGAIN),
            (len(gone), words.GONE_FOR_GOOD),
            (len(stay), words.LEFT_THERE),
            (others, words.MOVED_ELSEWHERE),
        )
        if number
    ]
    return ", ".join(told) or words.NO_PODS
