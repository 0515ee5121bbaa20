"""All sentences for people that are written in the code, with their places; ``make words`` prints them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "vsched"
WORDS_MIN = 3
LIKE_A_SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,}")


class Sentence(NamedTuple):
    """A text of several words that is no docstring; ``{}`` stands for what is filled in."""

    path: str
    line: int
    text: str


def sentences(folder: Path = PACKAGE) -> Iterator[Sentence]:
    """Those of all files of a folder, in order."""
    for path in sorted(folder.rglob("*.py")):
        for line, text in sorted(_texts(ast.parse(path.read_text()))):
            if len(text.split()) >= WORDS_MIN and LIKE_A_SENTENCE.search(text):
                yield Sentence(str(path.relative_to(folder.parent)), line, text)


def _texts(module: ast.Module) -> Iterator[tuple[int, str]]:
    seen: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            seen.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            seen.update(id(value) for value in node.values)
            yield node.lineno, "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in seen:
            yield node.lineno, node.value


if __name__ == "__main__":
    about = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    for one in sentences():
        if about.search(one.text):
            print(f"{one.path}:{one.line}: {one.text}")
