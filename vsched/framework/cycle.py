"""One scheduling cycle: a function from a snapshot and a policy to a report. No clock, no I/O, no randomness."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from vsched.framework.callout import Callout
from vsched.framework.ledger.ledger import EvictionCause
from vsched.framework.ledger.units import EVICTABLE
from vsched.framework.nominations import reserve_nominations
from vsched.framework.policy import Policy
from vsched.framework.registry import Action, Registry
from vsched.framework.reports.closing import close, is_repeatable
from vsched.framework.session import Session
from vsched.framework.times import next_day
from vsched.framework.trace import Trace
from vsched.framework.unchanged import LastCycle, is_lasting, is_same, lasting_inputs
from vsched.framework.words import engine as words
from vsched.model.dump.cycle import report_bytes
from vsched.model.memo import NO_MEMO, Memo, Unequal
from vsched.model.plan import WALL_TIME, CycleReport
from vsched.model.snapshot import Snapshot

OWNER = "cycle"


def run_cycle(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    trace: Trace | None = None,
    callout: Callout | None = None,
    memo: Memo = NO_MEMO,
) -> CycleReport:
    """Open a session, run the policy's actions in order, report. Equal inputs give equal reports.

    ``callout`` is for plugins that call external services. The answers of these services are inputs too. ``memo``
    carries what has not changed from cycle to cycle; it saves time and changes no report. A report that is repeated as
    a whole has the same maps as before, and no spans.
    """
    memo.begin(policy, registry)
    report = _cycle(snapshot, policy, registry, trace or Trace(), callout, memo)
    if memo.proves and callout is None:  # an external service may be asked only once
        prove(report, _cycle(snapshot, policy, registry, Trace(), None, NO_MEMO), policy, registry)
    memo.end()
    return report


def _cycle(
    snapshot: Snapshot, policy: Policy, registry: Registry, trace: Trace, callout: Callout | None, memo: Memo
) -> CycleReport:
    last = memo.take(OWNER, LastCycle)
    inputs = lasting_inputs(snapshot, lasting=memo.of(OWNER, "lasting", (policy, registry), is_lasting))
    if last is not None and (inputs is None or snapshot.now >= last.until or not is_same(last.inputs, inputs)):
        last = None
    if last is not None and last.repeatable and not snapshot.changed:
        memo.leave(OWNER, last)
        return last.report
    session = run_actions(snapshot, policy, registry, trace, callout, memo, by_span=True)
    report = close(session, trace, None if last is None else last.report)
    if inputs is not None:
        repeated = msgspec.structs.replace(report, spans=()) if report.spans else report
        memo.leave(OWNER, LastCycle(inputs, repeated, is_repeatable(session), _lasts_until(session)))
    session.leave()
    session.plugins.release()
    return report


def _lasts_until(session: Session) -> float:
    """Until when the decisions and all that is said of them hold, if nothing but the time changes."""
    plugins, now = session.plugins, session.snapshot.now
    return min(plugins.lasts_until(), plugins.victim_rules.due, session.reserved.lasts_until(now), next_day(now))


def run_actions(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    trace: Trace,
    callout: Callout | None = None,
    memo: Memo = NO_MEMO,
    *,
    by_span: bool = False,
    actions: Sequence[str] | None = None,
) -> Session:
    """Open a session and run the policy's actions in order; returns the session, without building a report.

    ``by_span``: spans of waiting jobs are left to the report, and not split into jobs. ``actions`` run in place of all
    that the policy has.
    """
    session = trace.timed("session", "open", _opened, snapshot, policy, registry, trace, callout, memo)
    for name in policy.actions if actions is None else actions:
        trace.timed("action", name, _act, registry.actions[name], session)
    if not by_span:
        session.waiting.split_all()
    trace.timed("close", "plugins", session.plugins.end_cycle)
    return session


def _opened(
    snapshot: Snapshot, policy: Policy, registry: Registry, trace: Trace, callout: Callout | None, memo: Memo
) -> Session:
    session = Session(snapshot, policy, registry, trace, callout, memo)
    end_overdue(session)
    reserve_nominations(session)
    session.reservations.complete_gangs()
    return session


def _act(action: Action, session: Session) -> None:
    if not action.by_class:
        session.waiting.split_all()
    action.run(session)


OVERDUE = EvictionCause(WALL_TIME, beneficiary="")


def end_overdue(session: Session) -> None:
    """Evict the pods of the jobs that plugins want ended; pods that are being bound go once they are."""
    rows = session.nodes.statics.row
    for key in session.plugins.overdue():
        job = session.view(key)
        if job is None:
            continue
        with session.statement() as statement:
            for task in job.job.tasks.values():
                if task.status in EVICTABLE and not task.spared and (row := rows.get(task.node)) is not None:
                    statement.evict(job, task, row, OVERDUE)
            statement.commit()


PROMISES = ("timeless", "by_job_alone", "by_nodes_alone", "by_request_alone", "votes_by_kind")
"""What plugins may promise so that their answers are carried over or shared."""


def prove(report: CycleReport, fresh: CycleReport, policy: Policy, registry: Registry) -> None:
    """Raises Unequal where the reports differ; ``fresh`` was made without a memo."""
    if report_bytes(msgspec.structs.replace(report, spans=())) == report_bytes(fresh):
        return
    raise Unequal(words.keeps_too_much([*_promising_plugins(policy, registry)]))


def _promising_plugins(policy: Policy, registry: Registry) -> Iterator[str]:
    """Plugins of others that promise something, and their promises."""
    for conf in policy.plugins():
        plugin = registry.plugins[conf.name]
        made = [name for name in PROMISES if getattr(plugin, name, False)]
        if made and not plugin.__module__.startswith("vsched."):
            yield f"{conf.name} ({', '.join(made)})"
