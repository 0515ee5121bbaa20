"""Jobs of native PodGroups below CompositePodGroups, straight in the model, in a few words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.support.small import SmallCluster
from vsched.mirror.state.native.subgroups import sub_groups_of
from vsched.model.jobs.job import Job
from vsched.model.jobs.native import ChildGroup, NativeGroup
from vsched.model.pods.status import Status
from vsched.model.topology.constraints import NetworkTopology


class Leaf(NamedTuple):
    """A PodGroup."""

    name: str
    minimum: int
    pods: int = -1
    """How many there are; as many as the minimum unless it says otherwise."""
    key: str = ""
    """The node label that they have to agree in."""
    on: str = ""
    """Nodes where the first of them run: ``n1 n1 n2``."""
    cores: int = 1
    """Of each pod."""

    @property
    def count(self) -> int:
        return self.minimum if self.pods < 0 else self.pods


class Tree(NamedTuple):
    """A CompositePodGroup."""

    name: str
    minimum: int
    parts: Sequence[Leaf | Tree]
    key: str = ""


def leaves(part: Leaf | Tree) -> Iterator[Leaf]:
    if isinstance(part, Leaf):
        yield part
    else:
        for one in part.parts:
            yield from leaves(one)


def children(tree: Tree) -> Iterator[ChildGroup]:
    """What is below the root, parents before their children."""
    for one in tree.parts:
        composite = isinstance(one, Tree)
        yield ChildGroup(
            one.name, minimum=one.minimum, composite=composite, parent=tree.name, gang=True, topology=one.key
        )
        if isinstance(one, Tree):
            yield from children(one)


def tree_job(cluster: SmallCluster, tree: Tree, priority: int = 0, **spec: object) -> Job:
    """The job of a tree, named after its root."""
    native = NativeGroup(composite=True, gang=True, minimum=tree.minimum, children=tuple(children(tree)))
    parts = sub_groups_of(native, tree.name)
    topology = NetworkTopology(key=tree.key) if tree.key else None
    fields = {"native": native, "topology": topology, "sub_groups": parts.sub_groups, "min_member": parts.minimum}
    job = cluster.job(tree.name, 0, **fields, **spec)
    job.priority = priority
    for leaf in leaves(tree):
        running = leaf.on.split()
        for number in range(max(leaf.count, len(running))):
            node = running[number] if number < len(running) else ""
            status = Status.RUNNING if node else Status.PENDING
            name = f"{leaf.name}-{number}"
            cluster.task(
                job, name, cluster.shape(cpu=1000 * leaf.cores), status, node, group=leaf.name, priority=priority
            )
    return job
