"""A JobFlow with every default, and what is wrong with one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from vsched import api
from vsched.api import flows as wire_flows
from vsched.api.base import json_object, seconds_of
from vsched.api.flows import FlowProbe
from vsched.api.resources import JOB_FLOWS
from vsched.controllers.flows import words
from vsched.controllers.flows.made import maker_key
from vsched.controllers.flows.probes import NetworkProbe, network_probes, probe_problems
from vsched.writes.bodies import ObjectReference

DELETE = "delete"
"""The retain policy under which vcjobs are deleted once all are complete."""
PENDING, RUNNING, SUCCEEDED, FAILURE = "Pending", "Running", "Succeed", "Failed"
FLOW_PHASES = (PENDING, RUNNING, SUCCEEDED, FAILURE)
"""The phases of a JobFlow."""
PROBES_MAX = 32
"""So many probes over the network may a JobFlow have."""


class TaskProbe(msgspec.Struct, frozen=True):
    """Enough pods of a task have to be in a phase."""

    task: str
    phase: str


class FlowStep(msgspec.Struct, frozen=True):
    """A vcjob of a JobFlow. Its name is that of its JobTemplate."""

    name: str
    targets: tuple[str, ...] = ()
    probes: tuple[TaskProbe, ...] = ()
    """What has to hold of the targets; where there are none, the targets have to be complete."""
    network_probes: tuple[NetworkProbe, ...] = ()
    """Likewise: pods have to answer."""
    probe_problems: tuple[str, ...] = ()
    """What is wrong with its probes, as they are written."""
    patch: Mapping[str, Any] = {}


class FlowRecord(msgspec.Struct, frozen=True):
    """A JobFlow."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: float
    flows: tuple[FlowStep, ...]
    retain: str = ""
    status: Mapping[str, Any] = {}
    deleting: bool = False

    @property
    def key(self) -> str:
        return maker_key("JobFlow", self.namespace, self.name)

    @property
    def reference(self) -> ObjectReference:
        """The object reference for Events about it."""
        return ObjectReference(JOB_FLOWS.api_version, "JobFlow", self.namespace, self.name, self.uid)

    @property
    def asks_pods(self) -> bool:
        """Whether it has probes that ask pods over the network."""
        return any(flow.network_probes for flow in self.flows)

    @property
    def templates(self) -> tuple[str, ...]:
        """The keys of the JobTemplates that it names."""
        return tuple(f"{self.namespace}/{flow.name}" for flow in self.flows)

    def job_name(self, flow: str) -> str:
        """The name of the vcjob of a flow, as Volcano makes it."""
        return f"{self.name}-{flow}"


def job_flow_of(item: api.JobFlow) -> FlowRecord:
    """The JobFlow with its defaults."""
    metadata = item.metadata
    return FlowRecord(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=seconds_of(metadata.creation_timestamp),
        flows=tuple(map(_flow_of, item.spec.flows or ())),
        retain=item.spec.job_retain_policy,
        status=item.status or {},
        deleting=metadata.deletion_timestamp is not None,
    )


def flow_phase(flow: FlowRecord) -> str:
    """The phase that the status states; Pending where it states none."""
    state = flow.status.get("state")
    phase = state.get("phase") if isinstance(state, Mapping) else None
    return phase if isinstance(phase, str) and phase in FLOW_PHASES else PENDING


def _flow_of(item: wire_flows.Flow) -> FlowStep:
    depends_on = item.depends_on or wire_flows.FlowDependency()
    probe = depends_on.probe or FlowProbe()
    return FlowStep(
        item.name,
        tuple(depends_on.targets or ()),
        tuple(TaskProbe(each.task_name, each.phase) for each in probe.task_status_list or ()),
        network_probes(probe),
        tuple(probe_problems(probe)),
        json_object(item.patch.job_spec) if item.patch else {},
    )


def problems(flow: FlowRecord) -> Iterator[str]:
    """Why nothing is made of a JobFlow, one line each."""
    names = {each.name for each in flow.flows}
    before = set[str]()
    for position, each in enumerate(flow.flows):
        at = f"spec.flows[{position}]"
        if each.name in before:
            yield words.is_there_twice(at, each.name)
        before.add(each.name)
        for target in each.targets:
            if target not in names:
                yield words.no_other_flow(at, target)
        yield from (f"{at}.dependsOn.probe.{line}" for line in each.probe_problems)
    asked = sum(len(each.network_probes) for each in flow.flows)
    if asked > PROBES_MAX:
        yield words.too_many_probes(asked, PROBES_MAX)
    try:
        TopologicalSorter({each.name: each.targets for each in flow.flows}).prepare()
    except CycleError as error:
        yield words.depend_on_each_other(" -> ".join(reversed(error.args[1])))
