"""Whether anything has changed that a report follows from: if not, the last one holds as a whole.

Records and published maps never change, so that "the same" mostly means the same object.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter, is_
from typing import Any, NamedTuple

from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot

_APART = frozenset({"now", "previous", "changed", "since", "history", "learnt"})
"""Fields of a snapshot that timeless policies do not read, and ``changed``, which is asked for itself."""
_IN_STATE = frozenset({"nominated", "admitted", "reserving", "asked", "phases", "total", "used", "axis"})
"""Fields that follow from jobs and nodes, so that ``Snapshot.state`` stands for them."""
_EQUAL = ("priority_range", "ignored")
"""Fields with small values that are made anew for each snapshot."""
_same_parts = attrgetter(
    *(field.name for field in fields(Snapshot) if field.name not in _APART | _IN_STATE and field.name not in _EQUAL)
)
_equal_parts = attrgetter(*_EQUAL)


class CycleInputs(NamedTuple):
    """What a report follows from, where the policy does not look at the clock."""

    same: tuple[Any, ...]
    """Of the snapshot: what has to be the same objects."""
    usage: object
    """The measured usage of nodes."""
    equal: tuple[Any, ...]


class LastCycle(NamedTuple):
    """What the last cycle followed from, and its report."""

    situation: CycleInputs
    report: CycleReport
    whole: bool
    """Whether it tells of no job that it would not tell of again."""


def is_timeless(policy: Policy, registry: Registry) -> bool:
    """Whether neither plugins nor actions look at the clock."""
    plugins = (registry.plugins[conf.name] for conf in policy.plugins())
    return all(one.timeless for one in plugins) and all(registry.actions[name].timeless for name in policy.actions)


def lasting_situation(snapshot: Snapshot, *, timeless: bool) -> CycleInputs | None:
    """What a cycle on this snapshot decides by; None where something may be other as time goes by."""
    lasts = (
        timeless
        and snapshot.state is not None
        and not snapshot.provisioning
        and not snapshot.asked
        and snapshot.arbitration is None
    )
    return situation_of(snapshot) if lasts else None


def situation_of(snapshot: Snapshot) -> CycleInputs:
    """What a cycle on this snapshot decides by."""
    return CycleInputs(_same_parts(snapshot), snapshot.nodes.usage, _equal_parts(snapshot))


def is_same(one: CycleInputs, other: CycleInputs) -> bool:
    """Whether cycles decide the same by both."""
    return one.usage is other.usage and one.equal == other.equal and all(map(is_, one.same, other.same))
