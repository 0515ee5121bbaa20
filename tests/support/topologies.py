"""Sessions on clusters with HyperNodes: trees in a few words, and what jobs ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from tests.support.hypernodes import catalogue as catalogue_of
from tests.support.hypernodes import hypernode
from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror
from vsched.framework.cycle import run_actions
from vsched.framework.policy import Policy
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.pods.status import HOLDS, Status
from vsched.model.snapshot import Snapshot
from vsched.model.topology.constraints import NetworkTopology, SubGroupPolicy
from vsched.model.topology.hypernodes import TopologyCatalogue
from vsched.settings.built_in import REGISTRY

Tree = Mapping[str, tuple[int, str]]
"""By name of a HyperNode: its tier, and its members, which are HyperNodes if the tree has them, else nodes (``~…`` is a
pattern).
"""
RACKS: Tree = {
    "b1": (2, "r1 r2"),
    "b2": (2, "r3 r4"),
    "r1": (1, "n1 n2"),
    "r2": (1, "n3 n4"),
    "r3": (1, "n5 n6"),
    "r4": (1, "n7 n8"),
    "top": (3, "b1 b2"),
}
"""Eight nodes in four racks, two blocks, one tree."""
TIER_NAMES = {1: "rack", 2: "block"}
RACK, BLOCK = NetworkTopology(highest_tier=1), NetworkTopology(highest_tier=2)
ANY, SOFT = NetworkTopology(), NetworkTopology(hard=False)
EIGHT = "\n".join(f"node n{number} cpu=4" for number in range(1, 9)) + "\n"
"""The nodes of ``RACKS``, of four cores each."""


def catalogue(tree: Tree) -> TopologyCatalogue:
    """The HyperNodes of a tree; tiers 1 and 2 have names."""
    found = []
    for name, (tier, members) in tree.items():
        told = (f"^{one}" if one in tree else one for one in members.split())
        found.append(hypernode(name, tier, *told, tier_name=TIER_NAMES.get(tier, "")))
    return catalogue_of(*found)


def snapshot_of(text: str, tree: Tree, wishes: Mapping[str, NetworkTopology]) -> Snapshot:
    """The cluster of a text with these HyperNodes; ``wishes`` are by key of job."""
    snapshot = replace(mirror(manifests(text)).snapshot(NOW), topology=catalogue(tree))
    for key, wish in wishes.items():
        snapshot.jobs[key].spec = msgspec.structs.replace(snapshot.jobs[key].spec, topology=wish)
    return snapshot


def with_sub_groups(snapshot: Snapshot, *policies: SubGroupPolicy, job: str = "ns/a") -> Snapshot:
    """The snapshot, with these sub-groups in a job of it."""
    found = snapshot.jobs[job]
    found.spec = msgspec.structs.replace(found.spec, sub_groups=policies)
    return snapshot


def occupied(*, small: Sequence[int] = (), strong: Sequence[int] = ()) -> str:
    """A pod on each node of ``EIGHT``: of two cores where small, else of four; on the strong ones with class high."""
    return "class high 9\n" + "".join(
        f"job x/f{n} min=0 {'class=high ' * (n in strong)}phase=Running\n"
        f"pods x/f{n} 1 cpu={2 if n in small else 4} on=n{n}\n"
        for n in range(1, 9)
    )


def opened(text: str, tree: Tree, wishes: Mapping[str, NetworkTopology], policy: Policy = DEFAULT_POLICY) -> Session:
    """A session before its actions."""
    return Session(snapshot_of(text, tree, wishes), policy, REGISTRY, Trace())


def decided(text: str, tree: Tree, wishes: Mapping[str, NetworkTopology], policy: Policy = DEFAULT_POLICY) -> Session:
    """A session after its actions."""
    return run_actions(snapshot_of(text, tree, wishes), policy, REGISTRY, Trace())


def nodes_of(session: Session, job: str) -> dict[str, str]:
    """Names of nodes by name of pod, for pods of a job that hold or wait for a node; those that wait have a star."""
    view = session.jobs[job]
    found: dict[str, str] = {}
    for uid, task in view.job.tasks.items():
        status, node, _ = view.moved.get(uid, (task.status, task.node, task))
        if HOLDS[status].allocated or HOLDS[status].reserves:
            found[task.name] = node + "*" * HOLDS[status].reserves
    return found


def vacated(session: Session) -> list[str]:
    """Names of the nodes of pods that are to leave, one for each pod."""
    return sorted(entry.task.node for entry in session.decisions.committed if entry.status is Status.RELEASING)
