"""The table of workload kinds: how the pods of each kind form gangs. It comes from a file; nothing here is code.

A kind has roles. Paths into its object lead to how many pods a role has, and how many of them have to start together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import msgspec

from vsched.api.resources import RESOURCES
from vsched.kube.paths import ApiResource
from vsched.mirror.ingest.workload_rules import Count, Entry, MadeObject, RoleRule, Split


class WorkloadKind(Entry, frozen=True):
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
    copies: Count = 1
    """How many times it has its pods; a label of ``split`` that no role has is the number of the copy."""
    makes: tuple[MadeObject, ...] = ()
    """What is made of it that leads to pods, besides those of its roles."""
    passed_over: tuple[str, ...] = ()
    """Paths to fields that change its pods in ways that this table cannot say; plans tell of them."""

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
    def makes_pods(self) -> bool:
        """Whether the table says what pods are made of it."""
        return bool(self.makes) or any(role.template or role.fields for role in self.roles)

    @property
    def forms_gangs(self) -> bool:
        """Whether its own pods form gangs, rather than those of what it owns."""
        return bool(self.roles or self.split) or self.minimum is not None


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

    def api_version(self, id: str) -> str:
        """The API version of a kind by its name in the mirror, whether it is in this table or not."""
        known = RESOURCES.get(id)
        if known is not None:
            return known.api_version
        kind = self.by_id.get(id)
        return id.partition(".")[2] if kind is None else kind.api_versions[0]

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


def read_again_for(before: WorkloadTable, after: WorkloadTable, owners: frozenset[str]) -> frozenset[str]:
    """The kinds that have to be read again where one table takes the place of another.

    ``owners`` are the kinds of owners that are kept whatever a table says. Pods have to be read again where it is
    another question which of them matter; otherwise only the kinds whose entries differ.
    """
    changed = {id for id, kind in after.by_id.items() if kind != before.by_id.get(id)}
    if _reach(before) != _reach(after):
        changed |= owners | {"Pod", "PodGroup"}
    return frozenset(changed)


def _reach(table: WorkloadTable) -> tuple[object, ...]:
    """What decides which pods and which owners a table concerns, and what is kept of them."""
    owned = {key: kind.annotated for key, kind in table.by_owner.items()}
    return owned, {label: kind.id for label, kind in table.by_label.items()}, table.telling, table.labels
