"""What a plugin's decisions depend on and could be changed: its arguments, and what objects state.

``explain`` collects these from every plugin of the policy, tries the changes in simulations, and reports which help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, get_args, get_origin

import msgspec
import msgspec.inspect

from vsched.framework.points.terms import Term
from vsched.model.jobs.job import Job
from vsched.model.nodes.table import Mask, NodeTable
from vsched.model.pods.shape import Shape
from vsched.model.queues.queue import Queue
from vsched.model.snapshot import Snapshot

TIME_STEPS = 20
"""In how many steps shorter times are tried."""


class ArgumentLever(NamedTuple):
    """An argument of a plugin that could be changed in steps. A later step is a larger change and helps no less."""

    edit: Callable[[int], Mapping[str, object]]
    """Returns the edit for a step (from 1 on) in its JSON form (``changes[].edits``): see ``argument_edit``."""
    most: int
    """The last step."""
    whole: int = 1
    """How many steps double the present value."""


def argument_edit(plugin: str, key: str, value: float) -> Mapping[str, object]:
    """The edit that sets an argument of a plugin to a value.

    ``key`` is spelled as in the policy file, ``heavy.most`` for ``most`` in a mapping ``heavy``.
    """
    return {"edit": "argument", "plugin": plugin, "key": key, "value": value}


def shorter_time(plugin: str, key: str, seconds: float) -> ArgumentLever:
    """The lever that makes an argument with a length of time shorter, down to zero."""
    return ArgumentLever(
        lambda step: argument_edit(plugin, key, seconds - seconds * step / TIME_STEPS), TIME_STEPS, whole=TIME_STEPS
    )


class Argument(NamedTuple):
    """Where a plugin's arguments have what a key of the policy file names."""

    field: str
    type: Any
    """Of the value."""
    entry: str = ""
    """The key within the field, where this is a mapping."""

    @property
    def is_duration(self) -> bool:
        """Whether the policy file writes the value with a unit of time."""
        kind = msgspec.inspect.type_info(self.type)
        kinds = kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)
        return any(
            isinstance(one, msgspec.inspect.Metadata) and bool((one.extra or {}).get("duration")) for one in kinds
        )

    def replaced(self, args: msgspec.Struct, value: float) -> dict[str, object]:
        """The field with another value, as ``msgspec.structs.replace`` takes it."""
        made = msgspec.convert(value, self.type)
        return {self.field: {**getattr(args, self.field), self.entry: made} if self.entry else made}


def argument_of(args: msgspec.Struct, key: str) -> Argument | None:
    """What a key of the policy file names: a field, or ``field.entry`` of one that is a mapping; None where nothing."""
    fields = msgspec.structs.fields(args)
    for field in fields:
        if field.encode_name == key:
            return Argument(field.name, field.type)
    for field in fields:
        entry = key.removeprefix(f"{field.encode_name}.")
        if entry != key and get_origin(field.type) is dict:
            return Argument(field.name, get_args(field.type)[1], entry)
    return None


class Levers:
    """The changes that could affect a plugin's decisions. The plugin is not open here: it knows only its arguments."""

    terms: ClassVar[frozenset[Term]] = frozenset()
    """What objects state that the plugin acts on, and that nothing else acts on ..."""
    tree_terms: ClassVar[frozenset[Term]] = frozenset()
    """... and that it acts on besides with ``enableHierarchy``."""

    @classmethod
    def acts_on(cls, args: Any) -> frozenset[Term]:
        """``terms``, without those that these arguments of the plugin turn off."""
        return cls.terms

    def argument_levers(self) -> Iterable[ArgumentLever]:
        """The plugin's arguments that could be changed to let a job start."""
        return ()

    def job_notes(self, job: Job) -> Iterable[str]:
        """What the job asks of the plugin and does not get, and why: for people who ask about the job."""
        return ()

    def nodes_for(self, shape: Shape, snapshot: Snapshot) -> Mask | None:
        """bool[nodes]: the nodes that could hold such a pod if they were empty; None where the plugin does not say."""
        return None

    def nodes_of(self, queue: Queue, nodes: NodeTable) -> Mask | None:
        """bool[nodes]: the nodes that a queue may use by its spec; None where the plugin does not restrict it."""
        return None
