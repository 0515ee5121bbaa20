"""Sentences for people use the words of Kubernetes and of the field, not those that the code once had of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sentences import PACKAGE, is_said_by_words, sentences, spelt_out, templates

OURS = re.compile(
    r"\b(told|tells?|wish(es)?|crowds?|likeness|worn|footing|stance|stands?|lanes?|sheets?|trail|whom others)\b"
)
"""Words that people had to look up, or that are said otherwise elsewhere."""

ROOMS = [
    "collectors",
    "controllers",
    "explain",
    "mirror",
    "model",
    "writes",
]
"""The rooms whose sentences stand in modules of words alone."""


@pytest.mark.parametrize("room", ROOMS)
def test_sentences_stand_in_modules_of_words(room: str) -> None:
    found = [
        f"{one.path}:{one.line}: {one.text}" for one in sentences(PACKAGE / room) if not is_said_by_words(one.path)
    ]
    assert found == []


TESTS = Path(__file__).parent
TABLES = [
    "explain/estimate/test_words.py",
    "explain/stuck",
    "words",
]
"""Tests that are there to write sentences out."""


def test_tests_name_sentences_by_their_functions() -> None:
    known = [one for room in ROOMS for one in templates(PACKAGE / room)]
    paths = [path for room in ROOMS for path in sorted((TESTS / room).rglob("*.py"))]
    tables = [TESTS / table for table in TABLES]
    others = [path for path in paths if not any(path.is_relative_to(table) for table in tables)]
    assert [f"{one.path}:{one.line}: {one.text}" for path in others for one in spelt_out(path, known)] == []


COMPOSERS = {"commands", "commands_pods", "commands_subgroups", "lines", "owners", "requests", "telling"}
"""Modules of ``explain/words`` that put sentences of others together; they are tested in ``tests/explain/words``."""


@pytest.mark.parametrize("room", ROOMS)
def test_every_sentence_is_in_a_table(room: str) -> None:
    tables = {name for path in sorted((TESTS / "words").glob("test_*.py")) for name in _named(path)}
    missing = []
    for path in sorted((PACKAGE / room).rglob("*.py")):
        if is_said_by_words(str(path.relative_to(PACKAGE))) and path.stem not in COMPOSERS:
            module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
            missing += [f"{module}.{name}" for name in _public(path) if f"{module}.{name}" not in tables]
    assert missing == []


def _named(table: Path) -> Iterator[str]:
    """The names of modules that a table of sentences uses, as ``vsched.writes.words.STOPPING``."""
    tree = ast.parse(table.read_text())
    modules = {
        each.asname or each.name: f"{node.module}.{each.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield f"{modules[node.value.id]}.{node.attr}"


def _public(path: Path) -> Iterator[str]:
    """The functions and constants of a module that others may use."""
    for node in ast.parse(path.read_text()).body:
        names = [node.name] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        yield from (name for name in names if not name.startswith("_"))


def test_a_sentence_that_a_test_writes_out_is_found(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text('def full(queue: str) -> str:\n    return f"the queue {queue} is full"\n')
    (tmp_path / "test_it.py").write_text(
        'assert said == "the queue q is full"\nassert said == words.full("q")\ncase("x", id="the queue y is full")\n'
        'assert said == f"the queue {name} is full"\nassert "queue q" in said, "the queue z is full"\n'
    )
    found = spelt_out(tmp_path / "test_it.py", templates(tmp_path))
    assert [one.line for one in found] == [1, 4]


def test_no_sentence_needs_a_glossary() -> None:
    found = [f"{one.path}:{one.line}: {one.text}" for one in sentences() if OURS.search(one.text)]
    assert found == []


def test_sentences_are_found_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(
        '"""A docstring of several words."""\n\nWHY = "the queue is full"\n\n\ndef why(name: str) -> str:\n'
        '    """Another docstring of words."""\n    return f"queue {name} is closed" + "key"\n'
    )
    assert [(one.line, one.text) for one in sentences(tmp_path)] == [
        (3, "the queue is full"),
        (8, "queue {} is closed"),
    ]


@pytest.mark.parametrize("room", ["plugins", "framework", "explain", "cli", "daemon", "sim", "lab"])
def test_every_room_is_looked_through(room: str) -> None:
    assert any(sentences(PACKAGE / room))
