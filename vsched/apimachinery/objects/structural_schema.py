"""Objects by the structural schema of their custom kind: prunes unknown fields, fills in defaults, checks values.

Pure. Validation rules in CEL are elsewhere (``validation_rules``).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.kinds import Obj

PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
_RESOURCE_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}
_LIMITS = {"int32": 1 << 31, "int64": 1 << 63}
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def prune_and_default(schema: Obj, obj: Obj) -> tuple[Obj, list[str]]:
    """A copy of the object without unknown fields and with defaults, and the paths of the unknown fields."""
    unknown: list[str] = []
    return _walked(schema, obj, "", unknown, root=True), unknown


def _walked(schema: Obj, value: Any, path: str, unknown: list[str], *, root: bool = False) -> Any:
    if isinstance(value, dict):
        return _walked_object(schema, value, path, unknown, root=root or bool(schema.get(EMBEDDED)))
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [_walked(schema["items"], item, f"{path}[{i}]", unknown) for i, item in enumerate(value)]
    return value


def _walked_object(schema: Obj, value: Obj, path: str, unknown: list[str], *, root: bool) -> Obj:
    properties: Obj = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    keeps_all = bool(schema.get(PRESERVE)) or additional is True
    walked: Obj = {}
    for field, item in value.items():
        here = f"{path}.{field}" if path else field
        if root and field in _RESOURCE_FIELDS:
            walked[field] = item
        elif field in properties:
            if item is None and "default" in properties[field] and not properties[field].get("nullable"):
                continue
            walked[field] = _walked(properties[field], item, here, unknown)
        elif isinstance(additional, dict):
            walked[field] = _walked(additional, item, here, unknown)
        elif keeps_all:
            walked[field] = item
        else:
            unknown.append(here)
    for field, property_schema in properties.items():
        if "default" in property_schema and field not in walked:
            filled = copy.deepcopy(property_schema["default"])
            walked[field] = _walked(property_schema, filled, f"{path}.{field}", unknown)
    return walked


def validate(schema: Obj, obj: Obj) -> list[FieldCause]:
    """The errors of an object by its schema."""
    return list(_checked(schema, obj, "", root=True))


def _checked(schema: Obj, value: Any, path: str, *, root: bool = False) -> Iterator[FieldCause]:
    if value is None and schema.get("nullable"):
        return
    wrong = _wrong_type(schema, value, path)
    if wrong is not None:
        yield wrong
        return
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in schema["enum"])
        yield FieldCause(
            "FieldValueNotSupported", f"Unsupported value: {_shown(value)}: supported values: {supported}", path
        )
    for rule, allows, text in _RULES:
        if rule in schema and not allows(value, schema[rule], schema):
            yield invalid_value(path, value, f"{path} in body {text.format(schema[rule])}")
    yield from _checked_format(schema, value, path)
    if isinstance(value, dict):
        yield from _checked_object(schema, value, path, root=root)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _checked(schema["items"], item, f"{path}[{index}]")
    yield from _checked_combinations(schema, value, path)


def _wrong_type(schema: Obj, value: Any, path: str) -> FieldCause | None:
    types: tuple[type, ...]
    if schema.get(INT_OR_STRING):
        wanted, types = "integer,string", (int, str)
    else:
        wanted = schema.get("type", "")
        types = _TYPES.get(wanted, ())
        if not types or (wanted == "integer" and isinstance(value, float) and value.is_integer()):
            return None
    if isinstance(value, types) and not (isinstance(value, bool) and bool not in types):
        return None
    shown = _type_name(value)
    text = f'Invalid value: "{shown}": {path} in body must be of type {wanted}: "{shown}"'
    return FieldCause("FieldValueTypeInvalid", text, path or "<nil>")


def _checked_format(schema: Obj, value: Any, path: str) -> Iterator[FieldCause]:
    wanted = schema.get("format")
    limit = _LIMITS.get(wanted or "")
    if limit is not None and isinstance(value, int) and not -limit <= value < limit:
        yield invalid_value(path, value, f"{path} in body must be of type {wanted}: {_shown(value)}")
    if wanted == "date-time" and isinstance(value, str) and not _DATE_TIME.fullmatch(value):
        yield invalid_value(path, value, f"{path} in body must be of type date-time: {_shown(value)}")


def _checked_object(schema: Obj, value: Obj, path: str, *, root: bool) -> Iterator[FieldCause]:
    properties: Obj = schema.get("properties") or {}
    additional = schema.get("additionalProperties")
    for field in schema.get("required") or ():
        if field not in value:
            yield FieldCause("FieldValueRequired", "Required value", f"{path}.{field}" if path else field)
    for field, item in value.items():
        if root and field in _RESOURCE_FIELDS:
            continue
        here = f"{path}.{field}" if path else field
        if field in properties:
            yield from _checked(properties[field], item, here)
        elif isinstance(additional, dict):
            yield from _checked(additional, item, here)


def _checked_combinations(schema: Obj, value: Any, path: str) -> Iterator[FieldCause]:
    def passing(rule: str) -> int:
        return sum(not any(_checked(each, value, path)) for each in schema[rule])

    if "anyOf" in schema and not schema.get(INT_OR_STRING) and not passing("anyOf"):
        yield invalid_value(path, value, f"{path} in body must validate at least one schema (anyOf)")
    if "oneOf" in schema and passing("oneOf") != 1:
        yield invalid_value(path, value, f"{path} in body must validate one and only one schema (oneOf)")
    if "not" in schema and not any(_checked(schema["not"], value, path)):
        yield invalid_value(path, value, f"{path} in body must not validate the schema (not)")
    for each in schema.get("allOf") or ():
        yield from _checked(each, value, path)


def invalid_value(path: str, value: Any, why: str) -> FieldCause:
    return FieldCause("FieldValueInvalid", f"Invalid value: {_shown(value)}: {why}", path)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else f'"{_type_name(value)}"'


def _type_name(value: Any) -> str:
    for name, types in _TYPES.items():
        if isinstance(value, types) and not (isinstance(value, bool) and name != "boolean"):
            return name
    return "null"


@lru_cache(maxsize=512)
def _pattern(text: str) -> re.Pattern[str]:
    if text.endswith("$") and not text.endswith(r"\$"):
        text = text[:-1] + r"\Z"  # in Go, $ does not match before a line break at the end
    return re.compile(text)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


Rule = tuple[str, Callable[[Any, Any, Obj], bool], str]
_RULES: tuple[Rule, ...] = (
    (
        "minimum",
        lambda v, m, s: not _number(v) or (v > m if s.get("exclusiveMinimum") else v >= m),
        "should be greater than or equal to {}",
    ),
    (
        "maximum",
        lambda v, m, s: not _number(v) or (v < m if s.get("exclusiveMaximum") else v <= m),
        "should be less than or equal to {}",
    ),
    ("multipleOf", lambda v, m, s: not _number(v) or not v % m, "should be a multiple of {}"),
    ("minLength", lambda v, m, s: not isinstance(v, str) or len(v) >= m, "should be at least {} chars long"),
    ("maxLength", lambda v, m, s: not isinstance(v, str) or len(v) <= m, "should be at most {} chars long"),
    ("pattern", lambda v, m, s: not isinstance(v, str) or bool(_pattern(m).search(v)), "should match '{}'"),
    ("minItems", lambda v, m, s: not isinstance(v, list) or len(v) >= m, "should have at least {} items"),
    ("maxItems", lambda v, m, s: not isinstance(v, list) or len(v) <= m, "should have at most {} items"),
    ("minProperties", lambda v, m, s: not isinstance(v, dict) or len(v) >= m, "should have at least {} properties"),
    ("maxProperties", lambda v, m, s: not isinstance(v, dict) or len(v) <= m, "should have at most {} properties"),
)
