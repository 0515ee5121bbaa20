"""The plugins of one session. This folder alone decides how their answers are combined.

Orders are in ``orders``, what must be allowed in ``decisions``, votes on jobs and victims in ``votes``, and shares of
the cluster in ``division``.

Plugins are called tier by tier, in order, each only for the extension points whose switch is on. The rules are:

order        the first key that differs decides; then creation time, then name
veto         all must agree: ready, allocatable, namespace limit, preemptive, valid
any          one is enough: overused
vote         a rejection decides at once; a permission decides at the end of its tier; no vote at all permits
first tier   all plugins of the first tier with the point must agree: starving
victims      first, all plugins that protect absolutely must agree; then the other plugins of a tier must all agree; if
             they agree to no task, the next tier decides
shuffle      the union of a tier's answers; the first tier that names a task decides, within disruption budgets
score        the sum of the plugins' scores, weighted by the action's arguments
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from weakref import ref

from vsched.framework.budgets import Budgets
from vsched.framework.combine.decisions import PluginDecisions
from vsched.framework.combine.orders import PluginOrders
from vsched.framework.combine.tiers import PluginTiers, PolicyLayout
from vsched.framework.combine.votes import PluginVotes
from vsched.framework.ledger.ledger import LedgerListener
from vsched.framework.nodes.node_plugins import NodePlugins
from vsched.framework.places.places import PlacePlugins
from vsched.framework.points.extension import (
    CycleEnd,
    DividedBy,
    DivisionWeight,
    JobOrder,
    JobPipelined,
    JobReady,
    JobStarving,
    JobValid,
    PastUse,
    PlacementListener,
    QueueDivider,
    QueueDivision,
    SessionContext,
    StatedLimit,
    UsageMemory,
    stated_weights,
)
from vsched.framework.points.jobs import JobJudge
from vsched.framework.points.nodes import NodeFilter, NodeScore, QueuePlacement, QueuePreference, TaskScore
from vsched.framework.points.places import ClosenessScore, DomainScore, EvictionDomains, TierSource
from vsched.framework.points.victims import Rehearsing
from vsched.framework.policy import Policy
from vsched.framework.refusal import QueueBound
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.nodes.table import Floats
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot, asked_jobs


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


class PluginSet(PluginOrders, PluginDecisions, PluginVotes, PluginDivision):
    """The plugins of one session; each method returns their combined answer."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace, layout: PolicyLayout | None = None) -> None:
        super().__init__(policy, registry, trace, layout)
        self.node_plugins = NodePlugins(
            self.taking_part(NodeFilter),
            self.taking_part(NodeScore),
            self.taking_part(QueuePlacement),
            self.taking_part(QueuePreference),
            self.taking_part(TaskScore),
        )
        judges: list[JobJudge] = [*self._ready, *self.taking_part(JobPipelined), *self.taking_part(JobStarving)]
        self.job_classes = [one.job_class for one in dict.fromkeys(judges)]
        """What of a job each plugin needs that judges jobs (see ``JobJudge``)."""
        self.distinguishes_jobs = JobValid in self._layout.looking_around
        """Whether a plugin may distinguish any two jobs, so that no two are of one class."""

    @property
    def admits_by_class(self) -> bool:
        """Whether jobs of one class that wait to be admitted get the same answers."""
        return not self._layout.admits or (self.admits_by_request_alone and not self.limits_starts)

    @property
    def judges_by_job_alone(self) -> bool:
        """Whether only the jobs themselves distinguish waiting jobs, so that their classes may be carried over."""
        deciding = JobValid, JobOrder, JobReady, JobPipelined, JobStarving
        return self._layout.looking_around.isdisjoint(deciding)

    @property
    def ready_by_job_alone(self) -> bool:
        """Whether it follows from a job and its pods alone when enough of them have a node."""
        return self._layout.looking_around.isdisjoint((JobReady, JobPipelined))

    @property
    def place_plugins(self) -> PlacePlugins:
        """The plugins that make tiers, and that score domains and nodes by where they are."""
        return PlacePlugins(
            self.taking_part(TierSource),
            self.taking_part(DomainScore),
            self.taking_part(ClosenessScore),
            self.taking_part(EvictionDomains),
        )

    def open(self, context: SessionContext) -> None:
        """Open every plugin with the session's data, in tier order."""
        self.budgets = Budgets(context.snapshot.budgets)
        for _, asked in asked_jobs(context.snapshot) if self.budgets else ():
            for task in asked:
                self.budgets.expect(task)
        # Plugins keep the context. If it referred to them, the memory of the whole cycle would not be freed at once.
        this = ref(self)

        def division(queue: Queue) -> QueueDivision | None:
            plugins = this()
            return None if plugins is None else plugins.division(queue)

        def weights(queues: Sequence[Queue]) -> Floats:
            plugins = this()
            return stated_weights(queues) if plugins is None else plugins.weights(snapshot, queues)

        snapshot = context.snapshot
        weigh = weights if self.weighs_divisions else stated_weights
        self.victim_rules.open(context)
        contexts = [
            context._replace(switches=switches, budgets=self.budgets, division=division, weights=weigh)
            for switches in self._layout.switches
        ]
        for plugin, number in zip(self._plugins, self._layout.switches_of, strict=True):
            self.trace.timed("open", plugin.name, plugin.open, contexts[number])

    @property
    def listeners(self) -> list[LedgerListener]:
        """The listeners for placements and evictions; complete once the plugins are open."""
        followers: list[LedgerListener] = [*self.taking_part(PlacementListener)]
        return [*followers, self.budgets] if self.budgets else followers

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """A context for tries that are only compared with each other. They must be rolled back before it ends."""
        listening = self.taking_part(Rehearsing)
        for plugin in listening:
            plugin.rehearse(begins=True)
        try:
            yield
        finally:
            for plugin in listening:
                plugin.rehearse(begins=False)

    @property
    def is_blind_in_rehearsals(self) -> bool:
        """Whether a plugin does not see what moves in rehearsals."""
        return any(plugin.is_blind for plugin in self.taking_part(Rehearsing))

    def end_cycle(self) -> None:
        """Tell the plugins with ``CycleEnd``, in tier order, that the actions have run."""
        for plugin in self.taking_part(CycleEnd):
            plugin.end_cycle()
