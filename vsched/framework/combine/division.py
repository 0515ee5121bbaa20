"""How the cluster is divided among queues, and what they have used over time."""

from __future__ import annotations

from collections.abc import Sequence

from vsched.framework.combine.tiers import PluginTiers, PolicyLayout
from vsched.framework.points.extension import (
    DividedBy,
    DivisionWeight,
    PastUse,
    QueueDivider,
    QueueDivision,
    StatedLimit,
    UsageMemory,
    stated_weights,
)
from vsched.framework.policy import Policy
from vsched.framework.refusal import QueueBound
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.nodes.table import Floats
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot


class PluginDivision(PluginTiers):
    """The combined answers on shares: the first one counts, and weights go through one plugin after the other."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace, layout: PolicyLayout | None = None) -> None:
        super().__init__(policy, registry, trace, layout)
        self._dividers = self.taking_part(QueueDivider)

    @property
    def weighs_divisions(self) -> bool:
        """Whether weights are others than those that queues state."""
        return DivisionWeight in self._layout.points

    def division(self, queue: Queue) -> QueueDivision | None:
        """The queue's share of the cluster; None where no plugin divides the cluster."""
        for plugin in self._dividers:
            found = plugin.division(queue)
            if found is not None:
                return found
        return None

    def divided_by(self) -> DividedBy | None:
        """The inputs of all divisions besides the records of queues and what they hold; None if they are not known."""
        if self.taking_part(UsageMemory) or len(self._dividers) > 1:
            return None
        return self._dividers[0].divided_by() if self._dividers else DividedBy({})

    def bound(self, queue: Queue, column: int) -> QueueBound | None:
        """What limits how much of a resource the queue may hold; None where no plugin sets a limit."""
        for one in self._dividers:
            bound = one.bound(queue, column)
            if bound is not None:
                return bound
        return None

    def stated_limits(self, queue: Queue) -> list[StatedLimit]:
        """What the queue and those above it may hold by their own statement, as far as plugins keep to it."""
        return [limit for one in self._dividers for limit in one.stated_limits(queue)]

    def weights(self, snapshot: Snapshot, queues: Sequence[Queue]) -> Floats:
        """float64[queues]: how much queues weigh where the cluster is divided among them."""
        found = stated_weights(queues)
        for plugin in self.taking_part(DivisionWeight):
            found = plugin.division_weights(snapshot, queues, found)
        return found

    def past_use(self, queue: Queue) -> PastUse | None:
        """What a queue has used over time; None where no plugin remembers it."""
        for one in self.taking_part(UsageMemory):
            found = one.past_use(queue)
            if found is not None:
                return found
        return None
