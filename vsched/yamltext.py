"""YAML as Kubernetes means it, and text that is nested too deeply to be read.

The YAML library follows nesting with a stack that has an end, and the end of it is the end of the process.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from vsched import words
from vsched.errors import BadInput

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast loader where PyYAML was built with it."""


class KubernetesLoader(_Base):  # type: ignore[misc]
    """Plain YAML, but time stamps stay the text they are on the wire."""


KubernetesLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}

DEEPEST = 1000
"""More than any object has, and far less than the stack bears."""

_ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\]}]", re.MULTILINE)
_FREE = 100_000
"""So much may aliases add, however short the text is."""
_BRACKETS = re.compile(r"[\[\]{}]")
_IN_ONE_LINE = re.compile(rf"(?:[-?] +){{{DEEPEST}}}")


class Expands(yaml.YAMLError):
    """Aliases make far more of a text than it says."""


def not_yaml(where: object, error: yaml.YAMLError | ValueError) -> BadInput:
    """What is to be said of a text that cannot be read, in one line with the line where that is known."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return BadInput(f"{where}: not YAML: {str(error).splitlines()[0]}")
    mark = error.problem_mark or error.context_mark
    problem = " ".join((error.problem or error.context or words.CANNOT_BE_PARSED).split())
    return BadInput(f"{where}:{mark.line + 1 if mark else 1}: not YAML: {problem}")


def check_aliases(text: str) -> None:
    """Raise Expands where aliases make far more of a text than it says, or something that is in itself.

    What is read shares what aliases stand for; merging and whoever walks through it do not. Asked of text that is not
    too deep, before it is read.
    """
    if _ALIAS.search(text) is None:
        return
    most = 4 * len(text) + _FREE
    for node in yaml.compose_all(text, Loader=KubernetesLoader):
        try:
            if _size(node, {}) <= most:
                continue
        except (RecursionError, _Circle):
            pass
        raise Expands(words.ALIASES_EXPAND)


class _Circle(Exception):
    """Something that is in itself."""


def _size(node: Any, known: dict[int, int]) -> int:
    """How many values there are, each counted as often as it is met; ``known`` by identity, 0 while it is counted."""
    if not isinstance(node, yaml.CollectionNode):
        return 1
    found = known.get(id(node))
    if found == 0:
        raise _Circle
    if found is None:
        known[id(node)] = 0
        pairs = isinstance(node, yaml.MappingNode)
        parts = [part for pair in node.value for part in pair] if pairs else node.value
        found = known[id(node)] = 1 + sum(_size(part, known) for part in parts)
    return found


def is_too_deep(text: str, deepest: int = DEEPEST) -> bool:
    """Whether YAML or JSON may be nested more deeply than this; asked of text before it is read.

    Brackets are counted wherever they are, so text with a thousand more of one kind than of the other counts as deep.
    Indentation does not: a level costs a column on every line below it.
    """
    if _IN_ONE_LINE.search(text):
        return True
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth = depth + 1 if found[0] in "[{" else max(0, depth - 1)
        if depth > deepest:
            return True
    return False
