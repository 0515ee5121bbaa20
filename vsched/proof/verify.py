"""All rules, and what they say of a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.proof import placement, queues, starting, taking, victims
from vsched.proof.cycle import Cycle, Facts

Rule = Callable[[Cycle], Iterator[str]]
"""Yields one text for each decision that it looks at: empty where the rule is kept, else what is wrong."""

RULES: dict[str, tuple[Rule, ...]] = {
    "room": (
        placement.nodes_hold_what_is_bound,
        placement.nodes_hold_what_is_kept,
        placement.ports_are_free,
        placement.devices_are_given_once,
    ),
    "rules": (placement.bound_where_allowed, placement.apart_where_asked),
    "gangs": (starting.gangs_start_whole, starting.gangs_keep_whole),
    "limits": (
        queues.queues_stay_within_capability,
        queues.guarantees_are_kept_free,
        queues.queues_get_what_they_deserve,
    ),
    "victims": (
        victims.victims_may_leave,
        victims.victims_are_in_reach,
        victims.budgets_hold,
        victims.gangs_keep_their_minima,
        victims.takers_are_complete,
        taking.queues_keep_what_they_deserve,
        taking.nobody_leaves_in_vain,
    ),
    "work": (starting.nothing_that_fits_waits,),
    "order": (taking.queues_give_in_turn,),
}


def rule_names() -> list[str]:
    """The rules as findings name them: ``gangs: gangs start whole``."""
    return [f"{group}: {rule.__name__.replace('_', ' ')}" for group, rules in RULES.items() for rule in rules]


class Finding(NamedTuple):
    """What a rule says of one cycle, or of several."""

    rule: str
    looked_at: int
    violations: tuple[str, ...]


def verify(
    snapshot: Snapshot, facts: Facts, report: CycleReport, between: Callable[[], object] = lambda: None
) -> tuple[Finding, ...]:
    """What each rule says of the decisions of a cycle, in the order of the rules.

    ``between`` is called after each decision that a rule has looked at.
    """
    cycle, found = Cycle(snapshot, facts, report), []
    for name, rule in zip(rule_names(), chain.from_iterable(RULES.values()), strict=True):
        looked_at, violations = 0, list[str]()
        for text in rule(cycle):
            looked_at += 1
            violations += [text] if text else []
            between()
        found.append(Finding(name, looked_at, tuple(violations)))
    return tuple(found)
