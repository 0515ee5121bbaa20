"""What operators make of their objects: owners in between and pods, with the owner references and labels they have.

Owner references name kind and name; ``owned`` puts the uids in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import yaml

from vsched import api
from vsched.mirror.ingest.workload_kinds import WorkloadKind
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings
from vsched.model.jobs.spec import JobSpec
from vsched.settings.workloads import built_in_table, table_of

Obj = dict[str, Any]
SAMPLES = Path(__file__).parents[2] / "config" / "samples" / "workloads"
NOT_INSTALLED = ("Job", "StatefulSet")
"""Kinds that every cluster has."""


def sample(name: str) -> Obj:
    """The object of a sample."""
    found: Obj = yaml.safe_load((SAMPLES / f"{name}.yaml").read_text(encoding="utf-8"))
    return found


def definition(kind: WorkloadKind) -> Obj:
    """The smallest definition of a kind: any object will do."""
    resource = kind.resources[0]
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {
        "kind": kind.kind,
        "listKind": f"{kind.kind}List",
        "plural": resource.plural,
        "singular": kind.kind.lower(),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{resource.plural}.{resource.group}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {"group": resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def definitions() -> Iterator[Obj]:
    """Definitions of all kinds of the built-in table."""
    return map(definition, built_in_table().followed)


def owned(obj: Obj, uid_of: Callable[[str, str], str]) -> Obj:
    """The object with the uids of its owners, by kind and name."""
    made = deepcopy(obj)
    for reference in made["metadata"].get("ownerReferences", ()):
        reference["uid"] = uid_of(reference["kind"], reference["name"])
    return made


def made_of(obj: Obj) -> list[Obj]:
    """What the operator makes of an object, in the order in which it does."""
    return list(_MAKERS[obj["kind"]](obj))


def pod(name: str, owner: Obj, labels: Obj | None = None, annotations: Obj | None = None, cpu: str = "1") -> Obj:
    """A pod that this object controls."""
    found = _controlled("v1", "Pod", name, owner, labels)
    if annotations:
        found["metadata"]["annotations"] = annotations
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}
    found["spec"] = {"schedulerName": "vsched", "containers": [container]}
    return found


def _controlled(version: str, kind: str, name: str, owner: Obj, labels: Obj | None = None) -> Obj:
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "controller": True,
    }
    metadata: Obj = {"name": name, "namespace": "default", "ownerReferences": [reference]}
    if labels:
        metadata["labels"] = labels
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def _job(name: str, owner: Obj, count: int) -> Obj:
    """A Job that its own controller leaves alone: the pods are made here."""
    found = _controlled("batch/v1", "Job", name, owner)
    container = {"name": "main", "image": "busybox"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    found["spec"] = {
        "parallelism": count,
        "completions": count,
        "managedBy": "example.com/operator",
        "template": template,
    }
    return found


def _of_jobset(obj: Obj) -> Iterator[Obj]:
    own = obj["metadata"]["name"]
    for each in obj["spec"]["replicatedJobs"]:
        count = each["template"]["spec"].get("parallelism", 1)
        labels = {
            "jobset.sigs.k8s.io/jobset-name": own,
            "jobset.sigs.k8s.io/replicatedjob-name": each["name"],
        }
        for index in range(each.get("replicas", 1)):
            job = _job(f"{own}-{each['name']}-{index}", obj, count)
            yield job
            for number in range(count):
                name = f"{job['metadata']['name']}-{number}"
                yield pod(name, job, {**labels, "jobset.sigs.k8s.io/job-index": str(index)})


def _of_trainjob(obj: Obj) -> Iterator[Obj]:
    jobset = _controlled("jobset.x-k8s.io/v1alpha2", "JobSet", obj["metadata"]["name"], obj)
    nodes = obj["spec"]["trainer"]["numNodes"]
    jobset["spec"] = {"replicatedJobs": [{"name": "node", "template": {"spec": {"parallelism": nodes}}}]}
    yield jobset
    yield from _of_jobset(jobset)


def _of_leaderworkerset(obj: Obj) -> Iterator[Obj]:
    own, size = obj["metadata"]["name"], obj["spec"]["leaderWorkerTemplate"]["size"]
    leaders = _controlled("apps/v1", "StatefulSet", own, obj)
    leaders["spec"] = _stateful(own)
    yield leaders
    for group in range(obj["spec"]["replicas"]):
        labels = {"leaderworkerset.sigs.k8s.io/name": own, "leaderworkerset.sigs.k8s.io/group-index": str(group)}
        leader = pod(f"{own}-{group}", leaders, {**labels, "leaderworkerset.sigs.k8s.io/worker-index": "0"})
        yield leader
        workers = _controlled("apps/v1", "StatefulSet", f"{own}-{group}", leader)
        workers["spec"] = _stateful(f"{own}-{group}")
        yield workers
        for worker in range(1, size):
            index = {"leaderworkerset.sigs.k8s.io/worker-index": str(worker)}
            yield pod(f"{own}-{group}-{worker}", workers, {**labels, **index})


def _stateful(name: str) -> Obj:
    container = {"name": "main", "image": "busybox"}
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}
    selector = {"matchLabels": {"app": name}}
    return {"replicas": 0, "serviceName": name, "selector": selector, "template": template}


def _of_training(specs: str) -> Callable[[Obj], Iterator[Obj]]:
    def made(obj: Obj) -> Iterator[Obj]:
        own = obj["metadata"]["name"]
        for role, each in obj["spec"][specs].items():
            labels = {
                "training.kubeflow.org/job-name": own,
                "training.kubeflow.org/replica-type": role.lower(),
            }
            for number in range(each["replicas"]):
                yield pod(f"{own}-{role.lower()}-{number}", obj, labels)

    return made


def _of_mpijob(obj: Obj) -> Iterator[Obj]:
    own = obj["metadata"]["name"]
    labels = {"training.kubeflow.org/job-name": own}
    for number in range(obj["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"]):
        yield pod(f"{own}-worker-{number}", obj, {**labels, "training.kubeflow.org/job-role": "worker"})
    launcher = _job(f"{own}-launcher", obj, 1)
    yield launcher
    yield pod(f"{own}-launcher-0", launcher, {**labels, "training.kubeflow.org/job-role": "launcher"})


def _of_raycluster(obj: Obj) -> Iterator[Obj]:
    own = obj["metadata"]["name"]
    yield pod(f"{own}-head", obj, {"ray.io/cluster": own, "ray.io/node-type": "head", "ray.io/group": "headgroup"})
    for each in obj["spec"]["workerGroupSpecs"]:
        group = each["groupName"]
        labels = {"ray.io/cluster": own, "ray.io/node-type": "worker", "ray.io/group": group}
        for number in range(each["replicas"]):
            yield pod(f"{own}-{group}-worker-{number}", obj, labels)


def _of_rayjob(obj: Obj) -> Iterator[Obj]:
    own = obj["metadata"]["name"]
    cluster = _controlled("ray.io/v1", "RayCluster", f"{own}-cluster", obj)
    cluster["spec"] = obj["spec"]["rayClusterSpec"]
    yield cluster
    yield from _of_raycluster(cluster)
    submitter = _job(own, obj, 1)
    yield submitter
    yield pod(f"{own}-submitter", submitter, {"ray.io/originated-from-cr-name": own})


def _of_sparkapplication(obj: Obj) -> Iterator[Obj]:
    own = obj["metadata"]["name"]
    labels = {"sparkoperator.k8s.io/app-name": own}
    driver = pod(f"{own}-driver", obj, {**labels, "spark-role": "driver"})
    yield driver
    for number in range(obj["spec"]["executor"]["instances"]):
        yield pod(f"{own}-exec-{number + 1}", driver, {**labels, "spark-role": "executor"})


def _of_plain(obj: Obj) -> Iterator[Obj]:
    count = obj["spec"].get("parallelism") or obj["spec"]["replicas"]
    for number in range(count):
        yield pod(f"{obj['metadata']['name']}-{number}", obj)


def _of_workflow(obj: Obj) -> Iterator[Obj]:
    own = obj["metadata"]["name"]
    labels = {"workflows.argoproj.io/workflow": own}
    yield pod(f"{own}-prepare", obj, labels)
    templates = {each["name"]: each for each in obj["spec"]["templates"]}
    for number in range(3):
        yield pod(f"{own}-fan-{number}", obj, labels, templates["fan"]["metadata"]["annotations"])


def _of_podgang(obj: Obj) -> Iterator[Obj]:
    """Its pods are owned by PodCliques, and name the PodGang by their label."""
    for each in obj["spec"]["podgroups"]:
        clique = {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "metadata": {"name": each["name"]}}
        labels = {"grove.io/podgang": obj["metadata"]["name"], "grove.io/podclique": each["name"]}
        for number in range(each["minReplicas"]):
            yield pod(f"{each['name']}-{number}", clique, labels)


def _of_podcliqueset(obj: Obj) -> Iterator[Obj]:
    own, cliques = obj["metadata"]["name"], obj["spec"]["template"]["cliques"]
    for replica in range(obj["spec"]["replicas"]):
        gang = _controlled("scheduler.grove.io/v1alpha1", "PodGang", f"{own}-{replica}", obj)
        parts = {f"{own}-{replica}-{each['name']}": each["spec"] for each in cliques}
        gang["spec"] = {"podgroups": [{"name": name, "minReplicas": of["minAvailable"]} for name, of in parts.items()]}
        yield gang
        yield from _of_podgang(gang)


_MAKERS: dict[str, Callable[[Obj], Iterator[Obj]]] = {
    "JobSet": _of_jobset,
    "TrainJob": _of_trainjob,
    "LeaderWorkerSet": _of_leaderworkerset,
    "PyTorchJob": _of_training("pytorchReplicaSpecs"),
    "MPIJob": _of_mpijob,
    "RayCluster": _of_raycluster,
    "RayJob": _of_rayjob,
    "SparkApplication": _of_sparkapplication,
    "Job": _of_plain,
    "StatefulSet": _of_plain,
    "Workflow": _of_workflow,
    "PodGang": _of_podgang,
    "PodCliqueSet": _of_podcliqueset,
}


def uid_of(kind: str, name: str) -> str:
    return f"{kind}-{name}".lower()


class Seen:
    """A mirror of what operators make."""

    def __init__(self, table: str = "") -> None:
        self.workloads = table_of(table, "file", built_in_table()) if table else built_in_table()
        self.cache = Mirror(MirrorSettings(frozenset({"vsched"}), workloads=self.workloads))
        self.version = 0

    def read(self, obj: Obj) -> tuple[str, api.Object]:
        """An object in a new version, and its kind in the mirror."""
        self.version += 1
        made = owned(obj, uid_of)
        identity = {"namespace": "default", "uid": uid_of(obj["kind"], obj["metadata"]["name"])}
        made["metadata"] = {**identity, **made["metadata"], "resourceVersion": str(self.version)}
        known = self.workloads.by_owner.get((obj["apiVersion"].rpartition("/")[0], obj["kind"]))
        kind = obj["kind"] if known is None else known.id
        data = orjson.dumps(made)
        return kind, api.read(kind, data) if kind in api.KINDS else api.read_workload(kind, data)

    def tell(self, *objects: Obj, type: str = "MODIFIED") -> None:
        for obj in objects:
            kind, found = self.read(obj)
            self.cache.intake.apply(kind, type, found)

    def jobs(self) -> dict[str, JobSpec]:
        """What is shown, by name of the PodGroup without its prefix."""
        found = self.cache.snapshot(0.0).jobs
        return {key.removeprefix("default/podgroup-"): job.spec for key, job in found.items()}

    def gangs(self) -> dict[str, tuple[int, dict[str, int], int]]:
        """The minimum, the minima by role, and how many pods there are."""
        found = self.cache.snapshot(0.0).jobs
        return {
            key.removeprefix("default/podgroup-"): (
                job.spec.min_member,
                dict(job.spec.min_task_member),
                len(job.tasks),
            )
            for key, job in found.items()
        }

    def sizes(self) -> tuple[int, ...]:
        """How many pods with owners, owners and gangs are kept."""
        found = self.cache.describe()
        return found["owned_pods"], found["pod_owners"], found["owned_gangs"]

    def waiting(self) -> dict[str, str]:
        """Why pods wait for their owners."""
        return {
            task.name: task.unsupported
            for job in self.cache.snapshot(0.0).jobs.values()
            for task in job.tasks.values()
            if task.unsupported
        }
