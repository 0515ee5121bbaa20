"""The table of workload kinds: how the pods of each kind form gangs. It comes from a file; nothing here is code.

A kind has roles. Paths into its object lead to how many pods a role has, and how many of them have to start together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from vsched.errors import BadInput
from vsched.kube.paths import ApiResource
from vsched.mirror.ingest.paths import path_of
from vsched.mirror.resources import RESOURCES
from vsched.mirror.wire.base import located

_VERSION = re.compile(r"([a-z0-9.-]+/)?v[0-9]+((alpha|beta)[0-9]+)?")
_PLURAL = re.compile(r"[a-z][a-z0-9-]*")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Base of what the file has: camelCase, and no field that is not known."""


class Alternative(_Entry, frozen=True):
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


class RoleRule(_Entry, frozen=True):
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

    @property
    def label_sets(self) -> tuple[Mapping[str, str], ...]:
        """The sets of labels, each of which makes a pod one of this role."""
        return self.pods if isinstance(self.pods, tuple) else (self.pods,)


class Split(_Entry, frozen=True):
    """How the pods of one object form several gangs."""

    labels: tuple[str, ...] = ()
    """A gang for each value of these labels of the pods."""
    pod: bool = False
    """Every pod by itself."""
    when: str = ""


class WorkloadKind(_Entry, frozen=True):
    """How the pods of a kind of workload form gangs."""

    api_versions: tuple[str, ...]
    """The versions that are read, all of one API group, in the order in which they are looked for."""
    kind: str
    plural: str = ""
    """Its name in URLs; without it the kind in lower case and an s."""
    label: str = ""
    """The label by which pods name their object, for pods that it does not own directly."""
    marks: tuple[str, ...] = ()
    """Labels that pods of such an object have: a pod with one waits until all its owners are known."""
    annotated: bool = False
    """Whether it is a gang only where the annotation ``vsched.io/gang`` says so."""
    roles: tuple[RoleRule, ...] = ()
    """Without roles, it says what queue and priority the gangs have that it owns."""
    minimum: Count | None = None
    """How many pods start together, of whatever role; without it, the minima of all roles."""
    split: tuple[Split, ...] = ()
    """The first whose condition holds; without one, all pods are one gang."""
    queue: tuple[str, ...] = ()
    """Paths to the name of the queue, after the annotation of Volcano, before the label of Kueue."""
    priority: tuple[str, ...] = ()
    """Paths to the name of the PriorityClass; without one, that of the pods."""
    suspended: str = ""
    """A condition: then it has no pods."""

    @property
    def group(self) -> str:
        """Its API group, empty for the core group."""
        return self.api_versions[0].rpartition("/")[0]

    @property
    def id(self) -> str:
        """Its name in the mirror: the kind alone where the mirror keeps it anyway, else with its group."""
        known = RESOURCES.get(self.kind)
        return self.kind if known is not None and known.group == self.group else f"{self.kind}.{self.group}"

    @property
    def is_kept_anyway(self) -> bool:
        """Whether the mirror follows the kind without this table, too."""
        return self.id in RESOURCES

    @property
    def resources(self) -> tuple[ApiResource, ...]:
        """Where the API server has it, in all versions that are read."""
        plural = self.plural or f"{self.kind.lower()}s"
        versions = (each.rpartition("/")[2] for each in self.api_versions)
        return tuple(ApiResource(self.group, version, plural) for version in versions)

    @property
    def forms_gangs(self) -> bool:
        """Whether its own pods form gangs, rather than those of what it owns."""
        return bool(self.roles or self.split) or self.minimum is not None


class _Document(_Entry, frozen=True):
    built_in: bool = True
    """Whether the kinds of the built-in table count that the file does not name."""
    workloads: tuple[WorkloadKind, ...] = ()


class WorkloadTable(msgspec.Struct, frozen=True, dict=True):
    """The kinds of workloads whose pods form gangs."""

    kinds: tuple[WorkloadKind, ...] = ()

    @cached_property
    def by_owner(self) -> Mapping[tuple[str, str], WorkloadKind]:
        """By API group and kind, as owner references name them."""
        return {(each.group, each.kind): each for each in self.kinds}

    @cached_property
    def by_id(self) -> Mapping[str, WorkloadKind]:
        """By name in the mirror."""
        return {each.id: each for each in self.kinds}

    @cached_property
    def by_label(self) -> Mapping[str, WorkloadKind]:
        """By the label with which pods name their object."""
        return {each.label: each for each in self.kinds if each.label}

    @cached_property
    def telling(self) -> frozenset[str]:
        """The labels that make a pod one of such an object."""
        return frozenset(self.by_label) | {mark for each in self.kinds for mark in each.marks}

    @cached_property
    def labels(self) -> frozenset[str]:
        """All labels of pods that the table names."""
        sets = (each for kind in self.kinds for role in kind.roles for each in role.label_sets)
        split = (label for kind in self.kinds for each in kind.split for label in each.labels)
        return self.telling.union(split, *sets)

    @cached_property
    def followed(self) -> tuple[WorkloadKind, ...]:
        """The kinds that are followed for the sake of this table alone."""
        return tuple(each for each in self.kinds if not each.is_kept_anyway)


NO_WORKLOADS = WorkloadTable()


def read_table(document: Any, where: str, built_in: WorkloadTable = NO_WORKLOADS) -> WorkloadTable:
    """The table of a file, with the kinds of ``built_in`` that the file does not name; raises BadInput."""
    try:
        found = msgspec.convert({} if document is None else document, _Document)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: {located(error)}") from None
    named: set[tuple[str, str]] = set()
    for number, kind in enumerate(found.workloads):
        at = f"{where}: workloads[{number}]"
        _check(kind, at)
        if (kind.group, kind.kind) in named:
            raise BadInput(f"{at}: {kind.id} is there twice (expected one entry for each kind)")
        named.add((kind.group, kind.kind))
    more = built_in.kinds if found.built_in else ()
    table = WorkloadTable((*found.workloads, *(each for each in more if (each.group, each.kind) not in named)))
    _check_labels(table.kinds, where)
    return table


def _check(kind: WorkloadKind, at: str) -> None:
    if not kind.api_versions:
        raise BadInput(f"{at}.apiVersions: empty (expected at least one, as example.com/v1)")
    for number, version in enumerate(kind.api_versions):
        if not _VERSION.fullmatch(version):
            raise BadInput(f"{at}.apiVersions[{number}]: {version!r} (expected GROUP/VERSION, as example.com/v1)")
        if version.rpartition("/")[0] != kind.group:
            raise BadInput(f"{at}.apiVersions[{number}]: {version!r} is of another group (expected {kind.group})")
    if not _KIND.fullmatch(kind.kind):
        raise BadInput(f"{at}.kind: {kind.kind!r} (expected the name of a kind, as RayCluster)")
    if kind.plural and not _PLURAL.fullmatch(kind.plural):
        raise BadInput(f"{at}.plural: {kind.plural!r} (expected the name in URLs, as rayclusters)")
    if kind.id == "Pod":
        raise BadInput(f"{at}.kind: Pod (expected a kind that makes pods)")
    for path, text in _paths(kind):
        try:
            path_of(text)
        except BadInput as error:
            raise BadInput(f"{at}.{path}: {error}") from None
    for number, role in enumerate(kind.roles):
        if not role.name and not role.each:
            raise BadInput(f"{at}.roles[{number}]: neither name nor each (expected one of them)")
        if role.name and role.each:
            raise BadInput(f"{at}.roles[{number}]: both name and each (expected one of them, and nameFrom with each)")
    for number, split in enumerate(kind.split):
        if bool(split.labels) == split.pod:
            raise BadInput(f"{at}.split[{number}]: expected either labels or pod: true")


def _check_labels(kinds: Iterable[WorkloadKind], where: str) -> None:
    users: dict[str, str] = {}
    for kind in kinds:
        if kind.label and users.setdefault(kind.label, kind.id) != kind.id:
            raise BadInput(f"{where}: {kind.id}.label: {kind.label} is that of {users[kind.label]} already")


def _paths(kind: WorkloadKind) -> Iterator[tuple[str, str]]:
    """Every path of an entry, with where it is."""
    for field, paths in (("queue", kind.queue), ("priority", kind.priority)):
        yield from ((f"{field}[{number}]", path) for number, path in enumerate(paths))
    if kind.suspended:
        yield "suspended", _of_condition(kind.suspended)
    yield from _of_count(kind.minimum, "minimum")
    for number, split in enumerate(kind.split):
        if split.when:
            yield f"split[{number}].when", _of_condition(split.when)
    for number, role in enumerate(kind.roles):
        at = f"roles[{number}]"
        for field, path in (("each", role.each), ("nameFrom", role.name_from)):
            if path:
                yield f"{at}.{field}", path
        yield from _of_count(role.replicas, f"{at}.replicas")
        yield from _of_count(role.minimum, f"{at}.minimum")


def _of_condition(text: str) -> str:
    return text.partition("=")[0]


def _of_count(count: Count | None, at: str) -> Iterator[tuple[str, str]]:
    several = isinstance(count, tuple)
    for number, one in enumerate(alternatives_of(count)):
        here = f"{at}[{number}]" if several else at
        if one.path:
            yield (f"{here}.path" if not several and isinstance(count, Alternative) else here), one.path
        elif one.value is None:
            yield here, ""
        for field, paths in (("times", one.times), ("atMost", one.at_most)):
            yield from ((f"{here}.{field}[{index}]", path) for index, path in enumerate(paths))
        if one.when:
            yield f"{here}.when", _of_condition(one.when)


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
