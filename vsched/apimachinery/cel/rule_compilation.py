"""Checks the validation rules of a definition: they must compile, and read fields that the schema has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from vsched.apimachinery.cel.declarations import cardinality, declared, most_held
from vsched.apimachinery.cel.validation_rules import RULES, VARIABLES, correlates, escaped, fields_of, is_embedded
from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.field_errors import forbidden, invalid_value, not_supported, required
from vsched.apimachinery.meta.kinds import Obj
from vsched.cel import expressions as cel
from vsched.cel.costs import MOST, Declared, estimate
from vsched.cel.errors import NotCompiled
from vsched.cel.syntax import MOST_DEPTH, parsed
from vsched.cel.tokens import SyntaxProblem

_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_PARTS = ("rule", "message", "messageExpression", "reason", "fieldPath")
_MESSAGE_CHARS = 2048


def rule_causes(spec: Obj) -> list[FieldCause]:
    """What is wrong with the rules of a definition, in all its versions."""
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in spec.get("versions") or ()]
    return list(_causes_in(orjson.dumps(schemas)))


@lru_cache(maxsize=64)
def _causes_in(versions: bytes) -> tuple[FieldCause, ...]:
    """The same for the schemas of the versions, a list in JSON.

    All clusters of a process start with the same definitions: checking them once halves the time of making a cluster.
    """
    schemas = orjson.loads(versions)
    if schemas and isinstance(schemas[0], dict) and all(each == schemas[0] for each in schemas):
        # As in the real server, versions with the same schema have their errors once.
        return tuple(_of_schema(schemas[0], "spec.validation.openAPIV3Schema"))
    return tuple(
        cause
        for index, schema in enumerate(schemas)
        if isinstance(schema, dict)
        for cause in _of_schema(schema, f"spec.versions[{index}].schema.openAPIV3Schema")
    )


def _of_schema(schema: Obj, path: str) -> Iterator[FieldCause]:
    costs = RuleCosts()
    yield from _below(_Place(schema, path, costs, root=True))
    yield from costs.of_all(path)


@dataclass(frozen=True, slots=True)
class _Place:
    """A schema within the schema of a version."""

    schema: Obj
    path: str
    costs: RuleCosts
    fixed: str = ""
    """The path of a list above whose items have no keys."""
    root: bool = False
    times: int | None = 1
    """How many values there may be of it in one object; None if no limit is stated."""

    def part(self, schema: Any, path: str, fixed: str) -> Iterator[_Place]:
        """A schema right below, if it is one."""
        if isinstance(schema, dict):
            most = most_held(self.schema)
            times = None if self.times is None or most is None else self.times * most
            yield _Place(schema, f"{self.path}.{path}", self.costs, fixed, is_embedded(schema), times)


def _below(place: _Place) -> Iterator[FieldCause]:
    """Errors in a schema and below it."""
    schema = place.schema
    rules, properties = schema.get(RULES) or [], schema.get("properties") or {}
    if not isinstance(rules, list) or not all(_is_rule(rule) for rule in rules):
        yield invalid_value(f"{place.path}.{RULES}", rules, "must be a list of rules, whose fields are strings")
        return
    for index, rule in enumerate(rules):
        yield from _of_rule(place, rule, f"{place.path}.{RULES}[{index}]")
    parts = [(each, f"properties[{name}]", place.fixed) for name, each in dict(properties).items()]
    parts.append((schema.get("additionalProperties"), "additionalProperties", place.fixed))
    parts.append((schema.get("items"), "items", place.fixed or ("" if correlates(schema) else place.path)))
    for part in parts:
        for below in place.part(*part):
            yield from _below(below)


def _is_rule(rule: Any) -> bool:
    return isinstance(rule, dict) and all(isinstance(rule.get(part, ""), str) for part in _PARTS)


def _of_rule(place: _Place, rule: Obj, path: str) -> Iterator[FieldCause]:
    text = rule.get("rule") or ""
    if not text.strip():
        yield required(f"{path}.rule", "rule is not specified")
        return
    yield from _of_words(rule, path)
    if rule.get("optionalOldSelf") is not None:
        yield forbidden(f"{path}.optionalOldSelf", "the embedded cluster does not know oldSelf as an optional value")
    expression = None
    for part in ("rule", "messageExpression"):
        if not rule.get(part):
            continue
        shown = rule if part == "rule" else rule[part]
        try:
            compiled = cel.compiled(rule[part], VARIABLES)
            _check_fields(place.schema, compiled, root=place.root)
        except NotCompiled as error:
            yield invalid_value(f"{path}.{part}", shown, f"{_STAGES[part]}compilation failed: {error}")
            continue
        expression = compiled if part == "rule" else expression
        yield from _of_value(place, part, rule[part], shown, path)
    if expression is not None and "oldSelf" in expression.names and place.fixed:
        why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.fixed}"
        yield invalid_value(f"{path}.rule", text, why)
    if rule.get("fieldPath") and not _leads_somewhere(place.schema, rule["fieldPath"]):
        yield invalid_value(f"{path}.fieldPath", rule["fieldPath"], "fieldPath must be a valid path")


def _of_value(place: _Place, part: str, text: str, shown: Any, path: str) -> Iterator[FieldCause]:
    """Errors in the type and the cost of an expression that compiles."""
    type_ = declared(place.schema, root=place.root) or Declared()
    try:
        found = estimate(parsed(text), type_)
    except SyntaxProblem:
        yield invalid_value(f"{path}.{part}", shown, f"{_STAGES[part]}compilation failed: {_TOO_DEEP}")
        return
    kind, why = _RESULTS[part]
    if found.type.kind not in (kind, "dyn"):
        yield invalid_value(f"{path}.{part}", shown, why)
        return
    # As in an API server, a message is worked out once.
    times = 1 if part != "rule" else cardinality(type_) if place.times is None else place.times
    yield from place.costs.add(part, found.cost * times, f"{path}.{part}")


_TOO_DEEP = f"ERROR: <input>:-1:0: expression recursion limit exceeded: {MOST_DEPTH}"
_RESULTS = {
    "rule": ("bool", "cel expression must evaluate to a bool"),
    "messageExpression": ("string", "messageExpression must evaluate to a string"),
}
_STAGES = {"rule": "", "messageExpression": "messageExpression "}


def _of_words(rule: Obj, path: str) -> Iterator[FieldCause]:
    message = rule.get("message") or ""
    if message and not message.strip():
        yield invalid_value(f"{path}.message", message, "message must be non-empty if specified")
    elif "\n" in message.strip():
        yield invalid_value(f"{path}.message", message, "message must not contain line breaks")
    elif len(message) > _MESSAGE_CHARS:
        why = f"message must not be longer than {_MESSAGE_CHARS} characters"
        yield invalid_value(f"{path}.message", f"{message[:10]}...", why)
    elif "\n" in rule["rule"].strip() and not message and not rule.get("messageExpression"):
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    reason = rule.get("reason")
    if reason and reason not in _REASONS:
        yield not_supported(f"{path}.reason", reason, _REASONS)


def _check_fields(schema: Obj, expression: cel.CelExpression, *, root: bool) -> None:
    """Raises NotCompiled if an expression reads a field that the schema does not have."""
    for variable in VARIABLES:
        for position, fields in cel.paths_of(expression, variable):
            wrong = _unknown_field(schema, fields, root=root)
            if wrong:
                raise NotCompiled(cel.located(expression.text, position, f"undefined field '{wrong}'"))


def _unknown_field(schema: Any, fields: tuple[str, ...], *, root: bool) -> str:
    """The first field that the schema does not have; empty if it has all, or if it does not say the type."""
    for name in fields:
        if not isinstance(schema, dict) or schema.get("type") != "object":
            return ""
        if isinstance(schema.get("additionalProperties"), dict):
            schema, root = schema["additionalProperties"], False
            continue
        known = {escaped(each): below for each, below in fields_of(schema, root=root).items()}
        if name not in known:
            return name
        schema, root = known[name], is_embedded(known[name])
    return ""


def _leads_somewhere(schema: Any, path: str) -> bool:
    """Whether a path such as ``.spec.name`` leads to a field of the schema."""
    if not path.startswith("."):
        return False
    for name in path[1:].split("."):
        if not isinstance(schema, dict):
            return False
        additional = schema.get("additionalProperties")
        schema = (schema.get("properties") or {}).get(name, additional if isinstance(additional, dict) else None)
    return isinstance(schema, dict)


MOST_OF_RULE, MOST_OF_SCHEMA = 10_000_000, 100_000_000
_NAMED = 4
"""So many rules of a schema that costs too much are named; they are those that cost the most."""
_HINT = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are"
_PART = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_TOTAL = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"


class RuleCosts:
    """The costs of the rules of one schema."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []

    def add(self, what: str, cost: int, path: str) -> Iterator[FieldCause]:
        """Counts an expression, and tells it if it alone may cost too much."""
        self._found.append((min(cost, MOST), path))
        if cost > MOST_OF_RULE:
            yield forbidden(path, _exceeds(f"estimated {what} cost", cost, MOST_OF_RULE))

    def of_all(self, path: str) -> Iterator[FieldCause]:
        """Whether all together may cost too much."""
        total = sum(cost for cost, _ in self._found)
        if total <= MOST_OF_SCHEMA:
            return
        dear = sorted((each for each in self._found if each[0] >= MOST_OF_SCHEMA // 100), key=lambda each: -each[0])
        for _, where in dear[:_NAMED]:
            yield forbidden(where, _PART)
        yield forbidden(path, _exceeds(_TOTAL, total, MOST_OF_SCHEMA))


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    times = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {times} ({_HINT} declared)"
