"""Queues of KAI (``scheduling.run.ai/v2``) as Volcano Queues.

The quota is what a queue deserves, the limit its capability, what it does not lend its guarantee. cpu is in millicores
there, memory in millions of bytes, and a number that is not given counts as 0; -1 means without limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, isfinite
from typing import Any

from vsched.cli.migrate.queues import words
from vsched.cli.migrate.queues.made import Conversion, MadeQueue, Obj, QueueNamer, mapping, parents_first, text
from vsched.errors import BadInput
from vsched.model.amounts.durations import parse_duration
from vsched.model.queues.evictions import PREEMPT_MIN_RUNTIME, RECLAIM_MIN_RUNTIME

GROUP = "scheduling.run.ai"
KINDS = ("Queue",)
UNLIMITED = -1
RESOURCES = {"cpu": ("cpu", 1), "memory": ("memory", 1_000_000), "gpu": ("nvidia.com/gpu", 1000)}
"""The resource that each name stands for, and the base units in one unit of KAI."""
MIN_RUNTIMES = {"preemptMinRuntime": PREEMPT_MIN_RUNTIME, "reclaimMinRuntime": RECLAIM_MIN_RUNTIME}
_CARRIED = frozenset({"parentQueue", "resources", "priority", *MIN_RUNTIMES})
_NUMBERS = frozenset({"quota", "limit", "overQuotaWeight", "lendingLimit"})


def converted(objects: Iterable[Obj]) -> Conversion:
    """The queues that these objects become; raises BadInput where one cannot be read."""
    made, queues, names = Conversion(), dict[str, Obj](), QueueNamer()
    for obj in objects:
        if obj["kind"] in KINDS:
            queues[obj["metadata"]["name"]] = obj
        else:
            made.notes.append(words.object_not_carried_over(obj["kind"], obj["metadata"]["name"], GROUP))
    if queues:
        made.notes.append(words.PODS_NAME_QUEUES)
    taken = {name: names.take(name, "queue") for name in queues}
    made.queues += parents_first([_made(name, taken, obj) for name, obj in queues.items()])
    return made


def _made(name: str, taken: Mapping[str, str], obj: Obj) -> MadeQueue:
    source = f"Queue {name} of KAI"
    spec = mapping(f"{source}: spec", obj.get("spec"))
    made = MadeQueue(taken[name], source)
    if made.name != name:
        made.notes.append(words.whole_cluster(name))
    parent = text(f"{source}: spec.parentQueue", spec.get("parentQueue"))
    if parent and parent not in taken:
        made.notes.append(words.no_parent(parent))
    made.parent = taken.get(parent, "")
    _read_resources(source, mapping(f"{source}: spec.resources", spec.get("resources")), made)
    made.priority = _priority(source, spec.get("priority"), made.notes)
    for field, annotation in MIN_RUNTIMES.items():
        if spec.get(field) is not None:
            given = text(f"{source}: spec.{field}", spec[field])
            if parse_duration(given) is None:
                raise BadInput(words.no_duration(source, field, given))
            made.annotations[annotation] = given
    for field in sorted(spec.keys() - _CARRIED):
        if spec[field] is not None:
            made.notes.append(words.not_carried_over(f"spec.{field}"))
    return made


def _read_resources(source: str, resources: Mapping[str, Any], made: MadeQueue) -> None:
    weights: dict[str, Fraction] = {}
    for field in sorted(resources.keys() - RESOURCES.keys()):
        made.notes.append(words.not_carried_over(f"spec.resources.{field}"))
    for field, (name, scale) in RESOURCES.items():
        where = f"spec.resources.{field}"
        stated = mapping(f"{source}: {where}", resources.get(field))
        for unknown in sorted(stated.keys() - _NUMBERS):
            made.notes.append(words.not_carried_over(f"{where}.{unknown}"))
        numbers = {key: _number(f"{source}: {where}.{key}", stated.get(key, 0)) for key in _NUMBERS}
        weights[field] = numbers["overQuotaWeight"]
        quota = _units(f"{source}: {where}.quota", numbers["quota"], scale)
        if quota is None:
            made.notes.append(words.deserves_none(where, name))
        else:
            made.deserved[name] = quota
        limit = _units(f"{source}: {where}.limit", numbers["limit"], scale)
        if limit is not None:
            made.capability[name] = limit
            if "limit" not in stated:
                made.notes.append(words.holds_none(where, name))
        if quota and stated.get("lendingLimit") is not None:
            lent = _units(f"{source}: {where}.lendingLimit", numbers["lendingLimit"], scale) or 0
            if quota > lent:
                made.guarantee[name] = quota - lent
    _choose_weight(weights, made)


def _choose_weight(weights: Mapping[str, Fraction], made: MadeQueue) -> None:
    """The weight of devices where there is one, else that of cpu; a queue has one weight for all resources."""
    chosen = next((field for field in ("gpu", "cpu", "memory") if weights[field] > 0), "gpu")
    made.weight = weights[chosen]
    for field, weight in weights.items():
        if weight != made.weight:
            made.notes.append(words.one_weight(field, float(weight), chosen))


def _units(where: str, value: Fraction, scale: int) -> int | None:
    """Base units, rounded up; None for no limit."""
    if value == UNLIMITED:
        return None
    if value < 0:
        raise BadInput(words.negative(where, float(value)))
    return ceil(value * scale)


def _number(where: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise BadInput(f"{where}: expected a number, got {str(value)[:60]!r}")
    return Fraction(str(value))


def _priority(source: str, value: object, notes: list[str]) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadInput(words.no_priority(source, value))
    if value < 0:
        notes.append(words.negative_priority(value))
        return 0
    return value
