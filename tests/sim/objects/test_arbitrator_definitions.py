"""The definitions of Consumers, Allocations and buckets: fit for a real API server, and served by the embedded one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from tests.sim.api_client import CRDS, Api
from tests.support.kubectl import Kubectl
from vsched.apimachinery.cel.validation_rules import VARIABLES
from vsched.apimachinery.objects.crds import shipped_definitions
from vsched.cel import expressions as cel
from vsched.model.arbitration.records import ARBITRATOR_GROUP, ARBITRATOR_VERSION
from vsched.sim.cluster import Cluster, ClusterSettings
from vsched.sim.tables import jsonpath

Obj = dict[str, Any]
GROUP = f"/apis/{ARBITRATOR_VERSION}"
CONSUMERS = f"{GROUP}/namespaces/default/consumers"
DEFINITIONS = {each["spec"]["names"]["plural"]: each for each in shipped_definitions()}
OURS = ("allocations", "buckets", "consumers")


def schema_of(plural: str) -> Obj:
    schema: Obj = DEFINITIONS[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def consumer(name: str = "defaults", **spec: Any) -> Obj:
    return {"apiVersion": ARBITRATOR_VERSION, "kind": "Consumer", "metadata": {"name": name}, "spec": spec}


# -- what a real API server asks of a definition --------------------------------------------------------------------

FORBIDDEN = ("$ref", "definitions", "dependencies", "deprecated", "discriminator", "id", "patternProperties")
FORBIDDEN += ("readOnly", "writeOnly", "xml", "uniqueItems", "additionalItems", "$schema")
LOGICAL = ("anyOf", "oneOf", "allOf", "not")
STRUCTURE = ("default", "additionalProperties", "description", "title", "nullable", "type")
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def structural_problems(schema: Obj, path: str = "") -> Iterator[str]:
    """What keeps a schema from being structural."""
    yield from (f"{path}: {field} is forbidden" for field in FORBIDDEN if field in schema)
    union = schema.get("x-kubernetes-int-or-string", False)
    if union and schema.get("anyOf") != INT_OR_STRING:
        yield f"{path}: int-or-string needs the anyOf of integer and string"
    if not union and "type" not in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield f"{path}: a type is missing"
    if "properties" in schema and "additionalProperties" in schema:
        yield f"{path}: properties and additionalProperties exclude each other"
    for word in () if union else LOGICAL:
        within = schema.get(word, [])
        for each in within if isinstance(within, list) else [within]:
            yield from (f"{path}.{word}: {field} may not be within" for field in STRUCTURE if field in each)
    if schema.get("x-kubernetes-list-type") == "map":
        item = schema["items"]
        for key in schema["x-kubernetes-list-map-keys"]:
            if key not in item["required"] and "default" not in item["properties"][key]:
                yield f"{path}: key {key} may be missing"
    named = (schema.get("properties") or {}).get("metadata", METADATA)
    if not path and ("default" in schema or schema.get("nullable") or named != METADATA):
        yield "root: may have no default, not be null, and say nothing of metadata but its type"
    for name, below in (schema.get("properties") or {}).items():
        yield from structural_problems(below, f"{path}.{name}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            yield from structural_problems(schema[word], f"{path}.{word}")


METADATA: Obj = {"type": "object"}
LISTED: Obj = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
KEYLESS: Obj = {"type": "object", "required": [], "properties": {"k": {"type": "string"}}}
BENT: dict[str, tuple[Obj, str]] = {
    "a type that is missing": ({}, ".x: a type is missing"),
    "a forbidden field": ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ".x: uniqueItems is"),
    "a type within anyOf": ({"type": "string", "anyOf": [{"type": "string"}]}, ".x.anyOf: type may not be within"),
    "half an int-or-string": ({"x-kubernetes-int-or-string": True}, ".x: int-or-string needs"),
    "both kinds of properties": (
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}, ".x: properties and"),
    "a key that may be missing": ({**LISTED, "items": KEYLESS}, ".x: key k may be missing"),
}  # fmt: skip


@pytest.mark.parametrize(("bent", "problem"), BENT.values(), ids=BENT)
def test_the_checker_sees(bent: Obj, problem: str) -> None:
    [found] = structural_problems({"type": "object", "properties": {"x": bent}})
    assert found.startswith(problem)


def test_the_checker_sees_what_the_root_may_not_say() -> None:
    metadata = {"type": "object", "properties": {"name": {"type": "string"}}}
    for bent in ({"properties": {"metadata": metadata}}, {"default": {}}, {"nullable": True}):
        [found] = structural_problems({"type": "object", **bent})
        assert found.startswith("root: ")


@pytest.mark.parametrize("plural", DEFINITIONS)
def test_every_shipped_schema_is_structural(plural: str) -> None:
    assert list(structural_problems(schema_of(plural))) == []


@pytest.mark.parametrize("plural", OURS)
def test_the_names_fit_and_the_group_is_marked(plural: str) -> None:
    definition = DEFINITIONS[plural]
    spec, names = definition["spec"], definition["spec"]["names"]
    assert definition["metadata"]["name"] == f"{plural}.{ARBITRATOR_GROUP}"
    assert definition["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("unapproved")
    assert (spec["group"], names["listKind"], names["singular"]) == (
        ARBITRATOR_GROUP, f"{names['kind']}List", names["kind"].lower())  # fmt: skip
    assert spec["scope"] == ("Cluster" if plural == "buckets" else "Namespaced")
    [version] = spec["versions"]
    assert (version["name"], version["subresources"]) == ("v1", {"status": {}})
    assert all(jsonpath.parse(column["jsonPath"]) for column in version["additionalPrinterColumns"])


@pytest.mark.parametrize("plural", ["buckets", "consumers"])
def test_the_rules_stand_on_one_line_and_look_at_no_former_value(plural: str) -> None:
    spec = schema_of(plural)["properties"]["spec"]
    compiled = [cel.compiled(rule["rule"], VARIABLES) for rule in spec["x-kubernetes-validations"]]
    assert all("oldSelf" not in each.names for each in compiled)
    assert all("\n" not in rule["rule"] for rule in spec["x-kubernetes-validations"])


def test_the_rules_of_consumers_and_buckets_are_the_same() -> None:
    one, other = (schema_of(plural)["properties"]["spec"] for plural in ("consumers", "buckets"))
    assert one["x-kubernetes-validations"] == other["x-kubernetes-validations"]
    for name in ("hard", "reserved"):
        same = ("maxProperties", "additionalProperties", "type")
        assert [one["properties"][name][field] for field in same] == [
            other["properties"][name][field] for field in same
        ]


# -- what the embedded cluster makes of them ------------------------------------------------------------------------

TAKEN: dict[str, Obj] = {
    "nothing at all": {},
    "a limit": {"hard": {"requests.cpu": "1", "limits.memory": "2Gi"}},
    "a reservation without a limit": {"reserved": {"cpu": 2, "nvidia.com/gpu": "4"}},
    "all that may be held": {"hard": {"cpu": "1500m"}, "reserved": {"cpu": "1.5"}},
    "a number within a text": {"hard": {"pods": "10"}, "reserved": {"pods": 10}},
    "less, in other units": {"hard": {"memory": "1Gi"}, "reserved": {"memory": "1073741823"}},
    "limits and requests, which are different things": {"hard": {"limits.cpu": "1"}, "reserved": {"cpu": "2"}},
    "a parent and a weight": {"parent": "big-data.example", "weight": 3},
    "storage of one class": {"hard": {"fast.storageclass.storage.k8s.io/requests.storage": "1Ti"}},
}


@pytest.mark.parametrize("spec", TAKEN.values(), ids=TAKEN)
async def test_a_consumer_may_ask_for(api: Api, spec: Obj) -> None:
    assert (await api.made(CONSUMERS, consumer(**spec)))["spec"] == spec


REFUSED: dict[str, tuple[Obj, str, str]] = {
    "more cpu than may be held": (
        {"hard": {"cpu": 1}, "reserved": {"cpu": "1001m"}}, "spec.reserved", "reserved cpu is more than hard cpu"),
    "more cpu, by its other name": (
        {"hard": {"cpu": "1"}, "reserved": {"requests.cpu": 2}}, "spec.reserved", "reserved cpu is more than hard cpu"),
    "more memory, by its other name": (
        {"hard": {"requests.memory": "1Gi"}, "reserved": {"memory": "1025Mi"}}, "spec.reserved", "reserved memory is"),
    "more storage": (
        {"hard": {"requests.storage": "1Gi"}, "reserved": {"storage": "2Gi"}}, "spec.reserved", "reserved storage is"),
    "more scratch space": (
        {"hard": {"ephemeral-storage": "1"}, "reserved": {"requests.ephemeral-storage": "2"}},
        "spec.reserved", "reserved ephemeral-storage is"),
    "more of something else": (
        {"hard": {"cpu": 5, "x.io/gpu": 1}, "reserved": {"cpu": 1, "x.io/gpu": "2"}},
        "spec.reserved", "other than cpu, memory and storage"),
    "a debt": ({"hard": {"cpu": -1}}, "spec.hard.cpu", "greater than or equal to 0"),
    "a debt in words": ({"hard": {"cpu": "-1"}}, "spec.hard.cpu", "should match"),
    "no quantity": ({"reserved": {"cpu": "lots"}}, "spec.reserved.cpu", "should match"),
    "a fraction as a number": ({"reserved": {"cpu": 1.5}}, "spec.reserved.cpu", "must be of type integer,string"),
    "no weight": ({"weight": 0}, "spec.weight", "greater than or equal to 1"),
    "a parent that is no name": ({"parent": "Big Data"}, "spec.parent", "should match"),
    "too many reservations": (
        {"reserved": {f"x.io/r{i}": 1 for i in range(16)}}, "spec.reserved", "at most 15 properties"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "where", "message"), REFUSED.values(), ids=REFUSED)
async def test_a_consumer_is_refused_for(api: Api, spec: Obj, where: str, message: str) -> None:
    reply = await api.post(CONSUMERS, consumer(**spec))
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.body
    cause = reply.body["details"]["causes"][0]
    assert cause["field"] == where
    assert message in cause["message"]


async def test_a_bucket_has_a_weight_and_the_rules_of_a_consumer(api: Api) -> None:
    bucket = {"apiVersion": ARBITRATOR_VERSION, "kind": "Bucket", "metadata": {"name": "service"}}
    made = await api.made(f"{GROUP}/buckets", {**bucket, "spec": {"reserved": {"cpu": 2}}})
    assert made["spec"] == {"reserved": {"cpu": 2}, "weight": 1}
    reply = await api.patch(f"{GROUP}/buckets/service", {"spec": {"hard": {"requests.cpu": "1"}}})
    assert "reserved cpu is more than hard cpu" in reply.message


async def test_the_columns_show_what_is_deserved_and_whether_it_is_overused(api: Api) -> None:
    path = f"{GROUP}/namespaces/default/allocations"
    spec = {"deserved": {"cpu": "1500m", "memory": "2Gi"}, "hard": {}, "reserved": {}}
    await api.made(
        path, {"apiVersion": ARBITRATOR_VERSION, "kind": "Allocation", "metadata": {"name": "a"}, "spec": spec}
    )
    condition = {
        "type": "Overused",
        "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "message": "holds 500m cpu more than it deserves",
    }
    status = {"allocated": {"cpu": 2, "memory": "1Gi"}, "conditions": [condition]}
    assert (await api.patch(f"{path}/a/status", {"status": status})).body["status"] == status
    table = (await api.get(path, Accept="application/json;as=Table;v=v1;g=meta.k8s.io")).body
    names = [column["name"] for column in table["columnDefinitions"]]
    row = dict(zip(names, table["rows"][0]["cells"], strict=True))
    row.pop("Age")
    assert row == {
        "Name": "a",
        "Deserved-CPU": "1500m",
        "Allocated-CPU": "2",
        "Deserved-Memory": "2Gi",
        "Allocated-Memory": "1Gi",
        "Overused": "True",
        "Message": "holds 500m cpu more than it deserves",
    }


async def test_whoever_applies_the_same_definitions_again_changes_nothing(api: Api) -> None:
    for plural in OURS:
        path = f"{CRDS}/{DEFINITIONS[plural]['metadata']['name']}"
        before = (await api.get(path)).body
        query = "fieldManager=helm&fieldValidation=Strict"
        reply = await api.request(
            "PATCH", f"{path}?{query}", DEFINITIONS[plural], Content_Type="application/apply-patch+yaml"
        )
        assert reply.code == 200, reply.body
        assert reply.body["spec"] == before["spec"]
        assert reply.body["metadata"]["generation"] == before["metadata"]["generation"]


@pytest.mark.real_time
@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on the PATH")
async def test_kubectl_shows_consumers_and_applies_the_files(tmp_path: Path) -> None:
    async with Cluster(0, settings=ClusterSettings(controllers=None)) as cluster:
        cluster.write_kubeconfig(tmp_path / "config")
        kubectl = Kubectl(tmp_path)
        spec = {"parent": "service", "reserved": {"cpu": 2, "memory": "1Gi"}}
        await kubectl("apply", "-f", "-", given=json.dumps(consumer(**spec)))
        shown = (await kubectl("get", "cons")).splitlines()
        assert shown[0].split() == ["NAME", "PARENT", "RESERVED-CPU", "RESERVED-MEMORY", "ACCEPTED", "AGE"]
        assert shown[1].split()[:4] == ["defaults", "service", "2", "1Gi"]
        folder = Path(str(resources.files("vsched.apimachinery.objects.definitions")))
        files = [f"-f={folder / plural}.yaml" for plural in OURS]
        applied = await kubectl("apply", "--server-side", *files)
        assert applied.count("serverside-applied") == 3
