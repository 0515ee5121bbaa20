"""Optional fields (``a.?b``, ``a[?"b"]``), which the library does not have: they are written as conditions.

``a.?b.orValue(c)`` becomes ``(has(a.b) ? a.b : c)``. What follows an optional field is optional as well. Chains that
end in ``orValue``, ``hasValue`` or ``value`` are known; other uses stay as they are, and do not compile.
"""

from __future__ import annotations

import re

from vsched.cel.bindings import LITERALS

_MOST = 64
"""The most chains of one expression."""
_CHARS = 20_000
"""The longest expression that comes of it: a condition repeats what it is about."""
_OPTIONAL = re.compile(r"\.\s*\?|\[\s*\?")
_FIELD = re.compile(r"\s*\.\s*\??\s*([A-Za-z_]\w*)\b(?!\s*\()")
_KEY = re.compile(r"""\s*\[\s*\??\s*("[^"\\\n]*"|'[^'\\\n]*')\s*\]""")
_END = re.compile(r"\s*\.\s*(orValue|hasValue|value)\s*\(")
_WORD = re.compile(r"[A-Za-z_]\w*\Z")
_OPENING = {")": "(", "]": "["}


def conditional(text: str) -> str:
    """The expression without optional fields; a chain of an unknown form stays."""
    for _ in range(_MOST):
        bare = LITERALS.sub(lambda match: " " * len(match[0]), text)
        found = _OPTIONAL.search(bare)
        written = None if found is None else _written(text, bare, found.start())
        if written is None or len(written) > _CHARS:
            return text
        text = written
    return text


def _written(text: str, bare: str, at: int) -> str | None:
    """The expression with the chain of which the first optional field begins at ``at`` as a condition.

    None if the form of the chain is not known.
    """
    start = _operand(bare, at)
    if start == at:
        return None
    value, conditions, position = text[start:at].strip(), list[str](), at
    while found := _FIELD.match(text, position) or _KEY.match(text, position):
        if found.re is _FIELD:
            value = f"{value}.{found[1]}"
            conditions.append(f"has({value})")
        else:
            conditions.append(f"{found[1]} in {value}")
            value = f"{value}[{found[1]}]"
        position = found.end()
    end = _END.match(text, position)
    close = None if end is None else _closing(bare, end.end())
    if end is None or close is None:
        return None
    condition, argument = " && ".join(conditions), text[end.end() : close]
    if end[1] != "orValue" and argument.strip():
        return None
    made = {"orValue": f"({condition} ? {value} : {argument})", "hasValue": f"({condition})", "value": value}[end[1]]
    return f"{text[:start]}{made}{text[close + 1 :]}"


def _operand(bare: str, end: int) -> int:
    """Where the chain of names, calls, indices and brackets that ends at ``end`` begins."""
    position = end
    while True:
        before = len(bare[:position].rstrip())
        if before and bare[before - 1] in _OPENING:
            opened = _opened(bare, before - 1)
            if opened is None:
                return end
            is_index = bare[opened] == "["
            position = opened
            word = _WORD.search(bare[:position].rstrip())
            if word is None and not is_index:
                return position
            if word is None:
                continue
        word = _WORD.search(bare[:position].rstrip())
        if word is None:
            return end
        position = word.start()
        dotted = bare[:position].rstrip()
        if not dotted.endswith("."):
            return position
        position = len(dotted) - 1


def _opened(bare: str, at: int) -> int | None:
    """Where the bracket that is closed at ``at`` was opened."""
    depth = 0
    for position in range(at, -1, -1):
        if bare[position] in ")]}":
            depth += 1
        elif bare[position] in "([{":
            depth -= 1
            if not depth:
                return position if bare[position] == _OPENING[bare[at]] else None
    return None


def _closing(bare: str, start: int) -> int | None:
    """Where the bracket that was opened before ``start`` is closed."""
    depth = 1
    for position in range(start, len(bare)):
        if bare[position] in "([{":
            depth += 1
        elif bare[position] in ")]}":
            depth -= 1
            if not depth:
                return position
    return None
