"""The pools that nodes could be bought of: those of files, and Karpenter's NodePools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from vsched.apimachinery.manifests.documents import read_documents
from vsched.apimachinery.manifests.node_groups import entries_of
from vsched.apimachinery.manifests.node_pools import POOL, PoolDescription, pool_of
from vsched.cli.ask.cluster import ClusterFlags, with_client
from vsched.cli.plan.buy import words
from vsched.cli.plan.buy.karpenter import NODE_POOL, devices_of, node_pools, pools_of
from vsched.errors import BadInput, BadQuantity
from vsched.explain.edits.nodes import PoolNode
from vsched.explain.menu.records import OfferedPool
from vsched.kernels.domains import HOSTNAME
from vsched.mirror.ingest.deviceshare import offered_by
from vsched.model.amounts.resources import parse_amount
from vsched.model.nodes.table import Taint
from vsched.model.snapshot import Snapshot

Obj = dict[str, Any]
ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def read_pools(paths: Sequence[Path], snapshot: Snapshot) -> list[OfferedPool]:
    """The pools of all files, for this cluster; raises BadInput with file and place for an invalid one."""
    pools: list[OfferedPool] = []
    for path in paths:
        entries = [each for document in read_documents(path) for each in entries_of(document)]
        if not entries:
            raise BadInput(words.nothing_in_it(path))
        for where, entry in entries:
            if entry.get("kind") == NODE_POOL:
                pools += node_pools(where, entry, snapshot)
            else:
                pools.append(_of_file(where, pool_of(where, entry), snapshot))
    for name, number in Counter(pool.name for pool in pools).items():
        if number > 1:
            raise BadInput(words.same_name(name))
    return pools


def _of_file(where: str, pool: PoolDescription, snapshot: Snapshot) -> OfferedPool:
    nodes = tuple(_node(where, template) for template in pool.templates)
    devices = devices_of(snapshot, _given(nodes))
    if devices:
        offered = amounts(where, offered_by(devices, {}))
        nodes = tuple(replace(one, allocatable=offered | one.allocatable, devices=devices) for one in nodes)
    return OfferedPool(
        pool.name,
        "file",
        nodes,
        room=max(0, pool.most - sum(_members(pool.name, nodes, snapshot))),
        price=pool.price or None,
        delay_seconds=pool.delay,
        problem=pool.out_of_stock,
    )


def _node(where: str, template: Obj) -> PoolNode:
    labels = {key: value for key, value in template["metadata"]["labels"].items() if key != HOSTNAME}
    taints = tuple(
        Taint(each["key"], each.get("value") or "", each["effect"]) for each in template["spec"].get("taints") or ()
    )
    return PoolNode(labels, taints, amounts(where, template["status"]["allocatable"]))


def amounts(where: str, stated: Mapping[str, object]) -> dict[str, int]:
    """Quantities in base units, by resource; raises BadInput."""
    try:
        return {name: parse_amount(name, value) for name, value in stated.items()}
    except BadQuantity as error:
        raise BadInput(f"{where}: {error}") from None


def _members(name: str, nodes: Sequence[PoolNode], snapshot: Snapshot) -> Iterator[bool]:
    """For each node there is, whether it is of the pool: it says so, or has all labels that the pool gives."""
    wanted = _given(nodes)
    for one in snapshot.nodes.statics.attributes:
        stated = one.labels.get(POOL)
        yield stated == name if stated else wanted.items() <= one.labels.items()


def _given(nodes: Sequence[PoolNode]) -> dict[str, str]:
    """The labels that a pool gives to all its nodes."""
    return {key: value for key, value in nodes[0].labels.items() if key not in ZONES}


def nodes_of_snapshot(snapshot: Snapshot) -> list[OfferedPool]:
    """Karpenter's NodePools that a daemon has seen."""
    return [pool for one in snapshot.node_pools.values() for pool in pools_of("the cluster", one, snapshot)]


def nodes_of_cluster(cluster: ClusterFlags, snapshot: Snapshot) -> tuple[list[OfferedPool], str]:
    """Karpenter's NodePools of a cluster, and a note where it has none."""
    from vsched.api.resources import NODE_POOLS
    from vsched.kube.client import ApiClient
    from vsched.kube.errors import NotFound

    async def listed(client: ApiClient) -> list[Obj] | None:
        try:
            found: list[Obj] = (await client.list(NODE_POOLS.path()))["items"]
        except NotFound:
            return None
        return found

    found = with_client(cluster, listed)
    if found is None:
        return [], words.NO_NODEPOOLS_SERVED
    kind = {"apiVersion": "karpenter.sh/v1", "kind": NODE_POOL}
    pools = [pool for one in found for pool in node_pools("the cluster", one | kind, snapshot)]
    return pools, "" if pools else words.NO_NODEPOOLS
