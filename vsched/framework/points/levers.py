"""What of the cluster and of the policy a plugin goes by: people are told which of it to change.

``explain`` asks every plugin of the policy, tries what it names in simulations, and tells what helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import ClassVar, NamedTuple

import msgspec
import msgspec.inspect

from vsched.model.nodes.table import Mask, NodeTable
from vsched.model.queues.queue import Queue


class QueueTerm(Enum):
    """What the spec of a queue says that a plugin may go by."""

    WEIGHT = "weight"
    DESERVED = "deserved"
    GUARANTEE = "guarantee"
    NODE_GROUPS = "affinity"
    """With the limits by group of nodes."""


class ArgumentLever(NamedTuple):
    """An argument of a plugin that could be changed in steps: a later one changes more, and helps no less."""

    edit: Callable[[int], Mapping[str, object]]
    """The edit at a step from 1 on, as programs get it (``changes[].edits``): see ``argument_edit``."""
    most: int
    """The last step."""
    whole: int = 1
    """How many steps would be as much again as there is."""


def argument_edit(plugin: str, key: str, value: float) -> Mapping[str, object]:
    """An argument of a plugin set to a value; the key as the policy writes it."""
    return {"edit": "argument", "plugin": plugin, "key": key, "value": value}


def argument_of(args: msgspec.Struct, key: str) -> msgspec.structs.FieldInfo | None:
    """The argument that a policy writes so; None where there is none."""
    return next((field for field in msgspec.structs.fields(args) if field.encode_name == key), None)


def is_duration(argument: msgspec.structs.FieldInfo) -> bool:
    """Whether policies write it with a unit of time."""
    kind = msgspec.inspect.type_info(argument.type)
    return isinstance(kind, msgspec.inspect.Metadata) and bool((kind.extra or {}).get("duration"))


class Levers:
    """What a plugin says about changes. Asked of a plugin that is not open, so it knows its arguments alone."""

    queue_terms: ClassVar[frozenset[QueueTerm]] = frozenset()
    """What of a queue's spec it goes by."""

    def argument_levers(self) -> Iterable[ArgumentLever]:
        """Arguments of its own that could be changed to let a job start."""
        return ()

    def nodes_of(self, queue: Queue, nodes: NodeTable) -> Mask | None:
        """bool[nodes]: the nodes that a queue is for by its spec; None where all are, for all this plugin knows."""
        return None
