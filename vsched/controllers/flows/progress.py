"""What to do about a JobFlow: the vcjobs whose turn it is, and its status. Pure.

A vcjob has a fixed name. One that has ended is not made again, also where it is gone: the status remembers its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from vsched.api.resources import JOB_FLOWS, VCJOBS
from vsched.controllers.flows import words
from vsched.controllers.flows.jobflows import (
    DELETE,
    FAILURE,
    PENDING,
    RUNNING,
    SUCCEEDED,
    FlowRecord,
    FlowStep,
    flow_phase,
    problems,
)
from vsched.controllers.flows.jobtemplates import TemplateRecord
from vsched.controllers.flows.made import BY_FLOW, BY_TEMPLATE, FAILED, Body, MadeJob
from vsched.controllers.flows.patches import patched
from vsched.controllers.flows.probes import Answers, PodProbe
from vsched.controllers.flows.turns import FlowTurn, Pods, turn_of
from vsched.controllers.podgroups import PodGroupOwner
from vsched.controllers.vcjobs.spec import JobPhase
from vsched.controllers.vcjobs.states import FINISHED
from vsched.controllers.vcjobs.status import compact
from vsched.kube.times import time_stamp
from vsched.model.amounts.durations import parse_duration

LISTS: Mapping[str, str] = {
    JobPhase.PENDING: "pendingJobs",
    JobPhase.RUNNING: "runningJobs",
    JobPhase.FAILED: "failedJobs",
    JobPhase.COMPLETED: "completedJobs",
    JobPhase.TERMINATED: "terminatedJobs",
}
UNLISTED = frozenset((JobPhase.COMPLETING, JobPhase.TERMINATING))
"""Phases whose vcjobs are in no list of the status; those in any other phase are in ``unKnowJobs``."""
TOLD_MAX = 3
"""Of so many flows an Event says which probe fails."""
PROBLEMS_TOLD = 5
"""So many lines of what is wrong with a JobFlow are told."""
HISTORIES_KEPT = 32
"""The latest phases of a vcjob that the status remembers."""


class FlowPlan(NamedTuple):
    """What is to be written, in this order. After creations, the plan is made again with the new vcjobs."""

    create: tuple[Body, ...] = ()
    status: Body | None = None
    """The whole new status; None where it stays."""
    delete: tuple[MadeJob, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()
    """Reasons and messages, where something of it cannot be made."""
    asks: tuple[PodProbe, ...] = ()
    """Pods that are to be asked, because flows depend on their answers."""
    lacks_pods: bool = False
    """Whether some that are to be asked do not run yet."""


def proceed(
    flow: FlowRecord,
    jobs: Sequence[MadeJob],
    templates: Mapping[str, TemplateRecord],
    now: float,
    pods: Pods | None = None,
    answers: Answers | None = None,
) -> FlowPlan:
    """The next step; ``jobs`` are those that the JobFlow controls, ``templates`` those that it names.

    ``pods`` are those of the jobs, where the JobFlow asks pods, and ``answers`` what came of asking them.
    """
    if flow.deleting:
        return FlowPlan()
    if flow_phase(flow) == SUCCEEDED:
        old = tuple(job for job in jobs if not job.deleting) if flow.retain == DELETE else ()
        return FlowPlan(delete=old, problems=tuple(_too_late(flow)))
    made = {job.name: job for job in jobs}
    phases = _phases(flow, made)
    wrong = "; ".join(islice(problems(flow), PROBLEMS_TOLD))
    if wrong:
        return FlowPlan(status=_status(flow, made, phases, False, now), problems=(("InvalidJobFlow", wrong),))
    turns = {
        each.name: turn_of(flow, each, phases, made, pods or {}, answers or {})
        for each in flow.flows
        if each.name not in phases
    }
    due = [each for each in flow.flows if each.name in turns and turns[each.name].free]
    found = [(each, templates.get(f"{flow.namespace}/{each.name}")) for each in due]
    missing = [each.name for each, template in found if template is None]
    create = tuple(job_body(flow, each, template) for each, template in found if template is not None)
    return FlowPlan(
        create,
        _status(flow, made, phases, bool(due), now),
        problems=tuple(_told(missing, turns)),
        asks=tuple(dict.fromkeys(ask for turn in turns.values() for ask in turn.asks)),
        lacks_pods=any(turn.lacks_pods for turn in turns.values()),
    )


def _too_late(flow: FlowRecord) -> Iterator[tuple[str, str]]:
    """Flows that were added to a JobFlow that has ended."""
    remembered = _remembered(flow)
    added = [each.name for each in flow.flows if remembered and flow.job_name(each.name) not in remembered]
    if added:
        yield (
            "JobFlowEnded",
            words.flows_added_late(", ".join(added[:TOLD_MAX])),
        )


def _told(missing: Sequence[str], turns: Mapping[str, FlowTurn]) -> Iterator[tuple[str, str]]:
    """Why flows wait that nothing else would be known of: a message for each reason."""
    if missing:
        yield "MissingJobTemplate", "; ".join(words.no_job_template(name) for name in missing)
    failed = [f"flow {name} waits: {turn.problem}" for name, turn in turns.items() if turn.problem]
    if failed:
        more = len(failed) - TOLD_MAX
        yield "ProbeFailed", "; ".join([*failed[:TOLD_MAX], *([words.more_flows_wait(more)] if more > 0 else [])])


def _remembered(flow: FlowRecord) -> dict[str, dict[str, Any]]:
    """What the status says of each vcjob, by its name."""
    listed = flow.status.get("jobStatusList")
    found = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return {str(each.get("name", "")): each for each in found}


def _phases(flow: FlowRecord, made: Mapping[str, MadeJob]) -> dict[str, str]:
    """The phases of the flows whose vcjobs were made and are there, or have ended."""
    remembered, found = _remembered(flow), dict[str, str]()
    for each in flow.flows:
        name = flow.job_name(each.name)
        before = str(remembered.get(name, {}).get("state", ""))
        if name in made:
            found[each.name] = made[name].phase
        elif before in FINISHED:
            found[each.name] = before
    return found


def job_body(flow: FlowRecord, each: FlowStep, template: TemplateRecord) -> Body:
    """The vcjob of a flow."""
    made_by = {BY_TEMPLATE: f"{flow.namespace}.{each.name}", BY_FLOW: f"{flow.namespace}.{flow.name}"}
    return {
        "apiVersion": VCJOBS.api_version,
        "kind": "Job",
        "metadata": {
            "name": flow.job_name(each.name),
            "namespace": flow.namespace,
            "labels": made_by,
            "annotations": made_by,
            "ownerReferences": [PodGroupOwner(JOB_FLOWS.api_version, "JobFlow", flow.name, flow.uid).as_object()],
        },
        "spec": patched(template.spec, each.patch),
    }


# -- the status


def _status(
    flow: FlowRecord, made: Mapping[str, MadeJob], phases: Mapping[str, str], more: bool, now: float
) -> Body | None:
    """The whole status; None where it stays. ``more``: vcjobs are about to be made."""
    names: dict[str, list[str]] = {}
    for each in flow.flows:
        phase = phases.get(each.name)
        if phase is not None and phase not in UNLISTED:
            names.setdefault(LISTS.get(phase, "unKnowJobs"), []).append(flow.job_name(each.name))
    ours = [made[name] for name in map(flow.job_name, phases) if name in made]
    remembered = _remembered(flow)
    for job in ours:
        remembered[job.name] = _job_status(job, remembered.get(job.name, {}), now)
    status = compact(
        {
            **names,
            "jobStatusList": [*remembered.values()],
            "conditions": {job.name: _condition(job) for job in ours},
            "state": {"phase": _phase(flow, phases, more)},
        }
    )
    return None if status == flow.status else status


def _phase(flow: FlowRecord, phases: Mapping[str, str], more: bool) -> str:
    if flow.flows and all(phases.get(each.name) == JobPhase.COMPLETED for each in flow.flows):
        return SUCCEEDED
    active = more or any(phase not in FINISHED for phase in phases.values())
    if not active and any(phase in FAILED for phase in phases.values()):
        return FAILURE
    begun = any(phase in FINISHED or phase == JobPhase.RUNNING for phase in phases.values())
    return RUNNING if begun or flow_phase(flow) == RUNNING else PENDING


def _condition(job: MadeJob) -> Body:
    return compact(
        {
            "phase": job.phase,
            "createTime": time_stamp(job.created),
            "runningDuration": job.running_duration,
            "taskStatusCount": dict(job.tasks),
        }
    )


def _job_status(job: MadeJob, before: Body, now: float) -> Body:
    lasted = parse_duration(job.running_duration) if job.running_duration else None
    return compact(
        {
            "name": job.name,
            "state": job.phase,
            "startTimestamp": time_stamp(job.created),
            "endTimestamp": time_stamp(job.created + lasted) if lasted is not None else "",
            "restartCount": job.retries,
            "runningHistories": _histories(job, before.get("runningHistories"), now),
        }
    )


def _histories(job: MadeJob, before: object, now: float) -> list[Body]:
    """The phases that a vcjob has been through, with the times at which they were seen."""
    found = [each for each in before if isinstance(each, dict)] if isinstance(before, list) else []
    if not job.phase or (found and found[-1].get("state") == job.phase):
        return found
    if found:
        found = [*found[:-1], {**found[-1], "endTimestamp": time_stamp(now)}]
    return [*found, {"startTimestamp": time_stamp(now), "state": job.phase}][-HISTORIES_KEPT:]
