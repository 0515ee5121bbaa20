"""All rules, and what they say of a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.proof import moving, placement, queues, starting, taking, victims
from vsched.proof.cycle import Cycle, Facts

Rule = Callable[[Cycle], Iterator[str]]
"""Yields one text for each decision that it looks at: empty where the rule is kept, else what is wrong."""

_RULES: dict[str, tuple[Rule, ...]] = {
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
        queues.reports_say_what_queues_hold,
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
    "moves": (moving.moved_pods_are_made_again, moving.moved_pods_have_a_place_now),
    "work": (starting.nothing_that_fits_waits,),
    "order": (taking.queues_give_in_turn,),
}
RULES: dict[str, Rule] = {
    f"{about}: {rule.__name__.replace('_', ' ')}": rule for about, rules in _RULES.items() for rule in rules
}
"""By name, such as ``room: ports are free``."""


class RuleFinding(NamedTuple):
    """What a rule says of one cycle, or of several."""

    rule: str
    looked_at: int
    violations: tuple[str, ...]


def verify(
    snapshot: Snapshot, facts: Facts, report: CycleReport, between: Callable[[], object] = lambda: None
) -> tuple[RuleFinding, ...]:
    """What each rule says of the decisions of a cycle, in the order of the rules.

    ``between`` is called after each decision that a rule has looked at.
    """
    cycle, found = Cycle(snapshot, facts, report), []
    for name, rule in RULES.items():
        looked_at, violations = 0, list[str]()
        for text in rule(cycle):
            looked_at += 1
            violations += [text] if text else []
            between()
        found.append(RuleFinding(name, looked_at, tuple(violations)))
    return tuple(found)
