"""The pages of the guide, taken apart: blocks of code, links, headings, and the words between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[2]
FOLDERS = ("config", "helm", "systemd", "tests", "vsched")
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\s*$")
_HEADING = re.compile(r"^(#+) +(.*?) *$")
_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


class Block(NamedTuple):
    """A block of code."""

    page: str
    line: int
    language: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"


class Page(NamedTuple):
    """One page."""

    path: Path
    prose: str
    """Everything but the blocks of code."""
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        return str(self.path.relative_to(TOP))

    @property
    def folder(self) -> Path:
        return self.path.parent

    @property
    def links(self) -> list[str]:
        """Where the page leads, pictures included."""
        return [found["target"] for found in _LINK.finditer(_CODE.sub("", self.prose))]

    @property
    def code(self) -> list[str]:
        """The words that are set as code within sentences and tables."""
        return [found.replace("\\|", "|") for found in _CODE.findall(self.prose)]

    @property
    def anchors(self) -> frozenset[str]:
        """What ``#…`` may lead to, as GitHub names it."""
        seen: Counter[str] = Counter()
        found = set[str]()
        for line in self.prose.splitlines():
            if heading := _HEADING.match(line):
                name = _slug(heading[2])
                found.add(name if not seen[name] else f"{name}-{seen[name]}")
                seen[name] += 1
        return frozenset(found)

    def section(self, title: str) -> str:
        """What stands below a heading, up to the next one of its level or above."""
        lines = iter(self.prose.splitlines())
        level = next((len(found[1]) for line in lines if (found := _HEADING.match(line)) and found[2] == title), 0)
        assert level, f"{self.name} has no heading {title!r}"
        kept = []
        for line in lines:
            if (found := _HEADING.match(line)) and len(found[1]) <= level:
                break
            kept.append(line)
        return "\n".join(kept)


def rows(text: str) -> Iterator[list[str]]:
    """The rows of the tables in a text, without heads, as cells."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        is_rule = set(line) <= set("|-: ")
        is_head = at + 1 < len(lines) and lines[at + 1].startswith("|") and set(lines[at + 1]) <= set("|-: ")
        if line.startswith("|") and not is_rule and not is_head:
            yield [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def words_in(cell: str) -> list[str]:
    """What is set as code in a cell."""
    return [found.replace("\\|", "|") for found in _CODE.findall(cell)]


@cache
def pages() -> tuple[Page, ...]:
    """Every page there is, those at the top first."""
    paths = [*sorted(TOP.glob("*.md")), *(path for folder in FOLDERS for path in sorted((TOP / folder).rglob("*.md")))]
    return tuple(_read(path) for path in paths)


def page(name: str) -> Page:
    """A page by its path from the top."""
    return next(found for found in pages() if found.name == name)


def blocks(*languages: str) -> list[Block]:
    """The blocks in these languages, of all pages."""
    return [block for found in pages() for block in found.blocks if block.language in languages]


def _read(path: Path) -> Page:
    prose, found, name = list[str](), list[Block](), str(path.relative_to(TOP))
    inside: list[str] | None = None
    indent, language, start = 0, "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if inside is None and fence:
            inside, indent, language, start = [], len(fence["indent"]), fence["language"], number
        elif inside is not None and fence and not fence["language"]:
            found.append(Block(name, start, language, "\n".join(inside) + "\n"))
            inside = None
        elif inside is not None:
            inside.append(line[indent:])
        else:
            prose.append(line)
    assert inside is None, f"{name}:{start}: the block does not end"
    return Page(path, "\n".join(prose), tuple(found))


def _slug(heading: str) -> str:
    text = _LINK.sub(lambda found: found["text"], heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
