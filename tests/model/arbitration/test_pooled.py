"""What namespaces may keep of what they share, while pods come and go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.model.arbitration.pooled import Bounds, Pooled, PoolPart

NAMES = ("a", "b", "c")
ALL, AREA = "", "area"


def pooled(
    *,
    kept: dict[str, dict[str, int]] | None = None,
    most: dict[str, int] | None = None,
    own: dict[str, int] | None = None,
    deserved: dict[str, int] | None = None,
    spare: dict[str, int] | None = None,
    hard: dict[str, int] | None = None,
) -> Pooled[str]:
    """Three namespaces alike; all share what is spare, and ``a`` and ``b`` are in a bucket with a limit."""
    parts = {
        name: PoolPart(most or {}, own or {}, deserved or {}, (ALL, AREA) if name != "c" else (ALL,)) for name in NAMES
    }
    bounds = {ALL: Bounds({}, spare or {}), AREA: Bounds(hard or {}, {})}
    members = {ALL: NAMES, AREA: NAMES[:2]}
    return Pooled(parts.get, bounds, lambda: members, lambda name: (kept or {}).get(name, {}))


def told(books: Pooled[str], namespace: str, **amounts: int) -> list[tuple[str, str, int, int]]:
    return [(one.key, one.pool, one.would, one.most) for one in books.excess(namespace, list(amounts.items()))]


@pytest.mark.parametrize(
    ("books", "amounts", "expected"),
    [
        pytest.param(pooled(), {"cpu": 9}, [], id="no limit"),
        pytest.param(pooled(most={"cpu": 4}), {"cpu": 4}, [], id="up to the namespace's limit"),
        pytest.param(pooled(most={"cpu": 4}), {"cpu": 5}, [("cpu", "", 5, 4)], id="beyond it"),
        pytest.param(
            pooled(kept={"b": {"cpu": 3}, "c": {"cpu": 9}}, hard={"cpu": 4}),
            {"cpu": 2},
            [("cpu", AREA, 5, 4)],
            id="beyond what the bucket keeps together, those outside not counted",
        ),
        pytest.param(
            pooled(kept={"b": {"cpu": 4}}, own={"cpu": 2}, deserved={"cpu": 2}, hard={"cpu": 4}),
            {"cpu": 1},
            [("cpu", AREA, 5, 4)],
            id="a limit that is kept together holds for what is deserved, too",
        ),
        pytest.param(pooled(hard={"cpu": 0}), {"cpu": 1}, [("cpu", AREA, 1, 0)], id="a limit of nothing"),
        pytest.param(pooled(own={"cpu": 2}, spare={"cpu": 1}), {"cpu": 3}, [], id="one's own and what is spare"),
        pytest.param(
            pooled(kept={"c": {"cpu": 3}}, own={"cpu": 2}, deserved={"cpu": 2}, spare={"cpu": 1}),
            {"cpu": 3},
            [("cpu", "", 3, 2)],
            id="what was lent to another is not spare any more",
        ),
        pytest.param(
            pooled(kept={"c": {"cpu": 9}}, deserved={"cpu": 2}, spare={"cpu": -5}),
            {"cpu": 2},
            [],
            id="what is deserved is there, whatever others were lent",
        ),
        pytest.param(
            pooled(kept={"c": {"cpu": 1}}, deserved={"cpu": 2, "memory": 1}, spare={"cpu": 1, "memory": 9}),
            {"cpu": 2, "memory": 2},
            [("cpu", "", 2, 0)],
            id="but who is lent memory for a pod is lent its cpu",
        ),
        pytest.param(
            pooled(kept={"a": {"memory": 5}}, deserved={"cpu": 2}, spare={"cpu": 0}),
            {"cpu": 1},
            [("cpu", "", 1, 0)],
            id="and who keeps too much of anything is lent everything",
        ),
    ],
)
def test_what_would_be_too_much(
    books: Pooled[str], amounts: dict[str, int], expected: list[tuple[str, str, int, int]]
) -> None:
    assert told(books, "a", **amounts) == expected


def test_what_other_books_are_about_counts_for_what_is_deserved() -> None:
    books = pooled(deserved={"cpu": 2}, spare={"cpu": 0})
    assert not books.excess("a", [("cpu", 1)])
    assert books.excess("a", [("cpu", 1)], also=lambda: False)


def test_several_pods_at_once() -> None:
    books = pooled(hard={"cpu": 4})
    assert not books.excess("a", [("cpu", 2)], 2)
    assert books.excess("a", [("cpu", 2)], 3)


_STEPS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(1, 3), st.sampled_from(["try", "go", "see"])), max_size=40
)


@given(_STEPS, st.integers(0, 6), st.integers(0, 3), st.integers(0, 9))
def test_sums_are_those_of_the_namespaces_and_nothing_is_lent_twice(
    steps: list[tuple[str, int, str]], spare: int, own: int, hard: int
) -> None:
    kept = {name: {"cpu": 0} for name in NAMES}
    books = pooled(kept=kept, own={"cpu": own}, deserved={"cpu": own}, spare={"cpu": spare}, hard={"cpu": hard})
    for namespace, amount, what in steps:
        if what == "try" and not books.excess(namespace, [("cpu", amount)]):
            books.shift(namespace, [("cpu", amount)], 1)
            kept[namespace] = {"cpu": kept[namespace]["cpu"] + amount}
        elif what == "go" and kept[namespace]["cpu"] >= amount:
            books.shift(namespace, [("cpu", amount)], -1)
            kept[namespace] = {"cpu": kept[namespace]["cpu"] - amount}
        elif what == "see":
            kept[namespace] = {"cpu": min(own, amount) if namespace == "c" else 0}
            books.see(namespace, kept[namespace])
        assert sum(max(0, held["cpu"] - own) for held in kept.values()) <= spare
        assert kept["a"]["cpu"] + kept["b"]["cpu"] <= hard
