"""Which nodes pods may be on: by the room there, by their own rules, and by those of the pods that are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache

from vsched.model.amounts.resources import PODS, add, subtract
from vsched.model.claims.devices import AllocationResult, DeviceId
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import NodeAttributes
from vsched.model.pods.shape import NodeTerm, PodLabels, PodTerm, Rules, requirement_holds
from vsched.model.pods.status import HOLDS
from vsched.model.pods.task import Task
from vsched.proof import words
from vsched.proof.cycle import Cycle, waits
from vsched.proof.minima import lacking

STEPS_MAX = 2_000
"""Where more are needed to try all ways to place a gang, the question stays open."""
CORDONED, EVERY = "node.kubernetes.io/unschedulable", "0.0.0.0"
"""The taint of a cordoned node, and the address that stands for all."""


def bound_where_allowed(cycle: Cycle) -> Iterator[str]:
    """A bound pod's node has what its selector and node affinity ask for, and no taint that it does not tolerate."""
    if not cycle.facts.checks >= {"node_affinity", "taint_toleration"}:
        return
    for uid, node in cycle.bound.items():
        task = cycle.tasks[uid]
        why = forbids(task.shape.rules, cycle.nodes[node])
        yield words.bound_where_forbidden(task.key, node, why) if why else ""


def apart_where_asked(cycle: Cycle) -> Iterator[str]:
    """No bound pod shares a domain with a pod that it repels, or that repels it (required anti-affinity)."""
    if "pod_affinity" not in cycle.facts.checks:
        return
    repelling, clashes = Repelling(cycle), dict[str, str]()
    terms = cache(repelling.terms)
    for other, at in repelling.there:
        for term in terms(other.labels):
            # Those that were bound come first, so that two are enough to find one that is another pod.
            for owner in repelling.owners_near(term, cycle.nodes[at])[:2]:
                for one in {owner.uid, other.uid} & cycle.bound.keys() if owner is not other else ():
                    clashes[one] = words.not_apart(owner.key, other.key)
    for uid in cycle.bound:
        yield clashes.get(uid, "")


class Repelling:
    """Which pods are on nodes, and where they repel others."""

    def __init__(self, cycle: Cycle) -> None:
        self._cycle, self.there = cycle, [(cycle.tasks[uid], node) for uid, node in cycle.bound.items()]
        running = [task for task in cycle.tasks.values() if HOLDS[task.status].uses and task.node in cycle.nodes]
        self.there += [(task, task.node) for task in running]
        self._owners: dict[PodTerm, dict[str | None, list[Task]]] = defaultdict(dict)
        """By term: the pods that have it, by the value that the term's topology key has on their node."""
        for task, node in self.there:
            for term in task.shape.affinity.anti_required if task.shape.affinity is not None else ():
                if (domain := cycle.nodes[node].labels.get(term.topology_key)) is not None:
                    self._owners[term].setdefault(domain, []).append(task)
        self._about: dict[tuple[str, str] | None, list[PodTerm]] = defaultdict(list)
        """Terms by the labels that they name the values of, so that not all are looked at for each pod."""
        for term in self._owners:
            requirements = term.selector.requirements if term.selector is not None else ()
            named = [[(one.key, value) for value in one.values] for one in requirements if one.operator == "In"]
            for pair in named[0] if named else (None,):
                self._about[pair].append(term)

    def terms(self, labels: PodLabels) -> tuple[PodTerm, ...]:
        """The terms that are about pods with these labels."""
        found = [term for pair in (None, *labels.pairs) for term in self._about.get(pair, ())]
        return tuple(term for term in found if _selects(self._cycle, term, labels))

    def owners_near(self, term: PodTerm, node: NodeAttributes) -> list[Task]:
        """The pods that repel others by this term from a node."""
        return self._owners[term].get(node.labels.get(term.topology_key), [])


def forbids(rules: Rules, node: NodeAttributes) -> str:
    """Why a pod with these rules may not be on a node; empty if it may."""
    if rules.node_name and rules.node_name != node.name:
        return words.OTHER_NODE
    if any(node.labels.get(key) != value for key, value in rules.node_selector):
        return words.NOT_SELECTED
    if rules.required is not None and not any(_term_holds(term, node) for term in rules.required):
        return words.NO_AFFINITY
    taints = [(taint.key, taint.value, taint.effect) for taint in node.taints]
    if node.unschedulable:
        taints.append((CORDONED, "", "NoSchedule"))
    for key, value, effect in taints:
        if effect != "PreferNoSchedule" and not any(one.tolerates(key, value, effect) for one in rules.tolerations):
            return words.not_tolerated(key)
    return ""


def is_bound_by_more(task: Task) -> bool:
    """Whether a pod's place depends on more than amounts and its own rules for nodes."""
    shape = task.shape
    return bool(shape.ports or shape.affinity or shape.spread or shape.zones or shape.devices or task.claims)


def _term_holds(term: NodeTerm, node: NodeAttributes) -> bool:
    found = [requirement_holds(one, node.labels) for one in term.expressions]
    found += [requirement_holds(one, {"metadata.name": node.name}) for one in term.fields]
    return bool(found) and all(found)


def _selects(cycle: Cycle, term: PodTerm, labels: PodLabels) -> bool:
    if term.selector is None or not term.selector.matches(dict(labels.pairs)):
        return False
    namespace, selector = cycle.snapshot.namespaces.get(labels.namespace), term.namespace_selector
    known = dict(namespace.labels) if namespace is not None else {}
    return labels.namespace in term.namespaces or (selector is not None and selector.matches(known))


def could_be_whole(cycle: Cycle, job: Job) -> bool:
    """Whether more waiting pods of a job fit besides all that is kept, so that it has its minima; tries all ways.

    True where that may take too many steps to find out.
    """
    placed, steps = cycle.placed[job.key], 0
    pods = [task for task in job.pending.values() if waits(task) and task.uid not in placed]
    if len(pods) * len(cycle.nodes) > STEPS_MAX:
        return True
    room = {node: cycle.room_on(node, gone=True, kept=True) for node in cycle.nodes}

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


def nodes_hold_what_is_bound(cycle: Cycle) -> Iterator[str]:
    """On each node, what was bound asks for no more than what was idle: what is leaving still holds its room."""
    for node in dict.fromkeys(cycle.bound.values()):
        left, asked = cycle.room_on(node), cycle.sum_of(cycle.bound_on[node])
        short = {column: value for column, value in asked.items() if left[column] < 0 < value}
        yield words.too_much_bound(node, cycle.words(short)) if short else ""


def nodes_hold_what_is_kept(cycle: Cycle) -> Iterator[str]:
    """On each node, there is room for what was bound and what it is kept for, once what is leaving is gone."""
    for node in dict.fromkeys(cycle.reserved.values()):
        left, asked = cycle.room_on(node, gone=True, kept=True), cycle.sum_of(cycle.reserved_on[node])
        left[PODS] += int(cycle.snapshot.nodes.releasing[PODS, cycle.snapshot.nodes.statics.row[node]])
        short = {column: value for column, value in asked.items() if left[column] < 0 < value}
        yield words.too_much_kept(cycle.words(short), node) if short else ""


def ports_are_free(cycle: Cycle) -> Iterator[str]:
    """No two pods on a node have the same port of the host; ``0.0.0.0`` is every address."""
    if "node_ports" not in cycle.facts.checks:
        return
    taken: dict[tuple[str, int, str], set[str]] = {}
    """Addresses by node, port and protocol."""
    for port, counts in cycle.snapshot.placed.ports.items():
        for node in counts:
            taken.setdefault((node, port.port, port.protocol), set()).add(port.ip)
    for uid, node in cycle.bound.items():
        clash = ""
        for port in cycle.tasks[uid].shape.ports:
            addresses = taken.setdefault((node, port.port, port.protocol), set())
            if addresses and (port.ip in (EVERY, *addresses) or EVERY in addresses):
                clash = words.port_taken(cycle.tasks[uid].key, node, port.port)
            addresses.add(port.ip)
        yield clash


def devices_are_given_once(cycle: Cycle) -> Iterator[str]:
    """A device goes to one claim, unless it is shared by parts, or an administrator looks on."""
    owners: dict[DeviceId, str] = {}
    for key, claim in cycle.snapshot.claims.devices.allocated.items():
        owners.update(dict.fromkeys(_whole_devices(claim.allocation), key))
    for bind in cycle.report.binds:
        for choice in bind.claims.devices if bind.claims is not None else ():
            owner, clash = choice.claim or words.claim_of(bind.namespace, bind.name), ""
            for device in _whole_devices(choice.allocation):
                other = owners.setdefault(device, owner)
                if other != owner:
                    clash = words.device_given_twice(device.device, device.pool, owner, other)
            yield clash


def _whole_devices(allocation: AllocationResult | None) -> list[DeviceId]:
    devices = allocation.devices if allocation is not None else ()
    return [one.device for one in devices if not one.admin and not one.share]
