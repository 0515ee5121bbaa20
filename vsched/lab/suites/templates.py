"""Templates of objects: YAML in which Go's ``{{ }}`` puts numbers, as scheduler_perf fills them in.

Known are ``.Index`` (from 0) and ``.Count`` (how many objects the operation makes), whole numbers, parentheses, and the
functions of ``FUNCTIONS``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from vsched import files
from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep, not_yaml

Obj = dict[str, Any]

FUNCTIONS: Mapping[str, Callable[[int, int], int]] = {
    "AddInt": lambda left, right: left + right,
    "SubtractInt": lambda left, right: left - right,
    "MultiplyInt": lambda left, right: left * right,
    "DivideInt": lambda left, right: left // right,
    "Mod": lambda left, right: left % right,
}
_ACTION = re.compile(r"\{\{-?(.*?)-?\}\}", re.DOTALL)
_WORD = re.compile(r"[()]|[^\s()]+")


class Template:
    """One object, or one for each index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = files.text(path)
        except OSError as error:
            raise BadInput(words.cannot_be_read(path, error.strerror or error)) from None
        if is_too_deep(self._text):
            raise BadInput(words.object_nested(path))
        self._has_actions = _ACTION.search(self._text) is not None
        self._plain = self._read(self._filled(0, 1))

    @property
    def kind(self) -> str:
        """The kind of the objects."""
        return str(self._plain["kind"])

    def make(self, index: int, count: int) -> Obj:
        """The object of this index, of so many."""
        return self._read(self._filled(index, count)) if self._has_actions else deepcopy(self._plain)

    def _filled(self, index: int, count: int) -> str:
        if not self._has_actions:
            return self._text
        numbers = {".Index": index, ".Count": count}

        def fill(found: re.Match[str]) -> str:
            try:
                parts = _WORD.findall(found[1])
                value = _value(parts, numbers)
                if parts:
                    raise LookupError(parts[0])
            except (LookupError, ValueError, ZeroDivisionError) as error:
                line = self._text.count("\n", 0, found.start()) + 1
                problem = words.cannot_be_filled(self.path, line, found[0], error)
                raise BadInput(words.expected_values(problem, ", ".join(FUNCTIONS))) from None
            return str(value)

        return _ACTION.sub(fill, self._text)

    def _read(self, text: str) -> Obj:
        try:
            check_aliases(text)
            found = yaml.load(text, Loader=KubernetesLoader)
        except (yaml.YAMLError, ValueError) as error:
            raise not_yaml(self.path, error) from None
        if not isinstance(found, dict) or not isinstance(found.get("kind"), str):
            raise BadInput(words.no_object(self.path))
        for key in ("metadata", "spec", "status"):
            if not isinstance(found.get(key) or {}, dict):
                raise BadInput(f"{self.path}: {key} is {found[key]!r}: expected a mapping")
        found["metadata"] = dict(found.get("metadata") or {})
        return found


def _value(parts: list[str], numbers: Mapping[str, int]) -> int:
    """The value of the parts in front, which are taken off the list."""
    if not parts:
        raise LookupError(words.ENDS_TOO_EARLY)
    word = parts.pop(0)
    if word in FUNCTIONS:
        return FUNCTIONS[word](_operand(parts, numbers), _operand(parts, numbers))
    parts.insert(0, word)
    return _operand(parts, numbers)


def _operand(parts: list[str], numbers: Mapping[str, int]) -> int:
    if not parts:
        raise LookupError(words.ENDS_TOO_EARLY)
    word = parts.pop(0)
    if word == "(":
        value = _value(parts, numbers)
        if not parts or parts.pop(0) != ")":
            raise LookupError(words.NOT_CLOSED)
        return value
    if word.lstrip("-").isdecimal():
        return int(word)
    if word not in numbers:
        raise LookupError(words.word_not_known(word))
    return numbers[word]


@lru_cache(maxsize=512)
def template_of(path: Path) -> Template:
    """The template of a file, read once; raises BadInput with file and line."""
    return Template(path)
