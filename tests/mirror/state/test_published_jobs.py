"""What changed and what waits is the same however many jobs change at once, and in whatever order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.mirror.state.published_jobs import JobChanges

KEYS = st.integers(0, 200).map(lambda number: f"ns/{number}")
CHANGES = st.lists(st.tuples(KEYS, st.booleans()), max_size=300)


@given(st.lists(st.tuples(CHANGES, st.sampled_from(["sorted", "mostly", "as they come"])), max_size=4))
def test_keys_are_those_of_sets_that_are_sorted_anew(rounds: list[tuple[list[tuple[str, bool]], str]]) -> None:
    changes, active, waiting = JobChanges(), (), set[str]()
    for drawn, order in rounds:
        first = {"sorted": len(drawn), "mostly": max(0, len(drawn) - 20), "as they come": 0}[order]
        seen = sorted(drawn[:first]) + drawn[first:]
        for key, waits in seen:
            changes.put(key, waits=waits)
            waiting.add(key) if waits else waiting.discard(key)
        changed, found = changes.take(active)
        active = tuple(found)
        assert changed == tuple(sorted({key for key, _ in seen}))
        assert active == tuple(sorted(waiting))


def test_nothing_has_changed_after_a_look() -> None:
    changes = JobChanges()
    changes.put("ns/a", waits=True)
    assert changes.take(()) == (("ns/a",), ("ns/a",))
    assert changes.take(("ns/a",)) == ((), ("ns/a",))
