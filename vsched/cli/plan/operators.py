"""What operators would make of objects on paper, as the table of workload kinds says: pods, and objects in between.

Pure. Nothing here knows a kind. What the table or the object does not say is returned as a note, one line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vsched import api
from vsched.api.manifests import Origin, group_and_kind, made_up_uid, without_nulls
from vsched.cli.plan.told import MOST_PODS
from vsched.cli.plan.words import objects as words
from vsched.errors import BadInput, BadObject
from vsched.framework.words.lists import counted
from vsched.mirror.ingest.gangs import GANG, GangFacts, PodRole, count_of, facts_of, roles_of, slug
from vsched.mirror.ingest.paths import EVERY, ObjectPlace, changed_at, path_of, with_value
from vsched.mirror.ingest.workload_kinds import WorkloadKind, WorkloadTable
from vsched.mirror.ingest.workload_rules import FieldSource, JvmMemory, MadeObject, RoleRule, Sources, sources_of

Manifest = dict[str, Any]

_JVM_AMOUNT = re.compile(r"([0-9]+)\s*([bkmgtp]?)b?", re.IGNORECASE)
_JVM_UNITS = {"b": 1, "k": 2**10, "": 2**20, "m": 2**20, "g": 2**30, "t": 2**40, "p": 2**50}
_LEAST_OVERHEAD = 384 * 2**20


class Operated(NamedTuple):
    """What is made of one object."""

    owner: Manifest
    """The object, with a namespace and a uid."""
    pods: Sequence[Manifest]
    others: Sequence[Manifest]
    """Objects that lead to further pods."""
    notes: Sequence[str]
    """What has to be said of it."""


def operator_kind(table: WorkloadTable, manifest: Manifest) -> WorkloadKind | None:
    """The entry of a kind that an operator makes pods of; None for others, Kubernetes' own included."""
    entry = table.by_owner.get(group_and_kind(manifest))
    return None if entry is None or entry.is_kept_anyway else entry


def may_concern(manifest: Manifest) -> bool:
    """Whether the table of workload kinds may say something about an object: otherwise nobody has to read it."""
    metadata = manifest.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if isinstance(annotations, dict) and GANG in annotations:
        return True
    kind = api.kind_of(str(manifest.get("apiVersion") or ""), manifest["kind"])
    return kind not in api.HEEDED and (
        kind not in api.KINDS or group_and_kind(manifest)[0] != api.RESOURCES[kind].group
    )


class ManifestIndex:
    """Finds objects among manifests; those that do not say their namespace are those of any."""

    def __init__(self, manifests: Iterable[Manifest] = ()) -> None:
        self._known: dict[tuple[str, str], list[Manifest]] = {}
        self.add(manifests)

    def add(self, manifests: Iterable[Manifest]) -> None:
        """Find these, too."""
        for each in manifests:
            metadata = each.get("metadata")
            if isinstance(metadata, dict):
                self._known.setdefault((each["kind"], str(metadata.get("name"))), []).append(each)

    def find(self, kind: str, namespace: str, name: str) -> Manifest | None:
        """The first object of this kind and name; None where there is none."""
        for one in self._known.get((kind, name), ()):
            if one["metadata"].get("namespace") in (None, "", namespace):
                return one
        return None


def operated_at(origin: Origin, manifest: Manifest, entry: WorkloadKind, among: ManifestIndex) -> Operated:
    """What its operator would make of an object; raises BadInput with its origin where its fields make no sense."""
    try:
        return operated(manifest, entry, among)
    except (BadObject, BadInput) as error:
        raise BadInput(f"{origin}: {error}") from None


def operated(manifest: Manifest, entry: WorkloadKind, among: ManifestIndex) -> Operated:
    """What its operator would make of an object; raises BadObject or BadInput where its fields make no sense."""
    owner = _identified(manifest, entry)
    document = without_nulls(owner)
    place = ObjectPlace(document)
    notes = [words.not_applied(path) for path in entry.passed_over if place.first(path)]
    if not entry.makes_pods:
        return Operated(owner, (), (), (words.KIND_UNKNOWN,))
    facts = facts_of(entry, document)
    if facts.idle:
        return Operated(owner, (), (), (words.SUSPENDED,))
    pods = tuple(_pods(owner, entry, facts, place, notes))
    others = tuple(_others(owner, entry, document, among, notes))
    return Operated(owner, pods, others, notes)


def _identified(manifest: Manifest, entry: WorkloadKind) -> Manifest:
    metadata = {"namespace": "default", **{k: v for k, v in manifest["metadata"].items() if v is not None}}
    name = metadata.get("name") or f"{metadata.get('generateName')}0"
    metadata |= {"name": name, "uid": made_up_uid(entry.id, str(metadata["namespace"]), str(name))}
    return {**manifest, "apiVersion": manifest.get("apiVersion") or entry.api_versions[0], "metadata": metadata}


# -- pods -------------------------------------------------------------------------------------------------------------


def _pods(
    owner: Manifest, entry: WorkloadKind, facts: GangFacts, place: ObjectPlace, notes: list[str]
) -> Iterator[Manifest]:
    copies = count_of(entry.copies, place, words.NUMBER_OF_COPIES)
    copies = 1 if copies is None else copies
    roles = tuple(roles_of(entry, place))
    of_roles = {label for _, role, _ in roles for each in role.label_sets for label, _ in each}
    split = () if facts.split is None else facts.split.labels
    counted_by = [label for label in split if label not in of_roles]
    if len(roles) > 1 and split and not counted_by:
        notes.append(words.SEPARATE_GANGS)
    total = copies * sum(role.replicas for _, role, _ in roles)
    if total > MOST_PODS:
        name = f"{owner['kind']} {owner['metadata']['name']}"
        raise BadInput(words.too_many_pods(name, total, MOST_PODS))
    templates = [_template(rule, role, part, copies, notes) for rule, role, part in roles]
    for copy in range(copies):
        for (_, role, _), template in zip(roles, templates, strict=True):
            if template is None:
                continue
            labels = {label: str(copy) for label in counted_by}
            infix = [str(copy)] if counted_by else []
            for number in range(role.replicas):
                name = "-".join((owner["metadata"]["name"], *infix, slug(role.name), str(number)))
                yield _pod(owner, entry, role, template, name, labels)


def _template(rule: RoleRule, role: PodRole, place: ObjectPlace, copies: int, notes: list[str]) -> Manifest | None:
    """The template of the pods of a role; None, and a note, where the object has none."""
    found = value_of(rule.template, place)
    if role.replicas and not isinstance(found, dict) and not rule.fields:
        where = " or ".join(each.path for each in sources_of(rule.template)) or "anywhere"
        pods = counted(role.replicas * copies, "pod", "pods")
        notes.append(words.cannot_be_planned(pods, role.name, where))
        return None
    filled: Manifest = _with_fields(found if isinstance(found, dict) else {}, rule.fields, place)
    return filled


def _pod(
    owner: Manifest, entry: WorkloadKind, role: PodRole, template: Manifest, name: str, labels: Mapping[str, str]
) -> Manifest:
    given = template.get("metadata") or {}
    own = owner["metadata"]["name"]
    told = dict(role.label_sets[0]) if role.label_sets else {}
    named = {label: own for label in (entry.label, *entry.marks) if label}
    metadata = {
        "name": name,
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(given.get("labels") or {}), **named, **told, **labels},
        "annotations": given.get("annotations") or {},
        "ownerReferences": [_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def _reference(owner: Manifest) -> Manifest:
    metadata = owner["metadata"]
    named = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    return {**named, "uid": metadata["uid"], "controller": True}


# -- objects in between -----------------------------------------------------------------------------------------------


def _others(
    owner: Manifest, entry: WorkloadKind, document: Manifest, among: ManifestIndex, notes: list[str]
) -> Iterator[Manifest]:
    for made in entry.makes:
        place = ObjectPlace(document)
        if made.reference is not None:
            kind, name = value_of(made.reference.kind, place), place.first(made.reference.name)
            found = among.find(str(kind), owner["metadata"]["namespace"], str(name))
            if found is None:
                notes.append(words.not_among_manifests(kind, name, made.kind))
                continue
            place = ObjectPlace({**document, "reference": without_nulls(found)})
        if not all(map(place.holds, made.when)):
            continue
        missing = [path for path in made.needs if place.first(path) is None]
        if missing:
            notes.append(words.missing(missing[0], made.kind))
            continue
        yield _other(owner, made, place)


def _other(owner: Manifest, made: MadeObject, place: ObjectPlace) -> Manifest:
    metadata = {
        "name": owner["metadata"]["name"] + made.suffix,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [_reference(owner)],
    }
    body: Any = _with_fields({"apiVersion": made.api_version, "kind": made.kind}, made.fields, place)
    body["metadata"] = {**(body.get("metadata") or {}), **metadata}
    for change in made.set:

        def changed(item: object, when: Sequence[str] = change.when, fields: Any = change.fields) -> object:
            inner = ObjectPlace(place.whole, item)
            return _with_fields(item, fields, inner) if all(map(inner.holds, when)) else item

        body = changed_at(body, (*path_of(change.each), EVERY), changed)
    return dict(body)


# -- values -----------------------------------------------------------------------------------------------------------


def _with_fields(part: Any, fields: Mapping[str, Sources], place: ObjectPlace) -> Any:
    for target, sources in fields.items():
        value = value_of(sources, place)
        if value is not None:
            part = with_value(part, path_of(target), value)
    return part


def value_of(sources: Sources, place: ObjectPlace) -> object:
    """What a field gets, None where no source leads to anything; raises BadObject."""
    for source in sources_of(sources):
        if all(map(place.holds, source.when)):
            found = _one_value(source, place)
            if found is not None:
                return found
    return None


def _one_value(source: FieldSource, place: ObjectPlace) -> object:
    if source.count is not None:
        return count_of(source.count, place, words.NUMBER_OF_PODS)
    if source.memory is not None:
        return _jvm_memory(source.memory, place)
    return source.value if source.value is not None else place.first(source.path)


def _jvm_memory(rule: JvmMemory, place: ObjectPlace) -> str:
    memory = _jvm_bytes(place.first(rule.path) or rule.default, rule.path)
    stated = place.first(rule.overhead) if rule.overhead else None
    if stated is not None:
        overhead = _jvm_bytes(stated, rule.overhead)
    else:
        factor = value_of(rule.factor, place)
        try:
            overhead = max(int(memory * float(str(factor or 0))), _LEAST_OVERHEAD)
        except ValueError:
            raise BadObject(words.no_factor(factor)) from None
    return f"{-(-(memory + overhead) // 2**20)}Mi"


def _jvm_bytes(value: object, path: str) -> int:
    found = _JVM_AMOUNT.fullmatch(str(value))
    if found is None:
        raise BadObject(words.no_jvm_memory(path, str(value)[:40]))
    return int(found[1]) * _JVM_UNITS[found[2].lower()]
