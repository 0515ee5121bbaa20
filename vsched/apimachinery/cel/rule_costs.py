"""What the rules of a definition may cost: an API server refuses those that may cost too much."""

from __future__ import annotations

from collections.abc import Iterator

from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.field_errors import forbidden
from vsched.cel.costs import MOST

MOST_OF_RULE, MOST_OF_SCHEMA = 10_000_000, 100_000_000
_NAMED = 4
"""So many rules of a schema that costs too much are named; they are those that cost the most."""
_HINT = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
_PART = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"


class RuleCosts:
    """The costs of the rules of one schema."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def add(self, what: str, cost: int, path: str) -> Iterator[FieldCause]:
        """Counts an expression, and tells it if it alone may cost too much."""
        self._found.append((min(cost, MOST), path))
        if cost > MOST_OF_RULE:
            yield forbidden(path, _exceeds(f"estimated {what} cost", cost, MOST_OF_RULE))

    def of_all(self, path: str) -> Iterator[FieldCause]:
        """Whether all together may cost too much."""
        total = sum(cost for cost, _ in self._found)
        if total <= MOST_OF_SCHEMA:
            return
        dear = sorted((each for each in self._found if each[0] >= MOST_OF_SCHEMA // 100), key=lambda each: -each[0])
        for _, where in dear[:_NAMED]:
            yield forbidden(where, _PART)
        yield forbidden(path, _exceeds(_TOTAL, total, MOST_OF_SCHEMA))


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    times = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {times} ({_HINT} declared)"
