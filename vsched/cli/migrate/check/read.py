"""What is read of a cluster, by the user's own kubeconfig; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from vsched.api.resources import (
    CONFIG_MAPS,
    JOB_FLOWS,
    JOB_TEMPLATES,
    NODE_SHARDS,
    NODES,
    PODGROUPS,
    PODS,
    QUEUES,
    RESOURCES,
    VCJOB,
    VCJOBS,
    VOLCANO_CRON_JOB,
    VOLCANO_CRON_JOBS,
)
from vsched.cli.ask.cluster import ClusterFlags, with_client
from vsched.cli.migrate.check.findings import Obj
from vsched.kube.client import ApiClient
from vsched.kube.errors import Forbidden, NotFound
from vsched.kube.paths import ApiResource

DEPLOYMENTS = ApiResource("apps", "v1", "deployments")
IN_NAMESPACE: dict[str, ApiResource] = {"Deployment": DEPLOYMENTS, "ConfigMap": CONFIG_MAPS}
"""Kinds that are read of Volcano's namespace alone."""
_ADMISSION = "admissionregistration.k8s.io"
WEBHOOKS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
IN_CLUSTER: dict[str, ApiResource] = {
    WEBHOOKS[0]: ApiResource(_ADMISSION, "v1", "validatingwebhookconfigurations", namespaced=False),
    WEBHOOKS[1]: ApiResource(_ADMISSION, "v1", "mutatingwebhookconfigurations", namespaced=False),
    "Queue": QUEUES,
    "PodGroup": PODGROUPS,
    VCJOB: VCJOBS,
    "Pod": PODS,
    "Namespace": RESOURCES["Namespace"],
    "Node": NODES,
    "PriorityClass": RESOURCES["PriorityClass"],
    VOLCANO_CRON_JOB: VOLCANO_CRON_JOBS,
    "JobFlow": JOB_FLOWS,
    "JobTemplate": JOB_TEMPLATES,
    "HyperJob": ApiResource("training.volcano.sh", "v1alpha1", "hyperjobs"),
    "HyperNode": RESOURCES["HyperNode"],
    "Numatopology": RESOURCES["Numatopology"],
    "NodeShard": NODE_SHARDS,
}
"""Kinds of which all objects are read."""
PAGE = 500
"""Objects in one answer."""


def _whole(obj: Obj) -> Obj:
    """The object without its field managers."""
    obj["metadata"].pop("managedFields", None)
    return obj


def _of_metadata(obj: Obj) -> Obj:
    """Names, and the keys of annotations and labels: a cluster may have very many such objects."""
    metadata = obj["metadata"]
    kept = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return {
        "metadata": {**kept, **{key: dict.fromkeys(metadata.get(key) or (), "") for key in ("annotations", "labels")}}
    }


def _of_pod(pod: Obj) -> Obj:
    """What is looked at of a pod."""
    spec = pod.get("spec") or {}
    kept = {key: spec[key] for key in ("schedulerName", "volumes", "workloadRef") if spec.get(key)}
    for key in ("containers", "initContainers"):
        kept[key] = [{"resources": container.get("resources") or {}} for container in spec.get(key) or ()]
    return {**_of_metadata(pod), "spec": kept, "status": {"phase": (pod.get("status") or {}).get("phase")}}


KEPT: dict[str, Callable[[Obj], Obj]] = {"Pod": _of_pod, "Node": _of_metadata, "Namespace": _of_metadata}
"""What is kept of kinds of which there may be very many."""


async def _all(client: ApiClient, path: str, keep: Callable[[Obj], Obj]) -> list[Obj]:
    """What is kept of all objects, read page by page."""
    found: list[Obj] = []
    params = {"limit": str(PAGE)}
    while True:
        page = await client.get(path, params)
        found += map(keep, page.get("items") or ())
        token = (page.get("metadata") or {}).get("continue")
        if not token:
            return found
        params = {"limit": str(PAGE), "continue": token}


class ClusterContents(NamedTuple):
    """What a cluster has; kinds that it does not serve are left out."""

    server: str
    objects: Mapping[str, list[Obj]]
    unread: Mapping[str, str]
    """Kinds that we may not read, and what the API server says."""


def read_cluster(cluster: ClusterFlags, namespace: str) -> ClusterContents:
    """Everything that is checked; raises what the client raises where nobody answers."""

    async def read(client: ApiClient) -> ClusterContents:
        objects: dict[str, list[Obj]] = {}
        unread: dict[str, str] = {}
        for kind, resource in (IN_NAMESPACE | IN_CLUSTER).items():
            try:
                path = resource.path(namespace if kind in IN_NAMESPACE else "")
                found = await _all(client, path, KEPT.get(kind, _whole))
            except NotFound:
                continue
            except Forbidden as error:
                unread[kind] = error.message
            else:
                objects[kind] = found
        return ClusterContents(client.connection.server, objects, unread)

    return with_client(cluster, read)
