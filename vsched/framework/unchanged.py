"""Whether the inputs of a report have changed: if not, the last report is repeated as a whole, as long as it holds.

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

_IGNORED = frozenset({"now", "previous", "changed", "since", "history"})
"""Fields of a snapshot that lasting policies do not read or say until when, and ``changed``, which the cycle checks."""
_IN_STATE = frozenset({"nominated", "admitted", "reserving", "asked", "phases", "total", "used", "axis"})
"""Fields that follow from jobs and nodes, so that it is enough to compare ``Snapshot.state``."""
_EQUAL = ("priority_range", "ignored")
"""Fields with small values that each snapshot makes again, so that they are compared by value."""
_same_fields = attrgetter(
    *(field.name for field in fields(Snapshot) if field.name not in _IGNORED | _IN_STATE and field.name not in _EQUAL)
)
_equal_fields = attrgetter(*_EQUAL)


class CycleInputs(NamedTuple):
    """The inputs of a cycle but for the clock: plugins say until when what they read there holds."""

    same: tuple[Any, ...]
    """Fields of the snapshot that have to be the same objects."""
    usage: object
    """The measured usage of nodes."""
    equal: tuple[Any, ...]


class LastCycle(NamedTuple):
    """The inputs of the last cycle, and its report."""

    inputs: CycleInputs
    report: CycleReport
    repeatable: bool
    """Whether the same inputs give a report on the same jobs."""
    until: float
    """When time alone may change the report, seconds since the epoch; infinite for never."""


def is_lasting(policy: Policy, registry: Registry) -> bool:
    """Whether no action reads the clock; plugins say until when their answers hold."""
    return all(registry.actions[name].timeless for name in policy.actions)


def lasting_inputs(snapshot: Snapshot, *, lasting: bool) -> CycleInputs | None:
    """The inputs of a cycle on this snapshot; None where its decisions may change as time goes by."""
    lasts = (
        lasting
        and snapshot.state is not None
        and not snapshot.provisioning
        and not snapshot.asked
        and snapshot.arbitration is None
    )
    return inputs_of(snapshot) if lasts else None


def inputs_of(snapshot: Snapshot) -> CycleInputs:
    """The inputs of a cycle on this snapshot."""
    return CycleInputs(_same_fields(snapshot), snapshot.nodes.usage, _equal_fields(snapshot))


def is_same(one: CycleInputs, other: CycleInputs) -> bool:
    """Whether cycles with these inputs decide the same."""
    return one.usage is other.usage and one.equal == other.equal and all(map(is_, one.same, other.same))
