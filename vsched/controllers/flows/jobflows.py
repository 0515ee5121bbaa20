"""A JobFlow with every default, and what is wrong with one. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from vsched.controllers.flows.made import data_of, maker_key
from vsched.mirror import wire
from vsched.mirror.resources import JOB_FLOWS
from vsched.mirror.wire.base import seconds_of
from vsched.mirror.wire.flows import FlowProbe
from vsched.writes.bodies import Reference

DELETE = "delete"
"""The retain policy under which vcjobs are deleted once all are complete."""


class TaskProbe(msgspec.Struct, frozen=True):
    """Enough pods of a task have to be in a phase."""

    task: str
    phase: str


class Flow(msgspec.Struct, frozen=True):
    """A vcjob of a JobFlow. Its name is that of its JobTemplate."""

    name: str
    targets: tuple[str, ...] = ()
    probes: tuple[TaskProbe, ...] = ()
    """What has to hold of the targets; where there are none, the targets have to be complete."""
    asks_pods: bool = False
    """Whether it has probes that ask pods over the network."""
    patch: Mapping[str, Any] = {}


class JobFlow(msgspec.Struct, frozen=True):
    """A JobFlow."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    created: float
    flows: tuple[Flow, ...]
    retain: str = ""
    status: Mapping[str, Any] = {}
    deleting: bool = False

    @property
    def key(self) -> str:
        return maker_key("JobFlow", self.namespace, self.name)

    @property
    def reference(self) -> Reference:
        """The object reference for Events about it."""
        return Reference(JOB_FLOWS.api_version, "JobFlow", self.namespace, self.name, self.uid)

    @property
    def templates(self) -> tuple[str, ...]:
        """The keys of the JobTemplates that it names."""
        return tuple(f"{self.namespace}/{flow.name}" for flow in self.flows)

    def job_name(self, flow: str) -> str:
        """The name of the vcjob of a flow, as Volcano makes it."""
        return f"{self.name}-{flow}"


def job_flow_of(item: wire.JobFlow) -> JobFlow:
    """The JobFlow with its defaults."""
    metadata = item.metadata
    return JobFlow(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        created=seconds_of(metadata.creation_timestamp),
        flows=tuple(
            Flow(
                flow.name,
                tuple((flow.depends_on.targets or ()) if flow.depends_on else ()),
                *_probes(flow.depends_on.probe if flow.depends_on else None),
                data_of(flow.patch.job_spec) if flow.patch else {},
            )
            for flow in item.spec.flows or ()
        ),
        retain=item.spec.job_retain_policy,
        status=item.status or {},
        deleting=metadata.deletion_timestamp is not None,
    )


def _probes(probe: FlowProbe | None) -> tuple[tuple[TaskProbe, ...], bool]:
    if probe is None:
        return (), False
    found = tuple(TaskProbe(each.task_name, each.phase) for each in probe.task_status_list or ())
    return found, bool(probe.http_get_list or probe.tcp_socket_list)


def problems(flow: JobFlow) -> Iterator[str]:
    """Why nothing is made of a JobFlow, one line each."""
    names = [each.name for each in flow.flows]
    for position, each in enumerate(flow.flows):
        at = f"spec.flows[{position}]"
        if each.name in names[:position]:
            yield f"{at}.name: {each.name!r} is there twice"
        for target in each.targets:
            if target not in names:
                yield f"{at}.dependsOn.targets: {target!r} (expected the name of another flow)"
        if each.asks_pods:
            yield f"{at}.dependsOn.probe: httpGetList and tcpSocketList are not supported (expected taskStatusList)"
    try:
        TopologicalSorter({each.name: each.targets for each in flow.flows}).prepare()
    except CycleError as error:
        yield f"spec.flows: {' -> '.join(reversed(error.args[1]))} depend on each other"
