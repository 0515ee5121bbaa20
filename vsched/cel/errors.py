"""What is wrong with an expression."""

from __future__ import annotations


class NotCompiled(ValueError):
    """The text is no CEL expression; the message says why."""


class NotEvaluated(Exception):
    """The expression has no value for these variables; the message says why."""


class TooExpensive(NotEvaluated):
    """The expression might take too long."""
