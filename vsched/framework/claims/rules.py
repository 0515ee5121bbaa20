"""Which claims count, by the policy's plugins."""

from __future__ import annotations

from collections.abc import Callable

from vsched.framework.claims.part import ClaimRules
from vsched.framework.policy import Policy

RULES = "rules for claims"
"""The name under which the rules of a policy are kept."""
STATED_BY = "claim_rules"
"""The method of a plugin's arguments that says which claims count; it takes nothing."""


def rules_of(policy: Policy) -> ClaimRules:
    """The rules by the first plugin that states them; the defaults where none does, so that claims always count."""
    for conf in policy.plugins():
        # Looked up by name: a check against a protocol takes ten times as long.
        stated: Callable[[], ClaimRules] | None = getattr(conf.args, STATED_BY, None)
        if stated is not None:
            return stated()._replace(scores=conf.switches.node_order)
    return ClaimRules()


def kept_rules(policy: Policy, kept: dict[str, object]) -> ClaimRules:
    """The same; ``kept`` is what sessions under one policy keep for the next one."""
    found = kept.get(RULES)
    if not isinstance(found, ClaimRules):
        found = kept[RULES] = rules_of(policy)
    return found
