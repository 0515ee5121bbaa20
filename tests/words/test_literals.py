"""Tests assert codes and amounts, or call the words: only the tables of this folder write sentences out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.sentences import PACKAGE, is_said_by_words, sentences

ROOMS = [
    "actions",
    "arbitrator",
    "collectors",
    "controllers",
    "explain",
    "framework",
    "kernels",
    "mirror",
    "model",
    "plugins",
    "proof",
    "writes",
]
"""The rooms whose tests write no sentence of any of these rooms."""
TESTS = Path(__file__).parents[1]
TABLES = [TESTS / "explain/stuck", TESTS / "explain/estimate"]
"""Tests that are about the words of whole explanations, and of estimates, which are put together of many parts."""
WORDS_MIN = 5
OWN_WORDS_MIN = 3
PART_MIN = 16
"""The fewest characters of a part by which a sentence is found within a longer text."""


@pytest.mark.parametrize("room", ROOMS)
def test_tests_write_no_sentences_out(room: str) -> None:
    assert [*_written_out(TESTS / room)] == []


def test_sentences_in_tests_are_found(tmp_path: Path) -> None:
    (tmp_path / "test_room.py").write_text(
        '"""queue a holds all that it deserves"""\n'
        'CASE = pytest.param("queue a holds all that it deserves", id="queue b holds all that it deserves")\n'
        'assert why == f"queue {name} holds all that it deserves; besides, it is late"\n'
    )
    assert [one.partition(":")[2].partition(":")[0] for one in _written_out(tmp_path)] == ["2", "3"]


def _written_out(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if any(path.is_relative_to(table) for table in TABLES):
            continue
        for line, text in _literals(ast.parse(path.read_text())):
            if len(text.split()) >= WORDS_MIN and any(_found(one, text) for one in _templates()):
                yield f"{path}:{line}: {text}"


def _found(template: tuple[re.Pattern[str], bool], text: str) -> bool:
    pattern, within = template
    return bool(pattern.search(text) if within else pattern.fullmatch(text))


@cache
def _templates() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """The sentences of the rooms as patterns, and whether they are long enough to be found within longer ones."""
    found = []
    for room in ROOMS:
        for one in sentences(PACKAGE / room):
            parts = one.text.split("{}")
            if is_said_by_words(one.path) and len(re.findall(r"\b[a-z]{2,}\b", " ".join(parts))) >= OWN_WORDS_MIN:
                pattern = re.compile(".+?".join(map(re.escape, parts)))
                found.append((pattern, max(map(len, parts)) >= PART_MIN))
    return tuple(found)


def _literals(module: ast.Module) -> Iterator[tuple[int, str]]:
    """All texts but docstrings and the names of cases; ``{}`` stands for what is filled in."""
    seen = {id(part) for node in ast.walk(module) for part in _passed_over(node)}
    for node in ast.walk(module):
        if id(node) in seen:
            continue
        if isinstance(node, ast.JoinedStr):
            seen.update(map(id, node.values))
            yield node.lineno, "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _passed_over(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Expr(value=ast.Constant() as text):
            yield text
        case ast.Assert(msg=ast.AST() as message):
            yield from ast.walk(message)
        case ast.keyword(arg="id" | "ids", value=name):
            yield from ast.walk(name)
