"""Which nodes a pod may be on, by its own rules and by those of the pods that are there."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.model.amounts.resources import add, subtract
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.shape import NodeTerm, PodLabels, PodTerm, Rules, requirement_holds
from vsched.model.pods.task import Task
from vsched.proof.cycle import Cycle, waits
from vsched.proof.minima import lacking

STEPS_MAX = 2_000
"""Where more are needed to try all ways to place a gang, the question stays open."""
CORDONED = "node.kubernetes.io/unschedulable"
ELSE_KEPT_OUT_BY = frozenset({"allocation", "deviceshare", "easy-backfill", "extender", "job-limits", "nodegroup"}) | {
    *("numa-aware", "rescheduling", "resource-strategy-fit", "tdm", "usage", "wall-time")
}
"""Plugins that keep pods from idle nodes by rules that are not looked at here."""


def bound_where_allowed(cycle: Cycle) -> Iterator[str]:
    """A bound pod's node has what its selector and node affinity ask for, and no taint that it does not tolerate.

    Kubernetes' rules; the plugin ``predicates`` asks them.
    """
    if "predicates" not in cycle.facts.plugins:
        return
    for uid, node in cycle.bound.items():
        task = cycle.tasks[uid]
        why = forbids(task.shape.rules, cycle.nodes[node])
        yield f"{task.key} is bound to {node}, {why}" if why else ""


def apart_where_asked(cycle: Cycle) -> Iterator[str]:
    """No bound pod shares a domain with a pod that it repels, or that repels it (required anti-affinity)."""
    if "predicates" not in cycle.facts.plugins:
        return
    there: list[tuple[Task, str]] = [
        (task, task.node) for task in cycle.tasks.values() if task.node and task.uid not in cycle.bound
    ]
    for uid, node in cycle.bound.items():
        task, clash = cycle.tasks[uid], ""
        for other, at in there:
            if repels(cycle, task, node, other, at) or repels(cycle, other, at, task, node):
                clash = f"{task.key} is bound to {node}, apart from which {other.key} on {at} has to be"
        there.append((task, node))
        yield clash


def forbids(rules: Rules, node: NodeAttributes) -> str:
    """Why a pod with these rules may not be on a node; empty if it may."""
    if rules.node_name and rules.node_name != node.name:
        return "and names another node"
    if any(node.labels.get(key) != value for key, value in rules.node_selector):
        return "which its node selector does not match"
    if rules.required is not None and not any(_term_holds(term, node) for term in rules.required):
        return "which its node affinity does not match"
    taints = [(taint.key, taint.value, taint.effect) for taint in node.taints]
    if node.unschedulable:
        taints.append((CORDONED, "", "NoSchedule"))
    for key, value, effect in taints:
        if effect != "PreferNoSchedule" and not any(one.tolerates(key, value, effect) for one in rules.tolerations):
            return f"whose taint {key} it does not tolerate"
    return ""


def is_bound_by_more(task: Task) -> bool:
    """Whether a pod's place depends on more than amounts and its own rules for nodes."""
    shape = task.shape
    return bool(shape.ports or shape.affinity or shape.spread or shape.zones or shape.devices or task.claims)


def repels(cycle: Cycle, owner: Task, at: str, other: Task, there: str) -> bool:
    """Whether a pod has a required anti-affinity to another pod, and both are in one domain of it."""
    affinity = owner.shape.affinity
    if affinity is None or at not in cycle.nodes or there not in cycle.nodes:
        return False
    mine, others = cycle.nodes[at].labels, cycle.nodes[there].labels
    return any(
        term.topology_key in mine
        and mine[term.topology_key] == others.get(term.topology_key)
        and _selects(cycle, term, other.labels)
        for term in affinity.anti_required
    )


def _term_holds(term: NodeTerm, node: NodeAttributes) -> bool:
    if not term.expressions and not term.fields:
        return False
    return all(requirement_holds(one, node.labels) for one in term.expressions) and all(
        requirement_holds(one, {"metadata.name": node.name}) for one in term.fields
    )


def _selects(cycle: Cycle, term: PodTerm, labels: PodLabels) -> bool:
    if term.selector is None or not term.selector.matches(dict(labels.pairs)):
        return False
    if labels.namespace in term.namespaces:
        return True
    namespace = cycle.snapshot.namespaces.get(labels.namespace)
    known = dict(namespace.labels) if namespace is not None else {}
    return term.namespace_selector is not None and term.namespace_selector.matches(known)


def could_be_whole(cycle: Cycle, job: Job) -> bool:
    """Whether more waiting pods of a job fit besides all that is kept, so that it has its minima; tries all ways.

    True where that takes too many steps to find out.
    """
    room, steps = {node: cycle.room_after(node) for node in cycle.nodes}, 0
    for node, left in room.items():
        subtract(left, cycle.kept_on(node).items())
    placed = cycle.bound.keys() | cycle.kept.keys()
    pods = [task for task in job.pending.values() if waits(task) and task.uid not in placed]

    def fits(at: int, have: list[Task]) -> bool:
        nonlocal steps
        steps += 1
        if steps > STEPS_MAX or not lacking(job, have):
            return True
        if at == len(pods):
            return False
        task = pods[at]
        for left in room.values():
            if all(value <= left[column] for column, value in task.shape.request):
                subtract(left, task.shape.request)
                if fits(at + 1, [*have, task]):
                    return True
                add(left, task.shape.request)
        return fits(at + 1, have)

    return fits(0, cycle.ready(job, kept=True))
