"""GPUs that are divided by MIG: which instances are taken, and which one a container gets.

A GPU that nobody uses may take any of its geometries; once an instance is taken, the geometry is that instance's until
nobody uses the GPU. A GPU with pods on it that hold no instance of one and the same geometry is closed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from vsched.model.deviceshare.geometries import MigGeometry, position_of

STATES_MAX = 4096
"""How many states of GPUs are remembered with what is free of them."""
CLOSED = -1
"""The memory of the largest free instance where no container may come."""


class Instance(NamedTuple):
    """An instance of a GPU."""

    place: str
    """The geometry and the position in it, as device plugins name it: ``group2-3``."""
    memory: int
    """MiB."""


class MigState(NamedTuple):
    """A GPU that is divided by MIG."""

    geometries: tuple[MigGeometry, ...]
    """Those that it may take; none where nobody knows its model."""
    held: tuple[str, ...] = ()
    """The places that are taken, sorted; what is no place of an instance closes the GPU."""


def place_of(group: str, position: int) -> str:
    """The name of an instance."""
    return f"{group}-{position}"


def instance_at(geometries: Sequence[MigGeometry], place: str) -> Instance | None:
    """The instance of this name; None where there is none."""
    found = position_of(geometries, place)
    return None if found is None else Instance(place, found.memory)


def most_memory(geometries: Sequence[MigGeometry]) -> int:
    """MiB of all instances of the geometry that has most."""
    return max((sum(one.memory()) for one in geometries), default=0)


@lru_cache(STATES_MAX)
def largest_free(state: MigState) -> int:
    """MiB of the largest instance that a container could get; ``CLOSED`` where it can get none."""
    return max((memory for geometry in _open(state) for _, memory in _free(geometry, state)), default=CLOSED)


@lru_cache(STATES_MAX)
def pick(state: MigState, memory: int) -> Instance | None:
    """The instance that a container gets that wants so much memory; None where none is large enough.

    It is the smallest one that is large enough, and the first of equal ones. A GPU that nobody uses takes the first
    geometry that has such an instance.
    """
    for geometry in _open(state):
        fitting = [(size, position) for position, size in _free(geometry, state) if size >= memory]
        if fitting:
            size, position = min(fitting)
            return Instance(place_of(geometry.group, position), size)
    return None


def taken(state: MigState, place: str) -> MigState:
    """The GPU once this place is taken."""
    held = [*state.held]
    insort(held, place)
    return state._replace(held=tuple(held))


def given_back(state: MigState, place: str) -> MigState:
    """The opposite of ``taken``."""
    held = [*state.held]
    held.remove(place)
    return state._replace(held=tuple(held))


def joined(state: MigState, other: MigState) -> MigState:
    """The GPU with what is taken in either of two states of it."""
    return state._replace(held=tuple(sorted({*state.held, *other.held})))


def _open(state: MigState) -> Sequence[MigGeometry]:
    """The geometries of which a container could get an instance: all, the one in use, or none."""
    if not state.held:
        return state.geometries
    found = [position_of(state.geometries, place) for place in state.held]
    groups = {None if one is None else one.geometry.group for one in found}
    first = found[0]
    return () if first is None or len(groups) > 1 else (first.geometry,)


def _free(geometry: MigGeometry, state: MigState) -> list[tuple[int, int]]:
    """The positions that are free, with the memory of each."""
    return [
        (position, memory)
        for position, memory in enumerate(geometry.memory())
        if place_of(geometry.group, position) not in state.held
    ]
