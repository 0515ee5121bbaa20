"""What plugins vote on, tier by tier: whether jobs go on, and who is evicted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from vsched.framework.budgets import NO_BUDGETS
from vsched.framework.codes import Code
from vsched.framework.combine.agreeing import Agreement
from vsched.framework.combine.combining import VoteOnJob, vote
from vsched.framework.combine.tiers import PluginTiers, PolicyLayout
from vsched.framework.combine.victim_rules import VictimRules
from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, JobPipelined, JobStarving
from vsched.framework.points.victims import (
    EvictionDelay,
    MoveGain,
    Preemptable,
    Purpose,
    Reclaimable,
    VictimCost,
    VictimProtection,
    VictimTasks,
    VictimVotes,
)
from vsched.framework.policy import Policy
from vsched.framework.refusal import Refusal
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.pods.task import Task


class PluginVotes(PluginTiers):
    """The combined votes on jobs and on victims."""

    def __init__(self, policy: Policy, registry: Registry, trace: Trace, layout: PolicyLayout | None = None) -> None:
        super().__init__(policy, registry, trace, layout)
        self.budgets = NO_BUDGETS
        """The disruption budgets; set when the plugins are opened."""
        self.victim_rules = VictimRules(
            self.taking_part(VictimProtection), self.taking_part(EvictionDelay), self.taking_part(VictimCost)
        )
        """Who may not be evicted yet, and for whom not, whatever the tiers say; and what evictions waste."""

    @property
    def admits_by_request_alone(self) -> bool:
        """Whether jobs that ask for the same are refused the same (see ``JobEnqueueable``)."""
        return JobEnqueueable not in self._layout.looking_around

    # Cycles that admit and evict nobody never ask for these.

    @cached_property
    def _pipelined(self) -> list[list[VoteOnJob]]:
        return [[plugin.job_pipelined for plugin in tier] for tier in self._in_tiers(JobPipelined)]

    @cached_property
    def _enqueueable(self) -> list[list[VoteOnJob]]:
        return [[plugin.job_enqueueable for plugin in tier] for tier in self._in_tiers(JobEnqueueable)]

    @cached_property
    def _starving(self) -> list[list[JobStarving]]:
        return self._in_tiers(JobStarving)

    @cached_property
    def agreement(self) -> dict[Purpose, Agreement]:
        """The plugins' votes on victims, by purpose."""
        return {purpose: self._agreement(tiers, purpose) for purpose, tiers in self._voters().items()}

    @cached_property
    def gang_agreement(self) -> dict[Purpose, Agreement]:
        """The same for evictions that may break gangs up, which not all plugins judge."""
        return {
            purpose: self._agreement([[one for one in tier if one.judges_gangs] for tier in tiers], purpose)
            for purpose, tiers in self._voters().items()
        }

    def _agreement(self, tiers: Sequence[Sequence[VictimVotes]], purpose: Purpose) -> Agreement:
        made = Agreement(tiers, purpose)
        made.budgets = self.budgets
        return made

    def _voters(self) -> dict[Purpose, Sequence[Sequence[VictimVotes]]]:
        return {
            Purpose.PREEMPT: self._in_tiers(Preemptable),
            Purpose.RECLAIM: self._in_tiers(Reclaimable),
        }

    def may_move(self, evictor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """The candidates that may be moved to other nodes to make room for a task, as far as plugins judge that."""
        for tier in self._in_tiers(Preemptable):
            for plugin in tier:
                votes = plugin.victim_votes(evictor, Purpose.PREEMPT) if plugin.judges_moves else None
                agreed = None if votes is None else votes.agreed(candidates)
                candidates = candidates if agreed is None else agreed
        return candidates

    def move_gain(self, task: Task, row: int, to: int) -> float:
        """What it is worth to move a task to another node, by all plugins that say so."""
        return sum([plugin.move_gain(task, row, to) for plugin in self.taking_part(MoveGain)], 0.0)

    @property
    def knows_move_gains(self) -> bool:
        """Whether any plugin says what moves are worth."""
        return bool(self.taking_part(MoveGain))

    def job_pipelined(self, job: JobView) -> bool:
        """Whether the job's placements, pipelined ones included, may be kept for the session."""
        return vote(self._pipelined, job) is None

    def job_enqueueable(self, job: JobView) -> Refusal | None:
        """Why the job is not admitted; None where it is. A refusal that lasts goes before one that may pass."""
        refusal = vote(self._enqueueable, job)
        if refusal is None or not refusal.rank or refusal.code is Code.REFUSED:
            return refusal
        best, rank = refusal, refusal.rank
        for plugin in self.taking_part(JobEnqueueable):
            if plugin.asks_outside:
                continue
            other = plugin.job_enqueueable(job)
            if isinstance(other, Refusal) and (found := other.rank) < rank:
                best, rank = other, found
        return best

    def job_starving(self, job: JobView) -> bool:
        """Whether the job may evict others to get room: all plugins of the first tier with this point agree."""
        for tier in self._starving:
            if tier:
                return all(plugin.job_starving(job) for plugin in tier)
        return False

    @property
    def knows_starving(self) -> bool:
        """Whether any plugin has the point ``JobStarving``."""
        return any(self._starving)

    def victim_tasks(self, candidates: Sequence[Task]) -> list[Task]:
        """The running tasks that should move to another node, in the order of the candidates."""
        for tier in self._in_tiers(VictimTasks):
            chosen = {task.uid for plugin in tier for task in plugin.victim_tasks(candidates)}
            if chosen:
                named = [task for task in candidates if task.uid in chosen]
                return list(self.budgets.allowed(named))
        return []

    def must_leave(self, victim: Task) -> bool:
        """Whether a victim's node must be freed, even if no other node has room for the victim."""
        return any(plugin.must_leave(victim) for plugin in self.taking_part(VictimTasks))
