"""Whatever order events come in, the mirror is what a fresh list would make it."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mirror.streams import (
    Event,
    Fields,
    decide,
    identity,
    objects,
    sometimes,
    streams,
    take_back,
)
from tests.support import builders as make
from tests.support.examples import examples
from tests.support.views import view
from vsched import api
from vsched.mirror.mirror import Mirror
from vsched.mirror.stores import MirrorSettings

OURS = frozenset({"volcano"})
GONE = "gone"


def fresh(objects: list[Fields]) -> Mirror:
    cache = Mirror(MirrorSettings(OURS))
    for kind in api.KINDS:
        cache.intake.replace(kind, [make.read(fields) for fields in objects if fields["kind"] == kind])
    return cache


@settings(max_examples=examples(70), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), st.data())
def test_any_order_of_events_ends_as_a_fresh_list(
    stream: tuple[list[Event], list[Fields]], data: st.DataObject
) -> None:
    events, objects = stream
    cache = Mirror(MirrorSettings(OURS))
    for type_, kind, fields in events:
        cache.intake.apply(kind, type_, make.read(fields))
        if data.draw(st.booleans(), label="snapshot"):
            cache.snapshot(0.0)
        if data.draw(sometimes, label="assume"):
            decide(cache, data.draw(st.booleans(), label="bind"))
    take_back(cache)
    expected = fresh(objects)
    assert view(cache.snapshot(0.0)) == view(expected.snapshot(0.0))
    assert cache.broken == expected.broken
    assert cache.blemished == expected.blemished
    quiet = cache.snapshot(0.0)
    assert quiet.changed == ()


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), streams())
def test_a_relist_leaves_nothing_of_what_was(
    before: tuple[list[Event], list[Fields]], after: tuple[list[Event], list[Fields]]
) -> None:
    cache = Mirror(MirrorSettings(OURS))
    for type_, kind, fields in before[0]:
        cache.intake.apply(kind, type_, make.read(fields))
    cache.snapshot(0.0)
    for position, fields in enumerate(after[1]):
        fields["metadata"]["resourceVersion"] = str(1000 + position)
    for kind in api.KINDS:
        cache.intake.replace(kind, [make.read(fields) for fields in after[1] if fields["kind"] == kind])
    assert view(cache.snapshot(0.0)) == view(fresh(after[1]).snapshot(0.0))


@st.composite
def relists(draw: st.DrawFn) -> tuple[list[Fields], list[Event], list[Fields]]:
    """What a list has, what happens after its version, and what is there in the end."""
    state: dict[tuple[str, str], Fields] = {}
    listed: list[Fields] = []
    later: list[Event] = []
    history = draw(st.lists(objects, max_size=20))
    begins = draw(st.integers(0, len(history)))
    for position, fields in enumerate(history):
        if position == begins:
            listed = list(state.values())
        fields["metadata"]["resourceVersion"] = str(position + 1)
        event = ("DELETED" if draw(sometimes) else "MODIFIED", fields["kind"], fields)
        if event[0] == "DELETED":
            state.pop(identity(fields), None)
        else:
            state[identity(fields)] = fields
        if position >= begins:
            later.append(event)
    if begins == len(history):
        listed = list(state.values())
    return listed, later, list(state.values())


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams(), relists(), st.data())
def test_a_list_in_parts_with_changes_meanwhile_ends_as_a_fresh_list(
    before: tuple[list[Event], list[Fields]],
    relist: tuple[list[Fields], list[Event], list[Fields]],
    data: st.DataObject,
) -> None:
    cache = Mirror(MirrorSettings(OURS))
    for type_, kind, fields in before[0]:
        # Newer than anything that follows: the server may have been restored from a backup.
        metadata = {**fields["metadata"], "resourceVersion": "1" + fields["metadata"]["resourceVersion"].zfill(4)}
        cache.intake.apply(kind, type_, make.read({**fields, "metadata": metadata}))
    listed, later, objects = relist
    waiting = list(later)

    def meanwhile() -> None:
        for _ in range(data.draw(st.integers(0, 2), label="events meanwhile")):
            if waiting:
                type_, kind, fields = waiting.pop(0)
                cache.intake.apply(kind, type_, make.read(fields))
        if data.draw(sometimes, label="assume"):
            decide(cache, data.draw(st.booleans(), label="bind"))

    kinds = data.draw(st.permutations(tuple(api.KINDS)), label="order of kinds")
    for kind in kinds:
        cache.intake.restart(kind)
        if data.draw(sometimes, label="fails at first"):
            for fields in listed[:3]:
                if fields["kind"] == kind:
                    cache.intake.include(kind, make.read(fields))
            cache.intake.restart(kind)
    for fields in data.draw(st.permutations(listed), label="order of objects"):
        for _ in range(data.draw(st.integers(1, 2), label="times")):
            meanwhile()
            cache.intake.include(fields["kind"], make.read(fields))
    for kind in kinds:
        for _ in cache.intake.finish(kind):
            meanwhile()
    while waiting:
        meanwhile()
    take_back(cache)
    expected = fresh(objects)
    assert view(cache.snapshot(0.0)) == view(expected.snapshot(0.0))
    assert cache.broken == expected.broken
    assert cache.blemished == expected.blemished


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams())
def test_when_everything_is_gone_nothing_is_left(stream: tuple[list[Event], list[Fields]]) -> None:
    cache = Mirror(MirrorSettings(OURS))
    for type_, kind, fields in stream[0]:
        cache.intake.apply(kind, type_, make.read(fields))
    cache.snapshot(0.0)
    for kind in api.KINDS:
        cache.intake.replace(kind, [])
    assert view(cache.snapshot(0.0)) == view(Mirror(MirrorSettings(OURS)).snapshot(0.0))
    assert {name for name, size in cache.describe().items() if size} <= {"shapes", "snapshots"}
