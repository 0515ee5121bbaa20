"""How sessions decide: by the pure cycle, or not at all in a daemon that places no pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vsched.daemon.loop.callouts import Caller
from vsched.daemon.loop.loop import Decide
from vsched.framework.answers import Noting
from vsched.framework.cycle import run_cycle
from vsched.framework.policy import Policy
from vsched.framework.registry import Registry
from vsched.framework.trace import Trace
from vsched.model.dump.cycle import ExternalCall
from vsched.model.memo import Memo
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


def decide_nothing(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
    """The decisions of a daemon that places no pods: none."""
    return CycleReport()


def deciding(
    registry: Registry,
    caller: Caller,
    hear: Callable[[tuple[ExternalCall, ...], int], None],
    memo: Memo,
    count: Callable[[Mapping[str, tuple[int, int]]], None],
) -> Decide:
    """Cycles that call external services through ``caller``; their answers are passed to ``hear``, too.

    They run one after the other, and share what they keep; how much of that was of use is passed to ``count``.
    """

    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        answers = Noting(caller.cycle())
        try:
            return run_cycle(snapshot, policy, registry, trace, answers, memo)
        finally:
            hear(tuple(answers.calls), answers.unrecorded)
            count(memo.counted())

    return decide


def deciding_alone(registry: Registry, caller: Caller) -> Decide:
    """Cycles whose decisions are not carried out: nothing of them is kept or recorded."""

    def decide(snapshot: Snapshot, policy: Policy, trace: Trace) -> CycleReport:
        return run_cycle(snapshot, policy, registry, trace, Noting(caller.cycle()))

    return decide
