"""How sessions decide: the pure cycle with the plugins there are, or not at all."""

from __future__ import annotations

from vsched.daemon.calling import Caller
from vsched.daemon.loop import Decide
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


def decide_nothing(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
    """What sessions decide where other schedulers place the pods."""
    return CycleReport()


def deciding(registry: Registry, caller: Caller) -> Decide:
    """Cycles that ask services outside through this caller."""

    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        return run_cycle(snapshot, policy, registry, trace, caller.cycle())

    return decide
