"""Hands what was submitted to one cluster, by that cluster's own API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vsched.apimachinery.manifests.documents import FIRST_KINDS
from vsched.cli.ask.cluster import with_client
from vsched.cli.plan.several import words
from vsched.cli.plan.several.answers import ClusterAnswer, best
from vsched.cli.plan.several.targets import AskedCluster
from vsched.errors import BadInput, VschedError
from vsched.kube.client import ApiClient
from vsched.kube.errors import NotFound
from vsched.kube.paths import ApiResource

BEST = "best"
DEFAULT_NAMESPACE = "default"
Obj = dict[str, Any]


def chosen(to: str, clusters: Sequence[AskedCluster], answers: Sequence[ClusterAnswer]) -> AskedCluster:
    """The cluster that gets it: the best one, or the one that is named; raises BadInput."""
    by_name = {cluster.name: cluster for cluster in clusters}
    name = to
    if to == BEST:
        first = best(answers)
        if first is None:
            raise BadInput(words.nowhere_to_hand(words.NOWHERE))
        name = first.cluster
    if name not in by_name:
        raise BadInput(words.no_such_cluster(to, ", ".join(by_name)))
    if by_name[name].api is None:
        raise BadInput(words.no_api(name))
    return by_name[name]


def hand_over(cluster: AskedCluster, objects: Iterable[Obj], tell: Callable[[str], None]) -> None:
    """Create the objects, those first that others depend on; raises BadInput and says what is there already."""
    assert cluster.api is not None, "it was chosen"
    ranks = {kind: rank for rank, kind in enumerate(FIRST_KINDS)}
    ordered = sorted(objects, key=lambda obj: ranks.get(obj["kind"], len(ranks)))
    with_client(cluster.api, lambda client: _create_all(client, cluster.name, ordered, tell))


async def _create_all(client: ApiClient, cluster: str, objects: Sequence[Obj], tell: Callable[[str], None]) -> None:
    there: list[str] = []
    try:
        for obj in objects:
            resource = await _resource_of(client, cluster, obj)
            namespace = _namespace_of(client, obj) if resource.namespaced else ""
            made = await client.create(resource.path(namespace), obj)
            there.append(f"{obj['kind']} {'/'.join(filter(None, (namespace, made['metadata']['name'])))}")
            tell(words.handed(cluster, *there[-1].split(" ", 1)))
    except VschedError as error:
        if not there:
            raise BadInput(f"{cluster}: {error}") from None
        raise BadInput(words.half_handed(cluster, str(error), ", ".join(there))) from None


def _namespace_of(client: ApiClient, obj: Obj) -> str:
    return obj["metadata"].get("namespace") or client.connection.namespace or DEFAULT_NAMESPACE


async def _resource_of(client: ApiClient, cluster: str, obj: Obj) -> ApiResource:
    """Where the API server has objects of this kind, by its own word; raises BadInput where it has none."""
    version, kind = obj["apiVersion"], obj["kind"]
    group, _, number = version.rpartition("/")
    try:
        found = await client.get(f"/apis/{version}" if group else f"/api/{version}")
    except NotFound:
        raise BadInput(words.not_served(cluster, kind, version)) from None
    for one in found.get("resources", ()):
        if one["kind"] == kind and "/" not in one["name"]:
            return ApiResource(group, number, one["name"], namespaced=one["namespaced"])
    raise BadInput(words.not_served(cluster, kind, version))
