"""The language of stuck situations: a cluster, what binds, and changes that have to be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.support.builders import merged
from tests.support.plans import NOW, Manifest, manifests, mirror, policy_from, policy_of, reading
from vsched.api.manifests import Origin
from vsched.cli.plan.claims import with_claims
from vsched.explain.edits.base import Edit
from vsched.framework.codes import Code
from vsched.framework.policy import Policy
from vsched.model.frozen import freeze
from vsched.model.snapshot import Snapshot

GI = 1 << 30
PLAIN = policy_of("priority gang", "predicates nodeorder")
CAPACITY = policy_of("priority gang", "predicates capacity nodeorder")
TREE = policy_from(
    """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: capacity, enableHierarchy: true}]
"""
)
PREEMPT = policy_of(
    "priority gang conformance pdb minruntime preemption-delay",
    "predicates nodeorder",
    actions="enqueue, allocate, preempt, backfill",
)
RECLAIM = policy_of(
    "priority gang conformance", "predicates capacity nodeorder", actions="enqueue, allocate, reclaim, backfill"
)
QUOTAS = policy_of("priority gang", "predicates resourcequota nodeorder")
LIMITS = policy_of("priority gang", "predicates job-limits wall-time nodeorder")
GROUPS = policy_of("priority gang", "predicates nodegroup nodeorder")


class Case(NamedTuple):
    """One situation; the job in question is ``ns/b``."""

    text: str
    """In the language of ``tests.support.plans``."""
    code: Code
    says: str
    """Parts of the headline, with ``|`` between them: who binds, and the amounts."""
    helps: Sequence[tuple[Edit, ...]] = ()
    """Changes that have to be told, in any order."""
    policy: Policy = PLAIN
    never: bool = False
    """Whether waiting cannot help."""
    more: Sequence[Manifest] = ()
    """Objects besides."""
    spec: Mapping[str, Any] = {}
    """What the specs of the job's pods say besides."""
    pod: str = ""
    """The pod that is asked about; empty for the PodGroup."""
    also: str = ""
    """Parts of what is told to be in the way besides, with ``|`` between them: who holds it, or what protects them."""


def snapshot_of(case: Case) -> Snapshot:
    """The cluster of a situation."""
    made = [
        merged(found, {"spec": dict(case.spec)})
        if found["kind"] == "Pod" and found["metadata"]["name"].startswith("b.")
        else found
        for found in manifests(case.text)
    ]
    objects = [found for _, found in with_claims([(Origin("text", ""), one) for one in (*made, *case.more)])]
    cache = mirror(objects)
    cache.inputs.use(reading(case.text))
    return freeze(cache.snapshot(NOW))
