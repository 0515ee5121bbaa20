"""The node pools of an embedded cluster, from a YAML description; ``vsched cluster --help`` shows one."""

from __future__ import annotations

from pathlib import Path

from vsched.apimachinery.manifests.documents import read_documents
from vsched.apimachinery.manifests.node_groups import entries_of
from vsched.apimachinery.manifests.node_pools import PoolDescription, pool_of
from vsched.errors import BadInput
from vsched.sim.fleet.nodes import check_annotations


def read_pools(path: Path) -> tuple[PoolDescription, ...]:
    """The pools of a file; raises BadInput with file and place for an invalid one."""
    found = [each for document in read_documents(path) for each in entries_of(document)]
    if not found:
        raise BadInput(f"{path}: nothing in it (expected a list of node pools)")
    pools = tuple(pool_of(where, entry) for where, entry in found)
    for (where, _), pool in zip(found, pools, strict=True):
        check_annotations(where, pool.templates[0]["metadata"].get("annotations") or {})
    names = [pool.name for pool in pools]
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{path}: two pools are called {name!r}")
    return pools
