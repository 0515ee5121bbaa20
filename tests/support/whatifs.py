"""Random clusters, and random edits as a what-if takes them and as a person would make them at the API server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

from tests.support.running import PODGROUPS, Obj
from vsched.kernels.domains import HOSTNAME
from vsched.sim.cluster import Cluster

QUEUES = "scheduling.volcano.sh/queues"
VOLCANO = "scheduling.volcano.sh/v1beta1"
NAMES = ("a", "b", "c")
CLASSES = {"high": 1000, "low": 10}
POLICIES = Path(__file__).parents[2] / "config" / "policies"
TAKING = ("taking-back", "capacity")
USED = ("volcano-default", "packing", "queue-score", "gang-only", "across-queues")


class Edited(NamedTuple):
    """One edit: the flags of a what-if, and what the same is as work for the API server."""

    flags: tuple[str, ...]
    kind: str
    subject: str = ""
    value: object = None


def policy_text(random: Random) -> str:
    """One of the policies that are shipped; every other time one that takes back what was lent."""
    name = random.choice(TAKING if random.random() < 0.5 else USED)
    return (POLICIES / f"{name}.yaml").read_text(encoding="utf-8")


# -- what there is --------------------------------------------------------------------------------------------------


def cluster_of(random: Random) -> Iterator[Obj]:
    """The objects of a small cluster, in the order in which they are to be made."""
    for name, value in CLASSES.items():
        metadata = {"name": name}
        yield {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": value}
    for number in range(random.randint(2, 4)):
        yield _node(random, f"n{number}")
    for name in NAMES:
        yield _queue(random, name)
    for number in range(random.randint(0, 2)):
        yield _stranger(random, f"o{number}")
    crowded = random.choice(NAMES)
    for number in range(random.randint(4, 8)):
        queue = crowded if random.random() < 0.75 else random.choice(NAMES)
        yield from work(random, f"{random.choice('gggdbs')}{number}", queue, random.choice([None, "low", "low"]))


def more_work(random: Random, number: int) -> list[Obj]:
    """Work that comes later, urgent more often than not."""
    return work(
        random, f"{random.choice('ggdbs')}{number}", random.choice(NAMES), random.choice([None, "high", "high"])
    )


def work(random: Random, name: str, queue: str, priority: str | None) -> list[Obj]:
    """A gang, a Deployment, a Job or a pod alone, by the first letter of the name."""
    cpu, size = random.choice(["1", "1", "2", "500m"]), random.randint(2, 5)
    spec = _pod_spec(random, name, cpu, priority)
    match name[0]:
        case "g":
            minimum = random.choice([1, 1, size])
            group = {"minMember": minimum, "queue": queue} | ({"priorityClassName": priority} if priority else {})
            if random.random() < 0.5:
                group["minResources"] = {"cpu": str(minimum)}
            made = [_object(VOLCANO, "PodGroup", name, spec=group)]
            note = {"scheduling.k8s.io/group-name": name}
            return made + [_pod(f"{name}-{number}", name, spec, note) for number in range(size)]
        case "s":
            return [_pod(f"{name}-0", name, spec, {"scheduling.volcano.sh/queue-name": queue})]
    template = {
        "metadata": {"labels": {"app": name}, "annotations": {"scheduling.volcano.sh/queue-name": queue}},
        "spec": spec,
    }
    if name[0] == "b":
        spec["restartPolicy"] = "Never"
        fields = {"parallelism": size, "completions": size, "template": template}
        return [_object("batch/v1", "Job", name, spec=fields)]
    fields = {"replicas": size, "selector": {"matchLabels": {"app": name}}, "template": template}
    return [_object("apps/v1", "Deployment", name, spec=fields)]


def _node(random: Random, name: str) -> Obj:
    amounts = {"cpu": str(random.randint(2, 7)), "memory": "16Gi", "pods": "110"}
    labels = {HOSTNAME: name, "zone": random.choice("xy")}
    taints = [{"key": "dedicated", "value": "yes", "effect": "NoSchedule"}] if random.random() < 0.15 else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _queue(random: Random, name: str) -> Obj:
    spec: Obj = {"weight": random.randint(1, 4), "reclaimable": random.random() < 0.85}
    spec["deserved"] = {"cpu": str(random.randint(1, 5))}
    if random.random() < 0.3:
        spec["capability"] = {"cpu": str(random.randint(2, 8))}
    if random.random() < 0.3:
        spec["priority"] = random.randint(0, 3)
    return {"apiVersion": VOLCANO, "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def _stranger(random: Random, name: str) -> Obj:
    pod = _pod(name, name, {"containers": [_container("1")], "nodeName": f"n{random.randint(0, 1)}"}, {})
    pod["spec"]["schedulerName"] = "other"
    return pod


def _pod_spec(random: Random, name: str, cpu: str, priority: str | None) -> Obj:
    spec: Obj = {"schedulerName": "vsched", "containers": [_container(cpu)]}
    if priority:
        spec["priorityClassName"] = priority
    if random.random() < 0.15:
        spec["nodeSelector"] = {"zone": random.choice("xy")}
    if random.random() < 0.2:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if random.random() < 0.15:
        term = {"labelSelector": {"matchLabels": {"app": name}}, "topologyKey": HOSTNAME}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return spec


def _container(cpu: str) -> Obj:
    return {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}


def _pod(name: str, app: str, spec: Obj, annotations: dict[str, str]) -> Obj:
    made = _object("v1", "Pod", name, spec=dict(spec))
    made["metadata"] |= {"labels": {"app": app}, "annotations": annotations}
    return made


def _object(version: str, kind: str, name: str, **fields: Obj) -> Obj:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **fields}


# -- what is changed ------------------------------------------------------------------------------------------------


def edits_of(random: Random, cluster: Cluster, folder: Path) -> list[Edited]:
    """One to three edits of a cluster; those of nodes are of different ones."""
    kinds = ["submit", "submit", "submit", "drain", "remove", "add", "queue", "group", "cordon", "config"]
    nodes = sorted(node["metadata"]["name"] for node in cluster.client.list("nodes"))
    random.shuffle(nodes)
    groups = sorted(
        group["metadata"]["name"]
        for group in cluster.client.list(PODGROUPS, "default")
        if group["metadata"]["name"].startswith("g")
    )
    found: list[Edited] = []
    for kind in dict.fromkeys(random.sample(kinds, random.randint(1, 3))):
        if (kind in ("drain", "remove", "cordon") and len(nodes) < 2) or (kind == "group" and not groups):
            kind = "queue"
        found.append(_edit(random, kind, nodes, groups, folder))
    return found


def _edit(random: Random, kind: str, nodes: list[str], groups: list[str], folder: Path) -> Edited:
    match kind:
        case "submit":
            objects = more_work(random, 9)
            path = folder / "submitted.yaml"
            path.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
            return Edited(("--submit", str(path)), "submit", str(path))
        case "drain":
            name = nodes.pop()
            return Edited(("--drain", name), "drain", name)
        case "remove":
            name = nodes.pop()
            return Edited(("--remove-node", name), "remove", name)
        case "cordon":
            name = nodes.pop()
            return Edited(("--set", f"node/{name}.unschedulable=true"), "cordon", name)
        case "add":
            name, count = nodes[0], random.randint(1, 2)
            return Edited(("--add-nodes", str(count), "--like", name), "add", name, count)
        case "group":
            name, minimum = random.choice(groups), random.randint(1, 3)
            return Edited(("--set", f"podgroup/default/{name}.minMember={minimum}"), "group", name, minimum)
        case "config":
            text = policy_text(random)
            return Edited(("--config", f"{text.splitlines()[0]} …"), "config", value=text)
    name = random.choice(NAMES)
    field, value = random.choice(
        [("weight", 9), ("weight", 1), ("capability.cpu", "6"), ("deserved.cpu", "4"), ("reclaimable", False)]
    )
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return Edited(("--set", f"queue/{name}.{field}={text}"), "queue", name, (field, value))


def make(cluster: Cluster, edit: Edited) -> None:
    """Make an edit as a person would, at the API server; a change of policy is nothing for it."""
    client, name = cluster.client, edit.subject
    match edit.kind:
        case "submit":
            cluster.apply([Path(name)])
        case "cordon":
            _cordon(cluster, name)
        case "drain":
            _cordon(cluster, name)
            _clear(cluster, name)
        case "remove":
            client.delete("nodes", "", name)
        case "add":
            assert isinstance(edit.value, int)
            model = client.get("nodes", "", name)
            assert model is not None
            for number in range(1, edit.value + 1):
                client.create("nodes", _like(model, f"{name}-new-{number}"))
        case "group":
            client.patch(PODGROUPS, "default", name, lambda found: _with(found, ("minMember",), edit.value))
        case "queue":
            assert isinstance(edit.value, tuple)
            field, value = edit.value
            client.patch(QUEUES, "", name, lambda found: _with(found, tuple(field.split(".")), value))


def _cordon(cluster: Cluster, name: str) -> None:
    cluster.client.patch("nodes", "", name, lambda node: _with(node, ("unschedulable",), True))


def _clear(cluster: Cluster, name: str) -> None:
    for pod in cluster.client.list("pods", ""):
        if pod["spec"].get("nodeName") == name:
            metadata = pod["metadata"]
            cluster.client.delete("pods", metadata["namespace"], metadata["name"], grace_seconds=0)


def _like(model: Obj, name: str) -> Obj:
    labels = {**model["metadata"]["labels"], HOSTNAME: name}
    taints = [
        taint for taint in model["spec"].get("taints") or () if not taint["key"].startswith("node.kubernetes.io/")
    ]
    amounts = model["status"]["allocatable"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def _with(found: Obj, path: tuple[str, ...], value: object) -> Obj:
    """The object with one field of its spec changed."""

    def changed(part: Obj, steps: tuple[str, ...]) -> Obj:
        inner = value if len(steps) == 1 else changed(part.get(steps[0]) or {}, steps[1:])
        return {**part, steps[0]: inner}

    return {**found, "spec": changed(found.get("spec") or {}, path)}
