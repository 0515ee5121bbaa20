"""The fields of one mapping of a YAML file, read by name; what is wrong is collected with its line."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path

from vsched.errors import BadInput, BadQuantity
from vsched.lab.kueue import words
from vsched.model.amounts.quantity import parse_quantity
from vsched.settings.reading.problems import Problems, did_you_mean
from vsched.settings.reading.tree import Keyed, Listed, Node, Scalar, got, is_null, parse

MOST_BYTES = 256 * 1024
_WHOLE = re.compile(r"[+-]?[0-9][0-9_]{0,17}")
_NUMBER = re.compile(r"[0-9][0-9_]{0,14}(\.[0-9]{0,9})?")


class GeneratorFields:
    """One mapping. A field that is absent or null has its default; a field that nobody reads is a problem."""

    def __init__(self, node: Node, path: str, problems: Problems) -> None:
        self._problems = problems
        self._path = path
        self.line = node.line
        self._entries = {entry.key: entry for entry in node.entries} if isinstance(node, Keyed) else {}
        self._read: set[str] = set()
        if not isinstance(node, Keyed):
            problems.add(node.line, path, f"expected a mapping, got {got(node)}")

    def line_of(self, name: str) -> int:
        """The line of a field; that of the mapping where it is absent."""
        entry = self._entries.get(name)
        return self.line if entry is None else entry.line

    def has(self, name: str) -> bool:
        """Whether a field has a value."""
        entry = self._entries.get(name)
        return entry is not None and not is_null(entry.value)

    def wrong(self, name: str, why: str) -> None:
        """Add a problem with a field."""
        self._problems.add(self.line_of(name), self._below(name), why)

    def text(self, name: str, default: str | None = "") -> str:
        """A text; required where the default is None."""
        node = self._value(name, required=default is None)
        if node is None:
            return default or ""
        if not isinstance(node, Scalar) or (default is None and not node.text):
            self.wrong(name, words.expected_text(got(node)))
            return ""
        return node.text

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """One of several words; an empty one is the default."""
        found = self.text(name) or default
        if found in choices:
            return found
        expected = ", ".join(word for word in choices if word)
        self.wrong(name, words.not_supported_here(found, expected))
        return default

    def whole(self, name: str, default: int | None = 0, least: int = 0, most: int = 10**9) -> int:
        """A whole number within bounds; ``1_000`` is 1000, as in YAML 1.1. Required where the default is None."""
        node = self._value(name, required=default is None)
        if node is None:
            return default or 0
        text = node.text if isinstance(node, Scalar) else ""
        found = int(text.replace("_", "")) if _WHOLE.fullmatch(text) else None
        if found is None or not least <= found <= most:
            self.wrong(name, words.expected_whole(least, most, got(node)))
            return max(least, default or 0)
        return found

    def number(self, name: str) -> float:
        """A number that is not negative."""
        node = self._value(name, required=True)
        text = node.text if isinstance(node, Scalar) else ""
        if node is not None and not _NUMBER.fullmatch(text):
            self.wrong(name, f"expected a number, got {got(node)}")
            return 0.0
        return float(text.replace("_", "") or 0)

    def milli(self, name: str, default: str | None = None) -> int:
        """A quantity in thousandths; required where the default is None."""
        text = self.text(name, default) or default or "0"
        try:
            found = parse_quantity(text, 1000)
        except BadQuantity as error:
            self.wrong(name, str(error))
            return 0
        if found < 0:
            self.wrong(name, words.negative(text))
        return max(0, found)

    def section(self, name: str) -> GeneratorFields | None:
        """A mapping; None where it is absent."""
        node = self._value(name)
        return None if node is None else GeneratorFields(node, self._below(name), self._problems)

    def sections(self, name: str) -> Iterator[GeneratorFields]:
        """A list of mappings, with at least one."""
        node = self._value(name, required=True)
        if node is None:
            return
        if not isinstance(node, Listed) or not node.items:
            self.wrong(name, words.expected_list(got(node)))
            return
        for at, item in enumerate(node.items):
            yield GeneratorFields(item, f"{self._below(name)}[{at}]", self._problems)

    def names(self) -> Iterator[str]:
        """The names of all fields, where the names are data."""
        yield from self._entries

    def refuse(self, name: str, why: str) -> None:
        """Say of a field that it is not supported, where it has a value."""
        self._read.add(name)
        if self.has(name):
            self.wrong(name, words.not_supported(why))

    def end(self) -> None:
        """Say of each field that nobody has read that it is unknown."""
        for name, entry in self._entries.items():
            if name not in self._read:
                known = ", ".join(sorted(self._read))
                why = words.unknown_field(known, did_you_mean(name, self._read))
                self._problems.add(entry.line, self._below(name), why)

    def _below(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _value(self, name: str, *, required: bool = False) -> Node | None:
        self._read.add(name)
        entry = self._entries.get(name)
        if entry is not None and not is_null(entry.value):
            return entry.value
        if required:
            self.wrong(name, "is missing")
        return None


def read_fields(path: Path, problems: Problems, what: str, holds: str) -> GeneratorFields:
    """The mapping that a YAML file holds; raises BadInput where it cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(words.cannot_be_read(path, error.strerror or error, what)) from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8: byte 0x{raw[error.start]:02x}") from None
    if len(raw) > MOST_BYTES:
        raise BadInput(words.too_large(path, what, MOST_BYTES // 1024))
    root = parse(text, problems, what=what, holds=holds)
    problems.raise_if_any()
    assert root is not None, "a text without a document is a problem"
    return GeneratorFields(root, "", problems)
