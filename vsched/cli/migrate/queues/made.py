"""What a conversion makes: Volcano Queues, namespaces with a default queue, and what could not be carried over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from vsched.cli.migrate.queues import words
from vsched.errors import BadInput
from vsched.model.amounts.resources import format_amount, parse_amount
from vsched.model.queues.queue import ROOT

Obj = dict[str, Any]
Amounts = dict[str, int]
"""Base units by resource name."""

QUEUE_API = "scheduling.volcano.sh/v1beta1"
HEAVIEST = 65_535
"""The largest weight of a Queue."""


@dataclass(slots=True)
class MadeQueue:
    """A Volcano Queue, the object that it is made of, and the fields of that object that it does not carry."""

    name: str
    source: str
    parent: str = ""
    """The name of the queue above; empty at the top."""
    weight: Fraction = Fraction(1)
    priority: int = 0
    deserved: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    capability: Amounts = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MadeNamespace:
    """A namespace, the queue of jobs in it that name none, and notes."""

    name: str
    queue: str
    """Empty where it is not known which one is meant."""
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Conversion:
    """All that is made, and notes that concern no single queue."""

    queues: list[MadeQueue] = field(default_factory=list)
    namespaces: list[MadeNamespace] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class QueueNamer:
    """Gives each queue a name of its own."""

    def __init__(self) -> None:
        self._taken = {ROOT}

    def take(self, name: str, suffix: str) -> str:
        """The name itself where it is free, else one with a suffix."""
        found, number = name, 1
        while found in self._taken:
            found = f"{name}-{suffix}" if number == 1 else f"{name}-{suffix}-{number}"
            number += 1
        self._taken.add(found)
        return found


def amount(where: str, resource: str, quantity: object) -> int:
    """A quantity in base units; raises BadInput with the place."""
    try:
        return parse_amount(resource, quantity)
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def mapping(where: str, value: object) -> Mapping[str, Any]:
    """A field that holds a mapping, empty where it is absent; raises BadInput for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput(f"{where}: expected a mapping, got {type(value).__name__}")
    return value


def listed(where: str, value: object) -> list[Any]:
    """A field that holds a list, empty where it is absent; raises BadInput for anything else."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadInput(f"{where}: expected a list, got {type(value).__name__}")
    return value


def text(where: str, value: object) -> str:
    """A field that holds a text, empty where it is absent; raises BadInput for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadInput(f"{where}: expected a text, got {type(value).__name__}")
    return value


def name_of(where: str, obj: Mapping[str, Any]) -> str:
    """The ``name`` of an entry of a list; raises BadInput where there is none."""
    found = text(f"{where}.name", obj.get("name"))
    if not found:
        raise BadInput(words.no_name(where))
    return found


def parents_first(queues: Iterable[MadeQueue]) -> list[MadeQueue]:
    """The queues, each after the one above it; raises BadInput where they form a circle."""
    by_name = {queue.name: queue for queue in queues}
    placed: dict[str, MadeQueue] = {}
    for queue in by_name.values():
        way: dict[str, MadeQueue] = {}
        at: MadeQueue | None = queue
        while at is not None and at.name not in placed:
            if at.name in way:
                raise BadInput(words.above_itself(at.source, " -> ".join([*way, at.name])))
            way[at.name] = at
            at = by_name.get(at.parent)
        for one in reversed(way.values()):
            placed[one.name] = one
    return list(placed.values())


def note_conflicts(queues: Iterable[MadeQueue]) -> None:
    """Note amounts that contradict each other: Volcano's webhook refuses such queues, and vsched cuts them.

    Parents have to come first.
    """
    by_name = {queue.name: queue for queue in queues}
    sums: dict[str, Amounts] = {}
    limits: dict[str, Amounts] = {}
    for queue in by_name.values():
        above = limits.get(queue.parent, {})
        for name, most in above.items():
            if queue.capability.get(name, 0) > most:
                queue.notes.append(
                    words.capability_above(name, format_amount(name, queue.capability[name]), format_amount(name, most))
                )
        own = {name: min(value, above.get(name, value)) for name, value in queue.capability.items()}
        limits[queue.name] = {**above, **own}
        for name, deserved in queue.deserved.items():
            limit = queue.capability.get(name)
            if limit is not None and deserved > limit:
                queue.notes.append(
                    words.deserved_above(name, format_amount(name, deserved), format_amount(name, limit))
                )
            if queue.parent:
                of_parent = sums.setdefault(queue.parent, {})
                of_parent[name] = of_parent.get(name, 0) + deserved
    for parent, amounts in sums.items():
        queue = by_name[parent]
        for name, total in amounts.items():
            if name in queue.deserved and total > queue.deserved[name]:
                queue.notes.append(
                    words.deserved_together(format_amount(name, total), name, format_amount(name, queue.deserved[name]))
                )


def whole_weights(queues: Iterable[MadeQueue]) -> dict[str, int]:
    """Weights as whole numbers from 1 in the same proportions, by queue; what cannot be kept is noted."""
    listed_queues = list(queues)
    weights = {queue.name: queue.weight for queue in listed_queues if queue.weight > 0}
    scale = lcm(*(weight.denominator for weight in weights.values()))
    whole = {name: int(weight * scale) for name, weight in weights.items()}
    common = gcd(*whole.values()) if scale > 1 else 1
    found = {name: weight // common for name, weight in whole.items()}
    heaviest = max(found.values(), default=1)
    for queue in listed_queues:
        if queue.weight <= 0:
            found[queue.name] = 1
            queue.notes.append(words.WEIGHT_OF_ZERO)
        elif heaviest > HEAVIEST:
            found[queue.name] = max(1, found[queue.name] * HEAVIEST // heaviest)
            queue.notes.append(words.weight_rounded(HEAVIEST))
    return found
