"""Whether the turn of a flow has come: what it depends on, and what has to be asked of pods to know. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vsched.controllers.flows import words
from vsched.controllers.flows.jobflows import FlowRecord, FlowStep, TaskProbe
from vsched.controllers.flows.made import MadeJob
from vsched.controllers.flows.probes import ANSWERED, Answers, NetworkProbe, PodProbe, asks_of
from vsched.controllers.vcjobs.spec import JobPhase
from vsched.controllers.vcjobs.states import FINISHED
from vsched.controllers.vcjobs.view import VcjobPod

Pods = Mapping[str, Sequence[VcjobPod]]
"""The pods of vcjobs, by the uid of the vcjob."""


class FlowTurn(NamedTuple):
    """Whether a flow is free to be made."""

    free: bool
    asks: tuple[PodProbe, ...] = ()
    """Pods whose answers it needs."""
    lacks_pods: bool = False
    """Whether pods that are to be asked do not run yet."""
    problem: str = ""
    """Which probe fails, and why."""


def turn_of(
    flow: FlowRecord,
    each: FlowStep,
    phases: Mapping[str, str],
    made: Mapping[str, MadeJob],
    pods: Pods,
    answers: Answers,
) -> FlowTurn:
    """Each target has to be complete, or the probes of its tasks have to hold, if there are any.

    ``phases`` are those of the flows, ``made`` are the vcjobs by name.
    """
    asks: list[PodProbe] = []
    for target in each.targets:
        if phases.get(target) == JobPhase.COMPLETED:
            continue
        job = made.get(flow.job_name(target))
        if job is None or phases[target] in FINISHED:
            return FlowTurn(False)
        by_phase = [probe for probe in each.probes if probe.task in job.minima]
        by_network = [probe for probe in each.network_probes if not probe.task or probe.task in job.minima]
        if not (by_phase or by_network):
            has_probes = each.probes or each.network_probes
            return FlowTurn(False, problem=_unknown_task(flow, each, made) if has_probes else "")
        if not all(_holds(probe, job) for probe in by_phase):
            return FlowTurn(False)
        for asked in by_network:
            found = asks_of(asked, job, pods.get(job.uid, ()))
            if found is None:
                return FlowTurn(False, lacks_pods=True)
            asks += found
    failed = next((f"{ask}: {answers[ask]}" for ask in asks if answers.get(ask, ANSWERED) != ANSWERED), "")
    return FlowTurn(all(answers.get(ask) == ANSWERED for ask in asks), tuple(asks), False, failed)


def _unknown_task(flow: FlowRecord, each: FlowStep, made: Mapping[str, MadeJob]) -> str:
    """Which task of the probes no target has; empty where there is none, or where not all targets are made."""
    jobs = [made[name] for name in map(flow.job_name, each.targets) if name in made]
    probes: tuple[TaskProbe | NetworkProbe, ...] = (*each.probes, *each.network_probes)
    if len(jobs) < len(each.targets):
        return ""
    unknown = (probe.task for probe in probes if probe.task and not any(probe.task in job.minima for job in jobs))
    return next((words.no_target_has_task(task) for task in unknown), "")


def _holds(probe: TaskProbe, job: MadeJob) -> bool:
    """Whether as many pods of the task as have to be up are in the phase."""
    counted = job.tasks.get(probe.task)
    phases = counted.get("phase") if isinstance(counted, Mapping) else None
    found = phases.get(probe.phase, 0) if isinstance(phases, Mapping) else 0
    return isinstance(found, int) and found >= max(1, job.minima[probe.task])
