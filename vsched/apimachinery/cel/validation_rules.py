"""The validation rules in the schema of a custom kind: compiled once, evaluated for every object that is written.

A rule has the value at its place as ``self`` and the old value as ``oldSelf``. A rule with ``oldSelf`` is evaluated
only if there is an old value. A value that did not change may break rules (ratcheting).
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from vsched.apimachinery.meta.api_errors import FieldCause
from vsched.apimachinery.meta.kinds import Obj
from vsched.cel import expressions as cel
from vsched.cel import words
from vsched.cel.errors import NotEvaluated, TooExpensive
from vsched.cel.expressions import CelExpression

RULES = "x-kubernetes-validations"
VARIABLES = ("self", "oldSelf")
MOST_STEPS = 10_000_000
"""The limit for all rules of one object together."""
_MESSAGE_BYTES = 5 * 1024
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_BLOCKING = frozenset({"FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"})
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"}
    | {"let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_ESCAPES = (("__", "__underscores__"), (".", "__dot__"), ("-", "__dash__"), ("/", "__slash__"))
_METADATA: Obj = {"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}}
_ROOT_FIELDS: Obj = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _METADATA}
_MISSING = object()


@dataclass(frozen=True, slots=True)
class ValidationRule:
    """One compiled rule."""

    given: Obj
    expression: CelExpression
    message: CelExpression | None
    path: str
    """The path below the value that errors name."""

    @property
    def looks_back(self) -> bool:
        return "oldSelf" in self.expression.names


@dataclass(frozen=True, slots=True)
class RuleTree:
    """The rules of a schema and of the schemas below it, without branches that have none."""

    schema: Obj
    root: bool
    rules: tuple[ValidationRule, ...] = ()
    properties: Mapping[str, RuleTree] = field(default_factory=dict)
    items: RuleTree | None = None
    additional: RuleTree | None = None


def rule_tree(schema: Obj, *, root: bool = False) -> RuleTree | None:
    """The rules of a schema that has been checked; None if it has none."""
    rules = tuple(_rule(each) for each in schema.get(RULES) or ())
    below = {name: _branch(each) for name, each in (schema.get("properties") or {}).items()}
    properties = {name: tree for name, tree in below.items() if tree is not None}
    items, additional = _branch(schema.get("items")), _branch(schema.get("additionalProperties"))
    if not rules and not properties and items is None and additional is None:
        return None
    return RuleTree(schema, root, rules, properties, items, additional)


def _branch(schema: Any) -> RuleTree | None:
    return rule_tree(schema, root=is_embedded(schema)) if isinstance(schema, dict) else None


def _rule(given: Obj) -> ValidationRule:
    message = given.get("messageExpression")
    return ValidationRule(
        given=given,
        expression=cel.compiled(given["rule"], VARIABLES),
        message=cel.compiled(message, VARIABLES) if message else None,
        path=given.get("fieldPath", ""),
    )


def is_embedded(schema: Obj) -> bool:
    return bool(schema.get("x-kubernetes-embedded-resource"))


def check(tree: RuleTree, obj: Obj, old: Obj | None, found: list[FieldCause]) -> list[FieldCause]:
    """The errors of an object by the rules; ``found`` are those by its schema."""
    if any(cause.reason in _BLOCKING for cause in found):
        why = "some validation rules were not checked because the object was invalid; correct the existing errors"
        return [FieldCause("FieldValueInvalid", f"Invalid value: null: {why} to complete validation", "<nil>")]
    return list(_Asking().ask(tree, obj, _MISSING if old is None else old, ""))


class _Asking:
    """Evaluates the rules for one object, within a limit for their total cost."""

    def __init__(self) -> None:
        self._left = MOST_STEPS

    def ask(self, tree: RuleTree, value: Any, old: Any, path: str, unchanged: bool = False) -> Iterator[FieldCause]:
        """The errors of a value and of the values in it; ``old`` is _MISSING if there is no old value."""
        if value is None or self._left <= 0:
            return
        unchanged = value == old if old is not _MISSING else unchanged
        if tree.rules:
            yield from self._ask_here(tree, value, old, path, unchanged)
        if isinstance(value, dict):
            yield from self._ask_object(tree, value, old, path, unchanged)
        elif isinstance(value, list) and tree.items is not None:
            keyed = _by_key(tree.schema, old)
            for index, item in enumerate(value):
                before = keyed.get(_key(tree.schema, item), _MISSING)
                yield from self.ask(tree.items, item, before, f"{path}[{index}]", unchanged)

    def _ask_object(self, tree: RuleTree, value: Obj, old: Any, path: str, unchanged: bool) -> Iterator[FieldCause]:
        known = old if isinstance(old, dict) else {}
        for name, item in value.items():
            below = tree.properties.get(name)
            if below is not None:
                here = f"{path}.{name}" if path else name
                yield from self.ask(below, item, known.get(name, _MISSING), here, unchanged)
            elif tree.additional is not None:
                yield from self.ask(tree.additional, item, known.get(name, _MISSING), f"{path}[{name}]", unchanged)

    def _ask_here(self, tree: RuleTree, value: Any, old: Any, path: str, unchanged: bool) -> Iterator[FieldCause]:
        variables = {"self": visible(tree.schema, value, root=tree.root)}
        if old is not _MISSING and old is not None:
            variables["oldSelf"] = visible(tree.schema, old, root=tree.root)
        shown = tree.schema.get("type", "")
        for rule in tree.rules:
            if rule.looks_back and "oldSelf" not in variables:
                continue
            steps = rule.expression.steps(variables)
            # A rule that is too expensive is not evaluated, so it costs nothing.
            self._left -= steps if steps <= cel.MOST_STEPS else 0
            if self._left <= 0:
                why = "validation failed due to running out of cost budget, no further validation rules will be run"
                yield _invalid(path, shown, why)
                return
            try:
                kept = rule.expression.evaluate(variables)
            except NotEvaluated as error:
                yield _invalid(path, shown, _not_evaluated(rule, error))
                continue
            if kept is not True and (rule.looks_back or not unchanged):
                yield _broken(rule, variables, path, shown)


def visible(schema: Obj, value: Any, *, root: bool = False) -> Any:
    """A value as rules see it: only the fields of its schema, by their escaped names, in the types of the schema."""
    if value is None or schema.get("x-kubernetes-int-or-string"):
        return value
    if isinstance(value, dict):
        return _visible_object(schema, value, root=root or is_embedded(schema))
    if isinstance(value, list):
        items = schema.get("items")
        return [visible(items, item) for item in value] if isinstance(items, dict) else value
    if isinstance(value, str):
        return _visible_text(schema.get("format", ""), value)
    if isinstance(value, bool):
        return value
    if schema.get("type") == "number" and isinstance(value, int):
        return float(value)
    return int(value) if schema.get("type") == "integer" and isinstance(value, float) else value


def _visible_object(schema: Obj, value: Obj, *, root: bool) -> Obj:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        return {key: visible(additional, item) for key, item in value.items()}
    properties = fields_of(schema, root=root)
    return {escaped(name): visible(properties[name], item) for name, item in value.items() if name in properties}


def fields_of(schema: Obj, *, root: bool) -> Obj:
    """The schemas of the fields that rules can read, by name."""
    properties = schema.get("properties") or {}
    return {**properties, **_ROOT_FIELDS} if root else properties


def escaped(name: str) -> str:
    """The name of a field in expressions."""
    if name in _RESERVED:
        return f"__{name}__"
    for part, written in _ESCAPES:
        name = name.replace(part, written)
    return name


def _visible_text(form: str, value: str) -> Any:
    if form == "byte":
        return b64decode(value)
    if form == "date":
        return _converted("timestamp", f"{value}T00:00:00Z")
    if form in ("date-time", "duration"):
        return _converted("timestamp" if form == "date-time" else form, value)
    return value


def _converted(function: str, text: str) -> Any:
    """The text as a timestamp or duration; the text itself if it is none."""
    try:
        return cel.compiled(f"{function}(self)", ("self",)).evaluate({"self": text})
    except NotEvaluated:
        return text


def correlates(schema: Obj) -> bool:
    """Whether the items of a list have keys, so that an item can be compared with its old version."""
    return schema.get(_LIST_TYPE) == "map"


def _key(schema: Obj, item: Any) -> tuple[str, ...]:
    if not isinstance(item, dict):
        return ()
    return tuple(repr(item.get(name)) for name in schema.get(_LIST_KEYS) or ())


def _by_key(schema: Obj, old: Any) -> Mapping[tuple[str, ...], Any]:
    if not correlates(schema) or not isinstance(old, list):
        return {}
    return {_key(schema, item): item for item in old}


def _invalid(path: str, shown: str, why: str) -> FieldCause:
    return FieldCause("FieldValueInvalid", f'Invalid value: "{shown}": {why}', path or "<nil>")


def _not_evaluated(rule: ValidationRule, error: NotEvaluated) -> str:
    named = (rule.given.get("message") or rule.given["rule"]).strip()
    if isinstance(error, TooExpensive):
        return f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {named}"
    if str(error) == words.NO_OVERLOAD:
        why = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{error}': {why}: {named}"
    return f"{error} evaluating rule: {named}"


def _broken(rule: ValidationRule, variables: Mapping[str, Any], path: str, shown: str) -> FieldCause:
    """The error for a rule that does not hold."""
    detail = _message(rule, variables)
    where = f"{path}{rule.path}".lstrip(".") or "<nil>"
    match rule.given.get("reason"):
        case "FieldValueForbidden":
            return FieldCause("FieldValueForbidden", f"Forbidden: {detail}", where)
        case "FieldValueRequired":
            return FieldCause("FieldValueRequired", f"Required value: {detail}", where)
        case "FieldValueDuplicate":
            return FieldCause("FieldValueDuplicate", f'Duplicate value: "{shown}"', where)
    return _invalid(where, shown, detail)


def _message(rule: ValidationRule, variables: Mapping[str, Any]) -> str:
    """The text of messageExpression if it is a single line, else the message of the rule."""
    if rule.message is not None:
        try:
            said = rule.message.evaluate(variables)
        except NotEvaluated:
            said = ""
        text = said.strip() if isinstance(said, str) else ""
        if text and "\n" not in text and len(text.encode()) <= _MESSAGE_BYTES:
            return text
    given: str = rule.given.get("message") or ""
    return given.strip() or f"failed rule: {rule.given['rule'].strip()}"
