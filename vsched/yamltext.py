"""YAML as Kubernetes means it, and text that is nested too deeply to be read.

The YAML library follows nesting with a stack that has an end, and the end of it is the end of the process.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

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

_BRACKETS = re.compile(r"[\[\]{}]")
_IN_ONE_LINE = re.compile(rf"(?:[-?] +){{{DEEPEST}}}")


def is_too_deep(text: str) -> bool:
    """Whether YAML or JSON may be nested more deeply than ``DEEPEST``; asked of text before it is read.

    Brackets are counted wherever they are, so text with a thousand more of one kind than of the other counts as deep.
    Indentation does not: a level costs a column on every line below it.
    """
    if _IN_ONE_LINE.search(text):
        return True
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth = depth + 1 if found[0] in "[{" else max(0, depth - 1)
        if depth > DEEPEST:
            return True
    return False
