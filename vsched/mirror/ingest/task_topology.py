"""Annotations of PodGroups about which roles share nodes."""

from __future__ import annotations

from collections.abc import Mapping

from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.bounds import NAME_LENGTH_MAX, ROLES_MAX
from vsched.mirror.ingest.words import groups as words
from vsched.model.jobs.task_topology import Roles, TaskTopology
from vsched.model.names import shared

AFFINITY, ANTI_AFFINITY = "volcano.sh/task-topology-affinity", "volcano.sh/task-topology-anti-affinity"
TASK_ORDER = "volcano.sh/task-topology-task-order"


def task_topology_of(annotations: Mapping[str, str], remarks: Remarks) -> TaskTopology | None:
    """The groups of roles, None without any. An annotation that cannot be used gets a remark, and then none counts."""
    if not any(name in annotations for name in (AFFINITY, ANTI_AFFINITY, TASK_ORDER)):
        return None
    try:
        affinity, anti_affinity = (_groups(annotations, name) for name in (AFFINITY, ANTI_AFFINITY))
        order = _groups(annotations, TASK_ORDER)
        if len(order) > 1:
            raise BadObject(words.not_one_list(_at(TASK_ORDER), len(order)))
    except BadObject as error:
        remarks.append(f"{error}: {words.TASK_TOPOLOGY_PASSED_OVER}")
        return None
    if not affinity and not anti_affinity:
        remarks.append(words.no_affinity_of_roles(_at(TASK_ORDER)))
        return None
    return TaskTopology(affinity, anti_affinity, order[0] if order else ())


def _groups(annotations: Mapping[str, str], name: str) -> tuple[Roles, ...]:
    """The groups of one annotation, none where it is absent; raises BadObject."""
    text = annotations.get(name)
    if text is None:
        return ()
    if text.count(",") + text.count(";") >= ROLES_MAX:
        raise BadObject(words.more_roles_than(_at(name), ROLES_MAX))
    groups = tuple(_group(part, name) for part in text.split(";") if part.strip())
    if not groups:
        raise BadObject(words.no_groups_of_roles(_at(name), text[:40]))
    return groups


def _group(text: str, name: str) -> Roles:
    roles = tuple(shared(role.strip()) for role in text.split(","))
    for position, role in enumerate(roles):
        if not role:
            raise BadObject(words.no_names_of_roles(_at(name), text[:40]))
        if len(role) > NAME_LENGTH_MAX:
            raise BadObject(words.letters_are_no_role(_at(name), len(role)))
        if role in roles[:position]:
            raise BadObject(words.role_twice(_at(name), role[:40]))
    return roles


def _at(name: str) -> str:
    return f"metadata.annotations[{name}]"
