"""Structural schemas: pruning, defaulting and checking, apart from any server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vsched.apimachinery.objects.crds import kinds_of, shipped_definitions
from vsched.apimachinery.objects.structural_schema import prune_and_default, validate

Obj = dict[str, Any]
QUEUE = next(kind for each in shipped_definitions() for kind in kinds_of(each) if kind.kind == "Queue").schema or {}

PRUNED: dict[str, tuple[Obj, Obj, Obj, list[str]]] = {
    "an unknown field": ({"properties": {"a": {}}}, {"a": 1, "b": 2}, {"a": 1}, ["b"]),
    "below a list": (
        {"properties": {"a": {"items": {"properties": {"b": {}}}}}},
        {"a": [{"b": 1, "c": 2}]},
        {"a": [{"b": 1}]},
        ["a[0].c"],
    ),
    "kept on request": ({"x-kubernetes-preserve-unknown-fields": True}, {"b": {"c": 1}}, {"b": {"c": 1}}, []),
    "any key of a map": ({"additionalProperties": {"properties": {"b": {}}}}, {"x": {"b": 1}}, {"x": {"b": 1}}, []),
    "a default": ({"properties": {"a": {"default": 3}}}, {}, {"a": 3}, []),
    "a default inside a default": (
        {"properties": {"a": {"default": {}, "properties": {"b": {"default": 1}}}}},
        {},
        {"a": {"b": 1}},
        [],
    ),
    "a null where there is a default": ({"properties": {"a": {"default": 3}}}, {"a": None}, {"a": 3}, []),
    "kind and metadata": ({}, {"kind": "K", "metadata": {"x": 1}}, {"kind": "K", "metadata": {"x": 1}}, []),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "given_obj", "expected", "unknown"), PRUNED.values(), ids=PRUNED)
def test_pruning_and_defaults(schema: Obj, given_obj: Obj, expected: Obj, unknown: list[str]) -> None:
    assert prune_and_default(schema, given_obj) == (expected, unknown)


CHECKED: dict[str, tuple[Obj, Any, str]] = {
    "a wrong type": ({"type": "string"}, 1, "must be of type string"),
    "true is no integer": ({"type": "integer"}, True, "must be of type integer"),
    "a missing field": ({"type": "object", "required": ["x"]}, {}, "Required value"),
    "not in the list": ({"enum": ["a", "b"]}, "c", 'supported values: "a", "b"'),
    "too small": ({"minimum": 1}, 0, "greater than or equal to 1"),
    "too big": ({"maximum": 3}, 4, "less than or equal to 3"),
    "not above an exclusive limit": ({"minimum": 1, "exclusiveMinimum": True}, 1, "greater than"),
    "no multiple": ({"multipleOf": 5}, 7, "multiple of 5"),
    "too short": ({"minLength": 2}, "a", "at least 2 chars"),
    "no match": ({"pattern": "^a+$"}, "b", "should match '^a+$'"),
    "too few items": ({"minItems": 1}, [], "at least 1 items"),
    "no int32": ({"type": "integer", "format": "int32"}, 1 << 40, "of type int32"),
    "no time": ({"type": "string", "format": "date-time"}, "today", "of type date-time"),
    "none of any": ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, [], "(anyOf)"),
    "more than one of one": ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 3, "(oneOf)"),
    "what must not be": ({"not": {"type": "string"}}, "x", "(not)"),
    "one of all": ({"allOf": [{"type": "integer"}, {"minimum": 2}]}, 1, "greater than or equal to 2"),
    "a null": ({"type": "string"}, None, "must be of type string"),
}


@pytest.mark.parametrize(("schema", "value", "text"), CHECKED.values(), ids=CHECKED)
def test_a_value_is_refused_for(schema: Obj, value: Any, text: str) -> None:
    causes = validate({"properties": {"a": schema}}, {"a": value})
    assert len(causes) == 1
    assert text in causes[0].message
    assert causes[0].field.startswith("a")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "nullable": True}, None),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ({"type": "integer"}, 2.0),
        ({"type": "string", "format": "date-time"}, "2026-01-01T00:00:00Z"),
    ],
    ids=["a null where allowed", "int or string", "a whole number", "a time"],
)
def test_a_value_is_taken(schema: Obj, value: Any) -> None:
    assert validate({"properties": {"a": schema}}, {"a": value}) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["weight", "cpu", "x"]), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["weight", "capability", "affinity", "extendClusters", "nope"]), JSON))
def test_pruning_is_done_once_and_for_all_whatever_is_sent(spec: Obj) -> None:
    once, _ = prune_and_default(QUEUE, {"spec": spec})
    assert prune_and_default(QUEUE, once) == (once, [])
    assert isinstance(validate(QUEUE, once), list)
