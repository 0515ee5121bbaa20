"""What the objects of a cluster say, leaf by leaf, so that it can be told what a command changed of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vsched.explain.edits.base import Edit
from vsched.explain.edits.nodes import RemoveTaint, Uncordon
from vsched.explain.edits.pods import RemoveGates
from vsched.explain.edits.queues import AddNodeGroup, OpenQueue
from vsched.explain.edits.rules import DropRule, Tolerate
from vsched.explain.records import Change
from vsched.sim.cluster import Cluster

KINDS = (
    "nodes",
    "pods",
    "resourcequotas",
    "scheduling.k8s.io/priorityclasses",
    "scheduling.volcano.sh/queues",
    "scheduling.volcano.sh/podgroups",
    "kube-arbitrator.incubator.k8s.io/consumers",
)
Leaves = dict[tuple[str, ...], Any]
"""By kind, name, and the way to the leaf."""


def contents(cluster: Cluster) -> Leaves:
    """Everything but statuses, and what the server itself notes of an object."""
    found: Leaves = {}
    for kind in KINDS:
        for one in cluster.client.list(kind):
            metadata = one["metadata"]
            at = (kind, f"{metadata.get('namespace', '')}/{metadata['name']}")
            noted = {part: metadata[part] for part in ("labels", "annotations") if metadata.get(part)}
            said = {part: value for part, value in one.items() if part not in ("metadata", "status")}
            found.update(_leaves({"metadata": noted, **said}, at))
    return found


def _leaves(value: Any, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _leaves(one, (*at, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from _leaves(one, (*at, json.dumps(one, sort_keys=True)))
    else:
        yield at, value


MAY_DIFFER: dict[type[Edit], tuple[str, ...]] = {
    Tolerate: ("tolerations",),
    DropRule: ("nodeSelector", "affinity", "topologySpreadConstraints"),
    RemoveTaint: ("taints",),
    RemoveGates: ("schedulingGates",),
    Uncordon: ("unschedulable", "taints"),
    AddNodeGroup: ("nodeGroupAntiAffinity",),
    OpenQueue: ("scheduling.volcano.sh/queue-state", "volcano.sh/closed-by-parent"),
}
"""What an edit takes away, or has others write, besides what its command names."""


def kept_but_for(change: Change, before: Leaves, after: Leaves) -> None:
    """Nothing is gone that the change is not to take away, and nothing differs that its commands do not name."""
    meant = {word for edit in change.edits for word in MAY_DIFFER.get(type(edit), ())}
    there = {at[:2] for at in after}
    evicted = {at[:2] for at in before if at[0] == "pods" and at[:2] not in there}  # what helps may do so at once
    gone = [at for at in before if at not in after and not meant.intersection(at) and at[:2] not in evicted]
    assert not gone, (change.command, gone)
    different = [at for at, value in before.items() if at in after and after[at] != value]
    assert all(at[-1] in change.command or at[-1] in meant for at in different), (change.command, different)
