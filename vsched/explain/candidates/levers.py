"""Levers: the kinds of edits that could let a job start, with the steps in which a search tries them.

The smallest change is the one that disturbs others least. ``Rank`` defines that order: missing objects and gates first,
then a smaller job, other places for it, the nodes as they are, limits, the order of jobs, the policy, and new machines.
Within a rank, the change of the smaller share of the existing amount goes first (``Lever.share``).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from math import gcd
from typing import NamedTuple

from vsched.explain.edits.base import Edit
from vsched.explain.situation import Situation
from vsched.framework.points.levers import Levers
from vsched.framework.points.terms import QueueTerm
from vsched.framework.registry import Registry
from vsched.model.amounts.resources import CPU, PODS, ResourceAxis, scale_of
from vsched.model.jobs.job import Job
from vsched.model.jobs.spec import JobSpec
from vsched.model.pods.shape import Shape
from vsched.model.pods.task import Task

CPU_GRAIN, BYTES_GRAIN = 10, 1 << 20
"""The smallest steps of amounts: ten milli-cores, and one MiB; every other resource has steps of one whole unit."""


class Rank(IntEnum):
    """How much a change disturbs others; lower ranks go first."""

    LEFT_UNDONE = 0
    """Gates, missing pods, a missing PodGroup, queue or priority class, a closed queue."""
    LESS = 1
    """The job asks for less: a smaller minimum, smaller requests of its pods."""
    ELSEWHERE = 2
    """The job goes elsewhere: tolerations, constraints removed from its pods, a child queue."""
    NODES_AS_THEY_ARE = 3
    """Cordons, taints and labels of nodes."""
    LIMITS = 4
    """Limits and shares of queues, namespaces and disruption budgets."""
    ORDER = 5
    """A higher priority for the job, or smaller minima of other jobs."""
    POLICY = 6
    """The policy, which applies to all jobs."""
    MACHINES = 7
    """Larger nodes, or more of them."""
    PRECIOUS = 8
    """Nodes with accelerators for pods that ask for none: a new node without accelerators is better."""


class Lever(NamedTuple):
    """One kind of edit, in steps from 1 to ``most``: a larger step changes more, and helps at least as much."""

    rank: Rank
    edit: Callable[[int], Edit | tuple[Edit, ...]]
    """Returns the edit for a step; several edits if they only make sense together."""
    most: int = 1
    """The last step."""
    first: int = 1
    """The step at which a search should begin."""
    whole: int = 1
    """The number of steps that would double the existing amount."""
    kind: str = ""
    """A search also tries levers of one kind together; empty for a lever that it only tries alone."""

    def edits(self, step: int) -> tuple[Edit, ...]:
        """The edits for a step."""
        found = self.edit(step)
        return found if isinstance(found, tuple) else (found,)

    def share(self, step: int) -> float:
        """The size of the change at a step, as a share of the existing amount."""
        return step / max(1, self.whole)


class MissingMinimum(NamedTuple):
    """A waiting job, and what its minimum still lacks."""

    situation: Situation
    plugins: tuple[Levers, ...]
    """The plugins of the policy, outside of a session."""
    job: Job
    waiting: tuple[Task, ...]
    """Its pending pods by name; the pod that the search is for goes first."""
    missing: int
    """How many more pods it needs for its minimum, at least one."""
    shapes: tuple[Shape, ...]
    """The distinct shapes of the pending pods; that of the first pod goes first."""

    def goes_by(self, term: QueueTerm) -> bool:
        """Whether some plugin uses this field of queues."""
        return any(term in plugin.terms for plugin in self.plugins)

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of the resources that the job asks for, without pod slots."""
        columns = {column for shape in self.shapes for column, _ in shape.request}
        columns.update(column for column, _ in self.job.spec.min_resources or ())
        return tuple(sorted(columns - {PODS}))

    def name(self, column: int) -> str:
        """The name of the resource in a column."""
        return self.situation.snapshot.axis.names[column]

    def request(self, column: int) -> int:
        """The largest request of one pending pod; without pending pods, the amount in ``minResources``."""
        if not self.waiting:
            return dict(self.job.spec.min_resources or ()).get(column, 0)
        return max((dict(shape.request).get(column, 0) for shape in self.shapes), default=0)

    def needed(self, column: int) -> int:
        """An upper bound of what the missing pods ask for together."""
        stated = dict(self.job.spec.min_resources or ()).get(column, 0)
        return max(self.request(column) * max(1, self.missing), stated)

    def step(self, column: int) -> int:
        """The greatest common divisor of the requests."""
        asked = [dict(shape.request).get(column, 0) for shape in self.shapes]
        return gcd(*asked, *(amount for one, amount in self.job.spec.min_resources or () if one == column)) or 1


def wants_of(situation: Situation, registry: Registry, key: str, pod: str = "") -> MissingMinimum:
    """The wants of a job; ``pod`` is the uid of the pod that the search is for, if any."""
    job = situation.snapshot.jobs[key]
    waiting = sorted(job.pending.values(), key=lambda task: (task.uid != pod, task.name))
    shapes = tuple(dict.fromkeys(task.shape for task in waiting))
    plugins = tuple(registry.plugins[conf.name](conf.args) for conf in situation.policy.plugins())
    return MissingMinimum(situation, plugins, job, tuple(waiting), max(1, job.spec.min_member - job.ready), shapes)


def in_proportion(spec: JobSpec, axis: ResourceAxis, minimum: int) -> dict[str, int]:
    """``minResources`` in proportion to a smaller minimum, by resource, rounded up; empty if none is stated."""
    lowered = {}
    for column, amount in spec.min_resources or ():
        grain = grain_of(column, axis.names[column])
        exact = -(-amount * minimum // max(1, spec.min_member))
        lowered[axis.names[column]] = min(amount, -(-exact // grain) * grain)
    return lowered


def grain_of(column: int, name: str) -> int:
    """The smallest step of a resource, in base units."""
    if column == CPU:
        return CPU_GRAIN
    return 1000 if scale_of(name) == 1000 else 1 if name == "pods" else BYTES_GRAIN


class LeverLevel(NamedTuple):
    """The level of an amount that could be raised, in base units."""

    has: int
    """The stated amount."""
    held: int
    """How much of it is held already."""
    wanted: int
    """How much more all waiting jobs want, this job included."""


def lowering(wants: MissingMinimum, column: int, has: int, edit: Callable[[int], Edit], kind: str) -> Lever:
    """A lever that lowers an amount, down to 0 at the last step."""
    grain = grain_of(column, wants.name(column))
    most, whole = -(-has // grain), max(1, has // grain)
    return Lever(Rank.LIMITS, lambda step: edit(max(0, has - step * grain)), most, whole=whole, kind=kind)


def raising(wants: MissingMinimum, column: int, level: LeverLevel, edit: Callable[[int], Edit], kind: str) -> Lever:
    """A lever that raises an amount: at first just above what is held, at most to what all waiting jobs want."""
    grain, base = grain_of(column, wants.name(column)), max(level.has, level.held)
    steps = [
        max(1, -(-(amount - level.has) // grain)) for amount in (base + wants.step(column), base + level.wanted + 1)
    ]
    first, most = min(steps), max(steps)
    whole = max(1, level.has // grain)
    return Lever(Rank.LIMITS, lambda step: edit(level.has + step * grain), most, first, whole, kind)
