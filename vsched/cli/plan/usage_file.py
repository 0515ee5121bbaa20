"""What nodes really use, from a file: what ``vsched plan --usage`` decides with.

``{node: {cpu: {5m: 63.0}, memory: {5m: 40.1}}}`` in YAML or JSON, percent of the node's capacity by period. In place of
a number ``{average: 63.0, spread: 12.5}`` also says how widely it varies, in percentage points.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

import yaml

from vsched import files
from vsched.cli.plan.words import flags as words
from vsched.errors import BadInput
from vsched.model.nodes.usage import Figures, NodeUsage, Reading, period_seconds
from vsched.yamltext import check_aliases, is_too_deep

_RESOURCES = ("cpu", "memory")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_usage(path: str, now: float) -> Reading:
    """The file as a reading that is new at ``now``; raises BadInput with one line."""
    try:
        text = files.text(path)
        if is_too_deep(text):
            raise BadInput(words.nested_too_deeply(path))
        check_aliases(text)
        found = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(f"{path}: not YAML or JSON: {' '.join(str(error).split())}") from None
    nodes = dict(_mapping(path, "", found, words.BY_NODE))
    return Reading(now, {name: _usage(path, name, said, now) for name, said in nodes.items()})


def _usage(path: str, name: str, said: Any, now: float) -> NodeUsage:
    figures: dict[str, dict[str, Figures]] = {}
    for resource, periods in _mapping(path, name, said, words.BY_NODE):
        at = f"{name}.{resource}"
        if resource not in _RESOURCES:
            raise BadInput(words.unknown_resource(path, at, " or ".join(_RESOURCES)))
        figures[resource] = {
            period: _figures(path, f"{at}.{period}", period, figure)
            for period, figure in _mapping(path, at, periods, words.BY_PERIOD)
        }
    return NodeUsage(now, figures.get("cpu", {}), figures.get("memory", {}))


def _figures(path: str, at: str, period: str, said: Any) -> Figures:
    if period_seconds(period) is None:
        raise BadInput(words.no_period(path, at, period))
    if not isinstance(said, dict):
        return Figures(_percent(path, at, said))
    unknown = next((key for key in said if key not in ("average", "spread")), None)
    if unknown is not None or "average" not in said:
        raise BadInput(words.no_figures(path, at, said))
    return Figures(
        _percent(path, f"{at}.average", said["average"]), _percent(path, f"{at}.spread", said.get("spread", 0))
    )


def _percent(path: str, at: str, said: Any) -> float:
    number = float(said) if isinstance(said, int | float) and not isinstance(said, bool) else None
    if number is None or not isfinite(number) or not 0.0 <= number <= 100.0:
        raise BadInput(words.no_percent(path, at, said))
    return number


def _mapping(path: str, at: str, said: Any, expected: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(said, dict):
        raise BadInput(f"{path}: {at + ': ' if at else ''}{expected}, got {said!r:.100}")
    for key, value in said.items():
        if not isinstance(key, str):
            raise BadInput(words.no_text(path, at + "." if at else "", key, expected))
        yield key, value
