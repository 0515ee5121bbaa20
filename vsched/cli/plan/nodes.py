"""What may be done to nodes in a what-if: drain one, take one away, add some like one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, islice
from typing import Any

from vsched.cli.plan.trial import MOST_SHOWN, Trial
from vsched.framework.wording import counted
from vsched.model.status import Status

UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}
"""The taint that Kubernetes gives to nodes that are cordoned."""
HOSTNAME = "kubernetes.io/hostname"
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordon a node and clear it, as ``kubectl drain`` does; pods of DaemonSets and of the node itself stay."""

    node: str

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"--drain {self.node}"

    def apply(self, trial: Trial) -> None:
        """Make the change."""
        trial.require("Node", self.node, self.text)
        guarded = _guarded(trial, self.node)
        trial.notes.append(f"{self.node} is cordoned: {clear(trial, self.node, staying=True)}")
        if guarded:
            trial.notes.append(
                f"{', '.join(guarded[:MOST_SHOWN])}: fewer pods may be away than {self.node} has: kubectl drain waits"
            )
        cordon(trial, self.node, cordoned=True)


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a node away with everything on it."""

    node: str

    @property
    def text(self) -> str:
        """As it was asked for."""
        return f"--remove-node {self.node}"

    def apply(self, trial: Trial) -> None:
        """Make the change."""
        trial.require("Node", self.node, self.text)
        trial.notes.append(f"{self.node} is gone: {clear(trial, self.node, staying=False)}")
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

    def apply(self, trial: Trial) -> None:
        """Make the change."""
        trial.require("Node", self.like, self.text)
        model = trial.mirror.node(self.like)
        assert model is not None, self.like
        known = frozenset(trial.mirror.names("Node"))
        free = (name for number in count(1) if (name := f"{self.like}-new-{number}") not in known)
        for name in islice(free, self.count):
            trial.mirror.tell(_like(model, name))
        daemons = sum(task.returns for task in trial.mirror.on(self.like)[0])
        without = f", but without {counted(daemons, 'pod', 'pods')} of DaemonSets that would come" if daemons else ""
        trial.notes.append(
            f"{counted(self.count, 'node', 'nodes')} like {self.like}: same labels and taints, open for pods{without}"
        )


def _guarded(trial: Trial, name: str) -> list[str]:
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


def cordon(trial: Trial, name: str, *, cordoned: bool) -> None:
    """Close a node for new pods, or open it again."""
    node = trial.mirror.node(name)
    assert node is not None, name
    taints = [taint for taint in node["spec"]["taints"] if taint["key"] != UNSCHEDULABLE["key"]]
    spec = {**node["spec"], "unschedulable": cordoned, "taints": [*taints, UNSCHEDULABLE] if cordoned else taints}
    trial.mirror.tell({**node, "spec": spec})


def clear(trial: Trial, name: str, *, staying: bool) -> str:
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
        f"{counted(len(tasks), 'pod', 'pods')} {what}"
        for tasks, what in (
            (again, "made anew by controllers"),
            (gone, "gone for good"),
            (stay, "of DaemonSets or the node itself left there"),
            (others, "of other schedulers gone elsewhere"),
        )
        if tasks
    ]
    return ", ".join(told) or "nothing was on it"


def _like(model: Manifest, name: str) -> Manifest:
    """A node of another name, open for pods."""
    labels = model["metadata"]["labels"]
    labels = {**labels, HOSTNAME: name} if HOSTNAME in labels else labels
    taints = [taint for taint in model["spec"]["taints"] if taint["key"] != UNSCHEDULABLE["key"]]
    return {
        **model,
        "metadata": {**model["metadata"], "name": name, "labels": labels},
        "spec": {**model["spec"], "unschedulable": False, "taints": taints},
    }
