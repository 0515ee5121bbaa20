"""Sentences for people use the words of Kubernetes and of the field, not those that the code once had of its own."""

from __future__ import annotations

import re
from pathlib import Path, PurePath

import pytest

from tests.support.sentences import PACKAGE, Sentence, is_said_by_words, sentences, spelt_out, templates

OURS = re.compile(
    r"\b(told|tells?|wish(es)?|crowds?|likeness|worn|footing|stance|stands?|lanes?|sheets?|trail|whom others)\b"
)
"""Words that people had to look up, or that are said otherwise elsewhere."""

ROOMS = [
    "actions",
    "api",
    "arbitrator",
    "cel",
    "cli",
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
    "writes",
]
"""The rooms whose sentences stand in modules of words alone, and whose tests call these.

``apimachinery`` and ``sim`` are none of them: what they say are the API server's own words, which stand with what they
validate and which an editor leaves alone.
"""
METRICS = f"{PACKAGE.name}/web/metrics/"
"""The help of a metric stands where the metric is declared, and all are declared here."""


@pytest.fixture(scope="module")
def written() -> list[Sentence]:
    """All of the package: to read them takes a second or two."""
    return list(sentences())


def test_sentences_stand_in_modules_of_words(written: list[Sentence]) -> None:
    own = [one for one in written if METRICS not in one.path and _is_bound(one.path)]
    others = [one for one in own if not one.is_help and not is_said_by_words(one.path)]
    assert [f"{one.path}:{one.line}: {one.text}" for one in others] == []


def _is_bound(path: str) -> bool:
    """Whether a file is one of the package's own modules, or stands in one of the rooms."""
    return (PACKAGE.parent / path).parent == PACKAGE or path.startswith(
        tuple(f"{PACKAGE.name}/{room}/" for room in ROOMS)
    )


TESTS = Path(__file__).parent
TABLES = [
    "explain/estimate/test_words.py",
    "explain/stuck",
    "words",
]
"""Tests that are there to write sentences out."""


def test_tests_name_sentences_by_their_functions(written: list[Sentence]) -> None:
    known = templates(written)
    paths = [path for room in ROOMS for path in sorted((TESTS / room).rglob("*.py"))]
    paths += sorted(TESTS.glob("*.py"))
    tables = [TESTS / table for table in TABLES]
    others = [path for path in paths if not any(path.is_relative_to(table) for table in tables)]
    assert [f"{one.path}:{one.line}: {one.text}" for path in others for one in spelt_out(path, known)] == []


def test_a_sentence_that_a_test_writes_out_is_found(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text('def full(queue: str) -> str:\n    return f"the queue {queue} is full"\n')
    (tmp_path / "test_it.py").write_text(
        'assert said == "the queue q is full"\nassert said == words.full("q")\ncase("x", id="the queue y is full")\n'
        'assert said == f"the queue {name} is full"\nassert "queue q" in said, "the queue z is full"\n'
    )
    found = spelt_out(tmp_path / "test_it.py", templates(sentences(tmp_path)))
    assert [one.line for one in found] == [1, 4]


def test_no_sentence_needs_a_glossary(written: list[Sentence]) -> None:
    found = [f"{one.path}:{one.line}: {one.text}" for one in written if OURS.search(one.text)]
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


def test_help_stands_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "command.py").write_text(
        'EPILOG = "Examples of the command"\nSHORT_HELP = {"run": "run the thing"}\nPART = "flags of the thing"\n'
        'option("--queue", help="only those of this queue")\nsay(text="there is no queue")\n'
    )
    assert [(one.line, one.is_help) for one in sentences(tmp_path)] == [
        (1, True),
        (2, True),
        (3, False),
        (4, True),
        (5, False),
    ]


def test_every_room_is_looked_through(written: list[Sentence]) -> None:
    rooms = {PurePath(one.path).parts[1] for one in written if one.path.startswith(f"{PACKAGE.name}/")}
    assert {"plugins", "framework", "explain", "cli", "daemon", "sim", "lab"} <= rooms
