"""Annotations of PodGroups about which roles share nodes."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.bounds import NAME_LENGTH_MAX, ROLES_MAX
from vsched.model.jobs.task_topology import Roles, TaskTopology
from vsched.model.shared import shared

AFFINITY, ANTI_AFFINITY = "volcano.sh/task-topology-affinity", "volcano.sh/task-topology-anti-affinity"
TASK_ORDER = "volcano.sh/task-topology-task-order"
OFF = "passed over, and with it all annotations task-topology-* of the PodGroup"


def task_topology_of(annotations: Mapping[str, str], remarks: Remarks) -> TaskTopology | None:
    """The groups of roles, None without any. An annotation that cannot be used gets a remark, and then none counts."""
    if not any(name in annotations for name in (AFFINITY, ANTI_AFFINITY, TASK_ORDER)):
        return None
    try:
        affinity, anti_affinity = (_groups(annotations, name) for name in (AFFINITY, ANTI_AFFINITY))
        order = _groups(annotations, TASK_ORDER)
        if len(order) > 1:
            raise BadObject(f"{_at(TASK_ORDER)}: {len(order)} lists of roles (expected one, such as ps,worker)")
    except BadObject as error:
        remarks.append(f"{error}: {OFF}")
        return None
    if not affinity and not anti_affinity:
        remarks.append(f"{_at(TASK_ORDER)}: it has no effect without affinity or anti-affinity of roles: ignored")
        return None
    return TaskTopology(affinity, anti_affinity, order[0] if order else ())


def _groups(annotations: Mapping[str, str], name: str) -> tuple[Roles, ...]:
    """The groups of one annotation, none where it is absent; raises BadObject."""
    text = annotations.get(name)
    if text is None:
        return ()
    if text.count(",") + text.count(";") >= ROLES_MAX:
        raise BadObject(f"{_at(name)}: more than {ROLES_MAX} roles")
    groups = tuple(_group(part, name) for part in text.split(";") if part.strip())
    if not groups:
        raise BadObject(f"{_at(name)}: {text[:40]!r} (expected groups of roles, such as ps,worker;evaluator)")
    return groups


def _group(text: str, name: str) -> Roles:
    roles = tuple(shared(role.strip()) for role in text.split(","))
    for position, role in enumerate(roles):
        if not role:
            raise BadObject(f"{_at(name)}: {text[:40]!r} (expected names of roles between the commas)")
        if len(role) > NAME_LENGTH_MAX:
            raise BadObject(f"{_at(name)}: {len(role):,} letters are no name")
        if role in roles[:position]:
            raise BadObject(f"{_at(name)}: role {role[:40]!r} is in one group twice")
    return roles


def _at(name: str) -> str:
    return f"metadata.annotations[{name}]"
