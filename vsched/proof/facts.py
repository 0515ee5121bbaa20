"""What the checker has to know of a policy, as a plain value that the caller makes."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The actions and plugins of a policy, and those of their switches and arguments that rules depend on."""

    actions: tuple[str, ...]
    plugins: frozenset[str]
    starts_whole: bool
    """Whether ``gang`` says when a job may start (``enableJobReady`` and ``enableJobPipelined``)."""
    limits: frozenset[str]
    """Plugins that limit what queues hold (``enabledAllocatable``)."""
    protects_from_preempt: frozenset[str]
    """Plugins that have a say in who is preempted (``enablePreemptable``)."""
    protects_from_reclaim: frozenset[str]
    """The same of ``enableReclaimable``."""
    tree: bool
    """Whether ``capacity`` has a tree of queues (``enableHierarchy``)."""
    lenient: frozenset[str] = frozenset()
    """Actions with ``victimTiers: reference``: what one tier protects, a later one may name."""

    keeping: Mapping[str, frozenset[str]] = {}
    """By action: queues whose non-preemptible jobs keep all they have; ``*`` for all queues."""

    def protects(self, plugin: str, action: str) -> bool:
        """Whether a plugin protects from the evictions of an action, whatever the tiers."""
        if action in self.lenient:
            return False
        return plugin in (self.protects_from_reclaim if "reclaim" in action else self.protects_from_preempt)
