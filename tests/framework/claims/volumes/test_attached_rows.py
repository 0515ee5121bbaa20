"""Copies of the rows to which volumes are attached are independent, and say the same as a plain map."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vsched.framework.claims.volumes.attached_rows import CHANGES_MIN, AttachedRows
from vsched.framework.claims.volumes.names import Attachable

NAMES = [Attachable("csi", str(number)) for number in range(3 * CHANGES_MIN)]


@given(st.lists(st.lists(st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, 3)), max_size=150), max_size=6))
def test_each_copy_keeps_what_it_says(rounds: list[list[tuple[int, int]]]) -> None:
    rows, plain = AttachedRows(), dict[Attachable, set[int]]()
    copies: list[tuple[AttachedRows, dict[Attachable, set[int]]]] = []
    for steps in rounds:
        for number, row in steps:
            name = NAMES[number]
            there = plain.setdefault(name, set())
            (rows.remove if row in there else rows.add)(name, row)
            there ^= {row}
        copies.append((rows, {name: set(found) for name, found in plain.items()}))
        rows = rows.copy()
    for made, expected in copies:
        assert {name: set(made.of(name)) for name in NAMES} == {name: expected.get(name, set()) for name in NAMES}
