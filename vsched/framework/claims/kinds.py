"""The claims of a session: the kinds it handles, and which count by the policy's plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vsched.framework.claims.claims import Claims
from vsched.framework.claims.devices.handler import device_handler
from vsched.framework.claims.handler import ClaimHandler, ClaimRules
from vsched.framework.claims.volumes.handler import volume_handler
from vsched.framework.policy import Policy
from vsched.model.nodes.table import NodeTable
from vsched.model.snapshot import Snapshot

ClaimKind = Callable[[Snapshot, NodeTable, ClaimRules], ClaimHandler | None]
"""Makes the handler of one kind for a session; None where the rules turn the kind off."""

KINDS: tuple[ClaimKind, ...] = (volume_handler, device_handler)
"""In the order of kube-scheduler's filters."""


def claims_of(snapshot: Snapshot, nodes: NodeTable, rules: ClaimRules, kinds: Sequence[ClaimKind] = KINDS) -> Claims:
    """The claims of a session's tasks; ``nodes`` is the session's own node table."""

    def handlers() -> list[ClaimHandler]:
        return [handler for kind in kinds if (handler := kind(snapshot, nodes, rules)) is not None]

    claims = snapshot.claims
    return Claims(handlers, len(nodes), claims.devices, scores=rules.scores, unread=claims.unread)


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
