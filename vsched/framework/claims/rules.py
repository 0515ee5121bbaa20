"""Which claims count, by the policy's plugins."""

from __future__ import annotations

from collections.abc import Callable

from vsched.framework.claims.handler import ClaimRules
from vsched.framework.policy import Policy

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
