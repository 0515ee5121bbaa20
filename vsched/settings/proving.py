"""What the checker has to know of a policy."""

from __future__ import annotations

from vsched.framework.policy import Policy
from vsched.proof.cycle import Facts

CHECKS = ("node_affinity", "taint_toleration", "pod_affinity", "node_ports")
"""Arguments of ``predicates`` by which rules ask whether a node is allowed."""


def facts_of(policy: Policy) -> Facts:
    """The facts of a policy."""
    confs = {conf.name: conf for conf in policy.plugins()}
    switches = {name: conf.switches for name, conf in confs.items()}
    gang, capacity, predicates = switches.get("gang"), confs.get("capacity"), confs.get("predicates")
    is_asked = predicates is not None and predicates.switches.predicate
    return Facts(
        actions=policy.actions,
        plugins=frozenset(confs),
        checks=frozenset(
            name for name in CHECKS if is_asked and predicates is not None and getattr(predicates.args, name)
        ),
        starts_whole=gang is not None and gang.job_ready and gang.job_pipelined,
        limits=frozenset(name for name, switch in switches.items() if switch.allocatable),
        protects_from_preempt=frozenset(name for name, switch in switches.items() if switch.preemptable),
        protects_from_reclaim=frozenset(name for name, switch in switches.items() if switch.reclaimable),
        tree=capacity is not None and capacity.switches.hierarchy,
        lenient=frozenset(
            name for name, args in policy.action_args.items() if getattr(args, "victim_tiers", "") == "reference"
        ),
        keeping={name: frozenset(getattr(args, "non_preemptible", ())) for name, args in policy.action_args.items()},
    )
