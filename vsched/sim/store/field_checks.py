"""The words of field errors, and the checks that many kinds share: names, labels, keys, numbers.

Each check gives the problems of one value as texts, or appends causes to a list; what is checked where is decided by
the validation modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from vsched.sim.store.status import Cause

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"

_IS_LABEL = re.compile(_LABEL)
_IS_LABEL_1035 = re.compile(_LABEL_1035)
_IS_SUBDOMAIN = re.compile(_SUBDOMAIN)
_IS_QUALIFIED = re.compile(_QUALIFIED)
_IS_VALUE = re.compile(_VALUE)
_IS_ENV_NAME = re.compile(r"[\x21-\x3c\x3e-\x7e]+")
_IS_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")

ANNOTATIONS_BYTES = 256 * 1024


def invalid_value(path: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", path)


def required(path: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", path)


def forbidden(path: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", path)


def duplicate(path: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", path)


def not_found_value(path: str, value: Any) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {shown(value)}", path)


def not_supported(path: str, value: Any, supported: Iterable[str]) -> Cause:
    listed = ", ".join(f'"{one}"' for one in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {listed}", path)


def shown(value: Any) -> str:
    """A bad value as an error repeats it: JSON, which quotes strings; what is missing is the text null."""
    return orjson.dumps("null" if value is None else value).decode()


def _expected(rule: str, pattern: str, *examples: str) -> str:
    named = ",  or ".join(f"'{one}'" for one in examples)
    return f"{rule} (e.g. {named}, regex used for validation is '{pattern}')"


_LABEL_RULE = _expected(
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end"
    " with an alphanumeric character",
    _LABEL,
    "my-name",
    "123-abc",
)
_LABEL_1035_RULE = _expected(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character,"
    " and end with an alphanumeric character",
    _LABEL_1035,
    "my-name",
    "abc-123",
)
_SUBDOMAIN_RULE = _expected(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character",
    _SUBDOMAIN,
    "example.com",
)
_QUALIFIED_RULE = _expected(
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    _QUALIFIED,
    "MyName",
    "my.name",
    "123-abc",
)
_VALUE_RULE = _expected(
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character",
    _VALUE,
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY_RULE = _expected(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    "[-._a-zA-Z0-9]+",
    "key.name",
    "KEY_NAME",
    "key-name",
)
_ENV_NAME_RULE = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
    " (regex used for validation is '^[ -<>-~]+$')"
)


def _long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


@lru_cache(maxsize=16384)
def label_problems(name: str) -> tuple[str, ...]:
    """A DNS label (RFC 1123): container names, namespaces."""
    problems = [_long(63)] if len(name) > 63 else []
    if not _IS_LABEL.fullmatch(name):
        problems.append(_LABEL_RULE)
    return tuple(problems)


@lru_cache(maxsize=4096)
def label_1035_problems(name: str) -> tuple[str, ...]:
    """A DNS label that starts with a letter: service names."""
    problems = [_long(63)] if len(name) > 63 else []
    if not _IS_LABEL_1035.fullmatch(name):
        problems.append(_LABEL_1035_RULE)
    return tuple(problems)


@lru_cache(maxsize=65536)
def subdomain_problems(name: str) -> tuple[str, ...]:
    """A DNS subdomain: what most objects are called."""
    problems = [_long(253)] if len(name) > 253 else []
    if not _IS_SUBDOMAIN.fullmatch(name):
        problems.append(_SUBDOMAIN_RULE)
    return tuple(problems)


def path_segment_problems(name: str) -> tuple[str, ...]:
    """Anything that fits into a URL path: the names of RBAC objects."""
    if name in (".", ".."):
        return (f"may not be '{name}'",)
    return tuple(f"may not contain '{char}'" for char in "/%" if char in name)


@lru_cache(maxsize=16384)
def qualified_name_problems(name: str) -> tuple[str, ...]:
    """A label key and the like: a name with an optional DNS prefix."""
    prefix, slash, last = name.rpartition("/")
    if prefix.count("/"):
        return (
            "a qualified name " + _QUALIFIED_RULE + " with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')",
        )
    problems = []
    if slash:
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems.extend(f"prefix part {problem}" for problem in subdomain_problems(prefix))
    if not last:
        problems.append("name part must be non-empty")
    elif len(last) > 63:
        problems.append(f"name part {_long(63)}")
    if not _IS_QUALIFIED.fullmatch(last):
        problems.append(f"name part {_QUALIFIED_RULE}")
    return tuple(problems)


@lru_cache(maxsize=65536)
def label_value_problems(value: str) -> tuple[str, ...]:
    problems = [_long(63)] if len(value) > 63 else []
    if not _IS_VALUE.fullmatch(value):
        problems.append(_VALUE_RULE)
    return tuple(problems)


@lru_cache(maxsize=4096)
def env_name_problems(name: str) -> tuple[str, ...]:
    return () if _IS_ENV_NAME.fullmatch(name) else (_ENV_NAME_RULE,)


def config_key_problems(key: str) -> tuple[str, ...]:
    """A key of a ConfigMap or Secret, which becomes a file name."""
    if len(key) > 253:
        return (_long(253),)
    if key in (".", "..") or key.startswith(".."):
        return ("must not be '.', '..' or start with '..'",)
    return () if _IS_CONFIG_KEY.fullmatch(key) else (_CONFIG_KEY_RULE,)


def check_labels(labels: Mapping[str, str] | None, path: str, causes: list[Cause]) -> None:
    """Keys and values; the errors name the map rather than the key, as the server's do."""
    for key, value in (labels or {}).items():
        causes.extend(invalid_value(path, key, problem) for problem in qualified_name_problems(key))
        causes.extend(invalid_value(path, value, problem) for problem in label_value_problems(value))


def check_annotations(annotations: Mapping[str, str] | None, path: str, causes: list[Cause]) -> None:
    size = 0
    for key, value in (annotations or {}).items():
        # Upper case is tolerated in the prefix of an annotation's key.
        causes.extend(invalid_value(path, key, problem) for problem in qualified_name_problems(key.lower()))
        size += len(key) + len(value)
    if size > ANNOTATIONS_BYTES:
        causes.append(Cause("FieldValueTooLong", f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes", path))


def check_not_negative(value: int | None, path: str, causes: list[Cause]) -> None:
    if value is not None and value < 0:
        causes.append(invalid_value(path, value, "must be greater than or equal to 0"))


def check_immutable(new: Any, old: Any, path: str, causes: list[Cause]) -> None:
    if new != old:
        causes.append(invalid_value(path, new, "field is immutable"))


def check_one_of(value: Any, supported: Iterable[str], path: str, causes: list[Cause]) -> None:
    if value not in supported:
        causes.append(not_supported(path, value, supported))


def check_selector(selector: Any, path: str, causes: list[Cause]) -> None:
    """A label selector with matchLabels and matchExpressions."""
    if not selector:
        return
    check_labels(selector.get("matchLabels"), f"{path}.matchLabels", causes)
    for index, one in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = one.get("operator"), one.get("values")
        if operator in ("In", "NotIn"):
            if not values:
                causes.append(required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                causes.append(forbidden(f"{where}.values", why))
        else:
            causes.append(invalid_value(f"{where}.operator", operator, "not a valid selector operator"))
        key = one.get("key", "")
        causes.extend(invalid_value(f"{where}.key", key, problem) for problem in qualified_name_problems(key))
