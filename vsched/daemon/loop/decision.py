"""How sessions decide: the pure cycle with the plugins there are, or not at all."""

from __future__ import annotations

from collections.abc import Callable

from vsched.daemon.loop.callouts import Caller
from vsched.daemon.loop.loop import Decide
from vsched.framework.answers import Noting
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.dump import Call
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


def decide_nothing(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
    """What sessions decide where other schedulers place the pods."""
    return CycleReport()


def deciding(registry: Registry, caller: Caller, hear: Callable[[tuple[Call, ...], int], None]) -> Decide:
    """Cycles that ask services outside through this caller; what these answer is told to ``hear`` as well."""

    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        answers = Noting(caller.cycle())
        try:
            return run_cycle(snapshot, policy, registry, trace, answers)
        finally:
            hear(tuple(answers.calls), answers.unrecorded)

    return decide
