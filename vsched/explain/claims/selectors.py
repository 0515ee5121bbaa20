"""Puts selectors of devices into words: ``model h100, memory ≥ 80Gi``. An unusual expression is quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FIELD = r"""device\.(?:attributes|capacity)\[\s*["'][^"']*["']\s*\](?:\.(\w+)|\[\s*["'](\w+)["']\s*\])"""
_VALUE = r"""("[^"]*"|'[^']*'|-?\d+|true|false)"""
_QUANTITY = r"""quantity\(\s*["']([^"']+)["']\s*\)"""
_DRIVER = re.compile(rf"device\.driver\s*==\s*{_VALUE}")
_COMPARED = re.compile(rf"{_FIELD}\s*(==|!=|>=|<=|>|<)\s*{_VALUE}")
_AMOUNT = re.compile(rf"{_FIELD}\.compareTo\(\s*{_QUANTITY}\s*\)\s*(==|!=|>=|<=|>|<)\s*0")
_MORE_OR_LESS = re.compile(rf"{_FIELD}\.(isGreaterThan|isLessThan)\(\s*{_QUANTITY}\s*\)")
_ONE_OF = re.compile(rf"{_FIELD}\s+in\s+\[([^\]]*)\]")
_FLAG = re.compile(_FIELD)
_TEXT_OR_BRACKET = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([(\[{])|([)\]}])|(&&)""")
SIGNS = {"==": "", "!=": "≠ ", ">=": "≥ ", "<=": "≤ ", ">": "> ", "<": "< "}
QUOTED_MAX = 120
"""The longest part of an expression that is quoted."""


def in_words(expression: str) -> str:
    """The expression as a list of properties; quoted where it is not a plain list of these."""
    text = " ".join(expression.split())
    parts = [_property(_without_brackets(part)) for part in _conjunction(text)]
    if all(parts):
        return ", ".join(parts)
    return f"`{text if len(text) <= QUOTED_MAX else text[: QUOTED_MAX - 1] + '…'}`"


def _conjunction(text: str) -> Iterator[str]:
    """The parts between the outermost ``&&``."""
    start = depth = 0
    for token in _TEXT_OR_BRACKET.finditer(text):
        depth += bool(token[2]) - bool(token[3])
        if token[4] and not depth:
            yield text[start : token.start()].strip()
            start = token.end()
    yield text[start:].strip()


def _without_brackets(part: str) -> str:
    while part.startswith("(") and part.endswith(")") and _closes_last(part):
        part = part[1:-1].strip()
    return part


def _closes_last(part: str) -> bool:
    """Whether the first bracket is closed by the last character."""
    depth = 0
    for token in _TEXT_OR_BRACKET.finditer(part):
        depth += bool(token[2]) - bool(token[3])
        if not depth and token[3]:
            return token.end() == len(part)
    return False


def _property(part: str) -> str:
    """``model h100``; empty where the part has another form."""
    if found := _DRIVER.fullmatch(part):
        return f"driver {_plain(found[1])}"
    if found := _COMPARED.fullmatch(part):
        return f"{found[1] or found[2]} {SIGNS[found[3]]}{_plain(found[4])}"
    if found := _AMOUNT.fullmatch(part):
        return f"{found[1] or found[2]} {SIGNS[found[4]]}{found[3]}"
    if found := _MORE_OR_LESS.fullmatch(part):
        return f"{found[1] or found[2]} {'>' if found[3] == 'isGreaterThan' else '<'} {found[4]}"
    if found := _ONE_OF.fullmatch(part):
        values = [_plain(value.strip()) for value in found[3].split(",") if value.strip()]
        return f"{found[1] or found[2]} {' or '.join(values)}"
    if found := _FLAG.fullmatch(part):
        return found[1] or found[2]
    return ""


def _plain(value: str) -> str:
    return value.strip("\"'")
