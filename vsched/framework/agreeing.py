"""How plugins agree on victims: what protects absolutely goes first, then the tiers decide (reference 7.2).

In the reference an empty answer of a tier passes the question on, whoever gave it: a gang's minimum in the first tier
is then taken because the second names it. Here nobody is a victim whom a plugin protects absolutely
(``victim_points.Protecting.protects_absolutely``), whichever tier it is in. The reference's way is there for whoever
asks for it; disruption budgets bind either way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Generic, NamedTuple, TypeVar

from vsched.framework.budgets import NO_BUDGETS, Budgets
from vsched.framework.combining import Keeps, Retakes, VictimAnswer, tier_keeps, tier_lets, victims
from vsched.framework.extension import Standing
from vsched.framework.victim_points import Preemptable, Reclaimable
from vsched.model.task import Task

VictimPoint = TypeVar("VictimPoint", Preemptable, Reclaimable)


class Questions(NamedTuple, Generic[VictimPoint]):
    """What a plugin that takes part in the agreement is asked."""

    agreed: Callable[[VictimPoint], VictimAnswer]
    keeps: Callable[[VictimPoint], Callable[[Task, Standing], bool | None]]
    class_of: Callable[[VictimPoint], Callable[[Task], Hashable]]


WITHIN = Questions[Preemptable](
    lambda one: one.preemptable, lambda one: one.keeps_from_preemptor, lambda one: one.preemptor_class
)
ACROSS = Questions[Reclaimable](
    lambda one: one.reclaimable, lambda one: one.keeps_from_reclaimer, lambda one: one.reclaimer_class
)


class Tier(NamedTuple):
    """What is asked of the plugins of one tier that have a say."""

    all: Sequence[VictimAnswer]
    choosers: Sequence[VictimAnswer]
    """Those that do not protect absolutely."""
    keeps: Sequence[Keeps]
    retakes: Sequence[Retakes]

    @property
    def is_certain(self) -> bool:
        """Whether someone in it protects absolutely: such a plugin never abstains."""
        return len(self.choosers) < len(self.all)


class Agreement(Generic[VictimPoint]):
    """The plugins that have a say in one kind of taking, by tier."""

    def __init__(self, tiers: Sequence[Sequence[VictimPoint]], questions: Questions[VictimPoint]) -> None:
        self.budgets: Budgets = NO_BUDGETS
        self._tiers = [
            Tier(
                [questions.agreed(one) for one in tier],
                [questions.agreed(one) for one in tier if not one.protects_absolutely],
                [questions.keeps(one) for one in tier],
                [one.could_retake for one in tier],
            )
            for tier in tiers
            if tier
        ]
        plugins = [one for tier in tiers for one in tier]
        protectors = [one for one in plugins if one.protects_absolutely]
        self._protectors = Tier(
            [questions.agreed(one) for one in protectors],
            (),
            [questions.keeps(one) for one in protectors],
            [one.could_retake for one in protectors],
        )
        self._classes = [questions.class_of(one) for one in plugins]

    def victims(self, evictor: Task, candidates: Sequence[Task], *, by_tiers: bool) -> list[Task]:
        """Whom the evictor may take from, in the order of the candidates; ``by_tiers`` alone, as in the reference."""
        if by_tiers:
            return list(self.budgets.allowed(victims([tier.all for tier in self._tiers], evictor, candidates)))
        spared = _narrowed(self._protectors.all, evictor, candidates)
        if spared:
            for tier in self._tiers:
                if (named := _named(tier, evictor, spared)) and (allowed := self.budgets.allowed(named)):
                    return list(allowed)
        return []

    def keeps(self, evictor: Task, job: Standing, *, by_tiers: bool) -> bool:
        """Whether it is certain that no task of the job can be a victim of the evictor."""
        if not by_tiers and any(keeps(evictor, job) for keeps in self._protectors.keeps):
            return True
        return all(tier_keeps(tier.keeps, evictor, job) for tier in self._tiers)

    def could_retake(self, victim: Task, evictor: Task, *, by_tiers: bool) -> bool:
        """Whether the victim, waiting again, could take the evictor's place."""
        if not by_tiers and not all(lets(victim, evictor) for lets in self._protectors.retakes):
            return False
        return any(tier_lets(tier.retakes, victim, evictor) for tier in self._tiers)

    def class_of(self, evictor: Task) -> Hashable:
        """Evictors of equal class in one queue with equal requests get equal answers."""
        return tuple([of(evictor) for of in self._classes])


def _narrowed(answers: Sequence[VictimAnswer], evictor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
    """Whom all of these agree to; each sees only those that the ones before it let go."""
    for ask in answers:
        if not candidates:
            break
        answer = ask(evictor, candidates)
        if answer is not None and len(answer) < len(candidates):
            uids = {task.uid for task in answer}
            candidates = [task for task in candidates if task.uid in uids]
    return candidates


def _named(tier: Tier, evictor: Task, unprotected: Sequence[Task]) -> Sequence[Task]:
    """The victims that a tier names; nobody where all of it abstain."""
    if not tier.is_certain and all(ask(evictor, unprotected) is None for ask in tier.choosers):
        return ()
    return _narrowed(tier.choosers, evictor, unprotected)
