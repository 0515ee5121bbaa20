"""``cel.bind(name, value, body)``, which the library does not have: it is written as a loop over one value."""

from __future__ import annotations

import re

LITERALS = re.compile(
    r"""[rR]?\"\"\"[\s\S]*?\"\"\" | [rR]?'''[\s\S]*?''' | [rR]"[^"\n]*" | [rR]'[^'\n]*'
      | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | //[^\n]*""",
    re.VERBOSE,
)
"""Texts and comments of an expression."""
_BIND = re.compile(r"(?<![\w.])cel\s*\.\s*bind\s*\(")
_NAME = re.compile(r"\s*[A-Za-z_]\w*\s*\Z")
_MOST = 64
"""The most bindings of one expression."""


def unbound(text: str) -> str:
    """The expression with ``[value].map(name, body)[0]`` for each binding; one that is not well formed stays."""
    for _ in range(_MOST):
        bare = LITERALS.sub(lambda match: " " * len(match[0]), text)
        *_, last = [None, *_BIND.finditer(bare)]
        parts = None if last is None else _arguments(bare, last.end())
        if last is None or parts is None:
            return text
        name, value, body = (text[start:end] for start, end in parts)
        if not _NAME.match(name):
            return text
        text = f"{text[: last.start()]}[{value}].map({name}, {body})[0]{text[parts[2][1] + 1 :]}"
    return text


def _arguments(bare: str, start: int) -> list[tuple[int, int]] | None:
    """The places of three arguments that begin at ``start``; None where there are not three."""
    depth, ends = 0, []
    for position in range(start, len(bare)):
        char = bare[position]
        if char in "([{":
            depth += 1
        elif depth and char in ")]}":
            depth -= 1
        elif not depth and char in ",)":
            ends.append(position)
            if char == ")":
                break
    else:
        return None
    starts = [start, *(end + 1 for end in ends[:-1])]
    return list(zip(starts, ends, strict=True)) if len(ends) == 3 else None
