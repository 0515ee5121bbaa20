"""CEL, the language of validation rules, match conditions and device selectors: compiles and evaluates within limits.

A library has the language itself; what Kubernetes adds is in the other files of this folder. ``authorizer`` and the
functions of ``image`` and ``jsonpatch`` are not supported: such an expression does not compile.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vsched.cel import formatting, functions, networks, optionals, sets, words
from vsched.cel.errors import NotCompiled, NotEvaluated, TooExpensive
from vsched.cel.library import library
from vsched.cel.rewriting import rewritten
from vsched.cel.syntax import TYPES
from vsched.cel.tokens import LITERALS

if TYPE_CHECKING:
    import cel

# Errors in expressions go to their authors, not to the log.
logging.getLogger("cel").setLevel(logging.CRITICAL)

MOST_CHARS = 20_000
MOST_STEPS = 1_000_000
"""About half a second."""
MOST_GROWTH = 1000.0
"""How many times as long a list or a text may grow by bindings: ``cel.bind(a, b + b, cel.bind(c, a + a, ...))``."""
_TIMES = ("FullYear", "Month", "Date", "DayOfMonth", "DayOfYear", "DayOfWeek", "Hours", "Minutes", "Seconds")
_BUILT_IN = frozenset(
    {"size", "matches", "contains", "startsWith", "endsWith", "int", "uint", "double", "bytes", "duration", "timestamp"}
    | {"type", "dyn", "has", "getMilliseconds", *(f"get{part}" for part in _TIMES)}
)
_CALL_FAILED = re.compile(r"Python function call failed: \w+: (.*)\. Check function arguments", re.DOTALL)
_IN_FUNCTION = re.compile(r"Function '\w+' error: (.*?)(?:\. Check function arguments.*)?$", re.DOTALL)
_NOT_READ = "unsupported syntax"
"""What the library says of optional values."""
_SPLITTING = frozenset({"split", "findAll"})
_GROWING = frozenset({"replace", "join", "format"})
FUNCTIONS = {
    **functions.FUNCTIONS,
    **optionals.FUNCTIONS,
    **sets.FUNCTIONS,
    **networks.FUNCTIONS,
    **formatting.FUNCTIONS,
}
"""By name. The library's own functions are tried first. Only rewritten expressions call those with ``__`` in front."""


@dataclass(frozen=True, slots=True)
class CelExpression:
    """A compiled expression."""

    text: str
    bare: str
    """The text with blanks in place of literals and comments."""
    names: frozenset[str]
    """The variables it mentions."""
    program: cel.Program
    functions: Mapping[str, Any]
    depth: int
    """How deeply its loops are nested."""
    scopes: int
    """How deeply its loops and bindings are nested."""
    sums: int
    """How many sums its loops run over, or its bindings name."""

    def evaluate(self, variables: Mapping[str, Any]) -> Any:
        """The value in Python's types; raises NotEvaluated."""
        given = {name: value for name, value in variables.items() if name in self.names}
        if self.steps(given) > MOST_STEPS:
            raise TooExpensive(words.COST_LIMIT)
        try:
            return self.program.execute(library().Context(given, dict(self.functions)))
        except Exception as error:
            raise NotEvaluated(_why(error)) from None

    def steps(self, variables: Mapping[str, Any]) -> int:
        """An upper bound for the turns of its loops."""
        # Loops run over lists of variables, over literals, and over sums of lists; a binding may name a sum of sums.
        levels = self.scopes + 1
        growth = (self.sums / levels + 1) ** levels
        if growth > MOST_GROWTH:
            return MOST_STEPS + 1
        if not self.depth:
            return 1
        with_texts = not _SPLITTING.isdisjoint(self.functions)
        longest = max((_longest(value, with_texts) for value in variables.values()), default=0)
        if with_texts and not _GROWING.isdisjoint(self.functions):
            longest = max(longest, functions.MOST_PARTS)
        turns = (longest + self.bare.count(",") + 1) * growth
        return int(min(turns**self.depth, 1e18))


@lru_cache(maxsize=1024)
def compiled(text: str, variables: tuple[str, ...]) -> CelExpression:
    """The compiled expression, which may mention these variables; raises NotCompiled."""
    if len(text) > MOST_CHARS:
        raise NotCompiled(words.too_many_characters(len(text), MOST_CHARS))
    found = rewritten(text)
    program = _program(text, text if found is None else found.text)
    if found is None:
        raise NotCompiled(located(text, 0, words.SYNTAX_ERROR))
    bare = without_literals(text)
    used = frozenset(program.functions())
    named = {name for name in used if name[0].isalpha()} - _BUILT_IN - FUNCTIONS.keys()
    for name in sorted(named | {name for name in found.called if name.startswith("__")}):
        raise NotCompiled(_undeclared(bare, name))
    known = {*variables, *TYPES, *found.bound}
    for name in program.variables():
        if name not in known:
            raise NotCompiled(_undeclared(bare, name))
    return CelExpression(
        text=text,
        bare=bare,
        names=frozenset(program.variables()),
        program=program,
        functions={name: FUNCTIONS[name] for name in used if name in FUNCTIONS},
        depth=found.depth,
        scopes=found.scopes,
        sums=found.sums,
    )


def without_literals(text: str) -> str:
    """An expression with blanks in place of texts and comments; positions stay."""
    return LITERALS.sub(lambda match: " " * len(match[0]), text)


def _program(text: str, for_library: str) -> cel.Program:
    """The program; errors are about the text as its author wrote it, where the library can read that."""
    language = library()
    try:
        program: cel.Program = language.compile(for_library)
        return program
    except ValueError as error:
        why = str(error)
    if for_library != text:
        try:
            language.compile(text)
        except ValueError as error:
            if _NOT_READ not in str(error):
                why = str(error)
    raise NotCompiled(why[why.find("ERROR:") :] if "ERROR:" in why else why)


def paths_of(expression: CelExpression, variable: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The chains of fields that an expression reads of a variable, with their positions; method names are left out."""
    for match in re.finditer(rf"(?<![\w.]){variable}((?:\s*\.\s*[A-Za-z_]\w*)+)\s*(\(?)", expression.bare):
        fields = tuple(part.strip() for part in match[1].split(".")[1:])
        yield match.start(1), fields[:-1] if match[2] else fields


def located(text: str, position: int, why: str) -> str:
    """An error at a position of an expression, in the form of the real server."""
    before = text[:position]
    line = before.count("\n")
    column = position - (before.rfind("\n") + 1)
    shown = text.split("\n")[line]
    return f"ERROR: <input>:{line + 1}:{column + 1}: {why}\n | {shown}\n | {'.' * column}^"


def _undeclared(bare: str, name: str) -> str:
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", bare)
    position = match.start() if match else 0
    return located(bare, position, words.undeclared(name))


def _longest(value: Any, with_texts: bool) -> int:
    """The length of the longest list or map in a value; of texts as well if ``with_texts``."""
    longest = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            longest = max(longest, len(one))
            waiting.extend(one.values())
        elif isinstance(one, list):
            longest = max(longest, len(one))
            waiting.extend(one)
        elif with_texts and isinstance(one, str):
            longest = max(longest, len(one))
    return longest


def _why(error: Exception) -> str:
    """The message for an error of the library, in the words of the real server where they are known."""
    message = str(error)
    if isinstance(error, KeyError):
        return words.no_such_key(error.args[0])
    if isinstance(error, ZeroDivisionError):
        return words.MODULUS_BY_ZERO if message.startswith("modulo") else words.DIVISION_BY_ZERO
    if isinstance(error, OverflowError):
        return words.UNSIGNED_OVERFLOW if "unsigned" in message else words.INTEGER_OVERFLOW
    failed = _CALL_FAILED.search(message)
    if failed:
        return words.NO_OVERLOAD if "TypeError" in message else failed[1]
    if isinstance(error, TypeError) or message.startswith(words.UNDEFINED):
        return words.NO_OVERLOAD
    in_function = _IN_FUNCTION.search(message)
    return (in_function[1] if in_function else message).strip().replace("\n", " ")
