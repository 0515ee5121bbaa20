"""Items kept by object and shown by namespace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from vsched.mirror.state.namespace_objects import NamespaceIndex, in_order

changes = some.lists(
    some.tuples(some.sampled_from("mn"), some.sampled_from("cab"), some.one_of(some.none(), some.integers(0, 1))),
    max_size=20,
)


@given(some.lists(changes, max_size=5))
def test_what_is_shown_follows_what_was_put(rounds: list[list[tuple[str, str, int | None]]]) -> None:
    books: NamespaceIndex[str, int, tuple[int, ...]] = NamespaceIndex(in_order)
    known: dict[str, dict[str, int]] = {"m": {}, "n": {}}
    for round_ in rounds:
        for namespace, name, item in round_:
            assert books.put(namespace, name, item) == (known[namespace].get(name) != item)
            if item is None:
                known[namespace].pop(name, None)
            else:
                known[namespace][name] = item
        shown = {namespace: in_order(items) for namespace, items in known.items() if items}
        assert books.publish() == shown
        assert len(books) == sum(map(len, shown.values()))


def test_what_was_shown_before_stays_as_it_was() -> None:
    books: NamespaceIndex[str, int, tuple[int, ...]] = NamespaceIndex(in_order)
    books.put("m", "a", 1)
    before = books.publish()
    assert books.publish() is before
    books.put("m", "b", 2)
    books.put("n", "a", 3)
    assert before == {"m": (1,)}
    assert books.publish() == {"m": (1, 2), "n": (3,)}
