"""What a generator file describes as objects of the API: queues in a tree, nodes in a topology, workloads as pods.

| Kueue | here |
|---|---|
| cohort | a Queue that deserves, and may hold, the nominal quotas of its queues |
| ClusterQueue | a Queue below it: it deserves its nominal quota, and may hold its borrowing limit besides |
| ``reclaimWithinCohort: Never`` | ``reclaimable: false`` on the queues of the cohort |
| ``withinClusterQueue: Never`` | a priority class with ``preemptionPolicy: Never`` |
| Workload | a pod, or a PodGroup that needs all of its pods |
| level of a topology | a tier of HyperNodes |
| ``required``, ``preferred`` level | ``networkTopology``, ``hard`` or ``soft`` |
| ``balanced`` with slices | a sub-group for each slice, ``hard`` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from vsched.lab.kueue.generator import (
    BALANCED,
    NODE_GROUP,
    NODE_PODS,
    PREFERRED,
    Arrival,
    ClusterQueue,
    Generator,
    Topology,
)
from vsched.mirror.ingest.implicit import GROUP_NAME

Obj = dict[str, Any]
Made = Iterator[tuple[str, Obj]]
"""Objects with their kinds."""
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
SLICE = "slice"
"""The label of pods that have to be together."""
HOSTNAME = "kubernetes.io/hostname"
ALL_QUOTA = "quota"
"""The node that stands for all quotas, where the generator has no nodes."""
MANY_PODS = "1000000"


def queue_objects(queues: Sequence[ClusterQueue]) -> Made:
    """Cohorts and their queues."""
    for cohort in dict.fromkeys(queue.cohort for queue in queues):
        amounts = {"cpu": f"{cohort.nominal_milli}m"}
        yield "Queue", _queue(cohort.name, {"deserved": amounts, "capability": amounts})
    for queue in queues:
        terms = queue.terms
        spec: Obj = {
            "parent": queue.cohort.name,
            "deserved": {"cpu": f"{terms.nominal_milli}m"},
            "reclaimable": terms.reclaims,
        }
        if terms.borrowing_milli is not None:
            most = min(terms.nominal_milli + terms.borrowing_milli, queue.cohort.nominal_milli)
            spec["capability"] = {"cpu": f"{most}m"}
        yield "Queue", _queue(queue.name, spec)


def _queue(name: str, spec: Obj) -> Obj:
    return {"metadata": {"name": name, "uid": name, "creationTimestamp": stamp(0)}, "spec": {"weight": 1, **spec}}


def priority_objects(generator: Generator) -> Made:
    """A priority class for each priority of the generator."""
    for preempts, value in sorted({(terms.preempts, template.priority) for terms, template in generator.templates()}):
        name = priority_class(value, preempts)
        metadata = {"name": name, "uid": name}
        yield "PriorityClass", {"metadata": metadata, "value": value, "preemptionPolicy": policy_of(preempts)}


def policy_of(preempts: bool) -> str:
    """The ``preemptionPolicy`` of pods that may, or may not, preempt others of their queue."""
    return "PreemptLowerPriority" if preempts else "Never"


def priority_class(value: int, preempts: bool) -> str:
    """The name of the class of a priority."""
    sign = "minus-" if value < 0 else ""
    return f"priority-{sign}{abs(value)}{'' if preempts else '-never'}"


# -- nodes ------------------------------------------------------------------------------------------------------------


def node_objects(generator: Generator) -> Made:
    """The nodes of the topology with its HyperNodes; without one, a node as large as all quotas."""
    topology = generator.topology
    if topology is None:
        total = sum(cohort.nominal_milli for cohort in {queue.cohort for queue in generator.queues()})
        yield "Node", _node(ALL_QUOTA, {}, {"cpu": f"{total}m", "pods": MANY_PODS})
        return
    yield from _domains(topology, tiers_of(generator), ())


def tiers_of(generator: Generator) -> dict[str, int]:
    """The tiers of HyperNodes by the label of their level, 1 for the lowest.

    Single nodes are a tier only where workloads ask to be on one.
    """
    if generator.topology is None:
        return {}
    labels = [level.label for level in generator.topology.levels]
    asked = {template.level for _, template in generator.templates() if template.constraint}
    known = labels if labels[-1] in asked else labels[:-1]
    return {label: tier for tier, label in enumerate(reversed(known), start=1)}


def _domains(topology: Topology, tiers: Mapping[str, int], above: tuple[str, ...]) -> Made:
    """All domains and nodes in a domain."""
    level, *lower = topology.levels[len(above) :]
    for number in range(level.count):
        path = (*above, f"{level.name}-{number}")
        name, members = ".".join(path), [".".join(path)]
        if lower:
            yield from _domains(topology, tiers, path)
            members = [f"{name}.{lower[0].name}-{at}" for at in range(lower[0].count)]
        else:
            domains = zip(topology.levels, path, strict=True)
            labels = {one.label: domain for one, domain in domains} | {NODE_GROUP: "tas", HOSTNAME: name}
            yield "Node", _node(name, labels, {"cpu": topology.cpu, "memory": topology.memory, "pods": NODE_PODS})
        if level.label in tiers:
            kind = "HyperNode" if lower and lower[0].label in tiers else "Node"
            selectors = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
            spec = {"tier": tiers[level.label], "members": selectors}
            yield "HyperNode", {"metadata": {"name": name, "uid": name}, "spec": spec}


def _node(name: str, labels: Mapping[str, str], room: Mapping[str, str]) -> Obj:
    return {"metadata": {"name": name, "uid": name, "labels": labels}, "status": {"allocatable": room}}


# -- workloads --------------------------------------------------------------------------------------------------------


def stamp(at_ms: int) -> str:
    """A moment as the API server writes it: to the second."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def workload_objects(arrival: Arrival, number: int, attempt: int, tiers: Mapping[str, int]) -> Made:
    """A workload for its first or a later attempt, with the tiers of levels by label.

    ``number`` keeps the order of creation within a second.
    """
    template, terms = arrival.template, arrival.queue.terms
    name = f"{number:07d}-{arrival.name}"
    grouped = template.pods > 1 or bool(template.constraint)
    if grouped:
        yield "PodGroup", _group(arrival, name, attempt, tiers)
    metadata = {"namespace": arrival.queue.name, "creationTimestamp": stamp(arrival.at_ms)}
    annotations = {GROUP_NAME: name} if grouped else {QUEUE_NAME: arrival.queue.name}
    spec = {
        "schedulerName": "vsched",
        "priority": template.priority,
        "priorityClassName": priority_class(template.priority, terms.preempts),
        "preemptionPolicy": policy_of(terms.preempts),
        "containers": [{"name": "main", "resources": {"requests": {"cpu": f"{template.cpu_milli}m"}}}],
    }
    for at in range(template.pods):
        pod = {**metadata, "name": f"{name}-{at}", "uid": f"{number}.{attempt}.{at}", "annotations": annotations}
        if template.slice_size > 1:
            pod["labels"] = {SLICE: str(at // template.slice_size)}
        yield "Pod", {"metadata": pod, "spec": spec, "status": {"phase": "Pending"}}


def _group(arrival: Arrival, name: str, attempt: int, tiers: Mapping[str, int]) -> Obj:
    template = arrival.template
    spec: Obj = {
        "queue": arrival.queue.name,
        "minMember": template.pods,
        "minResources": {"cpu": f"{template.cpu_milli * template.pods}m"},
        "priorityClassName": priority_class(template.priority, arrival.queue.terms.preempts),
    }
    if template.constraint:
        mode = "soft" if template.constraint == PREFERRED else "hard"
        closeness = {"mode": mode, "highestTierAllowed": tiers[template.level]}
        if template.constraint != BALANCED:
            spec["networkTopology"] = closeness
        elif template.slice_size > 1:  # a pod alone is always together
            spec["subGroupPolicy"] = [
                {
                    "name": SLICE,
                    "subGroupSize": template.slice_size,
                    "minSubGroups": template.pods // template.slice_size,
                    "matchLabelKeys": [SLICE],
                    "networkTopology": closeness,
                }
            ]
    metadata = {
        "namespace": arrival.queue.name,
        "name": name,
        "uid": f"{name}.{attempt}",
        "creationTimestamp": stamp(arrival.at_ms),
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Inqueue"}}
