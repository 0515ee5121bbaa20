"""All rules, and what they say of a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot
from vsched.proof import placement, queues, starting, taking, victims
from vsched.proof.cycle import Cycle, Facts

Rule = Callable[[Cycle], Iterator[str]]
"""Yields one text for each decision that it looks at: empty where the rule is kept, else what is wrong."""

RULES: dict[str, Rule] = {
    "room: nodes hold what is bound": placement.nodes_hold_what_is_bound,
    "room: nodes hold what is kept": placement.nodes_hold_what_is_kept,
    "room: ports are free": placement.ports_are_free,
    "room: devices are given once": placement.devices_are_given_once,
    "rules: bound where allowed": placement.bound_where_allowed,
    "rules: apart where asked": placement.apart_where_asked,
    "gangs: gangs start whole": starting.gangs_start_whole,
    "gangs: gangs keep whole": starting.gangs_keep_whole,
    "limits: queues stay within capability": queues.queues_stay_within_capability,
    "limits: guarantees are kept free": queues.guarantees_are_kept_free,
    "limits: queues get what they deserve": queues.queues_get_what_they_deserve,
    "limits: reports say what queues hold": queues.reports_say_what_queues_hold,
    "victims: victims may leave": victims.victims_may_leave,
    "victims: victims are in reach": victims.victims_are_in_reach,
    "victims: budgets hold": victims.budgets_hold,
    "victims: gangs keep their minima": victims.gangs_keep_their_minima,
    "victims: takers are complete": victims.takers_are_complete,
    "victims: queues keep what they deserve": taking.queues_keep_what_they_deserve,
    "victims: nobody leaves in vain": taking.nobody_leaves_in_vain,
    "work: nothing that fits waits": starting.nothing_that_fits_waits,
    "order: queues give in turn": taking.queues_give_in_turn,
}


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
