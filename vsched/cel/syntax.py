"""The syntax tree of a CEL expression, in which macros are the loops that they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vsched.cel.tokens import SyntaxProblem, Token, TokenStream

MOST_NESTED = 100
"""How deeply brackets may be nested."""
MOST_DEPTH = 200
"""How deep a tree may be; a sum of so many parts is as deep."""
RESULT = "@result"
"""The variable in which a loop keeps its result."""
TYPES = frozenset({"int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"})
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|[\s\S])")
_NAMESPACES = frozenset(
    {"optional", "sets", "strings", "format", "ip", "jsonpatch", "math", "lists", "regex", "base64"}
)
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_TRANSFORMS = frozenset({"transformList", "transformMap", "transformMapEntry"})
_CONSTANTS = {"true": "bool", "false": "bool", "null": "null_type"}
_RELATIONS = ("==", "!=", "<=", ">=", "<", ">", "in")
_LEVELS = {"||": 0, "&&": 1, **dict.fromkeys(_RELATIONS, 2), "+": 3, "-": 3, "*": 4, "/": 4, "%": 4}
"""Operators between two operands; those that bind more tightly have a higher number."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; ``size`` is the number of characters of a text, of bytes, or 1."""

    kind: str
    size: int = 1
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Identifier:
    """A variable or a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """``of.field``; ``tests`` for ``has(of.field)``."""

    of: Node
    field: str
    tests: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a method of ``target``, or an operator such as ``_+_``."""

    function: str
    arguments: tuple[Node, ...]
    target: Node | None = None


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """``[a, b]``."""

    items: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Mapped:
    """``{a: b}``, or a message with fields."""

    entries: tuple[tuple[Node, Node], ...] = ()


@dataclass(frozen=True, slots=True)
class Comprehension:
    """``start`` is in RESULT, and after each turn the value of ``step``, as long as the condition holds."""

    over: Node
    variables: tuple[str, ...]
    start: Node
    condition: Node
    step: Node
    result: Node


@dataclass(frozen=True, slots=True)
class Bound:
    """``cel.bind(name, value, body)``."""

    name: str
    value: Node
    body: Node


Node = Literal | Identifier | Select | Call | ListLiteral | Mapped | Comprehension | Bound
_RESULT = Identifier(RESULT)
_TRUE, _FALSE = Literal("bool"), Literal("bool")


def parsed(text: str) -> Node:
    """The tree of an expression; raises Malformed."""
    parser = _Parser(TokenStream(text))
    found = parser.expression()
    parser.tokens.expect("")
    level, depth = [found], 0
    while level:
        depth += 1
        if depth > MOST_DEPTH:
            raise SyntaxProblem
        level = [below for each in level for below in _parts(each)]
    return found


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Select():
            return (node.of,)
        case Call():
            return node.arguments if node.target is None else (node.target, *node.arguments)
        case ListLiteral():
            return node.items
        case Mapped():
            return tuple(each for pair in node.entries for each in pair)
        case Comprehension():
            return (node.over, node.start, node.condition, node.step, node.result)
        case Bound():
            return (node.value, node.body)
        case _:
            return ()


class _Parser:
    def __init__(self, tokens: TokenStream) -> None:
        self.tokens = tokens
        self._nested = 0

    def expression(self) -> Node:
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise SyntaxProblem
        found = self._binary(0)
        if self.tokens.is_mark("?"):
            self.tokens.next()
            then = self._binary(0)
            self.tokens.expect(":")
            found = Call("_?_:_", (found, then, self.expression()))
        self._nested -= 1
        return found

    def _binary(self, loosest: int) -> Node:
        """Operands, and the operators between them that bind as tightly as this, or more."""
        found = self._unary()
        while (operator := self._operator()) and _LEVELS[operator] >= loosest:
            self.tokens.at += 1 if operator == "in" else len(operator)
            right = self._binary(_LEVELS[operator] + 1)
            found = Call("in" if operator == "in" else f"_{operator}_", (found, right))
        return found

    def _operator(self) -> str:
        """The operator that comes next; empty if none does."""
        token, following = self.tokens.peek(), self.tokens.peek(1)
        if token.kind == "word":
            return "in" if token.text == "in" else ""
        joined = token.text + following.text if following.kind == "mark" and not following.lead else ""
        return joined if joined in _LEVELS else token.text if token.text in _LEVELS else ""

    def _unary(self) -> Node:
        marks = ""
        while self.tokens.peek().kind == "mark" and self.tokens.peek().text in ("!", "-"):
            marks += self.tokens.next().text
        negative = marks.endswith("-") and self.tokens.peek().kind == "number"
        found = self._member()
        for mark in reversed(marks[:-1] if negative else marks):
            found = Call("!_" if mark == "!" else "-_", (found,))
        return found

    def _member(self) -> Node:
        found = self._primary()
        while (token := self.tokens.peek()).kind == "mark" and token.text in (".", ".?", "[", "[?", "{"):
            self.tokens.next()
            if token.text == "{":
                found = Mapped(self._entries())
            elif token.text in ("[", "[?"):
                found = Call("_[_]" if token.text == "[" else "_[?_]", (found, self.expression()))
                self.tokens.expect("]")
            else:
                word = self._word()
                if token.text == ".?":
                    found = Call("_?._", (found, Literal("string", len(word))))
                elif self.tokens.is_mark("("):
                    self.tokens.next()
                    found = _method(found, word, self._arguments(")"))
                else:
                    found = Select(found, word)
        return found

    def _primary(self) -> Node:
        token = self.tokens.next()
        if token.kind == "number":
            return _number(token.text)
        if token.kind == "text":
            return _text(token.text)
        if token.kind == "word":
            return self._named(token)
        if token.text in ("[", "[?"):
            return ListLiteral(tuple(self._arguments("]")))
        if token.text == "{":
            return Mapped(self._entries())
        if token.text == ".":
            return Identifier(self._word())
        if token.text != "(":
            raise SyntaxProblem
        found = self.expression()
        self.tokens.expect(")")
        return found

    def _named(self, token: Token) -> Node:
        if token.text in _CONSTANTS:
            return Literal(_CONSTANTS[token.text])
        if self.tokens.is_mark("("):
            self.tokens.next()
            arguments = self._arguments(")")
            if token.text == "has" and len(arguments) == 1 and isinstance(arguments[0], Select):
                return Select(arguments[0].of, arguments[0].field, tests=True)
            return Call(token.text, tuple(arguments))
        return Identifier(token.text)

    def _word(self) -> str:
        token = self.tokens.next()
        if token.kind != "word":
            raise SyntaxProblem
        return token.text

    def _arguments(self, closing: str) -> list[Node]:
        """Up to the closing bracket, which is taken as well."""
        found: list[Node] = []
        while not self.tokens.is_mark(closing):
            if self.tokens.is_mark("?"):
                self.tokens.next()
            found.append(self.expression())
            if not self.tokens.is_mark(closing):
                self.tokens.expect(",")
        self.tokens.next()
        return found

    def _entries(self) -> tuple[tuple[Node, Node], ...]:
        found: list[tuple[Node, Node]] = []
        while not self.tokens.is_mark("}"):
            if self.tokens.is_mark("?"):
                self.tokens.next()
            key = self.expression()
            self.tokens.expect(":")
            found.append((key, self.expression()))
            if not self.tokens.is_mark("}"):
                self.tokens.expect(",")
        self.tokens.next()
        return tuple(found)


def _number(text: str) -> Literal:
    if text[-1] in "uU":
        return Literal("uint")
    if text[:2].lower() != "0x" and not text.isdigit():
        return Literal("double")
    return Literal("int", number=int(text, 16 if text[:2].lower() == "0x" else 10) if len(text) < 20 else None)


def _text(text: str) -> Literal:
    prefix = re.match(r"[rRbB]*", text)
    marks = prefix[0].lower() if prefix else ""
    inner = text[len(marks) :]
    quotes = 3 if inner[:3] in ('"""', "'''") else 1
    inner = inner[quotes:-quotes]
    plain = inner if "r" in marks else _ESCAPE.sub("_", inner)
    return Literal("bytes", len(plain.encode())) if "b" in marks else Literal("string", len(plain))


def _method(target: Node, name: str, given: Sequence[Node]) -> Node:
    if isinstance(target, Identifier) and target.name == "cel" and name == "bind" and len(given) == 3:
        if isinstance(given[0], Identifier):
            return Bound(given[0].name, given[1], given[2])
        raise SyntaxProblem
    if isinstance(target, Identifier) and target.name in _NAMESPACES:
        return Call(f"{target.name}.{name}", tuple(given))
    names = [each.name for each in given[:2] if isinstance(each, Identifier)]
    if name in ("optMap", "optFlatMap") and len(given) == 2 and isinstance(given[0], Identifier):
        value = Bound(given[0].name, Call("value", (), target), given[1])
        there = Call("optional.of", (value,)) if name == "optMap" else value
        return Call("_?_:_", (Call("hasValue", (), target), there, Call("optional.none", ())))
    if name in _TRANSFORMS and len(given) in (3, 4) and len(names) == 2:
        return _loop(target, name, tuple(names), given[2:])
    if name in _LOOPS and len(given) in (2, 3) and isinstance(given[0], Identifier):
        pair = len(given) == 3 and len(names) == 2 and name not in ("map", "filter")
        return _loop(target, name, tuple(names) if pair else (given[0].name,), given[2 if pair else 1 :])
    return Call(name, tuple(given), target)


def _loop(over: Node, name: str, variables: tuple[str, ...], bodies: Sequence[Node]) -> Node:
    """The loop for which a macro stands."""
    body = bodies[-1]
    if name == "all":
        going = Call("@not_strictly_false", (_RESULT,))
        return Comprehension(over, variables, _TRUE, going, Call("_&&_", (_RESULT, body)), _RESULT)
    if name == "exists":
        going = Call("@not_strictly_false", (Call("!_", (_RESULT,)),))
        return Comprehension(over, variables, _FALSE, going, Call("_||_", (_RESULT, body)), _RESULT)
    one = Literal("int")
    if name in ("exists_one", "existsOne"):
        step = Call("_?_:_", (body, Call("_+_", (_RESULT, one)), _RESULT))
        return Comprehension(over, variables, one, _TRUE, step, Call("_==_", (_RESULT, one)))
    start: Node
    made: Node
    if name in ("transformMap", "transformMapEntry"):
        entry = (Identifier(variables[0]), body) if name == "transformMap" else (body,)
        start, made = Mapped(), Call("@mapInsert", (_RESULT, *entry))
    else:
        item = Identifier(variables[0]) if name == "filter" else body
        start, made = ListLiteral(), Call("_+_", (_RESULT, ListLiteral((item,))))
    if name == "filter" or len(bodies) == 2:
        made = Call("_?_:_", (bodies[0], made, _RESULT))
    return Comprehension(over, variables, start, _TRUE, made, _RESULT)
