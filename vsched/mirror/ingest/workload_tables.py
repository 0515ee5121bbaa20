"""Tables of workload kinds as files have them: what is wrong with one is said in one line, with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from vsched.api.base import located
from vsched.errors import BadInput
from vsched.mirror.ingest.paths import path_of, path_of_condition
from vsched.mirror.ingest.words import groups as words
from vsched.mirror.ingest.workload_kinds import NO_WORKLOADS, WorkloadKind, WorkloadTable
from vsched.mirror.ingest.workload_rules import (
    Alternative,
    Count,
    Entry,
    MadeObject,
    Sources,
    alternatives_of,
    sources_of,
)

_VERSION = re.compile(r"([a-z0-9.-]+/)?v[0-9]+((alpha|beta)[0-9]+)?")
_PLURAL = re.compile(r"[a-z][a-z0-9-]*")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")


class _Document(Entry, frozen=True):
    built_in: bool = True
    """Whether the kinds of the built-in table count that the file does not name."""
    workloads: tuple[WorkloadKind, ...] = ()


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
            raise BadInput(words.kind_twice(at, kind.id))
        named.add((kind.group, kind.kind))
    more = built_in.kinds if found.built_in else ()
    table = WorkloadTable((*found.workloads, *(each for each in more if (each.group, each.kind) not in named)))
    _check_labels(table.kinds, where)
    return table


def _check(kind: WorkloadKind, at: str) -> None:
    if not kind.api_versions:
        raise BadInput(words.no_api_versions(at))
    for number, version in enumerate(kind.api_versions):
        if not _VERSION.fullmatch(version):
            raise BadInput(words.bad_api_version(at, number, version))
        if version.rpartition("/")[0] != kind.group:
            raise BadInput(words.api_version_of_another_group(at, number, version, kind.group))
    if not _KIND.fullmatch(kind.kind):
        raise BadInput(words.bad_kind(at, kind.kind))
    if kind.plural and not _PLURAL.fullmatch(kind.plural):
        raise BadInput(words.bad_plural(at, kind.plural))
    if kind.id == "Pod":
        raise BadInput(words.kind_of_pods(at))
    for path, text in _paths(kind):
        try:
            path_of(text)
        except BadInput as error:
            raise BadInput(f"{at}.{path}: {error}") from None
    for number, role in enumerate(kind.roles):
        if not role.name and not role.each:
            raise BadInput(words.neither_name_nor_each(at, number))
        if role.name and role.each:
            raise BadInput(words.both_name_and_each(at, number))
    for number, split in enumerate(kind.split):
        if bool(split.labels) == split.pod:
            raise BadInput(words.bad_split(at, number))


def _check_labels(kinds: Iterable[WorkloadKind], where: str) -> None:
    users: dict[str, str] = {}
    for kind in kinds:
        if kind.label and users.setdefault(kind.label, kind.id) != kind.id:
            raise BadInput(words.label_of_another(where, kind.id, kind.label, users[kind.label]))


def _paths(kind: WorkloadKind) -> Iterator[tuple[str, str]]:
    """Every path of an entry, with where it is."""
    for field, paths in (("queue", kind.queue), ("priority", kind.priority)):
        yield from ((f"{field}[{number}]", path) for number, path in enumerate(paths))
    if kind.suspended:
        yield "suspended", path_of_condition(kind.suspended)
    yield from _of_count(kind.minimum, "minimum")
    for number, split in enumerate(kind.split):
        if split.when:
            yield f"split[{number}].when", path_of_condition(split.when)
    for number, role in enumerate(kind.roles):
        at = f"roles[{number}]"
        for field, path in (("each", role.each), ("nameFrom", role.name_from)):
            if path:
                yield f"{at}.{field}", path
        yield from _of_count(role.replicas, f"{at}.replicas")
        yield from _of_count(role.minimum, f"{at}.minimum")
        yield from _of_sources(role.template, f"{at}.template")
        yield from _of_fields(role.fields, f"{at}.fields")
    yield from _of_count(kind.copies, "copies")
    yield from ((f"passedOver[{number}]", path) for number, path in enumerate(kind.passed_over))
    for number, made in enumerate(kind.makes):
        yield from _of_made(made, f"makes[{number}]")


def _of_made(made: MadeObject, at: str) -> Iterator[tuple[str, str]]:
    yield from _of_fields(made.fields, f"{at}.fields")
    yield from ((f"{at}.needs[{number}]", path) for number, path in enumerate(made.needs))
    yield from _of_conditions(made.when, f"{at}.when")
    if made.reference is not None:
        yield from _of_sources(made.reference.kind, f"{at}.reference.kind")
        yield f"{at}.reference.name", made.reference.name
    for number, change in enumerate(made.set):
        yield f"{at}.set[{number}].each", change.each
        yield from _of_conditions(change.when, f"{at}.set[{number}].when")
        yield from _of_fields(change.fields, f"{at}.set[{number}].fields")


def _of_fields(fields: Mapping[str, Sources], at: str) -> Iterator[tuple[str, str]]:
    for target, sources in fields.items():
        yield at, "" if "[*]" in target else target  # nothing can be put at every item
        yield from _of_sources(sources, f"{at}[{target}]")


def _of_sources(sources: Sources, at: str) -> Iterator[tuple[str, str]]:
    for number, one in enumerate(sources_of(sources)):
        here = f"{at}[{number}]" if isinstance(sources, tuple) else at
        yield from _of_conditions(one.when, f"{here}.when")
        if one.count is not None:
            yield from _of_count(one.count, f"{here}.count")
        elif one.memory is not None:
            yield f"{here}.memory.path", one.memory.path
            if one.memory.overhead:
                yield f"{here}.memory.overhead", one.memory.overhead
            yield from _of_sources(one.memory.factor, f"{here}.memory.factor")
        elif one.value is None:
            yield here, one.path


def _of_conditions(conditions: Iterable[str], at: str) -> Iterator[tuple[str, str]]:
    yield from ((f"{at}[{number}]", path_of_condition(each)) for number, each in enumerate(conditions))


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
            yield f"{here}.when", path_of_condition(one.when)
