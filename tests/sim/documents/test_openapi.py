"""The OpenAPI documents: what kubectl looks for in them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.support.builtin_kinds import WIDGET
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.sim.documents import openapi

Obj = dict[str, Any]


@pytest.fixture(scope="module")
def registry() -> KindRegistry:
    registry = KindRegistry()
    registry.add(WIDGET)
    return registry


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return found.union(*(_references(inner) for inner in value.values()))
    if isinstance(value, list):
        return set().union(*(_references(inner) for inner in value))
    return set()


def test_the_index_lists_every_group_version(registry: KindRegistry) -> None:
    paths = openapi.index(registry)["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/example.com/v1"} <= paths.keys()
    assert paths["api/v1"]["serverRelativeURL"].startswith("/openapi/v3/api/v1?hash=")


def test_the_hash_of_a_group_changes_with_its_schemas(registry: KindRegistry) -> None:
    before = openapi.index(KindRegistry())["paths"]
    after = openapi.index(registry)["paths"]
    assert before["api/v1"] == after["api/v1"]
    assert "apis/example.com/v1" not in before


def test_every_reference_of_every_document_leads_somewhere(registry: KindRegistry) -> None:
    for group, version in {(kind.group, kind.version) for kind in registry}:
        document = openapi.document(registry, group, version)
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        missing = _references({key: document[key] for key in ("paths", "components")}) - known
        assert {one for one in missing if one.startswith("#/")} == set(), group
        assert orjson.dumps(document)


def test_an_operation_says_which_parameters_it_takes(registry: KindRegistry) -> None:
    paths = openapi.document(registry, "", "v1")["paths"]
    patch = paths["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert patch["x-kubernetes-action"] == "patch"
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "kind": "Pod", "version": "v1"}
    assert {"dryRun", "fieldValidation"} <= {parameter["name"] for parameter in patch["parameters"]}
    assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
    eviction = paths["/api/v1/namespaces/{namespace}/pods/{name}/eviction"]["post"]
    assert eviction["x-kubernetes-group-version-kind"] == {"group": "policy", "kind": "Eviction", "version": "v1"}


def test_custom_kinds_take_no_strategic_patch(registry: KindRegistry) -> None:
    document = openapi.document(registry, "example.com", "v1")
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["x-kubernetes-group-version-kind"] == [{"group": "example.com", "kind": "Widget", "version": "v1"}]
    assert "spec" in schema["properties"]


def test_lists_say_how_they_merge(registry: KindRegistry) -> None:
    schemas = openapi.document(registry, "", "v1")["components"]["schemas"]
    spec = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert spec["containers"]["x-kubernetes-patch-merge-key"] == "name"
    assert spec["containers"]["x-kubernetes-list-map-keys"] == ["name"]
    assert spec["volumes"]["x-kubernetes-patch-strategy"] == "merge,retainKeys"
    assert spec["tolerations"]["x-kubernetes-list-type"] == "atomic"
    assert schemas["io.k8s.api.core.v1.PodSpec"]["required"] == ["containers"]


def test_the_older_document_has_the_definitions(registry: KindRegistry) -> None:
    document = openapi.swagger(registry)
    known = {f"#/definitions/{name}" for name in document["definitions"]}
    assert "io.k8s.api.apps.v1.Deployment" in document["definitions"]
    assert {one for one in _references(document["definitions"]) if one.startswith("#/")} <= known
