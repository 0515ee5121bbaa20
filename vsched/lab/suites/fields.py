"""YAML that remembers its lines: mappings whose keys are taken one by one, each with the type that is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from vsched import files
from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.model.amounts.durations import parse_duration
from vsched.words import TRUE_OR_FALSE
from vsched.yamltext import KubernetesLoader, check_aliases, is_too_deep, not_yaml

T = TypeVar("T")
D = TypeVar("D")

_NUMBER, _DECIMAL, _FLAG, _TEXT = (f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "str"))
_NULL = "tag:yaml.org,2002:null"


def read_yaml(path: Path) -> yaml.Node:
    """The one document of a file; raises BadInput with file and line."""
    try:
        text = files.text(path)
    except OSError as error:
        raise BadInput(words.cannot_be_read(path, error.strerror or error)) from None
    if is_too_deep(text):
        raise BadInput(words.cases_nested(path))
    try:
        check_aliases(text)
        root = yaml.compose(text, Loader=KubernetesLoader)
    except yaml.YAMLError as error:
        raise not_yaml(path, error) from None
    if root is None:
        raise BadInput(words.empty(path))
    return root


class Value:
    """A value of a file, with its place and its path for messages."""

    def __init__(self, file: Path, path: str, node: yaml.Node) -> None:
        self.file, self.path, self.node = file, path, node

    @property
    def line(self) -> int:
        return int(self.node.start_mark.line) + 1

    @property
    def where(self) -> str:
        """``file:line: path``."""
        return f"{self.file}:{self.line}: {self.path}" if self.path else f"{self.file}:{self.line}"

    def refuse(self, expected: str) -> BadInput:
        """The error for a value that is not what was expected."""
        return BadInput(f"{self.where} is {_found(self.node)}: expected {expected}")

    def text(self) -> str:
        """Any scalar as it is written."""
        if not isinstance(self.node, yaml.ScalarNode) or self.node.tag == _NULL:
            raise self.refuse("a text")
        return str(self.node.value)

    def number(self, least: float = 0) -> float:
        """A number that is at least ``least``."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag in (_NUMBER, _DECIMAL):
            number = float(self.plain())
            if number >= least:
                return number
        raise self.refuse(words.at_least(least))

    def count(self, least: int = 0) -> int:
        """A whole number that is at least ``least``."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == _NUMBER:
            number = int(self.plain())
            if number >= least:
                return number
        raise self.refuse(words.whole_at_least(least))

    def flag(self) -> bool:
        """``true`` or ``false``."""
        if isinstance(self.node, yaml.ScalarNode) and self.node.tag == _FLAG:
            return bool(self.plain())
        raise self.refuse(TRUE_OR_FALSE)

    def seconds(self) -> float:
        """A duration such as ``10s`` or ``500ms``."""
        found = parse_duration(self.text())
        if found is None or found < 0:
            raise self.refuse(words.A_DURATION)
        return found

    def items(self) -> list[Value]:
        """The items of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            raise self.refuse("a list")
        return [Value(self.file, f"{self.path}[{at}]", item) for at, item in enumerate(self.node.value)]

    def texts(self) -> tuple[str, ...]:
        """The texts of a list."""
        return tuple(item.text() for item in self.items())

    def mapping(self) -> dict[str, Value]:
        """The values of a mapping, by key."""
        if not isinstance(self.node, yaml.MappingNode):
            raise self.refuse("a mapping")
        found: dict[str, Value] = {}
        for key, value in self.node.value:
            name = str(key.value)
            below = Value(self.file, f"{self.path}.{name}" if self.path else name, value)
            if name in found:
                raise BadInput(words.same_key(self.file, key.start_mark.line + 1, below.path))
            found[name] = below
        return found

    def pairs(self) -> dict[str, str]:
        """A mapping of texts to texts."""
        return {key: value.text() for key, value in self.mapping().items()}

    def plain(self) -> Any:
        """The value as YAML means it."""
        loader = KubernetesLoader("")
        try:
            return loader.construct_document(self.node)
        except (yaml.YAMLError, ValueError) as error:
            raise BadInput(words.cannot_be_read(self.where, " ".join(str(error).split()))) from None
        finally:
            loader.dispose()


def _found(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "nothing" if node.tag == _NULL else repr(str(node.value)[:60])


class SuiteFields:
    """The keys of a mapping, each of which is taken once; the rest is what nobody knows."""

    def __init__(self, value: Value, params: Mapping[str, Value] | None = None) -> None:
        self.value = value
        self._left = value.mapping()
        self.params = params or {}
        self.used: set[str] = set()
        """The parameters that were taken."""

    def take(self, key: str, read: Callable[[Value], T], default: D) -> T | D:
        """The value of a key; the default where there is none."""
        found = self._left.pop(key, None)
        return default if found is None else read(found)

    def need(self, key: str, read: Callable[[Value], T]) -> T:
        """The value of a key that has to be there."""
        found = self._left.pop(key, None)
        if found is None:
            raise BadInput(words.missing(self.value.where, key))
        return read(found)

    def param(self, key: str, read: Callable[[Value], T], default: D) -> T | D:
        """The value of a key, or of the parameter (``$name``) that ``keyParam`` names."""
        direct = self._left.pop(key, None)
        named = self._left.pop(f"{key}Param", None)
        if named is None:
            return default if direct is None else read(direct)
        name = named.text().removeprefix("$")
        if name not in self.params:
            raise BadInput(words.no_parameter(named.where, named.text()))
        self.used.add(name)
        return read(self.params[name])

    def rest(self) -> Iterator[Value]:
        """What was not taken."""
        return iter(self._left.values())
