"""The books on who owns which field: kept at each write or worked out later, they say the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.builtin_kinds import POD, pod
from tests.support.examples import examples
from vsched.sim.store.field_ownership import compared, owned_paths, path_text, shape_of, value_at
from vsched.sim.store.managed_fields import (
    ANCIENT,
    MOST_STEPS,
    MOST_UPDATERS,
    Author,
    FieldOwners,
    LazyManagedFields,
)

Obj = dict[str, Any]
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

_VALUES = st.sampled_from(["1", "2"])
_SMALL = st.dictionaries(st.sampled_from("abc"), _VALUES, max_size=3)
_CONTAINERS = st.lists(st.sampled_from("cde"), unique=True, max_size=3).flatmap(
    lambda names: st.tuples(*(st.builds(_container, st.just(name), _VALUES, _SMALL) for name in names)).map(list)
)


def _container(name: str, image: str, env: dict[str, str]) -> Obj:
    return {"name": name, "image": image, "env": [{"name": key, "value": value} for key, value in env.items()]}


def _pod(labels: dict[str, str], finalizers: list[str], selector: dict[str, str], containers: list[Obj]) -> Obj:
    obj = pod(nodeSelector=selector, containers=containers)
    obj["metadata"] |= {"labels": labels, "finalizers": finalizers}
    return obj


_PODS = st.builds(_pod, _SMALL, st.lists(st.sampled_from(["x/a", "x/b"]), unique=True), _SMALL, _CONTAINERS)
_AUTHORS = st.one_of(st.none(), st.tuples(st.sampled_from(["m", "n"]), st.sampled_from(["", "status"])))


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(_AUTHORS, _PODS), min_size=1, max_size=2 * MOST_STEPS + 2))
def test_books_worked_out_later_are_those_that_were_kept(writes: list[tuple[tuple[str, str] | None, Obj]]) -> None:
    first = Author("maker", "", _BEGIN)
    books, owners, obj = FieldOwners(), LazyManagedFields.begun(first), writes[0][1]
    books.created(POD, obj, first)
    for number, (named, new) in enumerate(writes):
        author = Author(*named, _BEGIN + timedelta(seconds=number)) if named else None
        books.updated(POD, new, obj, author)
        owners, obj = owners.extended(POD, author, obj), new
    assert owners.entries(POD, obj) == books.entries()
    assert owners.settled(POD, obj).entries(POD, obj) == books.entries()


@given(_PODS, _PODS)
def test_what_differs_is_what_has_another_value(new: Obj, old: Obj) -> None:
    changed, gone = compared(POD, new, old)
    shape, after, before = shape_of(POD), owned_paths(POD, new), owned_paths(POD, old)
    assert gone == before - after
    assert after - before <= changed <= after
    for path in after & before:
        differs = value_at(new, path, shape) != value_at(old, path, shape)
        is_item = path[-1].startswith("k:")
        assert is_item or differs == (path in changed), path_text(path)


def test_a_change_without_an_author_moves_nothing() -> None:
    books = FieldOwners()
    books.created(POD, pod(), Author("m", "", _BEGIN))
    before = books.entries()
    books.updated(POD, pod(nodeName="n"), pod(), None)
    assert books.entries() == before


@pytest.mark.parametrize(("authors", "kept"), [(MOST_UPDATERS, MOST_UPDATERS), (3 * MOST_UPDATERS, MOST_UPDATERS)])
def test_the_oldest_of_many_managers_become_one(authors: int, kept: int) -> None:
    books, obj = FieldOwners(), pod()
    for number in range(authors):
        new = {**obj, "metadata": {**obj["metadata"], "labels": {f"l{each}": "1" for each in range(number + 1)}}}
        books.updated(POD, new, obj, Author(f"m{number}", "", _BEGIN + timedelta(seconds=number)))
        obj = new
    entries = books.entries()
    assert len(entries) == kept
    assert any(entry["manager"] == ANCIENT for entry in entries) is (authors > MOST_UPDATERS)
    owned = [label for entry in entries for label in entry["fieldsV1"]["f:metadata"]["f:labels"]]
    assert sorted(owned) == sorted(f"f:l{each}" for each in range(authors))
