"""The workload controllers: ReplicaSets, Deployments, StatefulSets, DaemonSets, Jobs and CronJobs.

They follow changes and read objects. The modules beside this one decide what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.objects import controller_of, controller_uid, is_deleting, split_key, without_finalizer
from vsched.apimachinery.meta.times import utc_now
from vsched.apimachinery.workloads import daemon_sets, deployments, job_groups, jobs, replica_sets, stateful_sets
from vsched.apimachinery.workloads.actions import Action, Create, Update
from vsched.sim.client import LocalClient
from vsched.sim.controllers.controller import Controller
from vsched.sim.controllers.pod_index import PodIndex
from vsched.sim.controllers.workloads import cron_jobs
from vsched.sim.store.store import key_of

_POD = "pod:"
"""The prefix of keys of the Jobs controller that name a pod."""


def owner_keys(obj: Obj, old: Obj | None, kind: str) -> list[str]:
    """The keys of the controllers of this kind that own the object, or did before."""
    namespace = obj["metadata"].get("namespace", "")
    owners = [controller_of(each) for each in (obj, old) if each is not None]
    return [f"{namespace}/{owner['name']}" for owner in owners if owner and owner["kind"] == kind]


class WorkloadController(Controller):
    """Reconciles a workload when it changes, or an object that it controls."""

    kind: ClassVar[str]
    only_owned_pods: ClassVar[bool] = True

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return (key_of(obj),) if resource == self.primary else owner_keys(obj, old, self.kind)


class ReplicaSets(WorkloadController):
    """Keeps as many pods of one template as wanted."""

    name: ClassVar[str] = "replica sets"
    kind: ClassVar[str] = "ReplicaSet"
    primary: ClassVar[str] = "apps/replicasets"
    component: ClassVar[str] = "replicaset-controller"
    watches: ClassVar[tuple[str, ...]] = ("apps/replicasets", "pods")

    def reconcile(self, key: str) -> Sequence[Action]:
        replica_set = self.find(key)
        if replica_set is None:
            return ()
        orphans: list[Obj] = []
        if not (replica_set.get("status") or {}).get("observedGeneration"):
            # Only a set that is seen for the first time adopts pods, because that takes a walk through the namespace.
            orphans = replica_sets.unowned(self.pod_index.in_namespace(replica_set["metadata"]["namespace"]))
        return replica_sets.reconcile(replica_set, self.pod_index.owned_by(replica_set), orphans, utc_now())


class Deployments(WorkloadController):
    """Rolls ReplicaSets over to new templates."""

    name: ClassVar[str] = "deployments"
    kind: ClassVar[str] = "Deployment"
    primary: ClassVar[str] = "apps/deployments"
    component: ClassVar[str] = "deployment-controller"
    watches: ClassVar[tuple[str, ...]] = ("apps/deployments", "apps/replicasets", "pods")

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        if resource == self.primary:
            return (key_of(obj),)
        if resource == "pods":
            return self._recreating(obj) if gone else ()
        return owner_keys(obj, old, self.kind) or self._adopters(obj)

    def _recreating(self, pod: Obj) -> list[str]:
        """The Deployment of a pod that is gone: with the strategy Recreate it may wait for that."""
        found: list[str] = []
        for key in owner_keys(pod, None, "ReplicaSet"):
            replica_set = self.client.get("apps/replicasets", *key.split("/", 1))
            found += owner_keys(replica_set, None, "Deployment") if replica_set else []
        return found

    def _adopters(self, replica_set: Obj) -> list[str]:
        return [key_of(each) for each in self.client.list(self.primary, replica_set["metadata"]["namespace"])]

    def reconcile(self, key: str) -> Sequence[Action]:
        deployment = self.find(key)
        if deployment is None:
            return ()
        sets = self.client.list("apps/replicasets", deployment["metadata"]["namespace"])
        pods_of_old = 0
        if deployment["spec"].get("strategy", {}).get("type") == "Recreate":
            owned = replica_sets.owned_by(sets, deployment)
            current = deployments.current_set(deployment, owned)
            pods_of_old = sum(len(self.pod_index.owned_by(each)) for each in owned if each is not current)
        return deployments.reconcile(deployment, sets, pods_of_old, utc_now())


class _ClaimNames:
    """The names of the volume claims of a namespace, each looked up when it is asked for."""

    def __init__(self, client: LocalClient, namespace: str) -> None:
        self._client, self._namespace = client, namespace

    def __contains__(self, name: object) -> bool:
        return self._client.get("persistentvolumeclaims", self._namespace, str(name)) is not None


class StatefulSets(WorkloadController):
    """Keeps pods with stable names."""

    name: ClassVar[str] = "stateful sets"
    kind: ClassVar[str] = "StatefulSet"
    primary: ClassVar[str] = "apps/statefulsets"
    component: ClassVar[str] = "statefulset-controller"
    watches: ClassVar[tuple[str, ...]] = ("apps/statefulsets", "pods")

    def reconcile(self, key: str) -> Sequence[Action]:
        stateful_set = self.find(key)
        if stateful_set is None:
            return ()
        claims = _ClaimNames(self.client, stateful_set["metadata"]["namespace"])
        return stateful_sets.reconcile(stateful_set, self.pod_index.owned_by(stateful_set), claims, utc_now())


class DaemonSets(WorkloadController):
    """Keeps a pod for each node that fits."""

    name: ClassVar[str] = "daemon sets"
    kind: ClassVar[str] = "DaemonSet"
    primary: ClassVar[str] = "apps/daemonsets"
    component: ClassVar[str] = "daemonset-controller"
    watches: ClassVar[tuple[str, ...]] = ("apps/daemonsets", "pods", "nodes")
    settle_seconds: ClassVar[float] = 0.02

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        return self.keys() if resource == "nodes" else super().affected(resource, obj, old, gone=gone)

    def reconcile(self, key: str) -> Sequence[Action]:
        daemon_set = self.find(key)
        if daemon_set is None:
            return ()
        return daemon_sets.reconcile(
            daemon_set, self.pod_index.owned_by(daemon_set), self.client.list("nodes"), utc_now()
        )


class Jobs(WorkloadController):
    """Runs pods until enough have succeeded."""

    name: ClassVar[str] = "jobs"
    kind: ClassVar[str] = "Job"
    primary: ClassVar[str] = "batch/jobs"
    component: ClassVar[str] = "job-controller"
    watches: ClassVar[tuple[str, ...]] = ("batch/jobs", "pods")

    def __init__(self, client: LocalClient, pod_index: PodIndex, times: jobs.JobTimes) -> None:
        super().__init__(client, pod_index)
        self._times = times

    def affected(self, resource: str, obj: Obj, old: Obj | None, *, gone: bool) -> Iterable[str]:
        keys = super().affected(resource, obj, old, gone=gone)
        return [*keys, _POD + key_of(obj)] if is_deleting(obj) and not gone and jobs.is_tracked(obj) else keys

    def reconcile(self, key: str) -> Sequence[Action]:
        if key.startswith(_POD):
            return self._release(key.removeprefix(_POD))
        job = self.find(key)
        if job is None:
            return ()
        found = jobs.reconcile(job, self.pod_index.owned_by(job), utc_now(), self._times)
        api_version = self._group_version()
        if not api_version or not job_groups.wants_group(job, api_version):
            return found
        return self._grouped(job, found, api_version)

    def _group_version(self) -> str:
        """The version in which PodGroups of Kubernetes are made; empty where none is served."""
        try:
            return self.client.kind(job_groups.GROUPS).api_version
        except KeyError:
            return ""

    def _grouped(self, job: Obj, found: list[Action], api_version: str) -> Sequence[Action]:
        """What to do, with a PodGroup for the pods: a Job whose pods began without one goes on without."""
        name, namespace = job_groups.group_name(job), job["metadata"]["namespace"]
        workload = self.client.get(job_groups.WORKLOADS, namespace, job_groups.workload_name(job))
        group = self.client.get(job_groups.GROUPS, namespace, name)
        makes_pods = any(isinstance(each, Create) for each in found)
        if workload is None and (not makes_pods or self.pod_index.owned_by(job)):
            return found
        before, may_make = job_groups.prepare(job, workload, group, api_version) if makes_pods or group else ([], True)
        return [*before, *job_groups.joined(found, name)] if may_make else before

    def _release(self, key: str) -> Sequence[Action]:
        """Removes the finalizer of a deleted pod whose Job is gone."""
        pod = self.client.get("pods", *split_key(key))
        owner = controller_of(pod) if pod is not None else None
        if pod is None or not jobs.is_tracked(pod):
            return ()
        job = self.find(f"{pod['metadata']['namespace']}/{owner['name']}") if owner else None
        if owner is not None and job is not None and job["metadata"]["uid"] == owner["uid"]:
            return ()
        return [Update("pods", without_finalizer(pod, jobs.TRACKING))]


class CronJobs(WorkloadController):
    """Makes Jobs by schedule."""

    name: ClassVar[str] = "cron jobs"
    kind: ClassVar[str] = "CronJob"
    primary: ClassVar[str] = "batch/cronjobs"
    component: ClassVar[str] = "cronjob-controller"
    watches: ClassVar[tuple[str, ...]] = ("batch/cronjobs", "batch/jobs")

    def reconcile(self, key: str) -> Sequence[Action]:
        cron_job = self.find(key)
        if cron_job is None or is_deleting(cron_job):
            return ()
        uid = cron_job["metadata"]["uid"]
        jobs = self.client.list("batch/jobs", cron_job["metadata"]["namespace"])
        owned = [job for job in jobs if controller_uid(job) == uid]
        return cron_jobs.reconcile(cron_job, owned, utc_now())
