"""Gangs whose pods fit on the nodes in no way, beside what runs: which of their roles, or of their sub-groups, do not.

Each pod of such a gang may fit by itself, so reasons of single pods do not explain it. The answer is counted
(``kernels.infeasibility``) for messages alone, so sessions in which no gang waits do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vsched.framework.jobs import JobView
from vsched.framework.refusal import Refusal
from vsched.framework.session import Session
from vsched.framework.subgroups import AnyGroup, SubGroup, SubGroups
from vsched.framework.words import jobs as words
from vsched.kernels.assignment import digest_of, product
from vsched.kernels.infeasibility import (
    AmountShortage,
    DomainChoice,
    GangDemand,
    Infeasible,
    OpenNodes,
    infeasible,
    infeasible_in_domains,
)
from vsched.model.amounts.resources import PODS, format_amount
from vsched.model.nodes.table import Ints, Mask
from vsched.model.pods.status import Status
from vsched.model.pods.task import Task
from vsched.model.topology.constraints import NetworkTopology

KINDS_MAX = 16
"""Gangs of more kinds of pods are not looked at: so many cannot be counted (``kernels.assignment.too_many``)."""
LOOKS_MAX = 32
"""So many different gangs are looked at for the messages of one session."""
CELLS_MAX, CELLS_OF_ALL = 1 << 20, 1 << 22
"""What counting for one gang, and for all gangs of a session, may cost (``kernels.assignment``)."""
MEMO = "unfit gangs"


class UnfitGang(NamedTuple):
    """Why the pods of a gang fit on the nodes in no way."""

    message: str
    fits: int | None
    """How many of the pods that the gang needs fit at most; None where other things than amounts may decide that."""
    role: str = ""
    """The role that does not fit by itself."""
    of_role: int = 0
    """How many pods of it fit at most."""
    alone: Task | None = None
    """A pod of this role, where all of them are of one kind."""
    names_pods: bool = False
    """Whether it names pods of this gang: those of other gangs like it have other names."""


class _Parting(NamedTuple):
    """A way to part the pods of a gang, in sets that may have minima."""

    part_of: Callable[[Task], Hashable]
    minima: Mapping[str, int]
    """How many more pods of a part the gang needs at least, where it says so."""
    by_group: bool = False
    """Whether the parts are its sub-groups."""


class _Kinds(NamedTuple):
    """The pods of a gang that it may still place."""

    firsts: list[Task]
    """One of each kind."""
    roles: list[Task]
    """The first of each part."""
    gang: GangDemand
    columns: list[int]
    """The resources that they ask for."""


class UnfitGangs:
    """Looks at the gangs that wait, in a session whose actions have run."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[Hashable, Infeasible | None] = {}
        self._of_class: dict[Hashable, UnfitGang | None] = {}
        """By class of gangs that get equal answers."""
        self._cells = CELLS_OF_ALL

    def of(self, view: JobView) -> UnfitGang | None:
        """Why its pods fit on the nodes in no way; None where there may be one, and for gangs of one kind of pods."""
        missing = self._session.plugins.tasks_missing(view)
        if missing < 2:
            return None
        job_class = self._session.waiting.kind(view)
        if job_class is not None and job_class in self._of_class:
            return self._of_class[job_class]
        found = self._worked_out(view, missing)
        if job_class is not None and (found is None or not (found.names_pods or found.alone)):
            self._of_class[job_class] = found
        return found

    def _worked_out(self, view: JobView, missing: int) -> UnfitGang | None:
        some = (self._found(view, missing, parting) for parting in _partings(view))
        return next((found for found in some if found is not None), None)

    def _found(self, view: JobView, missing: int, parting: _Parting) -> UnfitGang | None:
        kinds = self._kinds(view, missing, parting)
        if kinds is None or len(kinds.roles) < 2:
            return None
        gang = kinds.gang
        key = *(task.shape for task in kinds.firsts), gang.counts, gang.roles, gang.minima, missing, view.queue
        if key not in self._known:
            if len(self._known) >= LOOKS_MAX or self._cells <= 0:
                return None
            self._known[key], cells = self._look(kinds)
            self._cells -= cells  # also of what is remembered: so messages do not depend on it
        found = self._known[key]
        if found is None:
            return None
        return self._said_of_groups(view, kinds, found) if parting.by_group else self._said(kinds, found)

    def _kinds(self, view: JobView, missing: int, parting: _Parting) -> _Kinds | None:
        """Its pods by kind; None where these are too many, or too few pods could be placed whatever nodes have."""
        part_of, kinds = parting.part_of, dict[Hashable, list[Task]]()
        for task in self._usable(view):
            kinds.setdefault((part_of(task), task.shape), []).append(task)
            if len(kinds) > KINDS_MAX:
                return None
        firsts = [min(some, key=lambda task: (task.created, task.name)) for some in kinds.values()]
        count_of = {first.uid: len(some) for first, some in zip(firsts, kinds.values(), strict=True)}
        firsts = self._session.plugins.ordered_tasks(firsts)
        roles: dict[Hashable, Task] = {}
        for task in firsts:
            roles.setdefault(part_of(task), task)
        numbers = {key: number for number, key in enumerate(roles)}
        of_kind = tuple(numbers[part_of(task)] for task in firsts)
        counts = tuple(count_of[task.uid] for task in firsts)
        lacking: dict[Hashable, int] = {part: least for part, least in parting.minima.items() if least}
        minima = tuple(lacking.pop(part, 0) for part in roles)
        if sum(counts) < missing or lacking or (np.bincount(of_kind, counts, len(roles)) < minima).any():
            return None
        columns = sorted({column for task in firsts for column, _ in task.shape.request})
        requests = [[dict(task.shape.request).get(column, 0) for column in columns] for task in firsts]
        gang = GangDemand(np.array(requests, dtype=np.int64), counts, of_kind, minima, missing)
        return _Kinds(firsts, [*roles.values()], gang, columns)

    def _usable(self, view: JobView) -> Iterable[Task]:
        """Its pending pods without a node, but for those that could not start on any."""
        for uid, task in view.job.pending.items():
            if task.gated or task.unsupported or task.best_effort:
                continue
            if uid in view.moved and view.moved[uid][0] is not Status.PIPELINED:
                continue
            if task.claims is None or self._session.claims.obstacle(task) is None:
                yield task

    def in_domains(self, view: JobView) -> UnfitGang | None:
        """Why its sub-groups fit in no choice of domains, though each may fit in some.

        None where they may, and where the whole job has to be close: what is said of its domains says more.
        """
        groups, missing = view.sub_groups, self._session.plugins.tasks_missing(view)
        needed = None if groups is None else groups.without_choice()
        if groups is None or needed is None or (view.spec.topology is not None and view.spec.topology.hard):
            return None
        kinds = self._kinds(view, missing, _by_group(groups, needed))
        if kinds is None or len(kinds.roles) < 2 or self._cells <= 0:
            return None
        gang, nodes, choices = kinds.gang, self._open_nodes(kinds), domain_choices(self._session, view, kinds.roles)
        masks = [mask for one in choices for mask in one.domains]
        of_choices = [number for one in choices for number in (len(one.domains), -1, *sorted(one.roles))]
        asked = _question(gang, nodes), digest_of(np.array(of_choices), *masks)
        found, cells = self._session.memo.of(
            MEMO, asked, (), lambda: infeasible_in_domains(gang, nodes, choices, CELLS_MAX)
        )
        self._cells -= cells
        if len(found) < 2:
            return None  # what is said of the domain with most room for one says more
        names = [groups.of(kinds.roles[role]).name for role in found]
        return UnfitGang(words.in_no_domains(words.sub_groups_of(names)), None, names_pods=True)

    def _look(self, kinds: _Kinds) -> tuple[Infeasible | None, int]:
        gang, nodes = kinds.gang, self._open_nodes(kinds)
        return self._session.memo.of(MEMO, _question(gang, nodes), (), lambda: infeasible(gang, nodes, CELLS_MAX))

    def _open_nodes(self, kinds: _Kinds) -> OpenNodes:
        gang = kinds.gang
        total = product(np.array(gang.counts), gang.requests)
        free = np.minimum(np.stack([self._free(column) for column in kinds.columns], axis=1), total)
        is_open = np.ones((len(free), len(kinds.firsts)), dtype=np.bool_)
        for kind, task in enumerate(kinds.firsts):
            for check in self._session.node_selection.static_checks(task):
                is_open[:, kind] &= check.passes
        return OpenNodes(free, is_open)

    def _free(self, column: int) -> Ints:
        """int64[nodes]: what is not used, or used by pods that are leaving; whatever is reserved."""
        nodes = self._session.nodes
        free: Ints = nodes.idle[column]
        if nodes.in_motion:
            free = free + nodes.releasing[column] - (nodes.terminating if column == PODS else 0)
        return np.maximum(free, 0)

    def _said(self, kinds: _Kinds, found: Infeasible) -> UnfitGang:
        firsts = [kinds.roles[role] for role in found.roles]
        names_pods = not all(task.role for task in firsts)
        if not names_pods:
            who = words.roles_of([task.role for task in firsts])
        else:
            who = words.pods_like([task.name for task in firsts])
        message, fits = self._message(who, kinds, found), self._fits(kinds, found)
        if len(firsts) > 1:
            return UnfitGang(message, fits, names_pods=names_pods)
        is_alone = sum(role in found.roles for role in kinds.gang.roles) == 1
        return UnfitGang(message, fits, firsts[0].role, found.fits, firsts[0] if is_alone else None, names_pods)

    def _said_of_groups(self, view: JobView, kinds: _Kinds, found: Infeasible) -> UnfitGang:
        assert view.sub_groups is not None, "the pods were parted by sub-group"
        groups = [view.sub_groups.of(kinds.roles[role]).name for role in found.roles]
        message = self._message(words.sub_groups_of(groups), kinds, found)
        return UnfitGang(message, self._fits(kinds, found), names_pods=True)

    def _fits(self, kinds: _Kinds, found: Infeasible) -> int | None:
        """How many pods fit; None where other things than amounts may decide that."""
        selection = self._session.node_selection
        is_plain = not self._session.nodes.in_motion and all(map(selection.is_free_of_others, kinds.firsts))
        return found.fits_in_all if is_plain else None

    def _message(self, who: str, kinds: _Kinds, found: Infeasible) -> str:
        own = [count for role, count in zip(kinds.gang.roles, kinds.gang.counts, strict=True) if role in found.roles]
        if found.shortage is not None:
            several, all_needed = len(found.roles) > 1, found.needed == sum(own)
            return self._short(who, kinds, found.shortage, several=several, all_needed=all_needed)
        names = self._session.nodes.axis.names
        resources = [names[kinds.columns[column]] for column in found.resources]
        return words.few_fit(who, found.needed, found.fits, resources)

    def _short(self, who: str, kinds: _Kinds, found: AmountShortage, *, several: bool, all_needed: bool) -> str:
        """There is too little of one resource in all."""
        nodes, column = self._session.nodes, kinds.columns[found.resource]
        name = nodes.axis.names[column]
        needed, free = format_amount(name, found.needed), format_amount(name, found.free)
        return words.lack_together(
            who,
            needed if all_needed else words.at_least(needed),
            name,
            words.NODES_WITH_ROOM if found.with_room else words.USABLE_NODES,
            words.free(free, leaving=bool(nodes.in_motion and nodes.releasing[column].any())),
            several=several,
        )


def _partings(view: JobView) -> Iterator[_Parting]:
    """By sub-group, where all of them are needed; then by role, and by what pods ask for where they have none."""
    groups = view.sub_groups
    if groups is None:
        yield _Parting(lambda task: task.role or task.shape, view.roles_missing())
        return
    needed = groups.without_choice()
    if needed is not None:
        yield _by_group(groups, needed)
    yield _Parting(lambda task: task.role or task.shape, {})


def _by_group(groups: SubGroups, needed: Sequence[SubGroup]) -> _Parting:
    return _Parting(lambda task: groups.of(task).name, {one.name: one.lacks() for one in needed}, by_group=True)


def _question(gang: GangDemand, nodes: OpenNodes) -> bytes:
    return digest_of(gang.requests, np.array((*gang.counts, *gang.roles, *gang.minima, gang.missing)), *nodes)


def domain_choices(session: Session, view: JobView, firsts: Sequence[Task]) -> list[DomainChoice]:
    """What those of its sub-groups and composites that have to be close can choose from.

    ``firsts`` are pods, one of each sub-group; these are numbered in this order.
    """
    groups = view.sub_groups
    assert groups is not None, "the caller has looked"
    inside: dict[AnyGroup, list[int]] = {}
    for number, task in enumerate(firsts):
        group = groups.of(task)
        around: list[AnyGroup] = [*groups.path(group), group]
        for one in around:
            inside.setdefault(one, []).append(number)
    found: list[DomainChoice] = []
    for one, numbers in inside.items():
        if one.topology is not None and one.topology.hard:
            found.append(DomainChoice(frozenset(numbers), _domains(session, view, one.topology, one)))
    return found


def _domains(session: Session, view: JobView, topology: NetworkTopology, group: AnyGroup) -> list[Mask]:
    """The widest domains that may be its own."""
    places = session.places
    reach = places.reach(topology, places.pods_by_domain(view, topology, group))
    found: list[Mask] = []
    for tier, only in () if isinstance(reach, Refusal) else reversed(reach):
        for number in np.unique(tier.ids[tier.ids >= 0]).tolist() if only is None else [only]:
            mask: Mask = tier.ids == number
            if not any((mask <= wider).all() for wider in found):
                found.append(mask)
    return found
