"""Clusters in a few lines of text, and what is explained of them."""

from __future__ import annotations

from tests.support.plans import DEFAULT_POLICY, NOW, manifests, mirror, policy_of
from vsched.explain.explaining import explain, explain_queue
from vsched.explain.order import WaitingOrder, waiting_order
from vsched.explain.records import Explanation
from vsched.explain.situation import Situation
from vsched.framework.cycle import run_actions, run_cycle
from vsched.framework.policy import Policy
from vsched.framework.trace import Trace
from vsched.settings.built_in import REGISTRY

TAKING = policy_of(
    "priority gang pdb conformance", "predicates proportion", actions="enqueue, allocate, preempt, reclaim, backfill"
)
ROOMS = "node n1 cpu=4\nnode n2 cpu=4 cordoned\nnode n3 cpu=8 taint=gpu:yes"
"""Room for four, and for more that is closed."""
BEFORE = "job ns/o min=1 phase=Running\npods ns/o"
"""What came before: how many pods of it there are, and where, follows."""


def explained(text: str, key: str = "ns/a", policy: Policy = DEFAULT_POLICY, kind: str = "") -> Explanation:
    """Why a pod or PodGroup waits; nothing is looked for that would help."""
    found = explained_if_known(text, key, policy, kind)
    assert found is not None
    return found


def explained_if_known(text: str, key: str, policy: Policy = DEFAULT_POLICY, kind: str = "") -> Explanation | None:
    """The same, None where nobody knows it."""
    snapshot = mirror(manifests(text)).snapshot(NOW)
    report = run_cycle(snapshot, policy, REGISTRY)
    namespace, _, name = key.partition("/")
    return explain(snapshot, policy, REGISTRY, report, namespace, name, kind=kind, simulations=0)


def starts(situation: Situation, key: str = "ns/b") -> bool:
    """Whether a whole cycle gives the job its minimum, and a place to a pod that waits; at once or once others left."""
    session = run_actions(situation.snapshot, situation.policy, REGISTRY, Trace())
    view, job = session.jobs.get(key), situation.snapshot.jobs.get(key)
    if view is None or job is None:
        return False
    placed = view.moved.keys() & job.pending.keys()
    return bool(placed) and job.ready + len(placed) >= job.spec.min_member and not view.roles_missing(waiting=True)


def queue_explained(text: str, name: str, policy: Policy = DEFAULT_POLICY) -> Explanation | None:
    """Why the jobs of a queue wait."""
    snapshot = mirror(manifests(text)).snapshot(NOW)
    return explain_queue(snapshot, policy, REGISTRY, run_cycle(snapshot, policy, REGISTRY), name, simulations=0)


def order_of(text: str, policy: Policy = DEFAULT_POLICY) -> WaitingOrder:
    """The order of those that wait."""
    return waiting_order(mirror(manifests(text)).snapshot(NOW), policy, REGISTRY)
