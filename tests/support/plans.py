"""Clusters in a few lines of text, and what cycles decide on them.

One object a line; words are switches, ``key=value`` are fields, and ``a:1,b:2`` is a mapping::

    node n1 cpu=4 memory=8Gi zone=a cordoned taint=gpu:yes,dedicated:team age=60
    queue q1 weight=3 capability=cpu:4 guarantee=cpu:1 priority=5 class=high state=Closed age=60
    queue q3 parent=q1 deserved=cpu:2,memory:4Gi reclaimable=false
    queue q2 hierarchy=root/science/physics weights=1/3/2
    queue q3 required=g1,g2 preferred=g3 antiRequired=g4 antiPreferred=g5
    class high 1000
    weight team-a 3
    quota team-a/small requests.cpu=8 limits.memory=1Gi used=requests.cpu:3
    pdb ns/guard selector=job:train allowed=1 disrupted=train.0,train.1
    job ns/train min=3 pods=3 cpu=1 queue=q1 class=high roles=ps:1,worker:2 minResources=cpu:3 age=60
    pods ns/train 2 cpu=1 on=n1 leaving role=ps gated nominated=n1 selector=zone:a tolerates=gpu priority=7
    pods ns/train 1 cpu=1 on=n1 scheduled=30 labels=app:web
    pods ns/train 1 cpu=1 on=n1 unlabelled unready started=60
    pods ns/train 1 cpu=1 on=nowhere untaken
    pods ns/train 1 cpu=1 on=n1 owned
    pods ns/train 1 cpu=1 on=n1 askedAgo=9 asked=reclaim~for~ns/a,~until~2027-01-15T08:10:00Z
    pods ns/train 1 cpu=1 on=n1 succeeded restart=Never started=90 ended=30 deadline=600
    pods ns/train 1 cpu=1 never port=80 apart=train podClass=high limits=cpu:2,memory:1Gi
    job ns/near topology=hard tier=2
    job ns/gangs min=4 subGroups=rack:2:2
    job ns/large roles=beyond
    pods ns/train 1 cpu=1 claim=data
    pods ns/train 1 cpu=1 ebs=vol-1
    usage n1 cpu=63 memory=40 spread=12 period=5m age=0

A ``job`` line with ``pods`` also makes that many pods, with the fields of a ``pods`` line. Fields with a slash are
annotations (of nodes: labels), as ``volcano.sh/preemptable=true``; a ``~`` is a space there. What a node really
uses is no object; it is given to the plan beside them, and ``spread`` is of cpu and memory both. A pod that is
``apart`` from a job shares no node with the job's pods; one that is ``never`` has the preemption policy of that
name. One that is ``untaken`` names its node itself, and the node has not taken it. With roles ``beyond``, a job has
more than are read, so it waits. A ``claim`` is a
PersistentVolumeClaim; an ``ebs`` is a volume that is not supported. Pods that are ``owned`` have a controller that
makes new ones in their place.
Sub-groups are told apart by a label; their size, and how many of them the job needs, follow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any

from vsched.api.manifests import Origin, decode_manifests
from vsched.framework.callout import Callout
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.mirror.ingest.bounds import ROLES_MAX
from vsched.mirror.stores import MirrorSettings
from vsched.mirror.whatif.paper import PaperMirror
from vsched.model.nodes.usage import DEFAULT_PERIOD, Figures, NodeUsage, Reading
from vsched.model.plan import CycleReport, JobOutcome
from vsched.model.pods.cooperation import ASKED
from vsched.model.snapshot import Snapshot
from vsched.proof.verify import verify
from vsched.settings import default_settings, load_text
from vsched.settings.built_in import REGISTRY
from vsched.settings.proving import facts_of

Manifest = dict[str, Any]
NOW = 1_800_000_000.0
OUR_NAMES = ("vsched", "volcano", "")
"""Schedulers whose pods are ours."""
DEFAULT_POLICY = default_settings(REGISTRY).policy
GROUP = "scheduling.k8s.io/group-name"
VOLCANO = "scheduling.volcano.sh/v1beta1"
STATES = {
    "running": {"phase": "Running"},
    "bound": {"phase": "Pending"},
    "untaken": {"phase": "Pending"},
    "leaving": {"phase": "Running"},
    "succeeded": {"phase": "Succeeded"},
    "failed": {"phase": "Failed"},
    "lost": {"phase": "Unknown"},
}
AMOUNTS = {
    "cpu": "cpu",
    "memory": "memory",
    "pods": "pods",
    "gpu": "example.com/gpu",
    "nvidia": "nvidia.com/gpu",
    "disk": "ephemeral-storage",
}


def policy_of(
    *tiers: str,
    actions: str = "enqueue, allocate, backfill",
    ordering: Mapping[str, object] | None = None,
    **drf: bool,
) -> Policy:
    """A policy with the plugins named in each tier, and how enqueue, allocate and backfill take queues in order."""
    plugins = [[{"name": name} | (drf if name == "drf" else {}) for name in tier.split()] for tier in tiers]
    told = [{"name": name, "arguments": dict(ordering or {})} for name in ("enqueue", "allocate", "backfill")]
    policy = {"actions": actions, "tiers": [{"plugins": tier} for tier in plugins], "configurations": told}
    return policy_from(json.dumps(policy))


@cache
def policy_from(text: str) -> Policy:
    """The policy of a file with this text, read once: many tests have the same. JSON is YAML, and made faster."""
    return load_text(text, "policy", REGISTRY).policy


class Plan:
    """A decided cluster, asked for what a test wants to know."""

    def __init__(self, reports: Sequence[CycleReport]) -> None:
        self.reports = reports
        """One a cycle."""
        self.jobs: dict[str, JobOutcome] = {}
        """Every job that has a PodGroup, as it was seen last."""
        for report in reports:
            self.jobs.update({key: job for key, job in report.jobs.items() if not job.implicit})
        self.queues = reports[-1].queues
        self.order = [bind.name for report in reports for bind in report.binds]
        """Names of bound pods in decision order."""
        self.nodes = {bind.name: bind.node for report in reports for bind in report.binds}
        """Where each bound pod goes."""
        self.evicted = [[evict.name for evict in report.evictions] for report in reports]
        """Names of evicted pods in decision order, cycle by cycle."""

    @property
    def bound(self) -> dict[str, int]:
        """How many pods of each job are bound, jobs by name; a pod is named after its job."""
        counts: dict[str, int] = {}
        for name in self.order:
            job = name.partition(".")[0]
            counts[job] = counts.get(job, 0) + 1
        return counts

    def why(self, pod: str) -> str:
        """What is said of a pod that waits."""
        return self.reports[-1].unschedulable[pod].message

    def message(self, job: str) -> str:
        """What is said of a job that waits."""
        return self.jobs[job].message

    def phases(self) -> dict[str, str]:
        """Phases by job name."""
        return {key.partition("/")[2]: job.phase for key, job in self.jobs.items()}

    def held(self, queue: str) -> dict[str, int]:
        """What a queue and all below it hold, in base units."""
        outcome = self.queues[queue]
        return outcome.subtree or outcome.allocated


def plan(
    text: str,
    policy: Policy = DEFAULT_POLICY,
    *,
    cycles: int = 1,
    ignored: Iterable[str] = (),
    callouts: Callable[[], Callout | None] = lambda: None,
    proved: bool = True,
) -> Plan:
    """What is decided on the cluster that the text describes; it keeps the rules, unless it need not be ``proved``."""
    found = manifests(text)
    return decide(found, policy, cycles=cycles, usage=reading(text), ignored=ignored, callouts=callouts, proved=proved)


def check(snapshot: Snapshot, policy: Policy, report: CycleReport) -> None:
    """Fail where a report breaks a rule that the checker knows."""
    broken = [one for one in verify(snapshot, facts_of(policy), report) if one.violations]
    assert not broken, broken


def decide(
    objects: Iterable[Manifest],
    policy: Policy = DEFAULT_POLICY,
    *,
    cycles: int = 1,
    usage: Reading | None = None,
    ignored: Iterable[str] = (),
    callouts: Callable[[], Callout | None] = lambda: None,
    proved: bool = False,
) -> Plan:
    """What is decided on these objects; between cycles what was decided has come true."""
    cache, reports = mirror(objects, ignored=ignored), []
    cache.inputs.use(usage)
    for _ in range(cycles):
        snapshot = cache.snapshot(NOW)
        report = run_cycle(snapshot, policy, REGISTRY, callout=callouts())
        if proved:
            check(snapshot, policy, report)
        reports.append(report)
        cache.settle(report)
    return Plan(reports)


def reading(text: str) -> Reading | None:
    """What the nodes use, by the ``usage`` lines of the text; None where there are none."""
    nodes: dict[str, NodeUsage] = {}
    for line in text.splitlines():
        kind, *words = line.split() or [""]
        if kind == "usage":
            fields = dict(word.partition("=")[::2] for word in words[1:])
            known = nodes.get(words[0], NodeUsage(0.0))
            period, spread = fields.get("period", DEFAULT_PERIOD), float(fields.get("spread", "0"))
            figures = {
                name: {period: Figures(float(fields[name]), spread)} for name in ("cpu", "memory") if name in fields
            }
            cpu, memory = known.cpu | figures.get("cpu", {}), known.memory | figures.get("memory", {})
            nodes[words[0]] = NodeUsage(NOW - float(fields.get("age", "0")), cpu, memory)
    return Reading(NOW, nodes) if nodes else None


def mirror(objects: Iterable[Manifest], *, arbitrating: bool = False, ignored: Iterable[str] = ()) -> PaperMirror:
    """The mirror of these objects."""
    names, words = frozenset(OUR_NAMES), frozenset(ignored)
    cache = PaperMirror(MirrorSettings(names, open_without_state=True, arbitrating=arbitrating, ignored=words))
    decoded = decode_manifests((Origin("text", str(at)), found) for at, found in enumerate(objects))
    for kind, found in decoded.objects.items():
        cache.intake.replace(kind, found)
    assert not cache.broken, cache.broken
    return cache


def manifests(text: str) -> list[Manifest]:
    """The Kubernetes objects that the text describes."""
    made: list[Manifest] = []
    numbers: dict[str, int] = {}
    for line in text.splitlines():
        kind, *words = line.split()[:2] or [""]
        if not kind:
            continue
        name, rest = words[0], line.split()[2:]
        fields = dict(word.partition("=")[::2] for word in rest if "=" in word)
        switches = [word for word in rest if "=" not in word]
        match kind:
            case "node":
                made.append(_node(name, fields, switches))
            case "queue":
                made.append(_queue(name, fields))
            case "class":
                made.append({"kind": "PriorityClass", "metadata": {"name": name}, "value": int(switches[0])})
            case "weight":
                quota = {"hard": {"volcano.sh/namespace.weight": switches[0]}}
                made.append({"kind": "ResourceQuota", "metadata": {"name": "weight", "namespace": name}, "spec": quota})
            case "quota":
                made.append(_quota(name, fields))
            case "pdb":
                made.append(_budget(name, fields))
            case "job":
                made.append(_group(name, fields))
                made += _pods(name, int(fields.get("pods", "0")), fields, switches, numbers)
            case "pods":
                made += _pods(name, int(switches.pop(0)), fields, switches, numbers)
            case "usage":
                pass  # no object: ``reading`` takes it
            case _:
                raise AssertionError(f"{line!r}: {kind!r} is no kind of this language")
    return made


def _node(name: str, fields: dict[str, str], switches: list[str]) -> Manifest:
    labels = {key: value for key, value in fields.items() if key not in (*AMOUNTS, "taint", "age")}
    allocatable = {"cpu": "4", "memory": "64Gi", "pods": "110"} | _amounts(fields)
    taints = [taint.partition(":") for taint in fields.get("taint", "").split(",") if taint]
    created = {"creationTimestamp": _stamp(fields)} if "age" in fields else {}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}, **created},
        "spec": {
            "unschedulable": "cordoned" in switches,
            "taints": [{"key": key, "value": value, "effect": "NoSchedule"} for key, _, value in taints],
        },
        "status": {"allocatable": allocatable},
    }


def _queue(name: str, fields: dict[str, str]) -> Manifest:
    spec: Manifest = {key: int(fields[key]) for key in ("weight", "priority") if key in fields}
    spec["capability"] = _mapping(fields.get("capability", ""))
    spec["deserved"] = _mapping(fields.get("deserved", ""))
    spec["guarantee"] = {"resource": _mapping(fields.get("guarantee", ""))}
    spec["parent"] = fields.get("parent", "")
    if "class" in fields:
        spec["priorityClassName"] = fields["class"]
    if "reclaimable" in fields:
        spec["reclaimable"] = fields["reclaimable"] == "true"
    if (groups := _node_groups(fields)) is not None:
        spec["affinity"] = groups
    place = {"volcano.sh/hierarchy": "hierarchy", "volcano.sh/hierarchy-weights": "weights"}
    annotations = _annotations(fields) | {key: fields[field] for key, field in place.items() if field in fields}
    return {
        "apiVersion": VOLCANO,
        "kind": "Queue",
        "metadata": {"name": name, "creationTimestamp": _stamp(fields), "annotations": annotations},
        "spec": spec,
        "status": {"state": fields["state"]} if "state" in fields else {},
    }


def _node_groups(fields: dict[str, str]) -> Manifest | None:
    when = "DuringSchedulingIgnoredDuringExecution"
    words = {"required": "required", "preferred": "preferred", "antiRequired": "required", "antiPreferred": "preferred"}
    affinity: Manifest = {}
    for word, strength in words.items():
        if word in fields:
            part = affinity.setdefault("nodeGroupAntiAffinity" if word.startswith("anti") else "nodeGroupAffinity", {})
            part[f"{strength}{when}"] = fields[word].split(",")
    return affinity or None


def _quota(key: str, fields: dict[str, str]) -> Manifest:
    namespace, _, name = key.partition("/")
    hard = {field: value for field, value in fields.items() if field != "used"}
    return {
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": _mapping(fields.get("used", ""))},
    }


def _budget(key: str, fields: dict[str, str]) -> Manifest:
    namespace, _, name = key.partition("/")
    granted = {pod: _stamp({}) for pod in fields.get("disrupted", "").split(",") if pod}
    return {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": name, "namespace": namespace, "generation": int(fields.get("generation", "1"))},
        "spec": {
            "selector": {"matchLabels": _mapping(fields.get("selector", ""))},
            **({"unhealthyPodEvictionPolicy": fields["unhealthy"]} if "unhealthy" in fields else {}),
        },
        "status": {
            "observedGeneration": int(fields.get("observed", fields.get("generation", "1"))),
            "disruptionsAllowed": int(fields.get("allowed", "0")),
            "disruptedPods": granted,
            **{key: int(fields[key]) for key in ("currentHealthy", "desiredHealthy") if key in fields},
        },
    }


def _annotations(fields: dict[str, str]) -> dict[str, str]:
    return {key: value.replace("~", " ") for key, value in fields.items() if "/" in key}


def _group(key: str, fields: dict[str, str]) -> Manifest:
    namespace, _, name = key.partition("/")
    spec: Manifest = {"minMember": int(fields.get("min", "1")), "queue": fields.get("queue", "default")}
    if "class" in fields:
        spec["priorityClassName"] = fields["class"]
    if fields.get("roles") == "beyond":
        spec["minTaskMember"] = {f"role-{number}": 0 for number in range(ROLES_MAX + 1)}
    elif "roles" in fields:
        spec["minTaskMember"] = {role: int(count) for role, count in _mapping(fields["roles"]).items()}
    if "minResources" in fields:
        spec["minResources"] = _mapping(fields["minResources"])
    if "topology" in fields:
        spec["networkTopology"] = {"mode": fields["topology"], "highestTierAllowed": int(fields.get("tier", "1"))}
    if "subGroups" in fields:
        spec["subGroupPolicy"] = [_sub_groups(*part.split(":")) for part in fields["subGroups"].split(",")]
    return {
        "apiVersion": VOLCANO,
        "kind": "PodGroup",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": _stamp(fields),
            "annotations": _annotations(fields),
        },
        "spec": spec,
        "status": {"phase": fields["phase"]} if "phase" in fields else {},
    }


def _sub_groups(key: str, size: str, minimum: str) -> Manifest:
    return {"name": key, "subGroupSize": int(size), "minSubGroups": int(minimum), "matchLabelKeys": [key]}


def _pods(key: str, count: int, fields: dict[str, str], switches: list[str], numbers: dict[str, int]) -> list[Manifest]:
    made = []
    for _ in range(count):
        number = numbers[key] = numbers.get(key, -1) + 1
        made.append(_pod(key, number, fields, switches))
    return made


def _pod(key: str, number: int, fields: dict[str, str], switches: list[str]) -> Manifest:
    """Pod number so-and-so of a job is named ``job.number``: without dashes, its number does not order it."""
    namespace, _, job = key.partition("/")
    annotations = {GROUP: job} | _annotations(fields)
    if "role" in fields:
        annotations["volcano.sh/task-spec"] = fields["role"]
    if "priority" in fields:
        annotations["volcano.sh/task-priority"] = fields["priority"]
    metadata = {
        "name": f"{job}.{number}",
        "namespace": namespace,
        "uid": f"{key}.{number}",
        "labels": {} if "unlabelled" in switches else {"job": job} | _mapping(fields.get("labels", "")),
        "annotations": annotations,
        "creationTimestamp": _stamp(fields),
    }
    if "owned" in switches:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": job, "uid": f"{key}-owner", "controller": True}
        metadata["ownerReferences"] = [owner]
    tolerations = [{"key": name, "operator": "Exists"} for name in fields.get("tolerates", "").split(",") if name]
    spec: Manifest = {
        "schedulerName": "vsched",
        "containers": [_container(fields)],
        "schedulingGates": [{"name": "example.com/wait"}] if "gated" in switches else [],
        "nodeSelector": _mapping(fields.get("selector", "")),
        "tolerations": tolerations,
    } | _manners(fields, switches)
    if "ebs" in fields:
        spec["volumes"] = [{"name": "ebs", "awsElasticBlockStore": {"volumeID": fields["ebs"]}}]
    if "claim" in fields:
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": fields["claim"]}}]
    status: Manifest = {"nominatedNodeName": fields.get("nominated", "")}
    if "on" in fields:
        spec["nodeName"] = fields["on"]
        status |= next((STATES[word] for word in switches if word in STATES), STATES["running"])
        since = _stamp({"age": fields.get("scheduled", "0")})
        taken = {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
        status["conditions"] = [] if "untaken" in switches else [taken]
        if "asked" in fields:
            said = {
                "message": fields["asked"].replace("~", " "),
                "lastTransitionTime": _stamp({"age": fields.get("askedAgo", "0")}),
            }
            status["conditions"].append({"type": ASKED, "status": "True", **said})
        if "unready" in switches:
            status["conditions"].append({"type": "Ready", "status": "False"})
        if "started" in fields:
            status["startTime"] = _stamp({"age": fields["started"]})
        if "ended" in fields:
            ended = {"terminated": {"exitCode": 0, "finishedAt": _stamp({"age": fields["ended"]})}}
            status["containerStatuses"] = [{"name": "main", "state": ended}]
        if "leaving" in switches:
            metadata["deletionTimestamp"] = _stamp({})
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _container(fields: dict[str, str]) -> Manifest:
    requests = _amounts(fields, ("cpu", "memory", "gpu", "nvidia", "disk"))
    ports = [{"containerPort": int(fields["port"]), "hostPort": int(fields["port"])}] if "port" in fields else []
    resources: Manifest = {"requests": requests}
    if "limits" in fields:
        resources["limits"] = _mapping(fields["limits"])
    return {"name": "main", "resources": resources, "ports": ports}


def _manners(fields: dict[str, str], switches: list[str]) -> Manifest:
    """How a pod gets on with others: whom it avoids, and whether it may make others leave."""
    spec: Manifest = {"priorityClassName": fields["podClass"]} if "podClass" in fields else {}
    if "restart" in fields:
        spec["restartPolicy"] = fields["restart"]
    if "deadline" in fields:
        spec["activeDeadlineSeconds"] = int(fields["deadline"])
    if "never" in switches:
        spec["preemptionPolicy"] = "Never"
    if "apart" in fields:
        term = {"labelSelector": {"matchLabels": {"job": fields["apart"]}}, "topologyKey": "kubernetes.io/hostname"}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return spec


def _amounts(fields: dict[str, str], names: Iterable[str] = tuple(AMOUNTS)) -> dict[str, str]:
    return {AMOUNTS[name]: fields[name] for name in names if name in fields}


def _mapping(text: str) -> dict[str, str]:
    pairs = (pair.partition(":")[::2] for pair in text.split(",") if pair)
    return {AMOUNTS.get(key, key): value for key, value in pairs}


def _stamp(fields: dict[str, str]) -> str:
    made = datetime.fromtimestamp(NOW - float(fields.get("age", "0")), UTC)
    return made.strftime("%Y-%m-%dT%H:%M:%SZ")
