"""All sentences for people that are written in the code, with their places; ``make words`` prints them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[2] / "vsched"
WORDS_MIN = 3
SPELT_MIN = 5
"""A test that has so many words of a sentence in one text spells it out."""
LIKE_A_SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,}")


PROGRAMMERS = {"AssertionError", "NotImplementedError", "TypeError", "Unequal"}
"""What these errors say is for programmers."""
FOR_PROGRAMS = re.compile(
    r"max by |\(1 - avg by |ray start |StrictHostKeyChecking |end=\$|\ndefault root |helm (upgrade|install|uninstall) "
    r"|\{\} -n \{\} (scale|get) |\{\} --set |from \{\} import |# Written by vsched demo|outside upper|\[bold green\]"
)
"""How texts of several words begin that are queries, commands, settings or lists of names."""


HELP = {"help", "short_help", "epilog", "metavar", "show_default"}
"""Arguments that declare what ``--help`` says of a command or of a flag; it stands with what it is about."""
HELP_CONSTANT = re.compile(r"_?([A-Z]+_)*(HELP|EPILOG|EXAMPLE)\Z")
"""The same as a constant: texts that end the help, tables of short ones, and examples of files."""


class Sentence(NamedTuple):
    """A text of several words that is no docstring; ``{}`` stands for what is filled in."""

    path: str
    line: int
    text: str
    is_help: bool = False
    """Whether it stands in the declaration of a command, for its ``--help``."""


def sentences(folder: Path = PACKAGE) -> Iterator[Sentence]:
    """Those of all files of a folder, in order."""
    for path in sorted(folder.rglob("*.py")):
        nodes = _nodes(path)
        helping = {id(part) for node in nodes if isinstance(node, HELPING) for part in _for_help(node)}
        for line, text, node in sorted(_texts(nodes), key=lambda found: found[:2]):
            if len(text.split()) >= WORDS_MIN and LIKE_A_SENTENCE.search(text) and not FOR_PROGRAMS.match(text):
                yield Sentence(str(path.relative_to(folder.parent)), line, text, id(node) in helping)


def is_said_by_words(path: str) -> bool:
    """Whether a file is a module of words, or stands in a package of them."""
    return "words" in Path(path).with_suffix("").parts


class Template(NamedTuple):
    """A sentence as one recognizes it in a test."""

    sentence: Sentence
    longest: str
    """Its longest part that is always the same."""
    own: int
    """How many letters are always the same."""
    form: re.Pattern[str]


class Templates:
    """Sentences of modules of words, found by a word that each of them has whatever is filled in."""

    def __init__(self, known: Iterable[Template]) -> None:
        self._by_word: dict[str, list[Template]] = {}
        for one in known:
            inner = one.longest.split()[1:-1]  # the first word and the last one may be parts of longer ones
            self._by_word.setdefault(max(inner, key=len, default=""), []).append(one)

    def in_text(self, text: str) -> Iterator[Template]:
        """Those whose longest part stands in a text."""
        for word in {"", *text.split()}:
            yield from (one for one in self._by_word.get(word, ()) if one.longest in text)


def templates(said: Iterable[Sentence]) -> Templates:
    """Those of some sentences that have words enough of their own to be recognized."""
    found = []
    for one in said:
        parts = one.text.strip().split("{}")
        if is_said_by_words(one.path) and len(re.findall(r"[A-Za-z]{2,}", " ".join(parts))) >= WORDS_MIN:
            form = re.compile(".+?".join(map(re.escape, parts)) + r"\Z")
            found.append(Template(one, max(parts, key=len), len("".join(parts)), form))
    return Templates(found)


def spelt_out(path: Path, known: Templates) -> Iterator[Sentence]:
    """The sentences that a test writes out instead of calling their function; names of cases do not count."""
    for line, written, _ in _texts(_nodes(path)):
        text = written.strip()
        if len(text.split()) < SPELT_MIN:
            continue
        if any(len(text) <= 3 * one.own and one.form.match(text) for one in known.in_text(text)):
            yield Sentence(str(path), line, text)


def _nodes(path: Path) -> Sequence[ast.AST]:
    """All nodes of a file: to walk through them takes as long as to read it."""
    return list(ast.walk(ast.parse(path.read_text())))


PROGRAMMING = (ast.Assert, ast.Call, ast.Raise, ast.keyword)
"""Nodes with parts that no user sees."""
HELPING = (ast.Assign, ast.keyword)
"""Nodes with parts that are help."""


def _texts(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str, ast.AST]]:
    seen = {id(part) for node in nodes if isinstance(node, PROGRAMMING) for part in _for_programmers(node)}
    for node in nodes:
        if id(node) in seen:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            seen.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            seen.update(id(value) for value in node.values)
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)
            yield node.lineno, text, node
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, node


def _for_programmers(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that no user sees: messages of asserts, regular expressions, names of cases and of tasks."""
    match node:
        case ast.Assert(msg=ast.AST() as message):
            yield from ast.walk(message)
        case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) as call) if name in PROGRAMMERS:
            yield from ast.walk(call)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=[pattern, *_]):
            yield from ast.walk(pattern)
        case ast.keyword(arg="id" | "ids", value=names):
            yield from ast.walk(names)
        case ast.Call(func=ast.Attribute(attr="create_task"), keywords=[ast.keyword(value=name)]):
            yield from ast.walk(name)


def _for_help(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that are the help of a command, an option or an argument."""
    match node:
        case ast.keyword(arg=name, value=help_text) if name in HELP:
            yield from ast.walk(help_text)
        case ast.Assign(targets=[ast.Name(id=name)], value=help_text) if HELP_CONSTANT.match(name):
            yield from ast.walk(help_text)


if __name__ == "__main__":
    about = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    for one in sentences():
        if about.search(one.text):
            print(f"{one.path}:{one.line}: {one.text}")
