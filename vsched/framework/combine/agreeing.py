"""How plugins agree on victims: plugins that protect absolutely come first, then the tiers decide.

In Volcano, when a tier agrees to no victim, the next tier decides. So a gang that the first tier protects may
lose tasks because the second tier names them. Here a plugin may protect absolutely
(``VictimVotes.protects_absolutely``): then no tier can overrule it. The policy can choose Volcano's rule instead
(``victimTiers: reference``). Disruption budgets apply in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.combine.combining import victims
from vsched.framework.points.extension import JobState
from vsched.framework.points.victims import Keeping, OwnJob, Purpose, VictimVotes, Votes
from vsched.model.pods.task import Task

Voter = Callable[[Task, Purpose], Votes | None]
ABSTAINS = "abstains"


class VotingTier(NamedTuple):
    """The plugins of one tier that vote."""

    all: Sequence[Voter]
    choosers: Sequence[Voter]
    """The plugins that do not protect absolutely."""

    @property
    def is_certain(self) -> bool:
        """Whether a plugin of the tier protects absolutely. Such a plugin never abstains."""
        return len(self.choosers) < len(self.all)


class Agreement:
    """The plugins that vote on the victims of one purpose, by tier."""

    def __init__(self, tiers: Sequence[Sequence[VictimVotes]], purpose: Purpose) -> None:
        self.budgets: Budgets = NO_BUDGETS
        self._purpose = purpose
        self._tiers = [
            VotingTier(
                [one.victim_votes for one in tier], [one.victim_votes for one in tier if not one.protects_absolutely]
            )
            for tier in tiers
            if tier
        ]
        self._voters = [one.victim_votes for tier in tiers for one in tier]
        self._names = [one.name for tier in tiers for one in tier]
        self._particular = [one.victim_votes for tier in tiers for one in tier if not one.votes_by_kind]
        self.keeps_deserved = any(one.protects_absolutely and one.keeps_deserved for tier in tiers for one in tier)
        """Whether a plugin keeps absolutely what queues deserve."""
        self._protectors = [one.victim_votes for tier in tiers for one in tier if one.protects_absolutely]

    @property
    def votes_by_kind(self) -> bool:
        """Whether evictors of jobs of one kind get equal votes from all plugins."""
        return not self._particular

    def votes(self, evictor: Task) -> Iterator[tuple[str, Votes]]:
        """The name and votes of each plugin that does not abstain, in tier order."""
        for name, ask in zip(self._names, self._voters, strict=True):
            if (votes := ask(evictor, self._purpose)) is not None:
                yield name, votes

    def victims(
        self, evictor: Task, candidates: Sequence[Task], *, by_tiers: bool, keeping: Keeping | None = None
    ) -> list[Task]:
        """The candidates that the evictor may evict, in their order; ``by_tiers`` applies Volcano's rule.

        The queues of victims ``keeping`` names have to keep what they deserve.
        """
        if by_tiers:
            asked = (
                (partial(votes.among, keeping=keeping) for votes in self._of(tier.all, evictor)) for tier in self._tiers
            )
            return list(self.budgets.allowed(victims(asked, candidates)))
        spared = self._narrowed(self._protectors, evictor, candidates, keeping)[0]
        if spared:
            for tier in self._tiers:
                named, is_opinion = self._narrowed(tier.choosers, evictor, spared, keeping)
                if named and (is_opinion or tier.is_certain) and (allowed := self.budgets.allowed(named)):
                    return list(allowed)
        return []

    def rules_out(self, evictor: Task, *, by_tiers: bool) -> Callable[[JobState], bool]:
        """A function that says whether a job certainly has no task that the evictor may evict at present."""
        protectors = [] if by_tiers else [votes.rules_out for votes in self._of(self._protectors, evictor)]
        # A tier in which every plugin abstains names no victim. It rules out all jobs, so it is left out here.
        opinions = ([votes.rules_out for votes in self._of(tier.all, evictor)] for tier in self._tiers)
        tiers = [tier for tier in opinions if tier]

        def is_out(job: JobState) -> bool:
            for rules_out in protectors:
                if rules_out(job):
                    return True
            for tier in tiers:
                for rules_out in tier:
                    if rules_out(job):
                        break
                else:
                    return False
            return True

        return is_out

    def could_retake(self, victim: Task, evictor: Task, *, by_tiers: bool) -> bool:
        """Whether the victim, once pending again, could evict the evictor in turn."""
        if not by_tiers and not all(votes.could_regain(evictor) for votes in self._of(self._protectors, victim)):
            return False
        answers = ([votes.could_regain(evictor) for votes in self._of(tier.all, victim)] for tier in self._tiers)
        return any(tier and all(tier) for tier in answers)

    def class_of(self, evictor: Task) -> Hashable:
        """The class of an evictor: evictors of one queue with equal classes and requests get equal answers."""
        return tuple([_class(evictor, ask(evictor, self._purpose)) for ask in self._voters])

    def class_within_kind(self, evictor: Task) -> Hashable:
        """The same among evictors of jobs of one kind: only plugins that may distinguish these are asked."""
        if not self._particular:
            return ()
        return tuple([_class(evictor, ask(evictor, self._purpose)) for ask in self._particular])

    def _of(self, voters: Sequence[Voter], evictor: Task) -> Iterator[Votes]:
        return (votes for ask in voters if (votes := ask(evictor, self._purpose)) is not None)

    def _narrowed(
        self, voters: Sequence[Voter], evictor: Task, candidates: Sequence[Task], keeping: Keeping | None
    ) -> tuple[Sequence[Task], bool]:
        """The candidates that all these plugins agree to, and whether any plugin did not abstain.

        Each plugin is asked only about the candidates that those before it agreed to.
        """
        is_opinion = False
        for ask in voters:
            if not candidates:
                break
            votes = ask(evictor, self._purpose)
            answer = None if votes is None else votes.among(candidates, keeping)
            if answer is None:
                continue
            is_opinion = True
            if len(answer) < len(candidates):
                uids = {task.uid for task in answer}
                candidates = [task for task in candidates if task.uid in uids]
        return candidates, is_opinion


def _class(evictor: Task, votes: Votes | None) -> Hashable:
    if votes is None:
        return ABSTAINS
    return evictor.job if votes.depends_on is OwnJob.OWN_JOB else (votes.depends_on,)
