"""Every function and every constant that says something has its row in a table of this folder."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.sentences import PACKAGE, is_said_by_words

ROOMS = [
    "actions",
    "api",
    "arbitrator",
    "cel",
    "cli",
    "client",
    "collectors",
    "controllers",
    "daemon",
    "explain",
    "framework",
    "kernels",
    "kube",
    "lab",
    "mirror",
    "model",
    "plugins",
    "proof",
    "settings",
    "shadow",
    "sim/command",
    "web",
    "words.py",
    "writes",
]
"""The rooms all of whose words stand in the tables, and modules of words that belong to none."""
COMPOSERS = {"lines", "owners", "phrases", "requests"}
"""Modules of ``explain/words`` that put words of others together; ``tests/explain/words`` is about them."""
TABLES = [ast.parse(path.read_text()) for path in sorted(Path(__file__).parent.glob("test_*.py"))]


@pytest.mark.parametrize("room", ROOMS)
def test_all_words_stand_in_a_table(room: str) -> None:
    used = {name for table in TABLES for name in _used(table)}
    place = PACKAGE / room
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    assert [name for path in paths for name in _says(path) if name not in used] == []


def test_names_without_a_row_are_found() -> None:
    table = ast.parse('from vsched.plugins.words import jobs as words\nSAID = [(words.no_job("a"), "no job a")]')
    assert {*_used(table)} == {"vsched.plugins.words.jobs.no_job"}


def _says(path: Path) -> Iterator[str]:
    """The public functions and texts of a module of words."""
    module = path.relative_to(PACKAGE.parent).with_suffix("")
    if not is_said_by_words(str(module)) or module.stem in COMPOSERS:
        return
    for node in ast.parse(path.read_text()).body:
        match node:
            case ast.FunctionDef(name=name):
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.JoinedStr() | ast.Constant(value=str())):
                pass
            case _:
                continue
        if not name.startswith("_"):
            yield ".".join((*module.parts, name))


def _used(table: ast.Module) -> Iterator[str]:
    """What a table takes from the modules that it imports."""
    modules = {
        name.asname or name.name: f"{node.module}.{name.name}"
        for node in table.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    for node in ast.walk(table):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in modules:
                yield f"{modules[module]}.{name}"
