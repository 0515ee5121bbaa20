"""Applies edits of nodes: of attributes and allocatable amounts, and new nodes."""

from __future__ import annotations

from itertools import count, cycle, islice

import msgspec

from vsched.errors import BadInput
from vsched.kernels.domains import HOSTNAME
from vsched.kernels.taints import UNSCHEDULABLE, passes
from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.whatif import words
from vsched.mirror.whatif.edits import (
    AddDevices,
    AddNodes,
    AddPoolNodes,
    AddVolumes,
    CreateVolumeClaims,
    LabelNodes,
    NodeEdit,
    RemoveTaint,
    SetNodeAmount,
    SetStorage,
    Uncordon,
)
from vsched.mirror.whatif.queues import stated
from vsched.mirror.whatif.records import EditableMirror, like_devices
from vsched.model.claims.devices import DeviceId
from vsched.model.nodes.table import NodeAttributes, Taint


def edit_nodes(cluster: EditableMirror, edit: NodeEdit) -> None:
    """Apply an edit; raises BadInput if the node does not exist."""
    match edit:
        case AddNodes():
            _add(cluster, edit)
        case AddPoolNodes():
            _add_of_pool(cluster, edit)
        case AddDevices():
            _facts(cluster, edit.node)
            cluster.add_devices(edit.node, DeviceId(*edit.like), edit.count)
        case AddVolumes():
            cluster.add_volumes(edit.claim, edit.count)
        case CreateVolumeClaims():
            cluster.create_volume_claims(edit.claims)
        case SetStorage():
            cluster.set_storage(edit.capacity, edit.amount)
        case SetNodeAmount():
            facts = _facts(cluster, edit.node)
            allocatable = stated(facts.allocatable, cluster.axis, edit.resource, edit.amount)
            cluster.put_node(facts._replace(allocatable=allocatable))
        case Uncordon():
            for name in edit.nodes:
                cordon(cluster, name, cordoned=False)
        case RemoveTaint():
            gone = Taint(edit.key, edit.value, edit.effect)
            for name in edit.nodes:
                facts = _facts(cluster, name)
                _describe(cluster, facts, taints=tuple(taint for taint in facts.attributes.taints if taint != gone))
        case LabelNodes():
            for name in edit.nodes:
                facts = _facts(cluster, name)
                _describe(cluster, facts, labels={**facts.attributes.labels, **edit.labels})


def cordon(cluster: EditableMirror, name: str, *, cordoned: bool) -> None:
    """Cordon or uncordon a node; raises BadInput if it does not exist."""
    facts = _facts(cluster, name)
    taints = tuple(taint for taint in facts.attributes.taints if taint.key != UNSCHEDULABLE.key)
    _describe(cluster, facts, unschedulable=cordoned, taints=(*taints, UNSCHEDULABLE) if cordoned else taints)


def _facts(cluster: EditableMirror, name: str) -> NodeFacts:
    facts = cluster.node_facts(name)
    if facts is None:
        raise BadInput(words.no_node(name))
    return facts


def _describe(cluster: EditableMirror, facts: NodeFacts, **fields: object) -> None:
    """Change some attributes of a node."""
    cluster.put_node(facts._replace(attributes=msgspec.structs.replace(facts.attributes, **fields)))


def _add(cluster: EditableMirror, edit: AddNodes) -> None:
    like = _facts(cluster, edit.like)
    free = (name for number in count(1) if cluster.node_facts(name := f"{edit.like}-new-{number}") is None)
    names = list(islice(free, edit.count))
    for name in names:
        cluster.put_node(like._replace(attributes=_new(like.attributes, name)))
    cluster.copy_devices(edit.like, names)


def _add_of_pool(cluster: EditableMirror, edit: AddPoolNodes) -> None:
    free = (name for number in count(1) if cluster.node_facts(name := f"{edit.pool}-new-{number}") is None)
    for name, like in zip(islice(free, edit.count), cycle(edit.nodes), strict=False):
        # Nobody asks for a resource without a column, so the new node need not have it.
        known = ((cluster.axis.find(resource), amount) for resource, amount in like.allocatable.items())
        allocatable = tuple(sorted((column, amount) for column, amount in known if column is not None))
        attributes = NodeAttributes(name, {**like.labels, HOSTNAME: name}, like.taints, False, {}, {})
        cluster.put_node(NodeFacts(attributes, allocatable))
        if like.devices:
            cluster.put_shared_devices(name, tuple(like_devices(one, name) for one in like.devices))


def _new(like: NodeAttributes, name: str) -> NodeAttributes:
    """An uncordoned node of the same kind, without the taints that come and go by themselves."""
    labels = {key: name if key == HOSTNAME or value == like.name else value for key, value in like.labels.items()}
    taints = tuple(taint for taint in like.taints if not passes(taint))
    return NodeAttributes(name, labels, taints, False, {}, like.annotations)
