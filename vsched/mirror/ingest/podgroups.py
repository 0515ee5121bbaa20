"""PodGroups to the model."""

from __future__ import annotations

from collections.abc import Mapping

from vsched import api
from vsched.api.base import moment_of
from vsched.errors import Beyond
from vsched.mirror.ingest.amounts import amounts_of
from vsched.mirror.ingest.annotations import (
    Remarks,
    expected_seconds_of,
    job_budget_of,
    waiting_seconds_of,
    wall_seconds_of,
)
from vsched.mirror.ingest.bounds import CONDITIONS_MAX, RESOURCES_MAX, ROLES_MAX, read, short
from vsched.mirror.ingest.budgets import quota_request_of
from vsched.mirror.ingest.closeness import network_topology_of, sub_groups_of
from vsched.mirror.ingest.evictions import checkpoint_of, eviction_terms_of, preemptibility_of
from vsched.mirror.ingest.metadata import (
    PREEMPTABLE,
    count_of,
    created_of,
    flag_of,
    is_made,
    maker_of,
    member_of,
    naming,
    scheduling_annotations,
)
from vsched.mirror.ingest.task_topology import task_topology_of
from vsched.mirror.ingest.unsupported import GROUP_WISHES, remark_wishes
from vsched.model.amounts.resources import AskedColumns, ResourceAxis
from vsched.model.jobs.spec import Condition, JobSpec
from vsched.model.names import shared
from vsched.model.pods.status import Phase
from vsched.model.topology.constraints import SubGroupPolicy

VOLCANO_JOBS = "batch.volcano.sh/"
"""The ``apiVersion`` of the jobs that Volcano makes PodGroups for begins with this."""
PHASES = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)

_NONE: Mapping[str, str] = {}


def job_spec_of(
    group: api.PodGroup,
    axis: ResourceAxis,
    default_queue: str,
    remarks: Remarks,
) -> JobSpec:
    """What a PodGroup says; raises BadObject."""
    metadata, spec, status = group.metadata, group.spec, group.status
    annotations = metadata.annotations or _NONE
    made = is_made(metadata)
    wishes = remark_wishes(GROUP_WISHES, group, remarks)
    # The pods of a PodGroup made here exist already: it is admitted at once, and its minResources count only once.
    born, min_resources = (Phase.INQUEUE, None) if made else (Phase.PENDING, spec.min_resources)
    with naming("PodGroup", metadata):
        beyond = _beyond(group)
        sub_groups, beyond = ((), beyond) if beyond else _sub_groups(group)
        roles, min_resources = ({}, None) if beyond else (spec.min_task_member or {}, min_resources)
        return JobSpec(
            namespace=shared(metadata.namespace or "default"),
            name=metadata.name,
            uid=metadata.uid,
            created=created_of(metadata),
            queue=shared(spec.queue or default_queue),
            min_member=count_of(spec.min_member, "spec.minMember"),
            min_task_member=tuple(
                (shared(role), count_of(count, f"spec.minTaskMember.{role}")) for role, count in sorted(roles.items())
            ),
            min_resources=None
            if min_resources is None
            else amounts_of(AskedColumns(axis), min_resources, "spec.minResources"),
            priority_class=spec.priority_class_name or "",
            phase=member_of(status.phase or born, PHASES, "status.phase"),
            written_phase="" if status.phase or not made else Phase.PENDING,
            conditions=tuple(
                Condition(
                    found.type,
                    found.status,
                    found.reason or "",
                    found.message or "",
                    moment_of(found.last_transition_time),
                )
                for found in status.conditions or ()
            ),
            running=status.running or 0,
            succeeded=status.succeeded or 0,
            failed=status.failed or 0,
            preemptable=flag_of(metadata, PREEMPTABLE),
            annotations=scheduling_annotations(metadata),
            waiting_seconds=waiting_seconds_of(annotations, remarks),
            budget=job_budget_of(annotations, remarks),
            quota_request=quota_request_of(min_resources, "spec.minResources"),
            made=made,
            written_for=_volcano_job_of(metadata),
            made_for=made_for(metadata),
            expected=expected_seconds_of(annotations, remarks),
            wall_time=wall_seconds_of(annotations, remarks),
            task_topology=task_topology_of(annotations, remarks),
            unsupported=beyond,
            terms=eviction_terms_of(annotations, remarks),
            preemptibility=preemptibility_of(annotations, remarks),
            checkpoint=checkpoint_of(annotations, remarks),
            topology=network_topology_of(spec.network_topology, "spec.networkTopology"),
            sub_groups=sub_groups,
            wishes=wishes,
        )


def _beyond(group: api.PodGroup) -> str:
    """Why a job waits whose PodGroup exceeds a bound; raises BadObject where it cannot be used."""
    spec = group.spec
    short(spec.queue or "", "spec.queue")
    short(spec.priority_class_name or "", "spec.priorityClassName")
    read(group.status.conditions, CONDITIONS_MAX, "status.conditions")
    try:
        read(spec.min_task_member, ROLES_MAX, "spec.minTaskMember")
        read(spec.min_resources, RESOURCES_MAX, "spec.minResources")
    except Beyond as error:
        return str(error)
    for role in spec.min_task_member or ():
        short(role, "spec.minTaskMember")
    return ""


def _sub_groups(group: api.PodGroup) -> tuple[tuple[SubGroupPolicy, ...], str]:
    """The policies of its sub-groups, and why the job waits where one exceeds a bound; raises BadObject."""
    try:
        return sub_groups_of(group.spec.sub_group_policy, "spec.subGroupPolicy"), ""
    except Beyond as error:
        return (), str(error)


def made_for(metadata: api.Metadata) -> str:
    """What a PodGroup was made for, as ``vcjob train``; empty where somebody named it."""
    vcjob = _volcano_job_of(metadata)
    return f"vcjob {vcjob}" if vcjob else maker_of(metadata.name, metadata)


def _volcano_job_of(metadata: api.Metadata) -> str:
    """The name of the Volcano Job that controls a PodGroup and resets its spec; empty without one."""
    owner = next((one for one in metadata.owner_references or () if one.controller), None)
    return owner.name if owner is not None and owner.api_version.startswith(VOLCANO_JOBS) else ""
