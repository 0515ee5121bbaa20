"""YAML text as a small tree that remembers its lines.

The text is composed, never constructed: no YAML tag creates an object, and a scalar is interpreted later, by the type
of its field. The size is bounded, because ten lines with aliases can expand to more than fits in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from vsched.settings.reading.problems import Problems
from vsched.settings.words import reading as words
from vsched.words import CANNOT_BE_PARSED
from vsched.yamltext import is_too_deep

MOST_NODES = 20_000
_PIECES = re.compile(r"[\n,\[{]")
"""What there are at least as many of as values, in a text of any size that can be meant."""
MOST_DEPTH = 32
_CORE_TAG = "tag:yaml.org,2002:"
_MERGE = _CORE_TAG + "merge"
_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Scalar(NamedTuple):
    """A word, a number, a quoted text: as written."""

    text: str
    kind: str
    """Its type by YAML 1.1: ``str``, ``int``, ``float``, ``bool``, ``null`` …"""
    line: int
    keeps_lines: bool = False
    """A literal block (``key: |``), whose text begins on the line below."""

    @property
    def is_null(self) -> bool:
        return self.kind == "null"


class MappingEntry(NamedTuple):
    """One key of a mapping."""

    key: str
    line: int
    value: Node


class Keyed(NamedTuple):
    """A mapping; no key twice."""

    entries: tuple[MappingEntry, ...]
    line: int

    def get(self, key: str) -> MappingEntry | None:
        """The entry of that key."""
        return next((entry for entry in self.entries if entry.key == key), None)


class Listed(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    line: int


Node = Scalar | Keyed | Listed


def is_null(node: Node) -> bool:
    """Whether nothing is there: ``key:`` alone, ``null`` or ``~``."""
    return isinstance(node, Scalar) and node.is_null


def got(node: Node) -> str:
    """What is there instead of what was expected, for a message."""
    match node:
        case Keyed():
            return "a mapping"
        case Listed():
            return "a list"
        case Scalar(kind="null"):
            return "nothing"
        case _:
            return repr(node.text if len(node.text) <= 60 else node.text[:57] + "...")


def parse(
    text: str,
    problems: Problems,
    line_of: Callable[[int], int] = lambda line: line,
    *,
    what: str = "policy",
    holds: str = words.ACTIONS_AND_TIERS,
) -> Node | None:
    """The tree of one YAML document; None when it is empty or not YAML, which is then among the problems.

    ``line_of`` maps a line of ``text`` to the line people see, for text that is embedded in another file. ``what`` is
    the document called in messages, and ``holds`` says what is expected in it.
    """
    if is_too_deep(text, MOST_DEPTH):
        problems.add(line_of(1), "", words.nested_too_deeply(what))
        return None
    if len(_PIECES.findall(text)) > MOST_NODES:
        problems.add(line_of(1), "", words.too_many_lines(what, MOST_NODES))
        return None
    try:
        root = _composed(text)
        if root is not None:
            return _Growth(problems, line_of, what).grow(root, "", 0)
        problems.add(line_of(1), "", f"empty; expected a {what} with {holds}")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.add(line_of(mark.line + 1 if mark else 1), "", _why(error, what))
    except yaml.YAMLError as error:
        problems.add(line_of(1), "", f"not YAML: {str(error).splitlines()[0]}")
    except (RecursionError, _TooDeep):
        problems.add(line_of(1), "", words.nested_too_deeply(what))
    except _TooMuch:
        problems.add(line_of(1), "", words.too_many_values(what, MOST_NODES))
    return None


def _composed(text: str) -> Any:
    """The one document; where it is not YAML, the plain loader says why: the fast one has other words for it."""
    try:
        return yaml.compose(text, Loader=_FAST)
    except (yaml.YAMLError, ValueError):
        return yaml.compose(text, Loader=yaml.SafeLoader)


_EXPLAINED = {
    words.NOT_ALLOWED_HERE: words.STRAY_COLON,
    "second occurrence": words.ANCHOR_TWICE,
}


def _why(error: yaml.MarkedYAMLError, what: str) -> str:
    problem = " ".join((error.problem or error.context or CANNOT_BE_PARSED).split())
    column = f" (column {error.problem_mark.column + 1})" if error.problem_mark else ""
    if problem == words.ANOTHER_DOCUMENT:
        return words.second_document(what)
    return words.not_yaml(_EXPLAINED.get(problem, problem), column)


class _TooMuch(Exception):
    """The tree is larger than any policy."""


class _TooDeep(Exception):
    """The tree is deeper than any policy, or an alias stands for what it is in."""


class _Growth:
    """Turns composed nodes into the tree, reporting what no policy may contain."""

    def __init__(self, problems: Problems, line_of: Callable[[int], int], what: str) -> None:
        self.problems = problems
        self.line_of = line_of
        self.what = what
        self.left = MOST_NODES

    def grow(self, node: yaml.Node, path: str, depth: int) -> Node:
        self.left -= 1
        if self.left < 0:
            raise _TooMuch
        if depth > MOST_DEPTH:
            raise _TooDeep
        line = self._line(node)
        kind = self._kind(node, path)
        match node:
            case yaml.MappingNode():
                return Keyed(tuple(self._entries(node, path, depth + 1)), line)
            case yaml.SequenceNode():
                items = (self.grow(item, f"{path}[{at}]", depth + 1) for at, item in enumerate(node.value))
                return Listed(tuple(items), line)
            case _:
                return Scalar(self._text(node, path), kind, line, getattr(node, "style", None) == "|")

    def _line(self, node: yaml.Node) -> int:
        return self.line_of(node.start_mark.line + 1)

    def _text(self, node: yaml.Node, path: str) -> str:
        text = str(node.value)
        if text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text):
            return text
        self.problems.add(self._line(node), path, words.HALF_A_CHARACTER)
        return ""

    def _kind(self, node: yaml.Node, path: str) -> str:
        tag = str(node.tag)
        if not tag.startswith(_CORE_TAG) or "/" in tag:
            self.problems.add(self._line(node), path, words.unknown_tag(tag, self.what))
            return "str"
        return tag.removeprefix(_CORE_TAG)

    def _entries(self, node: yaml.MappingNode, path: str, depth: int) -> Iterator[MappingEntry]:
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = self._line(key)
            if key.tag == _MERGE or not isinstance(key, yaml.ScalarNode):
                self.problems.add(line, path, words.PLAIN_KEY_EXPECTED)
                continue
            name = self._text(key, path)
            below = f"{path}.{name}" if path else name
            if name in seen:
                self.problems.add(line, below, words.key_twice(seen[name]))
                continue
            seen[name] = line
            yield MappingEntry(name, line, self.grow(value, below, depth))
