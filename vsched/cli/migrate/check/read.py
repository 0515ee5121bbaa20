"""What is read of a cluster, by the user's own kubeconfig; nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vsched.cli.ask.cluster import ClusterFlags, with_client
from vsched.cli.migrate.check.findings import Obj
from vsched.kube.client import ApiClient
from vsched.kube.errors import Forbidden, NotFound
from vsched.kube.paths import ApiResource
from vsched.mirror.resources import (
    CONFIG_MAPS,
    NODES,
    PODGROUPS,
    PODS,
    QUEUES,
    RESOURCES,
    VCJOB,
    VCJOBS,
)

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
    "CronJob.batch.volcano.sh": ApiResource("batch.volcano.sh", "v1alpha1", "cronjobs"),
    "JobFlow": ApiResource("flow.volcano.sh", "v1alpha1", "jobflows"),
    "JobTemplate": ApiResource("flow.volcano.sh", "v1alpha1", "jobtemplates"),
    "HyperJob": ApiResource("training.volcano.sh", "v1alpha1", "hyperjobs"),
    "HyperNode": RESOURCES["HyperNode"],
    "Numatopology": RESOURCES["Numatopology"],
    "NodeShard": ApiResource("shard.volcano.sh", "v1alpha1", "nodeshards", namespaced=False),
}
"""Kinds of which all objects are read."""


class Seen(NamedTuple):
    """What a cluster has; kinds that it does not serve are left out."""

    server: str
    objects: Mapping[str, list[Obj]]
    unread: Mapping[str, str]
    """Kinds that we may not read, and what the API server says."""


def read_cluster(cluster: ClusterFlags, namespace: str) -> Seen:
    """Everything that is checked; raises what the client raises where nobody answers."""

    async def read(client: ApiClient) -> Seen:
        objects: dict[str, list[Obj]] = {}
        unread: dict[str, str] = {}
        for kind, resource in (IN_NAMESPACE | IN_CLUSTER).items():
            try:
                found = await client.list(resource.path(namespace if kind in IN_NAMESPACE else ""))
            except NotFound:
                continue
            except Forbidden as error:
                unread[kind] = error.message
            else:
                objects[kind] = found["items"]
        return Seen(client.connection.server, objects, unread)

    return with_client(cluster, read)
