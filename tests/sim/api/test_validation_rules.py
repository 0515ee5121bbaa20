"""Validation rules in the schemas of custom kinds, over HTTP: definitions that bring them, objects that break them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.sim.api_client import CRDS, JSON_PATCH, Api
from vsched.apimachinery.cel.rule_compilation import rule_causes
from vsched.apimachinery.objects.crds import shipped_definitions

Obj = dict[str, Any]
THINGS = "/apis/example.com/v1/namespaces/default/things"
DEFINITIONS = {each["metadata"]["name"]: each for each in shipped_definitions()}
TEXT: Obj = {"type": "string"}
NUMBER: Obj = {"type": "integer"}


def definition(spec: Obj, **root: Any) -> Obj:
    """A kind whose spec has this schema."""
    properties = {"spec": spec, "status": {"type": "object", "properties": {"seen": NUMBER}}}
    schema = {"type": "object", "properties": properties, **root}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def ruled(rule: str, schema: Obj | None = None, **more: Any) -> Obj:
    """A schema with one rule."""
    wide: Obj = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}}
    return {**(schema or wide), "x-kubernetes-validations": [{"rule": rule, **more}]}


def thing(spec: Any, name: str = "t") -> Obj:
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def inside(schema: Obj) -> Obj:
    """A schema with a field ``x`` that has this one."""
    return {"type": "object", "properties": {"x": schema}}


def numbers(most: int | None = None) -> Obj:
    """A list of numbers."""
    return {"type": "array", "items": NUMBER, **({} if most is None else {"maxItems": most})}


MAP: Obj = {"type": "object", "additionalProperties": ruled("self.size() < 3", TEXT)}
LIST: Obj = {"type": "array", "items": ruled("self.n > 0", {"type": "object", "properties": {"n": NUMBER}})}
NAMES: Obj = {"type": "object", "properties": {"namespace": TEXT, "a-b": TEXT, "x.y": TEXT}}

BROKEN: dict[str, tuple[Obj, Any, str, str, str]] = {
    "the rule itself, where there is no message": (
        ruled("self.a < self.b"), {"a": 2, "b": 1},
        "FieldValueInvalid", "spec", 'Invalid value: "object": failed rule: self.a < self.b'),
    "a message": (
        ruled("self.a < self.b", message=" a must be less "), {"a": 2, "b": 1},
        "FieldValueInvalid", "spec", 'Invalid value: "object": a must be less'),
    "a message that is worked out": (
        ruled("self.a < 3", messageExpression="'a is ' + (self.a > 9 ? 'huge' : 'large')", message="no"), {"a": 4},
        "FieldValueInvalid", "spec", 'Invalid value: "object": a is large'),
    "the plain message, where the other cannot be worked out": (
        ruled("self.a < 3", messageExpression="self.b > 1 ? 'b' : 'a'", message="too much"), {"a": 4},
        "FieldValueInvalid", "spec", 'Invalid value: "object": too much'),
    "a field that is to blame": (
        ruled("self.a < 3", message="no", fieldPath=".a"), {"a": 4},
        "FieldValueInvalid", "spec.a", 'Invalid value: "object": no'),
    "something that is forbidden": (
        ruled("self.a < 3", message="no", reason="FieldValueForbidden"), {"a": 4},
        "FieldValueForbidden", "spec", "Forbidden: no"),
    "something that is missing": (
        ruled("has(self.a)", message="a it is", reason="FieldValueRequired"), {},
        "FieldValueRequired", "spec", "Required value: a it is"),
    "something twice": (
        ruled("self.a != self.b", reason="FieldValueDuplicate"), {"a": 1, "b": 1},
        "FieldValueDuplicate", "spec", 'Duplicate value: "object"'),
    "a plain value": (
        inside(ruled("self % 2 == 0", NUMBER)), {"x": 3},
        "FieldValueInvalid", "spec.x", 'Invalid value: "integer": failed rule: self % 2 == 0'),
    "a value of a map": (
        inside(MAP), {"x": {"k": "long"}},
        "FieldValueInvalid", "spec.x[k]", 'Invalid value: "string": failed rule: self.size() < 3'),
    "an item of a list": (
        inside(LIST), {"x": [{"n": 1}, {"n": 0}]},
        "FieldValueInvalid", "spec.x[1]", 'Invalid value: "object": failed rule: self.n > 0'),
    "fields with names that have to be escaped": (
        ruled("self.__namespace__ + self.a__dash__b + self.x__dot__y == ''", NAMES),
        {"namespace": "n", "a-b": "", "x.y": ""},
        "FieldValueInvalid", "spec", "failed rule: self.__namespace__"),
    "a number or a text": (
        inside(ruled("type(self) == string", {"x-kubernetes-int-or-string": True})), {"x": 5},
        "FieldValueInvalid", "spec.x", 'Invalid value: "": failed rule: type(self) == string'),
    "a whole number where any will do": (
        inside(ruled("self + 0.5 < 2.0", {"type": "number"})), {"x": 2},
        "FieldValueInvalid", "spec.x", 'Invalid value: "number": failed rule: self + 0.5 < 2.0'),
    "a moment": (
        inside(ruled("self > timestamp('2026-01-01T00:00:00Z')", {"type": "string", "format": "date-time"})),
        {"x": "2025-01-01T00:00:00Z"},
        "FieldValueInvalid", "spec.x", "failed rule: self > timestamp"),
    "a rule that cannot be worked out": (
        ruled("self.a == 1", message="a is one"), {},
        "FieldValueInvalid", "spec", "no such key: a evaluating rule: a is one"),
    "types that do not go together": (
        inside(ruled("self + 1 > 0", {"x-kubernetes-int-or-string": True})), {"x": "a"},
        "FieldValueInvalid", "spec.x", "'no such overload': call arguments did not match a supported operator"),
    "a loop that takes too long": (
        inside(ruled("self.all(a, self.all(b, self.all(c, a + b + c > 0)))", numbers(100))), {"x": [1] * 100},
        "FieldValueInvalid", "spec.x", "call cost exceeds limit"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "value", "reason", "where", "message"), BROKEN.values(), ids=BROKEN)
async def test_an_object_is_refused_with(
    api: Api, spec: Obj, value: Any, reason: str, where: str, message: str
) -> None:
    await api.made(CRDS, definition(spec))
    reply = await api.post(THINGS, thing(value))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.body
    assert reply.message.startswith(f'Thing.example.com "t" is invalid: {where}: ')
    [cause] = reply.body["details"]["causes"]
    assert (cause["reason"], cause["field"]) == (reason, where)
    assert message in cause["message"]


async def test_what_keeps_the_rules_is_taken(api: Api) -> None:
    await api.made(CRDS, definition(ruled("self.a < self.b")))
    await api.made(THINGS, thing({"a": 1, "b": 2}))
    assert (await api.patch(f"{THINGS}/t", {"spec": {"a": 2}})).code == 422
    assert (await api.patch(f"{THINGS}/t", {"spec": {"a": 0}})).body["spec"] == {"a": 0, "b": 2}


async def test_the_root_sees_the_name_and_nothing_else_of_the_metadata(api: Api) -> None:
    rule = ruled("self.metadata.name.startsWith(self.kind.lowerAscii())", {})
    await api.made(CRDS, definition({"type": "object"}, **rule))
    assert (await api.post(THINGS, thing({}, "other"))).message.endswith(
        '<nil>: Invalid value: "object": failed rule: self.metadata.name.startsWith(self.kind.lowerAscii())'
    )
    await api.made(THINGS, thing({}, "thing-1"))


async def test_rules_wait_until_the_schema_is_kept(api: Api) -> None:
    await api.made(CRDS, definition({**ruled("self.a < 3"), "required": ["b"]}))
    reply = await api.post(THINGS, thing({"a": 5}))
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == ["spec.b", "<nil>"]
    assert "some validation rules were not checked because the object was invalid" in reply.message


async def test_a_rule_that_looks_back_is_asked_of_changes_only(api: Api) -> None:
    await api.made(CRDS, definition(inside(ruled("self == oldSelf", NUMBER, message="x stays"))))
    await api.made(THINGS, thing({"x": 1}))
    assert (await api.patch(f"{THINGS}/t", {"spec": {"x": 2}})).body["details"]["causes"][0]["field"] == "spec.x"
    assert (await api.patch(f"{THINGS}/t", {"metadata": {"labels": {"a": "b"}}})).code == 200
    assert (await api.patch(f"{THINGS}/t", {"spec": {"x": None}})).code == 200
    assert (await api.patch(f"{THINGS}/t", {"spec": {"x": 2}})).code == 200


async def test_items_with_a_key_are_compared_with_their_former_selves(api: Api) -> None:
    item = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "n": NUMBER}}
    listed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": ruled("self.n >= oldSelf.n", item),
    }
    await api.made(CRDS, definition(inside(listed)))
    await api.made(THINGS, thing({"x": [{"k": "a", "n": 1}, {"k": "b", "n": 5}]}))
    turned = [
        {"op": "replace", "path": "/spec/x", "value": [{"k": "b", "n": 5}, {"k": "a", "n": 2}, {"k": "c", "n": 0}]}
    ]
    assert (await api.patch(f"{THINGS}/t", turned, JSON_PATCH)).code == 200
    less = [{"op": "replace", "path": "/spec/x/0/n", "value": 4}]
    reply = await api.patch(f"{THINGS}/t", less, JSON_PATCH)
    assert [cause["field"] for cause in reply.body["details"]["causes"]] == ["spec.x[0]"]


async def test_what_was_there_before_a_rule_may_stay_but_not_get_worse(api: Api) -> None:
    await api.made(CRDS, definition({"type": "object", "properties": {"a": NUMBER, "b": NUMBER}}))
    made = await api.made(THINGS, thing({"a": 9, "b": 1}))
    crd = (await api.get(f"{CRDS}/things.example.com")).body
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    properties["spec"]["properties"]["a"] = ruled("self < 3", NUMBER)
    assert (await api.put(f"{CRDS}/things.example.com", crd)).code == 200
    assert (await api.patch(f"{THINGS}/t/status", {"status": {"seen": 1}})).code == 200
    assert (await api.patch(f"{THINGS}/t", {"spec": {"b": 2}})).body["spec"] == {"a": 9, "b": 2}
    assert (await api.patch(f"{THINGS}/t", {"spec": {"a": 8}})).code == 422
    assert made["spec"]["a"] == 9


REFUSED: dict[str, tuple[Obj, str, str]] = {
    "a rule that is none": (
        ruled("self.a <"), "properties[spec].x-kubernetes-validations[0].rule", "compilation failed: ERROR: <input>:1"),
    "an empty rule": (
        ruled(" "), "properties[spec].x-kubernetes-validations[0].rule", "Required value: rule is not specified"),
    "a field that is not there": (
        ruled("self.c < 3"), "properties[spec].x-kubernetes-validations[0].rule",
        "compilation failed: ERROR: <input>:1:5: undefined field 'c'"),
    "a variable that is not there": (
        ruled("old.a < 3"), "properties[spec].x-kubernetes-validations[0].rule", "undeclared reference to 'old'"),
    "a message expression that is none": (
        ruled("self.a < 3", messageExpression="'a"), "properties[spec].x-kubernetes-validations[0].messageExpression",
        "messageExpression compilation failed"),
    "a message of many lines": (
        ruled("self.a < 3", message="a\nb"), "properties[spec].x-kubernetes-validations[0].message",
        "must not contain line breaks"),
    "a rule of many lines without a message": (
        ruled("self.a <\n3"), "properties[spec].x-kubernetes-validations[0].message",
        "message must be specified if rule contains line breaks"),
    "a reason of one's own": (
        ruled("self.a < 3", reason="Because"), "properties[spec].x-kubernetes-validations[0].reason",
        'Unsupported value: "Because"'),
    "a path to nowhere": (
        ruled("self.a < 3", fieldPath=".c"), "properties[spec].x-kubernetes-validations[0].fieldPath",
        "fieldPath must be a valid path"),
    "a look back at items that cannot be told apart": (
        inside({"type": "array", "items": ruled("self == oldSelf", NUMBER)}),
        "properties[spec].properties[x].items.x-kubernetes-validations[0].rule",
        "oldSelf cannot be used on the uncorrelatable portion of the schema within "
        "spec.validation.openAPIV3Schema.properties[spec].properties[x]"),
    "a former self that may be missing": (
        ruled("oldSelf.a == 1", optionalOldSelf=True), "properties[spec].x-kubernetes-validations[0].optionalOldSelf",
        "does not know"),
    "a rule that gives a number": (
        ruled("self.a + 1"), "properties[spec].x-kubernetes-validations[0].rule",
        "cel expression must evaluate to a bool"),
    "a message that is a number": (
        ruled("self.a < 3", messageExpression="self.a"),
        "properties[spec].x-kubernetes-validations[0].messageExpression",
        "messageExpression must evaluate to a string"),
    "a rule that costs too much for one value, by the longest list that fits into a request": (
        inside(ruled("self.all(a, a > 0 && a < 9)", numbers())),
        "properties[spec].properties[x].x-kubernetes-validations[0].rule",
        "Forbidden: estimated rule cost exceeds budget by factor of 1.101004x"),
    "a rule that costs too much for as many values as fit into a request": (
        inside({"type": "array", "items": ruled("self.a * self.b < 9 && self.a > 1 && self.b > 1 || self.b == 0")}),
        "properties[spec].properties[x].items.x-kubernetes-validations[0].rule",
        "Forbidden: estimated rule cost exceeds budget by factor of 1.468006x (try simplifying the rule, or adding "
        "maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"),
    "a rule that is too deep": (
        ruled("self.a" + " + 1" * 300 + " > 5"), "properties[spec].x-kubernetes-validations[0].rule",
        "expression recursion limit exceeded"),
    "rules that are no list": (
        inside({"type": "array", "items": {**NUMBER, "x-kubernetes-validations": "self > 1"}}),
        "properties[spec].properties[x].items.x-kubernetes-validations", "must be a list of rules"),
}  # fmt: skip


@pytest.mark.real_time
@pytest.mark.parametrize(("spec", "where", "message"), REFUSED.values(), ids=REFUSED)
async def test_a_definition_is_refused_for(api: Api, spec: Obj, where: str, message: str) -> None:
    reply = await api.post(CRDS, definition(spec))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.body
    [cause] = reply.body["details"]["causes"]
    assert cause["field"] == f"spec.validation.openAPIV3Schema.{where}"
    assert message in cause["message"]


COSTLY = "self.a * self.b < 9 && self.a > 1 && self.b > 1"


async def test_a_limit_of_a_list_bounds_what_the_rules_of_its_items_cost(api: Api) -> None:
    assert (await api.post(CRDS, definition(inside({"type": "array", "items": ruled(COSTLY)})))).code == 422
    await api.made(CRDS, definition(inside({"type": "array", "maxItems": 700_000, "items": ruled(COSTLY)})))


async def test_the_limits_of_lists_in_lists_are_multiplied(api: Api) -> None:
    inner = {"type": "array", "maxItems": 1000, "items": ruled(COSTLY)}
    assert (await api.post(CRDS, definition(inside({"type": "array", "maxItems": 1000, "items": inner})))).code == 422
    assert (await api.post(CRDS, definition(inside({"type": "array", "maxItems": 500, "items": inner})))).code == 201


async def test_the_rules_of_a_definition_may_not_cost_too_much_together(api: Api) -> None:
    lists = {f"x{number}": {"type": "array", "items": ruled("self.a * self.b < 9")} for number in range(17)}
    reply = await api.post(CRDS, definition({"type": "object", "properties": lists}))
    *dear, total = reply.body["details"]["causes"]
    assert [each["message"] for each in dear] == 4 * [
        "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    ]
    assert total["field"] == "spec.validation.openAPIV3Schema"
    assert total["message"].startswith(
        "Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by "
        "factor of 1.069548x "
    )


@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_the_chart_installs_costs_too_little_to_be_refused(name: str) -> None:
    assert rule_causes(DEFINITIONS[name]["spec"]) == []


@pytest.mark.parametrize("name", ["jobs.batch.volcano.sh", "cronjobs.batch.volcano.sh", "jobtemplates.flow.volcano.sh"])
def test_the_rules_of_tasks_need_the_limit_of_their_list(name: str) -> None:
    text = orjson.dumps(DEFINITIONS[name]).replace(b'"maxItems":10000,', b"")
    [cause] = rule_causes(orjson.loads(text)["spec"])
    assert cause.field.endswith("properties[tasks].items.x-kubernetes-validations[1].rule")
    assert cause.message.startswith("Forbidden: estimated rule cost exceeds budget by factor of 1.363149x ")


async def test_versions_with_different_schemas_are_told_apart(api: Api) -> None:
    body = definition(ruled("self.a < 3"))
    [version] = body["spec"]["versions"]
    other = definition(ruled("self.nope < 3"))["spec"]["versions"][0]
    body["spec"]["versions"] = [version, {**other, "name": "v2", "storage": False}]
    [cause] = (await api.post(CRDS, body)).body["details"]["causes"]
    assert cause["field"].startswith("spec.versions[1].schema.openAPIV3Schema.properties[spec].")
