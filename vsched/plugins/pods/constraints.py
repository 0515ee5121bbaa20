"""The constraints of topology spread, applied to the nodes. Not a plugin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vsched.framework.codes import Code
from vsched.framework.points.nodes import Check
from vsched.kernels.domains import HOSTNAME, LabelDomains, domains_with, labelled_nodes, topology
from vsched.kernels.selectors import affinity_mask
from vsched.kernels.taints import tolerated_mask
from vsched.model.nodes.table import Mask, NodeStatics
from vsched.model.pods.shape import Rules, Shape, Spread
from vsched.plugins.pods.pods import DomainCounter, PodsOnNodes


class SpreadConstraint(NamedTuple):
    """One spread constraint, applied to the nodes."""

    rule: Spread
    domains: LabelDomains
    eligible: Mask | None
    """bool[nodes]: the nodes that count; None for all."""
    eligible_domains: Mask


def hard_spread(shape: Shape) -> tuple[Spread, ...]:
    """The hard constraints of a shape (DoNotSchedule): they rule out nodes."""
    spread = shape.spread
    return tuple(rule for rule in spread if rule.hard) if spread else ()


def constraints_of(
    rules: Rules, group: tuple[Spread, ...], statics: NodeStatics, need_keys: bool = True
) -> tuple[SpreadConstraint, ...]:
    """The constraints of one group, each with its topology and the nodes that count; cached with the nodes.

    With ``need_keys``, a node counts only if it has the topology keys of all constraints in the group.
    """

    def compute() -> tuple[SpreadConstraint, ...]:
        keyed = _with_keys({statics.known(rule.topology_key) for rule in group} if need_keys else (), statics)
        eligible = {
            policies: _eligible_nodes(policies, rules, keyed, statics)
            for policies in {_policies(rule) for rule in group}
        }
        return tuple(_constraint(rule, eligible[_policies(rule)], statics) for rule in group)

    return statics.remember(("spread", rules, group, need_keys), compute)


def _constraint(rule: Spread, eligible: Mask | None, statics: NodeStatics) -> SpreadConstraint:
    if not rule.hard and rule.topology_key == HOSTNAME:
        # A soft constraint by host name counts the node's own pods, whatever the constraint's policies are.
        alone = labelled_nodes(statics, HOSTNAME)
        return SpreadConstraint(rule, alone, None, alone.present)
    domains = topology(statics, rule.topology_key)
    return SpreadConstraint(rule, domains, eligible, domains_with(domains, eligible))


Policies = tuple[bool, bool]
"""Whether only nodes count that the pod's node affinity allows, and only nodes whose taints it tolerates."""


def _policies(rule: Spread) -> Policies:
    return rule.honours_node_affinity, rule.honours_node_taints


def _with_keys(keys: Iterable[str], statics: NodeStatics) -> list[Mask]:
    """bool[nodes] for each key: whether the node has the label."""
    return [topology(statics, key).present for key in keys]


def _eligible_nodes(policies: Policies, rules: Rules, keyed: Sequence[Mask], statics: NodeStatics) -> Mask | None:
    """bool[nodes]: the nodes that count for constraints with these policies and these keys; None for all."""
    honours_affinity, honours_taints = policies
    mask: Mask | None = None
    masks = list(keyed)
    if honours_affinity:
        allowed = affinity_mask(rules, statics)
        masks += [] if allowed is None else [allowed]
    if honours_taints:
        allowed = tolerated_mask(statics, rules.tolerations)
        masks += [] if allowed is None else [allowed]
    for one in masks:
        mask = one if mask is None else mask & one
    return None if mask is None or mask.all() else mask


def spread_counter(pods: PodsOnNodes, constraint: SpreadConstraint, namespace: str) -> DomainCounter:
    """A counter of the pods that a constraint counts. An empty selector counts none, but does match the pod itself."""
    selector = constraint.rule.selector
    if selector is None or not selector.requirements:
        return pods.by_labels(constraint.domains, [], lambda _: 0, constraint.eligible)
    return pods.by_labels(
        constraint.domains,
        [(selector, frozenset((namespace,)))],
        lambda labels: int(labels.namespace == namespace and selector.matches(pods.pairs(labels))),
        constraint.eligible,
    )


def counts_pod(rule: Spread, pairs: dict[str, str]) -> bool:
    """Whether a constraint counts a pod with these labels."""
    return rule.selector is not None and rule.selector.matches(pairs)


def effective(found: Iterable[tuple[str, Code, Mask]]) -> tuple[Check, ...]:
    """Checks from triples of reason, code and ``bool[nodes]`` (which nodes pass), without those that all nodes pass.

    The masks become read-only.
    """
    checks = []
    for reason, code, passes in found:
        if not passes.all():
            passes.flags.writeable = False
            checks.append(Check(reason, passes, code=code))
    return tuple(checks)
