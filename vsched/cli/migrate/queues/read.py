"""Where the queues of Kueue and KAI are read: files, or a cluster that serves them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vsched.apimachinery.manifests.documents import read_manifests
from vsched.cli.ask.cluster import ClusterFlags, Obj, with_client
from vsched.cli.migrate.queues import kai, kueue, words
from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.kube.paths import ApiResource

KUEUE_VERSIONS = ("v1beta2", "v1beta1", "v1alpha1")
KUEUE = {
    "ClusterQueue": ("clusterqueues", False),
    "Cohort": ("cohorts", False),
    "ResourceFlavor": ("resourceflavors", False),
    "LocalQueue": ("localqueues", True),
    "AdmissionCheck": ("admissionchecks", False),
    "Topology": ("topologies", False),
    "WorkloadPriorityClass": ("workloadpriorityclasses", False),
    "ProvisioningRequestConfig": ("provisioningrequestconfigs", False),
    "MultiKueueConfig": ("multikueueconfigs", False),
    "MultiKueueCluster": ("multikueueclusters", False),
}
"""By kind: the name of the resource, and whether it is in namespaces. Those that are not converted are only named."""
KAI_QUEUES = ApiResource(kai.GROUP, "v2", "queues", namespaced=False)


def of_files(paths: Sequence[Path]) -> list[Obj]:
    """The objects of files; raises BadInput with the place of what is no object."""
    return [manifest.obj for path in paths for manifest in read_manifests(path)]


def of_cluster(cluster: ClusterFlags) -> list[Obj]:
    """The objects of a cluster; raises BadInput where it serves neither Kueue's kinds nor KAI's."""
    return with_client(cluster, _read)


async def _read(client: ApiClient) -> list[Obj]:
    found: list[Obj] = []
    served = False
    for kind, (plural, namespaced) in KUEUE.items():
        for version in KUEUE_VERSIONS:
            objects = await _listed(client, ApiResource(kueue.GROUP, version, plural, namespaced=namespaced), kind)
            if objects is not None:
                served = True
                found += objects
                break
    of_kai = await _listed(client, KAI_QUEUES, "Queue")
    if of_kai is None and not served:
        raise BadInput(words.no_queues_served(client.connection.server))
    return found + (of_kai or [])


async def _listed(client: ApiClient, resource: ApiResource, kind: str) -> list[Obj] | None:
    """The objects with their kind, which lists leave out; None where the kind is not served in this version."""
    try:
        items = (await client.list(resource.path()))["items"]
    except NotFound:
        return None
    version = f"{resource.group}/{resource.version}"
    return [{**item, "apiVersion": version, "kind": kind} for item in items]
