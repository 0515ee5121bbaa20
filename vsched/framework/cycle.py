"""One scheduling cycle: a function from a snapshot and a policy to a report. No clock, no I/O, no randomness."""

from __future__ import annotations

from vsched.framework.callout import Callout
from vsched.framework.ending import end_overdue
from vsched.framework.holding import hold_nominations
from vsched.framework.memory import Memory
from vsched.framework.policy import Policy
from vsched.framework.registry import Action, Registry
from vsched.framework.reports.closing import close, tells_of_active
from vsched.framework.reports.verdicts import Told
from vsched.framework.session import Session
from vsched.framework.trace import Trace
from vsched.model.plan import CycleReport
from vsched.model.snapshot import Snapshot


def run_cycle(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    trace: Trace | None = None,
    callout: Callout | None = None,
    told: Told | None = None,
) -> CycleReport:
    """Open a session, run the policy's actions in order, report. Equal inputs give equal reports.

    ``callout`` is for plugins that call external services. The answers of these services are inputs too. ``told`` keeps
    what has not changed from cycle to cycle; it saves time and changes no report. A report that is given again as a
    whole has the same maps as before, and no spans.
    """
    trace, told = trace or Trace(), Told() if told is None else told
    memory = told.memory
    known = memory.begin(snapshot, policy, registry)
    if known is not None:
        return known
    session = run_actions(snapshot, policy, registry, trace, callout, memory)
    report = close(session, trace, told)
    memory.end(report, whole=tells_of_active(session))
    session.plugins.release()
    session.leave()
    return report


def run_actions(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    trace: Trace,
    callout: Callout | None = None,
    memory: Memory | None = None,
) -> Session:
    """Open a session and run the policy's actions in order; returns the session, without building a report.

    With ``memory``, what is said of spans of jobs is left to the report.
    """
    session = trace.timed("session", "open", _opened, snapshot, policy, registry, trace, callout, memory)
    for name in policy.actions:
        trace.timed("action", name, _act, registry.actions[name], session)
    if memory is None:
        session.waiting.open_all()
    trace.timed("close", "plugins", session.plugins.end_cycle)
    return session


def _opened(
    snapshot: Snapshot,
    policy: Policy,
    registry: Registry,
    trace: Trace,
    callout: Callout | None,
    memory: Memory | None,
) -> Session:
    session = Session(snapshot, policy, registry, trace, callout, memory)
    end_overdue(session)
    hold_nominations(session)
    return session


def _act(action: Action, session: Session) -> None:
    if not action.by_class:
        session.waiting.open_all()
    action.run(session)
