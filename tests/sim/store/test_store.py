"""The versioned store: one rising version, a history that explains every state, nothing that grows for a reader."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.sim.store.history import Behind
from vsched.sim.store.store import Store, key_of

Obj = dict[str, Any]
KIND = KindRegistry().resource("configmaps")


def thing(name: str, namespace: str = "default", value: int = 0) -> Obj:
    metadata = {"name": name, "namespace": namespace}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"value": str(value)}}


def names(store: Store, namespace: str = "") -> list[str]:
    return [key_of(record.obj) for record in store.items(KIND, namespace)]


def write(store: Store, name: str, value: int | None) -> None:
    """Creates, replaces or, without a value, removes."""
    record = store.get(KIND, "default", name)
    if value is None:
        if record is not None:
            store.remove(KIND, "default", name)
    elif record is None:
        store.create(KIND, thing(name, value=value))
    else:
        store.replace(KIND, thing(name, value=value), record)


WRITES = st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 2)), max_size=40)


@given(WRITES)
def test_the_history_leads_from_any_state_to_the_present_one(writes: list[tuple[str, int | None]]) -> None:
    store = Store()
    states: dict[int, dict[str, Obj]] = {store.revision: {}}
    for name, value in writes:
        write(store, name, value)
        states[store.revision] = {key_of(record.obj): record.obj for record in store.items(KIND)}
    for revision, state in states.items():
        keys, records = store.page(KIND, "", revision)
        assert {key: records[key].obj for key in keys} == state
        assert keys == sorted(state)
        rest, _ = store.page(KIND, "default", revision, "default/c")
        assert rest == [key for key in keys if key >= "default/c"]
        replayed = dict(state)
        for event in store.subscribe(KIND, revision).take():
            if event.type == "DELETED":
                del replayed[event.key]
            else:
                assert (event.key in replayed) is (event.type == "MODIFIED")
                replayed[event.key] = event.obj
        assert replayed == states[store.revision]


@given(WRITES)
def test_versions_rise_with_every_change_and_only_then(writes: list[tuple[str, int | None]]) -> None:
    store = Store()
    for name, value in writes:
        before, count = store.revision, len(store.subscribe(KIND, 1).take())
        old = store.get(KIND, "default", name)
        write(store, name, value)
        same = old is None if value is None else old is not None and old.obj["data"]["value"] == str(value)
        assert store.revision == before + (not same)
        assert len(store.subscribe(KIND, 1).take()) == count + (not same)


@given(st.lists(st.tuples(st.sampled_from(["a", "a-b", "a.b", "b"]), st.sampled_from("xy")), unique=True))
def test_lists_are_ordered_by_the_joined_key(pairs: list[tuple[str, str]]) -> None:
    store = Store()
    for namespace, name in pairs:
        store.create(KIND, thing(name, namespace))
        assert names(store) == sorted(names(store))
        assert names(store, namespace) == sorted(key for key in names(store) if key.startswith(f"{namespace}/"))


def test_stored_objects_are_not_the_callers() -> None:
    store = Store()
    given_obj = thing("a")
    made = store.create(KIND, given_obj)
    assert "resourceVersion" not in given_obj["metadata"]
    assert list(made)[:2] == ["kind", "apiVersion"]


def test_what_is_made_of_a_resource_is_made_anew_once_it_has_changed() -> None:
    store, seen = Store(), []

    def count(objects: list[Obj]) -> int:
        seen.append(len(objects))
        return len(objects)

    for value in (1, 2, None):
        write(store, "a", value)
        write(store, "b", 1)
        assert [store.derived("configmaps", count) for _ in range(2)] == [1 if value is None else 2] * 2
    assert seen == [2, 2, 1]


def test_a_name_is_stored_once() -> None:
    store = Store()
    store.create(KIND, thing("a"))
    with pytest.raises(Failure, match='configmaps "a" already exists'):
        store.create(KIND, thing("a"))
    store.remove(KIND, "default", "a")
    with pytest.raises(Failure, match='configmaps "a" not found'):
        store.remove(KIND, "default", "a")


def test_a_short_history_forgets_the_oldest_first() -> None:
    store = Store(history_revisions=10)
    for number in range(100):
        store.create(KIND, thing(f"a{number:03}"))
    floor = store.oldest(KIND)
    assert 10 <= store.revision - floor <= 20
    with pytest.raises(Behind, match=rf"too old resource version: 1 \({floor}\)"):
        store.subscribe(KIND, 1)
    assert len(store.subscribe(KIND, floor).take()) == store.revision - floor


async def test_a_waiting_reader_is_woken_by_the_next_event() -> None:
    store = Store()
    subscription = store.subscribe(KIND)
    waiting = asyncio.create_task(subscription.wait(5.0))
    await asyncio.sleep(0)
    store.create(KIND, thing("a"))
    assert await waiting
    assert [event.key for event in subscription.take()] == ["default/a"]
    assert not await subscription.wait(0.01)


async def test_a_reader_that_stops_waiting_leaves_nothing_behind() -> None:
    store = Store()
    history = store.shelf(KIND).history
    for _ in range(3):
        assert not await store.subscribe(KIND).wait(0.001)
    assert history.readers_waiting == 0


def test_after_a_kind_expired_even_the_newest_revision_that_was_seen_is_too_old() -> None:
    store = Store()
    store.create(KIND, thing("a"))
    seen = store.revision
    store.expire(KIND)
    with pytest.raises(Behind):
        store.subscribe(KIND, seen)
    assert store.subscribe(KIND, store.revision).take() == []
