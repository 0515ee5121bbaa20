"""An API server on paper: what the cluster's would make of objects, and its controllers of workloads. Nothing is sent.

The rules of an API server, on a store of its own: objects are checked, defaults and priorities filled in,
and workloads become pods. Uids and names are drawn from a seed: the same input makes the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from vsched.api.manifests import group_and_kind
from vsched.apimachinery.admission.objects import admit_create, charge_quotas
from vsched.apimachinery.admission.updates import merge_update
from vsched.apimachinery.meta import conversion
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.objects import controller_uid
from vsched.apimachinery.objects import native_groups
from vsched.apimachinery.objects.body_decoding import decoded, decoded_patch
from vsched.apimachinery.objects.crds import foreign_definitions, kinds_of, prepare_definition, shipped_definitions
from vsched.apimachinery.objects.system import NAMESPACES, system_priority_classes
from vsched.apimachinery.workloads import daemon_sets, deployments, job_groups, jobs, replica_sets, stateful_sets
from vsched.apimachinery.workloads.actions import Action, Create
from vsched.apimachinery.writing import (
    Identities,
    check_new,
    check_unversioned,
    check_update,
    prepared_new,
    prepared_update,
)
from vsched.cli.plan.paper_store import PaperStore
from vsched.cli.plan.told import MOST_PODS, WORKLOADS
from vsched.cli.plan.words import objects as words
from vsched.errors import BadInput
from vsched.mirror.ingest.budgets import LIMITS
from vsched.model.amounts.resources import format_amount
from vsched.model.jobs.native import OLDEST_VERSION
from vsched.model.queues.queue import PriorityClass
from vsched.model.queues.quota import Quota

SEED = 7
NEWEST_VERSION = "v1beta1"
_FORBIDDEN, _CONFLICT = 403, 409
_SETS, _CLAIMS = "apps/replicasets", "persistentvolumeclaims"
_CLASSES, _QUOTAS = "scheduling.k8s.io/priorityclasses", "resourcequotas"


class Made(NamedTuple):
    """What became of one manifest."""

    obj: Obj
    """As the server would store it."""
    others: Sequence[Obj]
    """What its controller makes of it: pods, and the ReplicaSets in between."""
    refused: str = ""
    """Why its controller makes no more pods, in the server's words: a quota is full."""


def group_version_of(versions: Iterable[str]) -> str:
    """The version of PodGroups that a Job gets in a cluster where groups of these versions were seen."""
    return OLDEST_VERSION if set(versions) == {OLDEST_VERSION} else NEWEST_VERSION


class PaperServer:
    """An API server that knows the nodes, namespaces, quotas and priority classes of a cluster."""

    def __init__(
        self,
        now: float,
        *,
        nodes: Iterable[Obj],
        namespaces: Iterable[str],
        classes: Mapping[str, PriorityClass],
        quotas: Mapping[str, Sequence[Quota]],
        group_version: str = NEWEST_VERSION,
    ) -> None:
        """``group_version`` is the version of Kubernetes' own PodGroups that its controller of Jobs makes."""
        self._now = datetime.fromtimestamp(now, UTC)
        self._store = PaperStore()
        native_groups.serve(self._store.registry, native_groups.VERSIONS)
        for definition in (*shipped_definitions(), *foreign_definitions()):
            for kind in kinds_of(prepare_definition(definition)):
                self._store.registry.add(kind)
        self._group_version = f"{native_groups.GROUP}/{group_version}"
        self._identities = Identities(lambda: self._now, SEED)
        for name in (*NAMESPACES, *namespaces):
            self.ensure_namespace(name)
        for priority_class in system_priority_classes():
            self._put(_CLASSES, priority_class)
        for node in nodes:
            self._put("nodes", node)
        for found in classes.values():
            self._ensure_class(found)
        for name, limits in quotas.items():
            self.ensure_namespace(name)
            for quota in limits:
                self._put(_QUOTAS, _quota(name, quota))

    def ensure_namespace(self, name: str) -> bool:
        """Have a namespace of this name; False where there was one."""
        if self.has_namespace(name):
            return False
        self._put("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return True

    def has_namespace(self, name: str) -> bool:
        """Whether there is a namespace of this name."""
        return self._store.find("namespaces", "", name) is not None

    def quotas(self, namespace: str) -> list[Obj]:
        """The quotas of a namespace, with what was made here charged to them."""
        return self._store.objects(_QUOTAS, namespace)

    def served(self, manifest: Obj) -> list[str]:
        """The versions in which a kind of this name and group is served."""
        wanted = group_and_kind(manifest)
        known = (kind for kind in self._store.registry if (kind.group, kind.kind) == wanted)
        return sorted(kind.api_version for kind in known)

    def kind_of(self, manifest: Obj) -> Kind | None:
        """What kind an object is of; where it does not say its version, any version there is."""
        registry, name = self._store.registry, manifest["kind"]
        version = manifest.get("apiVersion")
        if version:
            return registry.of(version, name)
        return next((kind for kind in registry if kind.kind == name), None)

    def create(self, kind: Kind, manifest: Obj) -> Made:
        """A new object with everything that is made of it; raises the server's Failure, and BadInput where that is too
        much.
        """
        stored = self._create(kind, manifest)
        spec = stored.get("spec") or {}
        pods = max(spec.get("replicas") or 0, spec.get("parallelism") or 0)
        if kind.kind in WORKLOADS and pods > MOST_PODS:
            raise BadInput(words.too_many_pods(f"{kind.kind} {stored['metadata']['name']}", pods, MOST_PODS))
        if kind.kind not in WORKLOADS:
            return Made(stored, ())
        others: list[Obj] = []
        try:
            others.extend(self._made_by(stored))
        except Failure as failure:
            if failure.code != _FORBIDDEN:
                raise
            return Made(stored, others, failure.message)
        return Made(stored, others)

    def create_pods(self, owner: Obj, pods: Iterable[Obj]) -> Made:
        """The pods that an operator makes of an object, as many as quotas let it; raises the server's Failure."""
        kind, made = self._store.registry.resource("pods"), list[Obj]()
        for pod in pods:
            try:
                made.append(self._create(kind, pod))
            except Failure as failure:
                if failure.code != _FORBIDDEN:
                    raise
                return Made(owner, made, failure.message)
        return Made(owner, made)

    def change(self, before: Obj, change: Callable[[Obj], Obj], subresource: str = "") -> Obj:
        """An object that is known from elsewhere, as it would be after a change; raises the server's Failure.

        What it was does not have to be valid; only what it becomes is checked.
        """
        kind = self.kind_of(before)
        assert kind is not None, before["kind"]
        before = self._store.put(kind, self._identities.named(kind, before["metadata"].get("namespace", ""), before))
        wanted = decoded_patch(kind, change(before), "Warn", [])
        after = prepared_update(kind, merge_update(kind, wanted, before, subresource), before)
        check_update(kind, after, before, subresource)
        return self._store.put(kind, after)

    def _put(self, resource: str, obj: Obj) -> None:
        """Have an object, without any checks."""
        kind = self._store.registry.resource(resource)
        self._store.put(kind, self._identities.named(kind, obj["metadata"].get("namespace", ""), obj))

    def _create(self, kind: Kind, body: Obj) -> Obj:
        """A new object, with all that a server adds and checks; raises Failure."""
        obj = decoded(kind, body, "Warn", [], new=True)
        given = obj.get("metadata") or {}
        obj = prepared_new(kind, self._identities.named(kind, given.get("namespace", ""), obj))
        obj = admit_create(kind, obj, self._store, name=given.get("name") or given.get("generateName") or "")
        check_new(kind, obj)
        for quota in charge_quotas(kind, obj, self._store):
            self._store.put(self._store.registry.resource(_QUOTAS), quota)
        check_unversioned(given)
        stored = self._store.registry.stored(kind)
        return conversion.to_served(kind, self._store.create(stored, conversion.to_stored(kind, stored, obj)))

    def _ensure_class(self, found: PriorityClass) -> None:
        if self._store.find(_CLASSES, "", found.name) is None:
            self._put(
                _CLASSES,
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": found.name},
                    "value": found.value,
                    "globalDefault": found.is_default,
                    "preemptionPolicy": "PreemptLowerPriority" if found.preempts else "Never",
                },
            )

    # What controllers make of workloads

    def _born(self, resource: str, obj: Obj) -> Obj:
        """An object that a controller makes; it tries again where a name that was drawn is taken, as clients do."""
        while True:
            try:
                return self._create(self._store.registry.resource(resource), obj)
            except Failure as failure:
                if failure.code != _CONFLICT or obj["metadata"].get("name"):
                    raise

    def _made_by(self, workload: Obj) -> Iterator[Obj]:
        if workload["kind"] == "Deployment":
            for replica_set in self._grown(
                lambda sets: deployments.reconcile(workload, sets, 0, self._now), workload, _SETS
            ):
                yield replica_set
                yield from self._made_by(replica_set)
        elif workload["kind"] == "Job" and job_groups.wants_group(workload, self._group_version):
            yield from self._grouped(workload)
        else:
            yield from self._grown(lambda pods: self._next_pods(workload, pods), workload, "pods")

    def _grouped(self, job: Obj) -> Iterator[Obj]:
        """A Job whose pods form a PodGroup: its Workload, the group, and the pods."""
        made: list[Obj] = []
        for _ in ("Workload", "PodGroup"):
            workload = made[0] if made else None
            actions, _ = job_groups.prepare(job, workload, None, self._group_version)
            (wanted,) = (each for each in actions if isinstance(each, Create))
            kind = self._store.registry.of(self._group_version, wanted.obj["kind"])
            assert kind is not None, self._group_version
            made.append(self._create(kind, wanted.obj))
        yield from made
        name = job_groups.group_name(job)
        yield from self._grown(lambda pods: job_groups.joined(self._next_pods(job, pods), name), job, "pods")

    def _grown(self, step: Callable[[Sequence[Obj]], Sequence[Action]], owner: Obj, resource: str) -> Iterator[Obj]:
        """What a controller creates, step by step, until it has all it wants; with the volume claims for it."""
        uid = owner["metadata"]["uid"]
        made: list[Obj] = []
        while True:
            actions = [each for each in step(made) if isinstance(each, Create)]
            wanted = [each for each in actions if each.resource == resource]
            if not wanted:
                return
            yield from (self._born(_CLAIMS, each.obj) for each in actions if each.resource == _CLAIMS)
            for each in wanted:
                created = self._born(resource, each.obj)
                assert controller_uid(created) == uid
                made.append(created)
                yield created

    def _next_pods(self, workload: Obj, pods: Sequence[Obj]) -> Sequence[Action]:
        match workload["kind"]:
            case "ReplicaSet":
                return replica_sets.reconcile(workload, pods, (), self._now)
            case "StatefulSet":
                # One after the other means: when the one before is ready. All of them are asked about here.
                spec = {**workload["spec"], "podManagementPolicy": "Parallel"}
                return stateful_sets.reconcile({**workload, "spec": spec}, pods, {}, self._now)
            case "DaemonSet":
                return daemon_sets.reconcile(workload, pods, self._store.objects("nodes"), self._now)
            case _:
                return jobs.reconcile(workload, pods, self._now, jobs.JobTimes())


def _quota(namespace: str, quota: Quota) -> Obj:
    """A quota as its controller has left it."""

    def told(amounts: Iterable[tuple[str, str, int]]) -> dict[str, str]:
        return {name: format_amount(resource.removeprefix(LIMITS), value) for name, resource, value in amounts}

    hard = told((line.name, line.resource, line.hard) for line in quota.lines)
    used = told((line.name, line.resource, line.used) for line in quota.lines)
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": quota.name, "namespace": namespace},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used},
    }
