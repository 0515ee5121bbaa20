"""Label selectors: the query parameter, and the LabelSelector of objects.

Syntax errors have the messages of the real server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from vsched.apimachinery.meta.api_errors import bad_request
from vsched.apimachinery.meta.field_errors import Causes, invalid_value
from vsched.apimachinery.meta.kinds import Obj
from vsched.apimachinery.meta.name_formats import label_value_problems, qualified_name_problems

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!<>(),])|([^ \t\r\n=!<>(),]+))")
_INTEGER = re.compile(r"[-+]?\d+")
_OPERATORS = {"in": "in", "notin": "notin", "=": "in", "==": "in", "!=": "notin", ">": ">", "<": "<"}
_NAMES_OF_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_SYMBOLS = frozenset({"==", "!=", "=", "!", "<", ">", "(", ")", ","})
_END = ""


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One term of a label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: dict[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
            case _:
                return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        if not _INTEGER.fullmatch(value):
            return False
        limit = int(self.values[0])
        return int(value) > limit if self.operator == ">" else int(value) < limit


@lru_cache(maxsize=512)
def parse_labels(text: str) -> tuple[LabelRequirement, ...]:
    """The terms of a label selector; raises a 400 Failure for a syntax error."""
    return _Parser(text).terms()


class _Parser:
    """Reads terms off a list of tokens; the empty token is the end."""

    def __init__(self, text: str) -> None:
        self._tokens = [symbol or word for symbol, word in _TOKEN.findall(text)]
        self._position = 0

    def terms(self) -> tuple[LabelRequirement, ...]:
        terms: list[LabelRequirement] = []
        if self._next() == _END:
            return ()
        while True:
            token = self._next()
            if token in _SYMBOLS - {"!"}:
                raise bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
            terms.append(self._term())
            token = self._take()
            if token == _END:
                return tuple(terms)
            if token != ",":
                raise bad_request(f"found '{token}', expected: ',' or 'end of string'")
            token = self._next()
            if token == _END or token in _SYMBOLS - {"!"}:
                raise bad_request(f"found '{token}', expected: identifier after ','")

    def _next(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else _END

    def _take(self) -> str:
        token = self._next()
        self._position += 1
        return token

    def _term(self) -> LabelRequirement:
        token = self._take()
        absent = token == "!"
        key = self._take() if absent else token
        if key == _END or key in _SYMBOLS:
            _refuse(f"found '{key}', expected: identifier")
        problems = qualified_name_problems(key)
        if problems:
            # There is no field path here; the real server writes <nil>.
            _refuse(invalid_value("<nil>", key, "; ".join(problems)).text)
        if self._next() in (_END, ","):
            return LabelRequirement(key, "!" if absent else "exists")
        if absent:
            return LabelRequirement(key, "!")
        given = self._take()
        operator = _OPERATORS.get(given)
        if operator is None:
            _refuse(f"found '{given}', expected: {_NAMES_OF_OPERATORS}")
        values = self._listed() if given in ("in", "notin") else (self._exact(),)
        _check_values(key, given, values)
        return LabelRequirement(key, operator, values)

    def _exact(self) -> str:
        if self._next() in (_END, ","):
            return ""
        token = self._take()
        if token in _SYMBOLS:
            _refuse(f"found '{token}', expected: identifier")
        return token

    def _listed(self) -> tuple[str, ...]:
        """``(a, b)``; an empty place is the empty value."""
        token = self._take()
        if token != "(":
            _refuse(f"found '{token}' expected: '('")
        first = self._next()
        if first != ")" and (first == _END or first in _SYMBOLS - {","}):
            _refuse(f"found '{first}', expected: ',', ')' or identifier")
        values = {""} if first == ")" else set()
        while (token := self._take()) != ")":
            if token == ",":
                if not values or self._next() in (",", ")"):
                    values.add("")
                continue
            if token == _END or token in _SYMBOLS:
                _refuse(f"found '{token}', expected: ',', or identifier")
            values.add(token)
            if self._next() not in (",", ")"):
                _refuse(f"found '{self._next()}', expected: ',' or ')'")
        return tuple(sorted(values))


def _check_values(key: str, operator: str, values: Sequence[str]) -> None:
    causes = Causes()
    if operator in "<>" and not _INTEGER.fullmatch(values[0]):
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        causes.invalid("values[0]", values[0], why)
    for index, value in enumerate(values):
        problems = label_value_problems(value)
        if problems:
            causes.invalid(f"values[{index}][{key}]", value, "; ".join(problems))
    if causes:
        texts = [cause.text for cause in causes]
        _refuse(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")


def _refuse(why: str) -> NoReturn:
    raise bad_request(f"unable to parse requirement: {why}")


def matches_label_selector(selector: Obj | None, labels: Mapping[str, str] | None) -> bool:
    """Whether a LabelSelector of an object's spec matches; an empty one matches all, a missing one nothing."""
    if selector is None:
        return False
    found = labels or {}
    if any(found.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(requirement_holds(each, found) for each in selector.get("matchExpressions") or ())


def requirement_holds(requirement: Obj, labels: Mapping[str, str]) -> bool:
    """Whether labels have what an entry of ``matchExpressions`` asks for; an operator that it does not have: never."""
    value, values = labels.get(requirement.get("key", "")), requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False


def label_selector_text(selector: Obj) -> str:
    """A LabelSelector in the short form that queries and tables use."""
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in selector.get("matchExpressions") or ():
        key, values = one.get("key", ""), ",".join(sorted(one.get("values") or ()))
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        terms.append(forms.get(one.get("operator", ""), f"!{key}"))
    return ",".join(terms)
