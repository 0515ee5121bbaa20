"""The formats of names in Kubernetes: DNS labels and subdomains, label keys and values, keys of ConfigMaps.

Each function takes a text and gives what is wrong with it, in the words of the API server; nothing for a good one.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
