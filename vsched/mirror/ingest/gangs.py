"""Gangs of pods that other operators make: from the pods' owners, as the table of workload kinds describes them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from vsched import api
from vsched.errors import BadObject
from vsched.mirror.ingest.annotations import Remarks
from vsched.mirror.ingest.bounds import ROLES_MAX, short
from vsched.mirror.ingest.implicit import GROUP_MIN_MEMBER, controller_of, joined, plain_name
from vsched.mirror.ingest.metadata import BOOLEANS, IMPLIED, INT32, QUEUE_NAME, of_group, scheduling_annotations
from vsched.mirror.ingest.native import KUEUE_QUEUE
from vsched.mirror.ingest.paths import ObjectPlace, items_of
from vsched.mirror.ingest.words import groups as words
from vsched.mirror.ingest.workload_kinds import WorkloadKind
from vsched.mirror.ingest.workload_rules import Count, RoleRule, Split, alternatives_of
from vsched.model.jobs.spec import JobSpec
from vsched.model.names import shared

GANG = "vsched.io/gang"
"""Annotation of a workload: whether its pods are a gang, instead of what the table says of its kind."""
GANG_NAME = "vsched.io/gang-name"
"""Annotation of pods: those of one owner with the same name here are a gang of their own."""

_NONE: Mapping[str, str] = {}
_SLUG = re.compile(r"[^a-z0-9-]+")
_SLUG_LENGTH = 40


class PodRole(NamedTuple):
    """A role of the pods of one object."""

    name: str
    label_sets: tuple[tuple[tuple[str, str], ...], ...]
    """Sets of labels, each of which makes a pod one of this role; empty: the pods that no other role takes."""
    minimum: int
    replicas: int

    def takes(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels of a pod make it one of this role."""
        return any(all(labels.get(key) == value for key, value in each) for each in self.label_sets)

    def may_have(self, chosen: Mapping[str, str]) -> bool:
        """Whether a pod of this role may have these labels."""
        sets = self.label_sets or ((),)
        return any(all(chosen.get(key, value) == value for key, value in each) for each in sets)


class GangFacts(NamedTuple):
    """What an object says about the gangs of its pods."""

    roles: tuple[PodRole, ...] = ()
    minimum: int | None = None
    """Of all roles together; None for the sum of theirs."""
    queue: str = ""
    priority_class: str = ""
    idle: bool = False
    """Whether it is to have no pods."""
    split: Split | None = None


class PodOwner(NamedTuple):
    """An object that owns pods, or owns what owns them."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class OwnerRecord(NamedTuple):
    """An owner, as far as it matters to the gangs of pods."""

    owner: PodOwner
    entry: WorkloadKind | None
    """Its kind in the table; None for one that only leads to such an object."""
    facts: GangFacts
    controller: api.OwnerReference | None
    gang: bool | None
    """What its annotation says."""
    annotations: tuple[tuple[str, str], ...]
    kueue: str
    """The queue by the label of Kueue."""

    @property
    def forms_gangs(self) -> bool:
        """Whether its pods form gangs."""
        if self.entry is None or not self.entry.forms_gangs:
            return False
        return self.gang is True if self.entry.annotated else self.gang is not False


class OwnedGang(NamedTuple):
    """A gang as the owners of its pods describe it."""

    found: str = ""
    """The object that it was found by, as ``JobSet train``."""
    minimum: int = 0
    """0 where the owners state none."""
    roles: tuple[tuple[str, int], ...] = ()
    queue: str = ""
    priority_class: str = ""
    annotations: tuple[tuple[str, str], ...] = ()
    """Of all owners; those of inner ones count before those of outer ones."""
    owner: PodOwner | None = None
    """The owner of its PodGroup; None for the controller of the pods."""
    made_for: str = ""
    """What its PodGroup is made for; empty where the pods say it."""


def group_and_kind(reference: api.OwnerReference) -> tuple[str, str]:
    """The API group and the kind that an owner reference names."""
    return reference.api_version.rpartition("/")[0], reference.kind


# -- what an object says ----------------------------------------------------------------------------------------------


def facts_of(entry: WorkloadKind, document: Mapping[str, object]) -> GangFacts:
    """What an object says of the gangs of its pods; raises BadObject."""
    place = ObjectPlace(document)
    roles = tuple(role for _, role, _ in roles_of(entry, place))
    if len(roles) > ROLES_MAX:
        raise BadObject(words.too_many_roles(len(roles), ROLES_MAX))
    return GangFacts(
        roles,
        None if entry.minimum is None else count_of(entry.minimum, place, "minimum"),
        _text(entry.queue, place),
        _text(entry.priority, place),
        bool(entry.suspended and place.holds(entry.suspended)) or (bool(roles) and not any(r.replicas for r in roles)),
        next((each for each in entry.split if not each.when or place.holds(each.when)), None),
    )


def record_of(
    owner: PodOwner, entry: WorkloadKind | None, metadata: api.Metadata, facts: GangFacts, remarks: Remarks
) -> OwnerRecord:
    """An owner as it matters here; an annotation that cannot be used gets a remark."""
    annotations = metadata.annotations or _NONE
    said = annotations.get(GANG)
    if said is not None and said not in BOOLEANS:
        remarks.append(words.no_gang_flag(GANG, said[:40]))
    return OwnerRecord(
        owner,
        entry,
        facts,
        controller_of(metadata),
        None if said is None else BOOLEANS.get(said),
        scheduling_annotations(metadata),
        shared((metadata.labels or _NONE).get(KUEUE_QUEUE, "")),
    )


def roles_of(entry: WorkloadKind, place: ObjectPlace) -> Iterator[tuple[RoleRule, PodRole, ObjectPlace]]:
    """The roles of an object, each with its rule and the part that it is read from; raises BadObject."""
    for rule in entry.roles:
        if not rule.each:
            yield rule, _role(rule, rule.name, place), place
            continue
        for found in place.values(rule.each):
            for key, item in items_of(found):
                inner = ObjectPlace(place.whole, item)
                named = inner.first(rule.name_from) if rule.name_from else key.lower()
                if not isinstance(named, str) or not named:
                    raise BadObject(words.item_without_name(rule.each, rule.name_from or "a key"))
                yield rule, _role(rule, named, inner), inner


def _role(rule: RoleRule, name: str, place: ObjectPlace) -> PodRole:
    replicas = count_of(rule.replicas, place, words.replicas_of(name))
    replicas = 1 if replicas is None else replicas
    minimum = None if rule.minimum is None else count_of(rule.minimum, place, words.minimum_of(name))
    sets = tuple(
        tuple((key, value.replace("{name}", name)) for key, value in sorted(each.items())) for each in rule.label_sets
    )
    least = replicas if minimum is None else minimum
    return PodRole(shared(short(name, words.ROLE_NAME)), tuple(filter(None, sets)), least, replicas)


def count_of(count: Count, place: ObjectPlace, what: str) -> int | None:
    """A number of pods; None where no alternative leads to one. Raises BadObject."""
    for one in alternatives_of(count):
        if one.when and not place.holds(one.when):
            continue
        found = one.value if one.value is not None else place.first(one.path)
        if found is None:
            continue
        number = _whole(found, one.path, what)
        for path in one.at_most:
            most = place.first(path)
            number = number if most is None else min(number, _whole(most, path, what))
        for path in one.times:
            factor = place.first(path)
            number *= 1 if factor is None else _whole(factor, path, what)
        return min(max(number - one.less, 0), INT32 - 1)
    return None


def _whole(found: object, path: str, what: str) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < INT32:
        raise BadObject(words.no_count(path, str(found)[:40], what))
    return found


def _text(paths: Sequence[str], place: ObjectPlace) -> str:
    for path in paths:
        found = place.first(path)
        if found is not None and not isinstance(found, str):
            raise BadObject(f"{path}: {str(found)[:40]!r} (expected a name)")
        if found:
            return shared(short(found, path))
    return ""


# -- what follows for a pod -------------------------------------------------------------------------------------------


class GangMembership(NamedTuple):
    """The gang that a pod belongs to."""

    name: str
    """Of its PodGroup."""
    role: str
    gang: OwnedGang


KnownGangs = dict[tuple[str, tuple[int, ...]], OwnedGang]
"""Gangs that were worked out, by name and by the identities of the owners."""


def membership_of(
    metadata: api.Metadata, chain: Sequence[OwnerRecord], known: KnownGangs | None = None
) -> GangMembership | None:
    """The gang of a pod by its owners, from the inside out; None where they say nothing about it.

    The outermost owner whose pods form gangs counts: a JobSet before its Jobs. ``known`` is to be cleared whenever an
    owner changes.
    """
    known = {} if known is None else known
    at = next((number for number in reversed(range(len(chain))) if chain[number].forms_gangs), None)
    labels, annotations = metadata.labels or _NONE, metadata.annotations or _NONE
    own = annotations.get(GANG_NAME, "")
    plain = plain_name(metadata)
    if at is None:
        if own and chain:
            return _member(known, plain, slug(own), "", chain, GangFacts(), _NONE, chain[-1].owner)
        if all(each.entry is None or each.entry.annotated for each in chain):
            return None
        return _member(known, plain, "", "", chain, GangFacts(), _NONE, None)
    record = chain[at]
    facts, base = record.facts, IMPLIED + record.owner.uid
    role = _role_of(facts.roles, labels)
    outer = chain[at:]
    if own:
        return _member(known, base, slug(own), role, outer, GangFacts(), _NONE, record.owner)
    split = facts.split
    if split is None:
        return _member(known, base, "", role, outer, facts, _NONE, record.owner)
    if split.pod:
        gang = _gang(outer, GangFacts(), _NONE, None, f"Pod {metadata.name}")
        return GangMembership(IMPLIED + api.uid_of(metadata), role, gang)  # no other pod has this gang
    chosen = {key: labels[key] for key in split.labels if key in labels}
    return _member(known, base, "-".join(map(slug, chosen.values())), role, outer, facts, chosen, record.owner)


def _member(
    known: KnownGangs,
    base: str,
    group: str,
    role: str,
    chain: Sequence[OwnerRecord],
    facts: GangFacts,
    chosen: Mapping[str, str],
    owner: PodOwner | None,
) -> GangMembership:
    name = f"{base}-{group}" if group else base
    key = name, tuple(map(id, chain))
    gang = known.get(key)
    if gang is None:
        made_for = "" if owner is None else of_group(str(owner), group)
        gang = known[key] = _gang(chain, facts, chosen, owner, made_for)
    return GangMembership(name, role, gang)


def _gang(
    chain: Sequence[OwnerRecord], facts: GangFacts, chosen: Mapping[str, str], owner: PodOwner | None, made_for: str
) -> OwnedGang:
    """The gang of the pods with these labels, with what its owners say about it."""
    roles = [role for role in facts.roles if role.may_have(chosen)]
    minima = Counter[str]()
    for role in roles:
        minima[role.name] += role.minimum
    together = minima.total()
    minimum = facts.minimum if facts.minimum is not None else max(together, 1 if roles else 0)
    counts = len(roles) > 1 and together <= minimum
    annotations: dict[str, str] = {}
    for record in reversed(chain):
        annotations.update(record.annotations)
    return OwnedGang(
        str(chain[0].owner),
        minimum,
        tuple(sorted((+minima).items())) if counts else (),
        annotations.get(QUEUE_NAME, "")
        or next((each.facts.queue for each in chain if each.facts.queue), "")
        or next((each.kueue for each in chain if each.kueue), ""),
        next((each.facts.priority_class for each in chain if each.facts.priority_class), ""),
        tuple(sorted(annotations.items())),
        owner,
        made_for,
    )


def _role_of(roles: Sequence[PodRole], labels: Mapping[str, str]) -> str:
    for role in roles:
        if role.label_sets and role.takes(labels):
            return role.name
    return next((role.name for role in roles if not role.label_sets), "")


def slug(text: str) -> str:
    """A text as part of the name of an object; different texts stay different."""
    found = _SLUG.sub("-", text.lower()).strip("-")
    if found == text and len(found) <= _SLUG_LENGTH:
        return found
    return "-".join(filter(None, (found[:_SLUG_LENGTH].rstrip("-"), hashlib.sha256(text.encode()).hexdigest()[:8])))


def gathered(spec: JobSpec, gang: OwnedGang, remarks: Remarks) -> JobSpec:
    """The job of a gang: what its pods say counts before what its owners say."""
    stated = GROUP_MIN_MEMBER in dict(spec.annotations) or any(key == GROUP_MIN_MEMBER for key, _ in gang.annotations)
    if gang.annotations:
        spec = joined(spec, dict(gang.annotations), remarks)
    priority_class = gang.priority_class or spec.priority_class
    same_class = priority_class == spec.priority_class
    counts = not stated and gang.minimum > 0
    return msgspec.structs.replace(
        spec,
        queue=spec.queue or gang.queue,
        min_member=gang.minimum if counts else spec.min_member,
        min_task_member=gang.roles if counts else (),
        priority_class=priority_class,
        class_only_named=spec.class_only_named and same_class,
        gang=gang.found,
        made_for=gang.made_for or spec.made_for,
    )
