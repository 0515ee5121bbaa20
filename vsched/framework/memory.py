"""What a cycle leaves for the next one on the same mirror, so that what has not changed is not worked out again.

It saves time and changes no answer: whatever is kept names what it was worked out from, and is used while that is the
same. Records and published maps never change, so that "the same" mostly means the same object.
"""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter, is_
from typing import Any, NamedTuple

import msgspec

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


class Situation(NamedTuple):
    """What a report follows from, where the policy does not look at the clock."""

    same: tuple[Any, ...]
    """Of the snapshot: what has to be the same objects."""
    usage: object
    """The measured usage of nodes."""
    equal: tuple[Any, ...]


class Memory:
    """What the last cycle left, for one policy. Cycles that share it run one after the other."""

    def __init__(self) -> None:
        self._policy: Policy | None = None
        self._registry: Registry | None = None
        self._timeless = False
        self._situation: Situation | None = None
        """Of the cycle under way, or of the last one; None where its report may not last."""
        self._report: CycleReport | None = None
        """The last report; None where it may not last."""
        self._whole = False
        """Whether it tells of no job that it would not tell of again."""
        self.before: CycleReport | None = None
        """The last report where nothing has changed that the cycle under way follows from; it may only tell of jobs
        besides that had changed then. None where something may have changed."""
        self.parts: dict[str, object] = {}
        """What parts of the engine and plugins keep, each under a name of its own; forgotten with the policy."""

    def begin(self, snapshot: Snapshot, policy: Policy, registry: Registry) -> CycleReport | None:
        """A cycle begins; returns its report where the last one holds as a whole, None where it has to be run.

        Where no job waits it is always run, as it then costs no more than a few questions. What was kept under another
        policy is forgotten.
        """
        self._see(policy, registry)
        known, self._situation = self._situation, situation_of(snapshot) if self._may_last(snapshot) else None
        self.before, self._report = self._report, None
        if known is None or self._situation is None or not _same(known, self._situation):
            self.before = None
        if self.before is None or not self._whole or snapshot.changed or not snapshot.active:
            return None
        self._report = self.before
        return self._report

    def end(self, report: CycleReport, *, whole: bool) -> None:
        """The cycle has ended; ``whole``: the report tells of no job that it would not tell of again."""
        self.before = None
        if self._situation is not None:
            again = msgspec.structs.replace(report, spans=()) if report.spans else report
            self._report, self._whole = again, whole

    def _see(self, policy: Policy, registry: Registry) -> None:
        if policy is self._policy and registry is self._registry:
            return
        self._policy, self._registry, self._situation, self._report = policy, registry, None, None
        self.parts.clear()
        self._timeless = all(registry.plugins[conf.name].timeless for conf in policy.plugins()) and all(
            registry.actions[name].timeless for name in policy.actions
        )

    def _may_last(self, snapshot: Snapshot) -> bool:
        return (
            self._timeless
            and snapshot.state is not None
            and not snapshot.provisioning
            and not snapshot.asked
            and snapshot.arbitration is None
        )


def situation_of(snapshot: Snapshot) -> Situation:
    """What a cycle on this snapshot decides by."""
    return Situation(_same_parts(snapshot), snapshot.nodes.usage, _equal_parts(snapshot))


def _same(one: Situation, other: Situation) -> bool:
    return one.usage is other.usage and one.equal == other.equal and all(map(is_, one.same, other.same))
