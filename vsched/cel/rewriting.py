"""Writes what the library does not have in what it has: optional values, ``cel.bind``, and loops of two variables.

``a.?b`` becomes ``__select(a, "b")``, ``cel.bind(x, v, y)`` becomes ``[v].map(x, y)[0]``. The functions whose names
begin with ``__`` are in ``optionals``. What has none of these stays letter by letter, so that errors point to the right
place. Text that is not well formed stays as well, for the library to refuse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from vsched.cel.formatting import FORMATS
from vsched.cel.tokens import SyntaxProblem, Token, TokenStream

MOST_NESTED = 100
"""How deeply brackets may be nested; an expression that nests deeper stays as it is."""
_LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
_PAIR_LOOPS = {"all": "all", "exists": "exists", "exists_one": "exists_one", "existsOne": "exists_one"}
_TRANSFORMS = frozenset({"transformList", "transformMap", "transformMapEntry"})
_NAMESPACES = frozenset({"cel", "optional", "sets", "strings", "format", "ip"})
_SPACED = frozenset(
    {"optional.of", "optional.none", "optional.ofNonZeroValue", "optional.unwrap", "strings.quote", "ip.isCanonical"}
    | {"sets.contains", "sets.equivalent", "sets.intersects", "format.named"}
)
"""Functions with a namespace; each is ``__namespace_name``."""
_OPTIONAL_RESULT = frozenset({"optional.of", "optional.none", "optional.ofNonZeroValue", "format.named"})
_OPTIONAL_METHODS = frozenset({"or", "optMap", "optFlatMap", "first", "last", "validate"})
"""Methods that give an optional value."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An expression for the library, and what was seen on the way."""

    text: str
    bound: frozenset[str] = frozenset()
    """The names that its loops and bindings declare."""
    called: frozenset[str] = frozenset()
    """The functions that its author calls."""
    depth: int = 0
    """How deeply its loops are nested."""
    scopes: int = 0
    """How deeply its loops and bindings are nested."""
    sums: int = 0
    """How many sums its loops run over, or its bindings name."""


def rewritten(text: str) -> Rewritten | None:
    """The expression for the library; None where it is not well formed, or too deeply nested."""
    rewriter = _Rewriter(text)
    try:
        found, _ = rewriter.expression()
        rewriter.end()
    except SyntaxProblem:
        return None
    return Rewritten(
        found,
        frozenset(rewriter.bound),
        frozenset(rewriter.called),
        depth=rewriter.deepest,
        scopes=rewriter.scopes,
        sums=rewriter.sums,
    )


class _Part(NamedTuple):
    """A part of an expression, and whether its value is optional as far as its form says."""

    text: str
    optional: bool = False


@dataclass(slots=True)
class _Scope:
    """Names that loops and bindings declare, here and further out."""

    names: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Rewriter:
    source: str
    bound: set[str] = field(default_factory=set)
    called: set[str] = field(default_factory=set)
    deepest: int = 0
    scopes: int = 0
    sums: int = 0
    _tokens: TokenStream = field(init=False)
    _loops: int = 0
    _open: int = 0
    _nested: int = 0
    _made: int = 0
    _scope: _Scope = field(default_factory=_Scope)

    def __post_init__(self) -> None:
        self._tokens = TokenStream(self.source)

    def end(self) -> None:
        """Nothing may follow."""
        self._tokens.expect("")

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self) -> _Part:
        """Operands and operators, with blanks, up to a comma, a closing bracket, a colon of a map or the end."""
        parts: list[str] = []
        last, operands, conditions, ternary = _Part(""), 0, 0, False
        while (token := self._tokens.peek()).text not in (",", ")", "]", "}") and token.kind != "end":
            if token.kind == "mark" and token.text == ":":
                if not conditions:
                    break
                conditions -= 1
            if token.kind == "mark" and token.text not in "([{" and token.text != "[?":
                if token.text == "?":
                    conditions, ternary = conditions + 1, True
                parts.append(self._tokens.next().whole)
            elif token.text == "in" and token.kind == "word":
                parts.append(self._tokens.next().whole)
            else:
                last = self._operand()
                operands += 1
                parts.append(last.text)
        return _Part("".join([*parts, token.lead]), last.optional and (operands == 1 or ternary))

    def _operand(self) -> _Part:
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise SyntaxProblem
        token = self._tokens.next()
        if token.kind == "word":
            found = self._word(token)
        elif token.kind in ("text", "number"):
            found = _Part(token.whole)
        elif token.text == "(":
            inner = self.expression()
            found = _Part(f"{token.whole}{inner.text}{self._tokens.expect(')').text}", inner.optional)
        elif token.text in ("[", "[?"):
            found = _Part(self._list(token))
        else:
            found = _Part(self._map(token))
        found = self._postfixes(found)
        self._nested -= 1
        return found

    def _word(self, token: Token) -> _Part:
        name = token.text
        spaced = (
            self._tokens.peek().text == "." and self._tokens.peek(1).kind == "word" and self._tokens.peek(2).text == "("
        )
        if spaced and name in _NAMESPACES and name not in self._scope.names:
            full = f"{name}.{self._tokens.peek(1).text}"
            at = self._tokens.at
            named = self._tokens.peek(3).kind == "word" and self._tokens.peek(4).text == ","
            if full == "cel.bind" and named and self._tokens.arguments(at + 2) == 3:
                return self._binding(token)
            if full in _SPACED or (name == "format" and self._tokens.peek(1).text in FORMATS):
                self._tokens.at += 3
                return self._namespaced(token.lead, full)
        if self._tokens.is_mark("("):
            self.called.add(name)
            self._tokens.next()
            arguments = [one.text for one in self._arguments()]
            if name == "size" and len(arguments) == 1:
                return _Part(f"{token.lead}__size({arguments[0]})")
            return _Part(f"{token.whole}({','.join(arguments)})")
        return _Part(token.whole, name in self._scope.optional)

    def _namespaced(self, lead: str, full: str) -> _Part:
        name = full.partition(".")[2]
        arguments = ",".join(one.text for one in self._arguments())
        if full.startswith("format.") and name in FORMATS:
            return _Part(f'{lead}__value(__format_named("{name}"))')
        return _Part(f"{lead}__{full.replace('.', '_')}({arguments})", full in _OPTIONAL_RESULT)

    def _arguments(self) -> list[_Part]:
        """Up to the closing bracket, which is taken as well."""
        found: list[_Part] = []
        if self._tokens.is_mark(")"):
            self._tokens.next()
            return found
        while True:
            found.append(self.expression())
            token = self._tokens.next()
            if token.kind != "mark" or token.text not in (",", ")"):
                raise SyntaxProblem
            if token.text == ")":
                return found

    def _list(self, opening: Token) -> str:
        """A list; optional items make it a sum of lists."""
        chunks: list[str] = []
        plain: list[str] = []
        optional, any_optional = opening.text == "[?", False
        while not self._tokens.is_mark("]"):
            if self._tokens.is_mark("?"):
                self._tokens.next()
                optional = True
            item = self.expression().text
            if optional:
                chunks += [f"[{','.join(plain)}]", f"__items({item})"]
                plain, any_optional, optional = [], True, False
            else:
                plain.append(item)
            self._separate("]", plain)
        self._tokens.next()
        if not any_optional:
            return f"{opening.whole}{','.join(plain)}]"
        chunks.append(f"[{','.join(plain)}]")
        return f"{opening.lead}({' + '.join(chunks)})"

    def _map(self, opening: Token) -> str:
        """A map; optional entries are merged into it."""
        chunks: list[str] = []
        plain: list[str] = []
        while not self._tokens.is_mark("}"):
            optional = self._tokens.is_mark("?")
            if optional:
                self._tokens.next()
            key = self.expression().text
            colon = self._tokens.expect(":")
            value = self.expression().text
            if optional:
                chunks.append(f"__entry({key}, {value})")
            else:
                plain.append(f"{key}{colon.text}{value}")
            self._separate("}", plain)
        self._tokens.next()
        whole = f"{{{','.join(plain)}}}"
        return f"{opening.lead}__merged([{whole}, {', '.join(chunks)}])" if chunks else opening.lead + whole

    def _separate(self, closing: str, plain: list[str]) -> None:
        """Take the comma after an item; the last item may have one, too."""
        if not self._tokens.is_mark(closing):
            self._tokens.expect(",")
            if self._tokens.is_mark(closing):
                plain.append(self._tokens.peek().lead)

    # -- what follows an operand ------------------------------------------------------------------------------------

    def _postfixes(self, part: _Part) -> _Part:
        while (token := self._tokens.peek()).kind == "mark":
            following = self._tokens.peek(1)
            if token.text == "." and following.kind == "word":
                self._tokens.at += 2
                if self._tokens.is_mark("("):
                    self._tokens.next()
                    part = self._method(part, token, following)
                elif part.optional:
                    part = _selected(part, f'"{following.text}"')
                else:
                    part = _Part(f"{part.text}{token.whole}{following.whole}")
            elif token.text == ".?" and following.kind == "word":
                self._tokens.at += 2
                part = _selected(part, f'"{following.text}"')
            elif token.text in ("[", "[?"):
                self._tokens.next()
                index = self.expression().text
                self._tokens.expect("]")
                if part.optional or token.text == "[?":
                    part = _selected(part, index)
                else:
                    part = _Part(f"{part.text}{token.whole}{index}]")
            elif token.text == "{":
                part = _Part(part.text + self._map(self._tokens.next()))
            else:
                break
        return part

    def _method(self, target: _Part, dot: Token, word: Token) -> _Part:
        """A call of a method; its name and opening bracket are taken already."""
        name = word.text
        self.called.add(name)
        declared = self._declared(name)
        if name in ("optMap", "optFlatMap"):
            return self._mapped(target, name, declared)
        if len(declared) == 2:
            return self._pairs(target, name, declared)
        if name in _LOOPS and declared:
            with self._declaring(declared, target, loop=True):
                arguments = [one.text for one in self._arguments()]
            spelled = "exists_one" if name == "existsOne" else name
            return _Part(f"{target.text}{dot.whole}{word.lead}{spelled}({','.join(arguments)})")
        parts = self._arguments()
        arguments = [one.text for one in parts]
        if name in ("hasValue", "value", "size") and not arguments:
            return _Part(f"__{name}({target.text})")
        if name in ("orValue", "or") and len(arguments) == 1:
            value = self._fresh()
            there = f"__value({value})" if name == "orValue" else value
            otherwise = f"[{target.text}].map({value}, __hasValue({value}) ? {there} : ({arguments[0]}))[0]"
            return _Part(otherwise, name == "or")
        return _Part(f"{target.text}{dot.whole}{word.whole}({','.join(arguments)})", name in _OPTIONAL_METHODS)

    def _declared(self, name: str) -> tuple[str, ...]:
        """The variables that a loop declares: one, or two if it is a loop of pairs."""
        words = tuple(
            self._tokens.peek(at).text
            for at in (0, 2)
            if self._tokens.peek(at).kind == "word"
            and self._tokens.peek(at + 1).text == ","
            and self._tokens.peek(1).text == ","
        )
        if name in _TRANSFORMS:
            return words if len(words) == 2 else ()
        if len(words) == 2 and name in _PAIR_LOOPS:
            return words
        return words[:1] if name in _LOOPS or name in ("optMap", "optFlatMap") else ()

    def _binding(self, token: Token) -> _Part:
        """``cel.bind(name, value, body)``."""
        self._tokens.at += 3
        name = self._tokens.next()
        self._tokens.expect(",")
        value = self.expression()
        self._tokens.expect(",")
        with self._declaring((name.text,), value, optional=value.optional):
            body = self.expression()
        self._tokens.expect(")")
        return _Part(f"{token.lead}[{value.text}].map({name.text}, {body.text})[0]", body.optional)

    def _mapped(self, target: _Part, name: str, declared: Sequence[str]) -> _Part:
        """``optMap`` and ``optFlatMap``: the body sees the value, if there is one."""
        if len(declared) != 1:
            raise SyntaxProblem
        with self._declaring(declared, target):
            arguments = [one.text for one in self._arguments()]
        if len(arguments) != 2:
            raise SyntaxProblem
        return _Part(f"__{name}(__items({target.text}).map({arguments[0]}, {arguments[1]}))", True)

    def _pairs(self, target: _Part, name: str, declared: Sequence[str]) -> _Part:
        """A loop over positions and items of a list, or over keys and values of a map."""
        pair = self._fresh()
        with self._declaring(declared, target, loop=True):
            bodies = [one.text for one in self._arguments()[2:]]
        if len(bodies) not in ((1, 2) if name in ("transformList", "transformMap") else (1,)):
            raise SyntaxProblem
        key, value = declared
        *filters, body = (f"[{pair}[0]].map({key}, [{pair}[1]].map({value}, {each})[0])[0]" for each in bodies)
        pairs = f"__pairs({target.text})" + "".join(f".filter({pair}, {each})" for each in filters)
        if name in _PAIR_LOOPS:
            return _Part(f"{pairs}.{_PAIR_LOOPS[name]}({pair}, {body})")
        if name == "transformMap":
            return _Part(f"__merged({pairs}.map({pair}, __pair({pair}[0], {body})))")
        made = f"{pairs}.map({pair}, {body})"
        return _Part(made if name == "transformList" else f"__merged({made})")

    @contextmanager
    def _declaring(
        self, names: Sequence[str], of: _Part, *, loop: bool = False, optional: bool = False
    ) -> Iterator[None]:
        """The names are variables within: what is ``of`` this part, or is it."""
        self.sums += of.text.count("+")
        before, known = self._scope, frozenset(names)
        self.bound |= known
        self._scope = _Scope(before.names | known, before.optional | known if optional else before.optional - known)
        self._loops, self._open = self._loops + loop, self._open + 1
        self.deepest, self.scopes = max(self.deepest, self._loops), max(self.scopes, self._open)
        try:
            yield
        finally:
            self._loops, self._open = self._loops - loop, self._open - 1
            self._scope = before

    def _fresh(self) -> str:
        """A name that the expression does not have."""
        while True:
            self._made += 1
            name = f"_{self._made}"
            if name not in self.source:
                self.bound.add(name)
                return name


def _selected(part: _Part, key: str) -> _Part:
    return _Part(f"__select({part.text}, {key})", True)
