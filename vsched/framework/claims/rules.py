"""Which claims count, by the policy's plugins."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from vsched.framework.claims.part import ClaimRules
from vsched.framework.policy import Policy


@runtime_checkable
class StatesClaimRules(Protocol):
    """Arguments of a plugin that say which claims count."""

    def claim_rules(self) -> ClaimRules:
        """The rules by these arguments."""


def rules_of(policy: Policy) -> ClaimRules:
    """The rules by the first plugin that states them; the defaults where none does, so that claims always count."""
    for conf in policy.plugins():
        if isinstance(conf.args, StatesClaimRules):
            return conf.args.claim_rules()._replace(scores=conf.switches.node_order)
    return ClaimRules()
