"""The words, texts, numbers and marks of a CEL expression, one after the other."""

from __future__ import annotations

import re
from typing import NamedTuple

LITERALS = re.compile(
    r"""(?:[rR][bB]?|[bB][rR])(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|"[^"\n]*"|'[^'\n]*')
      | [bB]?(?:\"\"\"(?:\\[\s\S]|[^\\])*?\"\"\"|'''(?:\\[\s\S]|[^\\])*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | //[^\n]*""",
    re.VERBOSE,
)
"""Texts and comments of an expression."""
_TOKEN = re.compile(
    rf"""(?P<space>\s+|//[^\n]*) | (?P<text>{LITERALS.pattern}) | (?P<word>[A-Za-z_]\w*)
      | (?P<number>0[xX][0-9a-fA-F]+[uU]?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[uU]?) | (?P<mark>\.\s*\?|\[\s*\?|[\s\S])""",
    re.VERBOSE,
)


class SyntaxProblem(Exception):
    """The text is no expression."""


class Token(NamedTuple):
    """One word, text, number or mark."""

    kind: str
    """``word``, ``text``, ``number``, ``mark`` or, after the last one, ``end``."""
    text: str
    lead: str = ""
    """Blanks and comments before it."""

    @property
    def whole(self) -> str:
        """With what is before it."""
        return self.lead + self.text


class TokenStream:
    """The tokens of an expression, and how far they are read."""

    def __init__(self, source: str) -> None:
        self.at = 0
        self._all: list[Token] = []
        lead = ""
        for match in _TOKEN.finditer(source):
            kind = match.lastgroup or ""
            if kind == "space":
                lead += match[0]
            else:
                text = re.sub(r"\s", "", match[0]) if kind == "mark" else match[0]
                self._all.append(Token(kind, text, lead))
                lead = ""
        self._all.append(Token("end", "", lead))

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or one after it."""
        return self._all[min(self.at + ahead, len(self._all) - 1)]

    def next(self) -> Token:
        """Take the next token."""
        token = self.peek()
        self.at += 1
        return token

    def expect(self, text: str) -> Token:
        """Take the next token, which has to be this mark, or the end if it is empty."""
        token = self.next()
        if token.text != text or token.kind not in ("mark", "end"):
            raise SyntaxProblem
        return token

    def is_mark(self, text: str) -> bool:
        """Whether the next token is this mark."""
        token = self.peek()
        return token.kind == "mark" and token.text == text

    def arguments(self, start: int) -> int:
        """How many arguments there are between the bracket that opens at ``start`` and the one that closes it."""
        depth, commas, first = 0, 0, start + 1
        for at in range(start, len(self._all)):
            kind, text, _ = self._all[at]
            if kind != "mark":
                continue
            if text[0] in "([{":
                depth += 1
            elif text in ")]}":
                depth -= 1
                if not depth:
                    return commas + 1 if at > first else 0
            elif text == "," and depth == 1:
                commas += 1
        raise SyntaxProblem
