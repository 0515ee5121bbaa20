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
from vsched.errors import BadInput
from vsched.model.nodes.usage import Figures, NodeUsage, Reading, period_seconds
from vsched.yamltext import check_aliases, is_too_deep

_RESOURCES = ("cpu", "memory")
_BY_NODE = "expected node: {cpu: {5m: 63.0}, memory: {5m: 40.1}}"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_usage(path: str, now: float) -> Reading:
    """The file as a reading that is new at ``now``; raises BadInput with one line."""
    try:
        text = files.text(path)
        if is_too_deep(text):
            raise BadInput(f"{path}: nested too deeply ({_BY_NODE})")
        check_aliases(text)
        found = yaml.load(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        raise BadInput(f"{path}: not YAML or JSON: {' '.join(str(error).split())}") from None
    nodes = dict(_mapping(path, "", found, _BY_NODE))
    return Reading(now, {name: _usage(path, name, said, now) for name, said in nodes.items()})


def _usage(path: str, name: str, said: Any, now: float) -> NodeUsage:
    figures: dict[str, dict[str, Figures]] = {}
    for resource, periods in _mapping(path, name, said, _BY_NODE):
        at = f"{name}.{resource}"
        if resource not in _RESOURCES:
            raise BadInput(f"{path}: {at}: unknown resource (expected {' or '.join(_RESOURCES)})")
        figures[resource] = {
            period: _figures(path, f"{at}.{period}", period, figure)
            for period, figure in _mapping(path, at, periods, "expected figures by period, such as {5m: 63.0}")
        }
    return NodeUsage(now, figures.get("cpu", {}), figures.get("memory", {}))


def _figures(path: str, at: str, period: str, said: Any) -> Figures:
    if period_seconds(period) is None:
        raise BadInput(f"{path}: {at}: {period!r} is no period (expected a number and s, m or h, such as 5m)")
    if not isinstance(said, dict):
        return Figures(_percent(path, at, said))
    unknown = next((key for key in said if key not in ("average", "spread")), None)
    if unknown is not None or "average" not in said:
        raise BadInput(f"{path}: {at}: expected percent, or {{average: 63.0, spread: 12.5}}, got {said!r:.100}")
    return Figures(
        _percent(path, f"{at}.average", said["average"]), _percent(path, f"{at}.spread", said.get("spread", 0))
    )


def _percent(path: str, at: str, said: Any) -> float:
    number = float(said) if isinstance(said, int | float) and not isinstance(said, bool) else None
    if number is None or not isfinite(number) or not 0.0 <= number <= 100.0:
        raise BadInput(f"{path}: {at}: {said!r:.100} (expected percent, a number from 0 to 100)")
    return number


def _mapping(path: str, at: str, said: Any, expected: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(said, dict):
        raise BadInput(f"{path}: {at + ': ' if at else ''}{expected}, got {said!r:.100}")
    for key, value in said.items():
        if not isinstance(key, str):
            raise BadInput(f"{path}: {at + '.' if at else ''}{key}: {expected}; this name is not text, quote it")
        yield key, value
