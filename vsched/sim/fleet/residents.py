"""Residents: pods that an embedded cluster has from its start, up to hundreds of thousands, from a YAML description.

A description is a list (or several documents) of groups of similar pods:

    - count: 120000
      prefix: train-
      gang: 20                                  # pods of a PodGroup; 1 for pods without one
      namespace: training
      namespaces: 10                            # training-0 to training-9, taken in turn
      request: {cpu: 500m, memory: 1Gi}
    - {count: 10000, prefix: wait-, gang: 10, running: false}
    - {count: 30000, prefix: web-, scheduler: default-scheduler}

The first pod of a group is admitted as any other; the rest are stored as its likenesses, past admission and quotas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec

from vsched.apimachinery.manifests.documents import read_documents
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import Kind, Obj
from vsched.apimachinery.meta.times import format_time
from vsched.errors import BadInput, why_unreadable
from vsched.randomness import uid as random_uid
from vsched.sim.controllers.nodes.kubelet import Addresses
from vsched.sim.controllers.pod_lifecycle import running_status
from vsched.sim.fleet.sample_gangs import GROUP_NAME, SCHEDULER_NAME
from vsched.sim.store.field_ownership import owned_paths, to_fields
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter, WriteOptions

MOST = 1_000_000

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
Name = Annotated[str, msgspec.Meta(min_length=1)]


class Residents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Pods that differ only in name, namespace, gang and node."""

    count: Count
    prefix: str = "resident-"
    gang: Positive = 1
    """The pods of one PodGroup; 1 for pods without a PodGroup."""
    namespace: Name = "default"
    namespaces: Positive = 1
    """The number of namespaces, which gangs take in turn; if more than one, they are numbered."""
    queue: str = "default"
    scheduler: str = SCHEDULER_NAME
    request: dict[str, str | int] = msgspec.field(default_factory=lambda: {"cpu": "100m", "memory": "128Mi"})
    running: bool = True
    """Whether they run on the nodes, in turn, or wait for a scheduler."""

    @property
    def gangs(self) -> int:
        """The number of gangs; the last one may be smaller."""
        return -(-self.count // self.gang)

    def namespace_of(self, gang: int) -> str:
        """The namespace of the gang with this number."""
        return self.namespace if self.namespaces == 1 else f"{self.namespace}-{gang % self.namespaces}"


def read_residents(path: Path) -> list[Residents]:
    """The groups of a file; raises BadInput with file and place for an invalid one."""
    found = []
    for document in read_documents(path):
        content: Any = document.obj
        for index, entry in enumerate(content if isinstance(content, list) else [content]):
            try:
                found.append(msgspec.convert(entry, Residents, strict=False))
            except msgspec.ValidationError as error:
                raise BadInput(f"{document.where}[{index}]: {why_unreadable(error)}") from None
    return found


class ResidentLoader:
    """Puts residents into a store, before the controllers start."""

    def __init__(self, store: Store, writer: ObjectWriter, nodes: Sequence[Obj], now: datetime) -> None:
        self._store, self._writer, self._now = store, writer, now
        self._nodes = nodes
        self._placed = 0
        self._pod_ip = Addresses(10, 128, 128)
        self._pods = store.registry.resource("pods")
        self._groups = store.registry.resource("scheduling.volcano.sh/podgroups")

    def settle(self, residents: Residents) -> Iterator[None]:
        """Stores one group, a gang at each step; raises BadInput if its pods would not be admitted."""
        if residents.running and residents.count and not self._nodes:
            raise BadInput(f"residents {residents.prefix}*: they run, and there is no node (expected some)")
        for number in range(min(residents.namespaces, residents.gangs)):
            self._open_namespace(residents.namespace_of(number))
        likenesses: dict[str, PodCopier] = {}
        for gang in range(residents.gangs):
            namespace = residents.namespace_of(gang)
            if namespace not in likenesses:
                likenesses[namespace] = self._likeness(residents, namespace)
            self._settle_gang(residents, likenesses[namespace], gang)
            yield

    def _open_namespace(self, name: str) -> None:
        kind = self._store.registry.resource("namespaces")
        if self._store.get(kind, "", name) is None:
            self._writer.create(kind, "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def _likeness(self, residents: Residents, namespace: str) -> PodCopier:
        try:
            admitted = self._writer.create(
                self._pods, namespace, _body(residents, namespace), WriteOptions(dry_run=True)
            )
        except Failure as failure:
            raise BadInput(f"residents {residents.prefix}*: {failure.message}") from None
        return PodCopier(self._pods, admitted, residents.running, self._now)

    def _settle_gang(self, residents: Residents, likeness: PodCopier, gang: int) -> None:
        first = gang * residents.gang
        size = min(residents.gang, residents.count - first)
        group = f"{residents.prefix}{gang}" if residents.gang > 1 else ""
        if group:
            body = _group_body(residents, group, residents.namespace_of(gang), size)
            self._writer.create_unchecked(self._groups, body)
        for number in range(first, first + size):
            name = f"{residents.prefix}{number}" if not group else f"{group}-{number - first}"
            self._store.create(self._pods, likeness.pod(name, group, self._place(residents), self._pod_ip))

    def _place(self, residents: Residents) -> Obj | None:
        if not residents.running:
            return None
        self._placed += 1
        return self._nodes[self._placed % len(self._nodes)]


class PodCopier:
    """Makes copies of an admitted pod, which share all equal parts."""

    def __init__(self, kind: Kind, admitted: Obj, running: bool, now: datetime) -> None:
        self._moment = format_time(now)
        self._admitted = admitted
        entries = [_managed_fields(kind, admitted, "kube-controller-manager", self._moment)]
        self._status: Obj = admitted["status"]
        if running:
            self._status = running_status(admitted, "", "", now)
            of_status = {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "status": self._status}
            entries.append({**_managed_fields(kind, of_status, "kubelet", self._moment), "subresource": "status"})
        self._entries = entries

    def pod(self, name: str, group: str, node: Obj | None, new_ip: Any) -> Obj:
        """One more pod, on the node if there is one."""
        admitted, uid = self._admitted, random_uid()
        metadata: Obj = {
            **admitted["metadata"],
            "name": name,
            "uid": uid,
            "creationTimestamp": self._moment,
            "labels": {**admitted["metadata"]["labels"], "app.kubernetes.io/instance": group or name},
            "managedFields": self._entries,
        }
        if group:
            metadata["annotations"] = {**metadata["annotations"], GROUP_NAME: group}
        pod = {**admitted, "metadata": metadata}
        if node is not None:
            pod["spec"] = {**admitted["spec"], "nodeName": node["metadata"]["name"]}
            pod["status"] = self._status_on(node, uid, new_ip())
        return pod

    def _status_on(self, node: Obj, uid: str, pod_ip: str) -> Obj:
        address = next((each["address"] for each in node.get("status", {}).get("addresses") or ()), "")
        containers = [
            {**each, "containerID": f"sim://{uid}/{each['name']}"} for each in self._status["containerStatuses"]
        ]
        return {
            **self._status,
            "hostIP": address,
            "hostIPs": [{"ip": address}],
            "podIP": pod_ip,
            "podIPs": [{"ip": pod_ip}],
            "containerStatuses": containers,
        }


def _managed_fields(kind: Kind, obj: Obj, manager: str, moment: str) -> Obj:
    """An entry of metadata.managedFields, which are a good part of the size of real pods."""
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": moment,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_fields(owned_paths(kind, obj)),
    }


def _group_body(residents: Residents, name: str, namespace: str, size: int) -> Obj:
    body: Obj = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"minMember": size, "queue": residents.queue},
    }
    if residents.running:
        body["status"] = {"phase": "Running", "running": size}
    return body


def _body(residents: Residents, namespace: str) -> Obj:
    """A pod of about the size of real pods."""
    name = residents.prefix.rstrip("-.") or "resident"
    request = {resource: str(amount) for resource, amount in residents.request.items()}
    environment: list[Obj] = [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(8)]
    fields = {"POD_NAME": "metadata.name", "POD_NAMESPACE": "metadata.namespace", "NODE_NAME": "spec.nodeName"}
    environment += [{"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in fields.items()]
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "failureThreshold": 3}
    container = {
        "name": "main",
        "image": f"registry.example/{name}:1.0",
        "command": ["/bin/worker", "--config=/etc/worker/config.yaml"],
        "env": environment,
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": request, "limits": request},
        "readinessProbe": probe,
        "livenessProbe": probe,
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/worker", "readOnly": True},
            {"name": "scratch", "mountPath": "/scratch"},
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/component": "worker", "team": "batch"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
        },
        "spec": {
            "schedulerName": residents.scheduler,
            "restartPolicy": "Always",
            "containers": [container],
            "volumes": [{"name": "config", "configMap": {"name": name}}, {"name": "scratch", "emptyDir": {}}],
        },
    }
