"""Cpu and memory of nodes, and what pods take of them, drawn for the kernels that score them."""

from __future__ import annotations

from hypothesis import strategies as st

GIB = 1 << 30
ROUND, ODD = st.sampled_from([1, 2, 50, 100, 1000, 4000, 64000, GIB, 4 * GIB, 1 << 46]), st.integers(1, 1 << 20)
SIZE = st.tuples(st.one_of(ROUND, ODD), st.one_of(ROUND, ODD))
PART = st.one_of(st.sampled_from([0.0, 0.01, 0.02, 0.1, 0.25, 0.5, 0.99, 1.0, 1.5, 900.0]), st.floats(0, 1.2))
PARTS = st.tuples(PART, PART)


def of(parts: tuple[float, float], size: tuple[int, int]) -> tuple[int, int]:
    """These parts of a size."""
    return int(parts[0] * size[0]), int(parts[1] * size[1])
