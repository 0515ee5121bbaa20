"""Changes of nodes on paper."""

from __future__ import annotations

import msgspec

from vsched.errors import BadInput
from vsched.kernels.taints import UNSCHEDULABLE
from vsched.mirror.ingest.nodes import NodeFacts
from vsched.mirror.whatif import words
from vsched.mirror.whatif.records import EditableMirror


def cordon(cluster: EditableMirror, name: str, *, cordoned: bool) -> None:
    """Cordon or uncordon a node; raises BadInput if it does not exist."""
    facts = known_node(cluster, name)
    taints = tuple(taint for taint in facts.attributes.taints if taint.key != UNSCHEDULABLE.key)
    describe(cluster, facts, unschedulable=cordoned, taints=(*taints, UNSCHEDULABLE) if cordoned else taints)


def known_node(cluster: EditableMirror, name: str) -> NodeFacts:
    """The node; raises BadInput if there is none."""
    facts = cluster.node_facts(name)
    if facts is None:
        raise BadInput(words.no_node(name))
    return facts


def describe(cluster: EditableMirror, facts: NodeFacts, **fields: object) -> None:
    """Change some attributes of a node."""
    cluster.put_node(facts._replace(attributes=msgspec.structs.replace(facts.attributes, **fields)))
