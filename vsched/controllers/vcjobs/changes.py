"""Changes of a vcjob: those that Volcano's webhook forbids, and those that take effect late or not at all.

A webhook keeps the forbidden ones out. Where none is installed, the controller goes by the new spec as far as it can,
and says what of it does not reach the pods and the PodGroup that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.spec import TaskSpec, VcJob
from vsched.errors import BadInput
from vsched.model.amounts.quantity import parse_quantity

_OF_JOB = ("minAvailable", "priorityClassName")
_OF_TASK = ("replicas", "minAvailable")
_AMOUNTS = ("requests", "limits")
_SHOWN = 60
"""The longest value in a message."""


def forbidden_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What may not be changed between two specs with defaults, one line each with the field."""
    tasks, were = after.get("tasks") or (), before.get("tasks") or ()
    if len(tasks) != len(were):
        return [words.tasks_added_or_removed(len(tasks), len(were))]
    found = [*_differences("spec", _fixed(before), _fixed(after))]
    return [words.ONLY_THESE_MAY_CHANGE, *found] if found else []


def _fixed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a spec that has to stay."""
    fixed = {name: value for name, value in spec.items() if name not in _OF_JOB}
    fixed["tasks"] = [_without(task, *_OF_TASK) for task in spec.get("tasks") or ()]
    # Volcano's controller writes the name of a claim that it has made into the spec.
    fixed["volumes"] = [
        _without(volume, "volumeClaimName") if isinstance(volume, Mapping) and volume.get("volumeClaim") else volume
        for volume in spec.get("volumes") or ()
    ]
    return fixed


def _without(body: Any, *fields: str) -> Any:
    return {name: value for name, value in body.items() if name not in fields} if isinstance(body, Mapping) else body


def _differences(path: str, before: Any, after: Any, amounts: bool = False) -> Iterator[str]:
    """The fields that differ. Nothing is the same as an empty list or object, and 1 cpu the same as 1000m."""
    if isinstance(before, Mapping | None) and isinstance(after, Mapping | None) and (before or after):
        before, after = before or {}, after or {}
        for name in dict.fromkeys((*before, *after)):
            yield from _differences(f"{path}.{name}", before.get(name), after.get(name), path.endswith(_AMOUNTS))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(f"{path}[{index}]", one, other)
    elif not _same(before, after, amounts):
        yield words.may_not_change(path, _shown(after), _shown(before))


def _same(before: Any, after: Any, amounts: bool) -> bool:
    if before == after or (before in (None, [], {}) and after in (None, [], {})):
        return True
    if not amounts or before is None or after is None:
        return False
    try:
        return parse_quantity(str(before), 1000) == parse_quantity(str(after), 1000)
    except BadInput:
        return False


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return words.a_list_of(len(value))
    text = "nothing" if value is None else ascii(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def late_changes(before: VcJob, after: VcJob) -> list[str]:
    """Which changes of a job do not reach the pods and the PodGroup that it has, one line each with the field."""
    return [*_of_group(before, after), *_of_pods(before, after)]


def _of_group(before: VcJob, after: VcJob) -> Iterator[str]:
    kept = words.UNTIL_RESTARTED
    if after.queue != before.queue:
        yield words.podgroup_stays_in_queue(before.queue, kept)
    if after.topology != before.topology:
        yield words.podgroup_keeps_topology(kept)


def _of_pods(before: VcJob, after: VcJob) -> Iterator[str]:
    changed = [
        field
        for field, one, other in (
            ("spec.schedulerName", before.scheduler_name, after.scheduler_name),
            ("spec.plugins", before.plugins, after.plugins),
            ("spec.volumes", before.volumes, after.volumes),
        )
        if one != other
    ]
    were = {task.name: task for task in before.tasks}
    for index, task in enumerate(after.tasks):
        if task.name in were:
            changed += _of_task(f"spec.tasks[{index}]", were[task.name], task)
    if changed:
        yield words.only_for_new_pods(", ".join(changed))


def _of_task(path: str, before: TaskSpec, after: TaskSpec) -> Iterator[str]:
    if after.template != before.template:
        yield f"{path}.template"
    if after.topology_policy != before.topology_policy:
        yield f"{path}.topologyPolicy"
    if after.partitions != before.partitions:
        yield f"{path}.partitionPolicy"
