"""The rules that an entry of the table of workload kinds consists of. They come from a file; nothing here is code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Base of what the file has: camelCase, and no field that is not known."""


class Alternative(Entry, frozen=True):
    """A number of pods, as far as its condition holds and its path leads to one."""

    path: str = ""
    value: int | None = None
    """The number itself, instead of a path."""
    when: str = ""
    """``PATH`` or ``PATH=TEXT``: without that, the next alternative counts."""
    at_most: tuple[str, ...] = ()
    """Paths to numbers that it does not exceed."""
    times: tuple[str, ...] = ()
    """Paths to numbers that it is multiplied by then; 1 where there is none."""
    less: int = 0
    """Subtracted at last; the result is never below zero."""


Count = int | str | Alternative | tuple[int | str | Alternative, ...]
"""A number, a path to one, or alternatives of which the first that leads to one counts."""


class JvmMemory(Entry, frozen=True):
    """The memory of a pod that runs a Java virtual machine, as Spark computes it: that of the machine and overhead."""

    path: str
    """The memory of the machine, as ``512m`` or ``4g``: in powers of 1024, in MiB without a letter."""
    default: str
    overhead: str = ""
    """The path to the overhead, in the same form."""
    factor: Sources = ()
    """Without one: so much of the memory, and at least 384 MiB."""


class FieldSource(Entry, frozen=True):
    """What a field gets, as far as the conditions hold and there is something."""

    path: str = ""
    value: str | int | bool | None = None
    """The value itself, instead of a path."""
    count: Count | None = None
    """A number, instead of a path."""
    memory: JvmMemory | None = None
    when: tuple[str, ...] = ()
    """Conditions, all of which have to hold."""


Sources = str | FieldSource | tuple[str | FieldSource, ...]
"""A path, or several sources of which the first that leads to something counts."""


class PartChange(Entry, frozen=True):
    """A change of parts of an object that is made of another one."""

    each: str
    """The path to a list in the object that is made."""
    fields: dict[str, Sources]
    """By path in an item of the list. Other paths are read from the item, and with ``$.`` from the owner."""
    when: tuple[str, ...] = ()
    """Conditions on an item, all of which have to hold."""


class ReferenceRule(Entry, frozen=True):
    """Another object that a workload names, and that its operator reads."""

    kind: Sources
    name: str
    """The path to its name."""


class MadeObject(Entry, frozen=True):
    """An object that is made of a workload and leads to its pods: what-if plans make it."""

    api_version: str
    kind: str
    fields: dict[str, Sources]
    """By path in the object that is made. What is referred to is at ``$.reference``."""
    reference: ReferenceRule | None = None
    needs: tuple[str, ...] = ()
    """Paths, without which it is not made, which is said."""
    when: tuple[str, ...] = ()
    """Conditions, all of which have to hold."""
    set: tuple[PartChange, ...] = ()
    """Changes after that, in this order."""
    suffix: str = ""
    """Follows the name of the workload in its own."""


class RoleRule(Entry, frozen=True):
    """A role of the pods, or with ``each`` a role for every item there."""

    name: str = ""
    each: str = ""
    """A path to a list or a map: a role for each item. Other paths of the rule are read from the item."""
    name_from: str = ""
    """The path to the name of the role in the item. Without it, the key in a map, in lower case."""
    pods: dict[str, str] | tuple[dict[str, str], ...] = ()
    """The labels that its pods have, or several such sets; ``{name}`` stands for the role. The first role without
    any takes the pods that no other role takes."""
    replicas: Count = 1
    minimum: Count | None = None
    """How many of them start together; without it all of them."""
    template: Sources = ()
    """Where the template of its pods is; what-if plans make pods of it."""
    fields: dict[str, Sources] = {}
    """Fields of its pods that the object states elsewhere, by path; they count before the template."""

    @property
    def label_sets(self) -> tuple[Mapping[str, str], ...]:
        """The sets of labels, each of which makes a pod one of this role."""
        return self.pods if isinstance(self.pods, tuple) else (self.pods,)


class Split(Entry, frozen=True):
    """How the pods of one object form several gangs."""

    labels: tuple[str, ...] = ()
    """A gang for each value of these labels of the pods."""
    pod: bool = False
    """Every pod by itself."""
    when: str = ""


def alternatives_of(count: Count | None) -> Iterator[Alternative]:
    """A number of pods as alternatives."""
    if count is None:
        return
    for one in count if isinstance(count, tuple) else (count,):
        match one:
            case Alternative():
                yield one
            case int():
                yield Alternative(value=one)
            case str():
                yield Alternative(path=one)


def sources_of(sources: Sources) -> Iterator[FieldSource]:
    """What a field may get, in order."""
    for one in sources if isinstance(sources, tuple) else (sources,):
        yield FieldSource(path=one) if isinstance(one, str) else one
