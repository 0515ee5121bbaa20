"""Text that is nested too deeply to be read: the YAML library follows nesting with a stack that has an end."""

from __future__ import annotations

import re

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
