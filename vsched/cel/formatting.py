"""Texts in CEL: ``"%s".format([x])``, ``strings.quote``, and the named formats of Kubernetes (``format``)."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from vsched.cel import words
from vsched.cel.networks import is_url
from vsched.cel.optionals import Optional, optional

MOST_CHARS = 1 << 20
"""The longest text that a function may build."""
_PRECISION = 6
_MOST_PRECISION = 1000
_CLAUSE = re.compile(r"%(?:\.(\d+))?([\s\S]?)")
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_ESCAPES |= {"\\": "\\\\", '"': '\\"'}
_FORMAT = "\0format"
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


def quoted(value: Any) -> str:
    """``strings.quote``: the text in quotation marks, with escapes."""
    return f'"{"".join(_ESCAPES.get(char, char) for char in _text(value))}"'


def formatted(value: Any, arguments: Any) -> str:
    """``format``: each clause (%s, %d, %f, %e, %b, %x, %X, %o) takes the next argument."""
    if not isinstance(arguments, list):
        raise ValueError(words.NO_OVERLOAD)
    waiting, size = iter(enumerate(arguments)), 0

    def clause(match: re.Match[str]) -> str:
        nonlocal size
        precision, verb = match[1], match[2]
        if verb == "%" and precision is None:
            return "%"
        if verb not in _VERBS or (precision is not None and (verb not in "fe" or len(precision) > 4)):
            raise ValueError(words.unknown_clause(match[0][1:]))
        digits = _PRECISION if precision is None else int(precision)
        if digits > _MOST_PRECISION:
            raise ValueError(words.precision_above(digits, _MOST_PRECISION))
        at, argument = next(waiting, (len(arguments), None))
        if at == len(arguments):
            raise ValueError(words.argument_missing(at))
        made = _VERBS[verb](argument, digits)
        size += len(made)
        if size > MOST_CHARS:
            raise ValueError(words.format_makes_too_much(MOST_CHARS))
        return made

    return _CLAUSE.sub(clause, _text(value))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(words.NO_OVERLOAD)
    return value


def _refused(verb: str, expected: str) -> ValueError:
    return ValueError(words.clause_cannot_be_used(verb, expected))


def _shown(value: Any, _: int = 0) -> str:
    """``%s``."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return _double(value)
        case int():
            return str(value)
        case datetime() | timedelta():
            return _moment(value)
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case Mapping():
            return _map(value)
    raise _refused("string", words.ANYTHING_SHOWN)


def _map(value: Mapping[Any, Any]) -> str:
    if any(isinstance(key, str) and key.startswith("\0") for key in value):
        raise _refused("string", words.ANYTHING_SHOWN)
    return f"{{{', '.join(sorted(f'{_literal(key)}:{_literal(each)}' for key, each in value.items()))}}}"


def _literal(value: Any) -> str:
    """An item of a list or a map, as an expression would have it."""
    match value:
        case str():
            return quoted(value)
        case bytes():
            return f"b{quoted(_shown(value))}"
        case datetime():
            return f'timestamp("{_moment(value)}")'
        case timedelta():
            return f'duration("{_moment(value)}")'
        case float() if math.isfinite(value):
            return f"{value:.6f}"
        case float():
            return f'"{_double(value)}"'
    return _shown(value)


def _double(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def _moment(value: datetime | timedelta) -> str:
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
        return f"{int(seconds) if seconds.is_integer() else seconds}s"
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _decimal(value: Any, _: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refused("decimal", "integers")
    return str(value)


def _floating(kind: str, name: str) -> Callable[[Any, int], str]:
    def of(value: Any, digits: int) -> str:
        if value in ("NaN", "Infinity", "-Infinity"):
            value = float(value)
        if not isinstance(value, float):
            raise _refused(name, "doubles")
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
        return format(value, f".{digits}{kind}")

    return of


def _binary(value: Any, _: int) -> str:
    if not isinstance(value, int):
        raise _refused("binary", words.INTEGERS_AND_BOOLS)
    return format(int(value), "b")


def _octal(value: Any, _: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refused("octal", "integers")
    return format(value, "o")


def _hexadecimal(value: Any, _: int) -> str:
    if isinstance(value, str | bytes):
        return (value.encode() if isinstance(value, str) else value).hex()
    if isinstance(value, bool) or not isinstance(value, int):
        raise _refused("hex", words.INTEGERS_BYTES_AND_STRINGS)
    return format(value, "x")


_VERBS: Mapping[str, Callable[[Any, int], str]] = {
    "s": _shown,
    "d": _decimal,
    "f": _floating("f", "fixed-point"),
    "e": _floating("e", "scientific"),
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": lambda value, digits: _hexadecimal(value, digits).upper(),
}


def _matching(pattern: re.Pattern[str], most: int, what: str, *, prefix: bool = False) -> Callable[[str], list[str]]:
    """A check of a name; where it is a beginning, a dash at its end is no fault."""

    def faults(text: str) -> list[str]:
        whole = f"{text[:-1]}a" if prefix and text.endswith("-") else text
        found = [] if len(text) <= most else [words.at_most(most)]
        if not pattern.fullmatch(whole):
            found.append(words.with_regex(what, pattern.pattern))
        return found

    return faults


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    wrong = not _NAME.fullmatch(name) or len(name) > 63
    if slash:
        wrong = wrong or len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)
    return [words.QUALIFIED_NAME] if wrong else []


def _label_value(text: str) -> list[str]:
    return _LABEL_VALUE(text) if text else []


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_date(text: str) -> bool:
    try:
        return len(text) == len("2006-01-02") and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    try:
        return bool(_DATE_TIME.fullmatch(text)) and bool(datetime.fromisoformat(text[:19]))
    except ValueError:
        return False


def _unless(check: Callable[[str], object], fault: str) -> Callable[[str], list[str]]:
    return lambda text: [] if check(text) else [fault]


_LABEL_VALUE = _matching(_NAME, 63, words.LABEL_VALUE)
_FORMATS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": _matching(_LABEL, 63, words.LABEL),
    "dns1123LabelPrefix": _matching(_LABEL, 63, words.LABEL, prefix=True),
    "dns1123Subdomain": _matching(_SUBDOMAIN, 253, words.SUBDOMAIN),
    "dns1123SubdomainPrefix": _matching(_SUBDOMAIN, 253, words.SUBDOMAIN, prefix=True),
    "dns1035Label": _matching(_LABEL_1035, 63, words.LABEL_1035),
    "dns1035LabelPrefix": _matching(_LABEL_1035, 63, words.LABEL_1035, prefix=True),
    "qualifiedName": _qualified_name,
    "labelValue": _label_value,
    "uri": _unless(is_url, words.INVALID_URI),
    "uuid": _unless(_UUID.fullmatch, words.INVALID_UUID),
    "byte": _unless(_is_base64, words.INVALID_BASE64),
    "date": _unless(_is_date, words.INVALID_DATE),
    "datetime": _unless(_is_date_time, words.INVALID_DATETIME),
}
FORMATS = frozenset(_FORMATS)
"""The names of formats."""


def _named(name: Any) -> Optional:
    return optional({_FORMAT: name}) if _text(name) in _FORMATS else optional()


def _validated(found: Any, text: Any) -> Optional:
    """The faults of a text; no value where it has none."""
    if not isinstance(found, Mapping) or _FORMAT not in found:
        raise ValueError(words.NO_OVERLOAD)
    faults = _FORMATS[found[_FORMAT]](_text(text))
    return optional(faults) if faults else optional()


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "format": formatted,
    "__strings_quote": quoted,
    "__format_named": _named,
    "validate": _validated,
}
"""By name."""
