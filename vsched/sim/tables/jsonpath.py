"""The JSON paths of printer columns: ``.spec.weight``, ``.status.conditions[?(@.type=="Ready")].status``.

Supports what column definitions use: fields, quoted and escaped fields, indexes, ``[*]`` and filters that compare one
field of an item.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"""\.?\[\?\(@\.(?P<filter>[^=!<>)\s]+)\s*(?P<operator>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^)\s]+)\s*\)\]
      | \.?\[(?P<quoted>'[^']*'|"[^"]*")\]
      | \.?\[(?P<index>-?\d+|\*)\]
      | \.(?P<field>(?:\\.|[^.\[\]\\])+)""",
    re.VERBOSE,
)

Step = tuple[str, str, str, str]
"""The type of step (field, index, filter), its name or index, and the operator and value of a filter."""


@lru_cache(maxsize=512)
def parse(path: str) -> tuple[Step, ...] | None:
    """The steps of a path; None for a path that is not supported."""
    steps: list[Step] = []
    position = 0
    path = path.strip().removeprefix("{").removesuffix("}")
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            return None
        position = match.end()
        if match["filter"]:
            steps.append(("filter", match["filter"], match["operator"], match["value"].strip("\"'")))
        elif match["index"]:
            steps.append(("index", match["index"], "", ""))
        else:
            name = match["quoted"][1:-1] if match["quoted"] else re.sub(r"\\(.)", r"\1", match["field"])
            steps.append(("field", name, "", ""))
    return tuple(steps)


def find(obj: Any, path: str) -> list[Any]:
    """All values at the path."""
    steps = parse(path)
    if steps is None:
        return []
    values = [obj]
    for step in steps:
        values = [found for value in values for found in _step(value, step)]
    return values


def _step(value: Any, step: Step) -> list[Any]:
    kind, name, operator, wanted = step
    if kind == "field":
        return [value[name]] if isinstance(value, dict) and name in value else []
    if not isinstance(value, list):
        return list(value.values()) if isinstance(value, dict) and name == "*" else []
    if kind == "index":
        if name == "*":
            return value
        return value[int(name) :][:1] if int(name) != -1 else value[-1:]
    return [item for item in value if (_text(item, name) == wanted) == (operator == "==")]


def _text(item: Any, name: str) -> str | None:
    for part in name.split("."):
        item = item.get(part) if isinstance(item, dict) else None
    if isinstance(item, bool):
        return str(item).lower()
    return None if item is None else str(item)
