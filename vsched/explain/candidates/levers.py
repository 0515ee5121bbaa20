"""What could be turned to let a job start, and how far: the pieces that candidates are made of.

Which change is the smallest: the one that disturbs others least. ``Rank`` is that order, and it is meant to be read:
what was merely left undone goes before what the job gives up, that before what is asked of nodes as they are, that
before limits that others agreed on, these before the order of others, the policy of all, and machines to be bought.
Among changes of one rank the one that changes less of what there is goes first (``Lever.share``).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import gcd
from typing import NamedTuple

from vsched.explain.situation import Situation
from vsched.framework.points.levers import Levers, QueueTerm
from vsched.framework.registry import Registry
from vsched.mirror.whatif.edits import Edit
from vsched.model.amounts.resources import CPU, PODS, ResourceAxis, scale_of
from vsched.model.jobs.job import Job, JobSpec
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

CPU_GRAIN, BYTES_GRAIN = 10, 1 << 20
"""The smallest steps of amounts that are looked at: ten milli-cores, one MiB; of everything else one whole unit."""


class Rank(IntEnum):
    """How much a change disturbs, from what disturbs nobody on."""

    LEFT_UNDONE = 0
    """Gates, missing pods, a queue or a priority class that does not exist, a queue that is closed."""
    LESS = 1
    """The job makes do with less: a smaller minimum, smaller pods."""
    ELSEWHERE = 2
    """The job goes where it would not: tolerations, rules dropped, another queue."""
    NODES_AS_THEY_ARE = 3
    """Cordons, taints, labels."""
    LIMITS = 4
    """Of queues, namespaces and budgets."""
    ORDER = 5
    """The job goes before others."""
    POLICY = 6
    """What is so for everybody."""
    MACHINES = 7
    PRECIOUS = 8
    """Pods that ask for no accelerator go to nodes that have some: better to buy a node without."""


class Lever(NamedTuple):
    """One kind of edit, to be made in steps: a later one changes more, and helps no less."""

    rank: Rank
    edit: Callable[[int], Edit | tuple[Edit, ...]]
    """The edit at a step, from 1 on; several where one is nothing without the others."""
    most: int = 1
    """The last step."""
    first: int = 1
    """The step that a search had better begin with."""
    whole: int = 1
    """How many steps would be as much again as there is."""
    kind: str = ""
    """Levers of one kind are turned together as well; empty for what is turned alone."""

    def edits(self, step: int) -> tuple[Edit, ...]:
        """The edits at a step."""
        found = self.edit(step)
        return found if isinstance(found, tuple) else (found,)

    def share(self, step: int) -> float:
        """How much is changed of what there is."""
        return step / max(1, self.whole)


class Wants(NamedTuple):
    """What a job still wants of its minimum."""

    situation: Situation
    plugins: tuple[Levers, ...]
    """The policy's, not open."""
    job: Job
    waiting: tuple[Task, ...]
    """Pods without a place, by name; the one that is asked about first."""
    missing: int
    """How many more are needed: of the minimum, or one."""
    shapes: tuple[Shape, ...]
    """What is asked for, each once; that of the first pod first."""

    def goes_by(self, term: QueueTerm) -> bool:
        """Whether any plugin goes by what a queue says there."""
        return any(term in plugin.queue_terms for plugin in self.plugins)

    @property
    def columns(self) -> tuple[int, ...]:
        """The resources asked for, pod slots aside."""
        columns = {column for shape in self.shapes for column, _ in shape.request}
        columns.update(column for column, _ in self.job.spec.min_resources or ())
        return tuple(sorted(columns - {PODS}))

    def name(self, column: int) -> str:
        """The resource of a column."""
        return self.situation.snapshot.axis.names[column]

    def request(self, column: int) -> int:
        """The most that one pod asks for; of a job without pods its whole minimum."""
        if not self.waiting:
            return dict(self.job.spec.min_resources or ()).get(column, 0)
        return max((dict(shape.request).get(column, 0) for shape in self.shapes), default=0)

    def needed(self, column: int) -> int:
        """What everything that is missing asks for at most."""
        stated = dict(self.job.spec.min_resources or ()).get(column, 0)
        return max(self.request(column) * max(1, self.missing), stated)

    def step(self, column: int) -> int:
        """What requests are multiples of."""
        asked = [dict(shape.request).get(column, 0) for shape in self.shapes]
        return gcd(*asked, *(amount for one, amount in self.job.spec.min_resources or () if one == column)) or 1


def wants_of(situation: Situation, registry: Registry, key: str, pod: str = "") -> Wants:
    """What the job of this key wants."""
    job = situation.snapshot.jobs[key]
    waiting = sorted(job.pending.values(), key=lambda task: (task.uid != pod, task.name))
    shapes = tuple(dict.fromkeys(task.shape for task in waiting))
    plugins = tuple(registry.plugins[conf.name](conf.args) for conf in situation.policy.plugins())
    return Wants(situation, plugins, job, tuple(waiting), max(1, job.spec.min_member - job.ready), shapes)


def in_proportion(spec: JobSpec, axis: ResourceAxis, minimum: int) -> dict[str, int]:
    """``minResources`` by resource for a smaller minimum, rounded up to whole steps; empty where none is stated."""
    lowered = {}
    for column, amount in spec.min_resources or ():
        grain = grain_of(column, axis.names[column])
        exact = -(-amount * minimum // max(1, spec.min_member))
        lowered[axis.names[column]] = min(amount, -(-exact // grain) * grain)
    return lowered


def grain_of(column: int, name: str) -> int:
    """The smallest step of a resource."""
    if column == CPU:
        return CPU_GRAIN
    return 1000 if scale_of(name) == 1000 else 1 if name == "pods" else BYTES_GRAIN


class Level(NamedTuple):
    """Where an amount stands that could be raised."""

    has: int
    """What is stated."""
    held: int
    """What is taken of it already."""
    wanted: int
    """What everybody who waits for it wants more, this job included."""


def lowering(wants: Wants, column: int, has: int, edit: Callable[[int], Edit], kind: str) -> Lever:
    """An amount that is lowered, down to none."""
    grain = grain_of(column, wants.name(column))
    most, whole = -(-has // grain), max(1, has // grain)
    return Lever(Rank.LIMITS, lambda step: edit(max(0, has - step * grain)), most, whole=whole, kind=kind)


def raising(wants: Wants, column: int, level: Level, edit: Callable[[int], Edit], kind: str) -> Lever:
    """An amount in all that is raised: to what is held and one step more at first, and at most to what all want."""
    grain, base = grain_of(column, wants.name(column)), max(level.has, level.held)
    steps = [
        max(1, -(-(amount - level.has) // grain)) for amount in (base + wants.step(column), base + level.wanted + 1)
    ]
    first, most = min(steps), max(steps)
    whole = max(1, level.has // grain)
    return Lever(Rank.LIMITS, lambda step: edit(level.has + step * grain), most, first, whole, kind)
