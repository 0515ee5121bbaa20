"""Streams of watch events in any order, and decisions between them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support import builders as make
from vsched.mirror.mirror import Mirror
from vsched.model.plan import Bind, CycleReport, Evict, JobOutcome, Nominate

Fields = dict[str, Any]


Event = tuple[str, str, Fields]


names = st.integers(0, 3)


annotation = st.sampled_from(["1m", "2", "x"])


sometimes = st.sampled_from([False, False, False, True])


@st.composite
def pods(draw: st.DrawFn) -> Fields:
    node = draw(st.sampled_from(["", "", "n0", "n1", "n9"]))
    fields = make.pod(f"p{draw(names)}", node=node)
    metadata, spec, status = fields["metadata"], fields["spec"], fields["status"]
    status["phase"] = draw(st.sampled_from(["Running", "Pending", "Succeeded", "Failed"] if node else ["Pending"]))
    annotations = metadata["annotations"] = {}
    group = draw(st.sampled_from(["", "", "pg0", "pg1", "podgroup-owner"]))
    if group:
        annotations["scheduling.k8s.io/group-name"] = group
    if draw(sometimes):
        annotations["scheduling.volcano.sh/queue-name"] = "q1"
    if draw(sometimes):
        annotations["volcano.sh/task-priority"] = draw(st.sampled_from(["3", "not a number"]))
    if draw(st.booleans()):
        metadata["ownerReferences"] = [{"uid": "owner", "controller": True}]
    if draw(sometimes):
        annotations["volcano.sh/cooldown-time"] = draw(annotation)
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-08-01T10:00:00Z"}
        status |= {"startTime": "2026-08-01T10:00:01Z", "conditions": [condition]}
    if draw(sometimes):
        metadata["deletionTimestamp"] = "2026-08-01T10:00:00Z"
    metadata["creationTimestamp"] = f"2026-08-01T10:00:0{draw(names)}Z"
    metadata["labels"] = {"app": f"a{draw(names)}"}
    spec["schedulerName"] = draw(st.sampled_from(["volcano", "volcano", "other"]))
    spec["priorityClassName"] = draw(st.sampled_from(["", "low", "high"]))
    if draw(sometimes):
        spec["schedulingGates"] = [{"name": "g"}]
    cpu = draw(st.sampled_from(["1", "2", "500m", "many"]))
    ports = [{"hostPort": 80}] if draw(sometimes) else []
    spec["containers"] = [make.container(cpu, ports=ports)]
    if draw(sometimes):
        spec["containers"][0]["resources"]["requests"]["example.com/gpu"] = 1
    if draw(sometimes):
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a1"}}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return fields


@st.composite
def groups(draw: st.DrawFn) -> Fields:
    spec: Fields = {
        "minMember": draw(st.sampled_from([-1, 0, 1, 2])),
        "queue": draw(st.sampled_from(["", "q0", "q1", "missing"])),
        "priorityClassName": draw(st.sampled_from(["", "low", "unknown"])),
    }
    if draw(st.booleans()):
        spec["minResources"] = {"cpu": draw(names), "example.com/gpu": 1}
    phase = draw(st.sampled_from(["", "Pending", "Inqueue", "Running"]))
    name = draw(st.sampled_from(["pg0", "pg1", "podgroup-owner"]))
    annotations = {key: draw(annotation) for key in ("sla-waiting-time", "volcano.sh/jdb-min-available")}
    labels = {"app.kubernetes.io/managed-by": "vsched"} if draw(st.booleans()) else {}
    metadata = {"annotations": annotations, "labels": labels, "creationTimestamp": f"2026-08-01T10:00:0{draw(names)}Z"}
    return make.pod_group(name, spec=spec, status={"phase": phase}, metadata=metadata)


nodes = st.builds(
    lambda name, cpu, zone: make.node(name, status={"allocatable": {"cpu": cpu}}, metadata={"labels": {"zone": zone}}),
    st.sampled_from(["n0", "n1", "n2"]),
    st.sampled_from(["4", "8", "lots"]),
    st.sampled_from(["a", "b"]),
)


queues = st.builds(
    lambda name, limits, weight, spec: make.queue(
        name,
        spec={"weight": weight, **spec},
        metadata={"annotations": {"volcano.sh/nodegroup-resource-limits": limits} if limits else {}},
    ),
    st.sampled_from(["q0", "q1", "default"]),
    st.sampled_from(["", '{"g": {"cpu": 0, "example.com/gpu": 2}}', "x"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from([{}, {"priority": 4}, {"priorityClassName": "high"}, {"deserved": {"example.com/gpu": 1}}]),
)


classes = st.builds(make.priority_class, st.sampled_from(["low", "high"]), names, st.booleans())


namespaces = st.builds(
    lambda queue: make.namespace("ns", metadata={"annotations": {"scheduling.volcano.sh/queue-name": queue}}),
    st.sampled_from(["", "q0", "q1"]),
)


quotas = st.builds(make.quota, st.sampled_from(["a", "b"]), st.sampled_from([1, 2, "3", "x"]))


limits = st.builds(
    lambda name, cpu, scopes: make.limits(name, spec={"hard": {"requests.cpu": cpu}, "scopes": scopes}),
    st.sampled_from(["a", "b"]),
    st.sampled_from(["1", "2", "much"]),
    st.sampled_from([None, None, ["BestEffort"]]),
)


budgets = st.builds(
    lambda name, selector, allowed: make.budget(name, selector, disruptionsAllowed=allowed),
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, {}, {"matchLabels": {"app": "a0"}}, {"matchLabels": {"app": 1}}]),
    st.sampled_from([0, 1, "x"]),
)


selecting = st.builds(
    lambda kind, name, selector, says: make.merged(
        make.selecting(kind, name),
        {
            "metadata": {"uid": "owner" if name == "a" else "other", "annotations": says},
            "spec": {"selector": selector if kind == "Service" else {"matchLabels": selector}},
        },
    ),
    st.sampled_from(["Service", "ReplicaSet", "ReplicaSet"]),
    st.sampled_from(["a", "b"]),
    st.sampled_from([{}, {"app": "a0"}, {"app": "a1"}, {"app": 1}]),
    st.dictionaries(
        st.sampled_from([f"scheduling.volcano.sh/{name}" for name in ("group-min-member", "queue-name")]),
        st.sampled_from(["2", "q1", "0"]),
    ),
)


objects = st.one_of(
    pods(), pods(), pods(), groups(), nodes, queues, classes, namespaces, quotas, limits, budgets, selecting
)


def identity(fields: Fields) -> tuple[str, str]:
    return fields["kind"], fields["metadata"]["name"]


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Event], list[Fields]]:
    """Events in an order no watch would be so rude to choose, and what is there in the end."""
    history: list[Event] = []
    last: dict[tuple[str, str], Event] = {}
    for position, fields in enumerate(draw(st.lists(objects, min_size=1, max_size=25))):
        fields["metadata"]["resourceVersion"] = str(position + 1)
        event = ("DELETED" if draw(sometimes) else "MODIFIED", fields["kind"], fields)
        history.append(event)
        last[identity(fields)] = event
    repeated = draw(st.lists(st.sampled_from(history), max_size=10))
    events = draw(st.permutations(history + repeated))
    return list(events), [fields for event, _, fields in last.values() if event != "DELETED"]


def decide(cache: Mirror, draw_bind: bool) -> None:
    """Take something for granted, as a cycle would."""
    snapshot = cache.snapshot(0.0)
    binds, evictions, nominations = [], [], []
    for job in snapshot.jobs.values():
        for task in job.tasks.values():
            if draw_bind and task.uid in job.pending:
                binds.append(Bind(task.uid, task.namespace, task.name, "n0", job.key))
            elif task.uid in job.pending:
                nominations.append(Nominate(task.uid, task.namespace, task.name, "n0", job.key))
            elif task.node:
                cache.assumptions.spare(task.uid)
                evictions.append(Evict(task.uid, task.namespace, task.name, task.node, job.key, "reclaim", "x"))
    jobs = {
        key: JobOutcome(key, job.spec.queue, "Unknown", 1, 0, 0, 0, 0, 0, implicit=job.spec.implicit)
        for key, job in snapshot.jobs.items()
    }
    decided = CycleReport(binds=tuple(binds), evictions=tuple(evictions), nominations=tuple(nominations), jobs=jobs)
    cache.assumptions.assume(decided)


def take_back(cache: Mirror) -> None:
    snapshot = cache.snapshot(0.0)
    for job in list(snapshot.jobs.values()):
        for uid in job.tasks:
            cache.assumptions.forget(uid)
    for number in range(4):
        cache.assumptions.forget(f"uid-p{number}")
        cache.assumptions.unspare(f"uid-p{number}")
        cache.assumptions.nomination_failed(f"uid-p{number}", "n0")
    for key in ("ns/pg0", "ns/pg1", "ns/podgroup-owner"):
        cache.assumptions.status_failed(key)
