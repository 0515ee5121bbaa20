"""A policy inside a ConfigMap manifest: where its text is, and which lines of the manifest those are."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vsched.settings.reading.problems import Problems
from vsched.settings.reading.tree import Keyed, MappingEntry, Node, Scalar
from vsched.settings.words import policy as words


class Embedded(NamedTuple):
    """The text of a policy inside a manifest."""

    text: str
    line_of: Callable[[int], int]
    """A line of the text to the manifest's line."""


def is_manifest(node: Node) -> bool:
    """Whether this is a Kubernetes object; a policy has no kind."""
    return isinstance(node, Keyed) and node.get("kind") is not None


def embedded_policy(node: Keyed, problems: Problems, key: str = "") -> Embedded | None:
    """The policy of a ConfigMap at this key, or the only one; None after what was expected instead was reported."""
    kind = node.get("kind")
    named = kind.value.text if kind and isinstance(kind.value, Scalar) else ""
    if named != "ConfigMap":
        problems.add(node.line, "kind", words.another_kind(named or "object"))
        return None
    data = node.get("data")
    entries = data_of(node)
    chosen = [entry for entry in entries if entry.key == key] if key else entries
    if len(chosen) != 1 or not isinstance(chosen[0].value, Scalar):
        found = words.these(", ".join(entry.key for entry in entries)) if entries else "none"
        line = data.line if data else node.line
        problems.add(line, "data", words.key_expected(key, found) if key else words.one_key_expected(found))
        return None
    return embedded(chosen[0].value)


def data_of(node: Keyed) -> tuple[MappingEntry, ...]:
    """The keys of a ConfigMap with what they hold."""
    data = node.get("data")
    return data.value.entries if data and isinstance(data.value, Keyed) else ()


def embedded(scalar: Scalar) -> Embedded:
    """The text of one key, and its lines."""
    return Embedded(scalar.text, lambda line: scalar.line + line if scalar.keeps_lines else scalar.line)
