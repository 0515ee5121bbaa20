"""Edits of nodes."""

from __future__ import annotations

from itertools import count, cycle, islice

import msgspec

from vsched.explain.edits.base import Before, ClusterEdit
from vsched.explain.edits.queues import stated
from vsched.explain.words import edits as words
from vsched.explain.words.lines import line
from vsched.explain.words.phrases import more_text, nodes_text, pairs_text
from vsched.kernels.domains import HOSTNAME
from vsched.kernels.taints import passes
from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.whatif.nodes import cordon, describe, known_node
from vsched.mirror.whatif.records import EditableMirror, like_devices
from vsched.model.deviceshare.records import NodeDevices
from vsched.model.nodes.table import NodeAttributes, Taint
from vsched.model.snapshot import Snapshot


class NodesEdit(ClusterEdit, frozen=True):
    """An edit of nodes that there are."""

    nodes: tuple[str, ...]

    @property
    def nodes_named(self) -> tuple[str, ...]:
        return self.nodes


class Uncordon(NodesEdit, frozen=True, tag="uncordon"):
    """Uncordon nodes."""

    def apply(self, cluster: EditableMirror) -> None:
        for name in self.nodes:
            cordon(cluster, name, cordoned=False)

    def sentence(self, before: Before) -> str:
        return words.uncordoned(nodes_text(self.nodes))

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [line("kubectl", "uncordon", *self.nodes)]


class RemoveTaint(NodesEdit, frozen=True, tag="removeTaint"):
    """Remove one taint from nodes."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    @property
    def taint(self) -> Taint:
        """The taint."""
        return Taint(self.key, self.value, self.effect)

    def apply(self, cluster: EditableMirror) -> None:
        for name in self.nodes:
            facts = known_node(cluster, name)
            taints = tuple(taint for taint in facts.attributes.taints if taint != self.taint)
            describe(cluster, facts, taints=taints)

    def sentence(self, before: Before) -> str:
        return words.taint_removed(self.taint.text, nodes_text(self.nodes))

    def lines(self, snapshot: Snapshot) -> list[str]:
        return [line("kubectl", "taint", "nodes", *self.nodes, f"{self.taint.text}-")]


class LabelNodes(NodesEdit, frozen=True, tag="labelNodes"):
    """Set labels of nodes."""

    labels: dict[str, str]

    def apply(self, cluster: EditableMirror) -> None:
        for name in self.nodes:
            facts = known_node(cluster, name)
            describe(cluster, facts, labels={**facts.attributes.labels, **self.labels})

    def sentence(self, before: Before) -> str:
        return words.labelled(nodes_text(self.nodes), pairs_text(self.labels))

    def lines(self, snapshot: Snapshot) -> list[str]:
        pairs = [f"{key}={value}" for key, value in sorted(self.labels.items())]
        return [line("kubectl", "label", "nodes", *self.nodes, *pairs, "--overwrite")]


class SetNodeAmount(ClusterEdit, frozen=True, tag="nodeAmount"):
    """Set the allocatable amount of one resource on a node."""

    node: str
    resource: str
    amount: int

    @property
    def nodes_named(self) -> tuple[str, ...]:
        return (self.node,)

    def apply(self, cluster: EditableMirror) -> None:
        facts = known_node(cluster, self.node)
        allocatable = stated(facts.allocatable, cluster.axis, self.resource, self.amount)
        cluster.put_node(facts._replace(allocatable=allocatable))

    def sentence(self, before: Before) -> str:
        snapshot = before.snapshot
        row, column = snapshot.nodes.statics.row[self.node], snapshot.axis.find(self.resource)
        has = 0 if column is None else int(snapshot.nodes.allocatable[column, row])
        if self.resource == "pods":
            return words.more_on_node(words.more_pod_slots(self.amount - has), self.node)
        return words.more_on_node(more_text(self.resource, has, self.amount), self.node)


class AddNodes(ClusterEdit, frozen=True, tag="nodes"):
    """Add empty nodes, copied from an existing node."""

    like: str
    count: int

    @property
    def nodes_named(self) -> tuple[str, ...]:
        return (self.like,)

    def apply(self, cluster: EditableMirror) -> None:
        like = known_node(cluster, self.like)
        names = _new_names(cluster, self.like, self.count)
        for name in names:
            cluster.put_node(like._replace(attributes=_new(like.attributes, name)))
        cluster.copy_devices(self.like, names)

    def sentence(self, before: Before) -> str:
        return words.more_nodes(self.count, self.like)


def _new_names(cluster: EditableMirror, stem: str, wanted: int) -> list[str]:
    free = (name for number in count(1) if cluster.node_facts(name := f"{stem}-new-{number}") is None)
    return list(islice(free, wanted))


def _new(like: NodeAttributes, name: str) -> NodeAttributes:
    """An uncordoned node of the same kind, without the taints that come and go by themselves."""
    labels = {key: name if key == HOSTNAME or value == like.name else value for key, value in like.labels.items()}
    taints = tuple(taint for taint in like.taints if not passes(taint))
    return NodeAttributes(name, labels, taints, False, {}, like.annotations)


class PoolNode(msgspec.Struct, frozen=True):
    """What a node of a pool is like, but for its name."""

    labels: dict[str, str]
    taints: tuple[Taint, ...]
    allocatable: dict[str, int]
    """In base units, by resource."""
    devices: tuple[NodeDevices, ...] = ()
    """Its shared devices, by kind."""


class AddPoolNodes(ClusterEdit, frozen=True, tag="poolNodes"):
    """Add empty nodes of a pool, which may have no node yet."""

    pool: str
    nodes: tuple[PoolNode, ...]
    """The kinds of nodes of the pool, one for each zone; new nodes take them in turn."""
    count: int

    def apply(self, cluster: EditableMirror) -> None:
        for name, like in zip(_new_names(cluster, self.pool, self.count), cycle(self.nodes), strict=False):
            # Nobody asks for a resource without a column, so the new node need not have it.
            known = ((cluster.axis.find(resource), amount) for resource, amount in like.allocatable.items())
            allocatable = tuple(sorted((column, amount) for column, amount in known if column is not None))
            attributes = NodeAttributes(name, {**like.labels, HOSTNAME: name}, like.taints, False, {}, {})
            cluster.put_node(NodeFacts(attributes, allocatable))
            if like.devices:
                cluster.put_shared_devices(name, tuple(like_devices(one, name) for one in like.devices))

    def sentence(self, before: Before) -> str:
        return words.more_of_pool(self.count, self.pool)
