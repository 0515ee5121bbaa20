"""What the server says about itself."""

from __future__ import annotations

import pytest

from tests.sim.api_client import CRDS, Api
from tests.sim.definitions import definition

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
async def test_it_is_well(api: Api, path: str) -> None:
    assert (await api.get(path)).body == "ok"
    assert "check passed" in (await api.get("/readyz?verbose")).body


async def test_version_and_groups(api: Api) -> None:
    assert (await api.get("/version")).body["minor"] == "36"
    assert (await api.get("/api")).body["versions"] == ["v1"]
    groups = {group["name"] for group in (await api.get("/apis")).body["groups"]}
    assert {"apps", "batch", "scheduling.volcano.sh", "resource.k8s.io"} <= groups
    assert (await api.get("/apis/autoscaling")).body["preferredVersion"]["version"] == "v2"


async def test_evictions_are_found_in_the_list_of_core_resources(api: Api) -> None:
    resources = {each["name"]: each for each in (await api.get("/api/v1")).body["resources"]}
    assert resources["pods/eviction"] == {
        "name": "pods/eviction",
        "singularName": "",
        "namespaced": True,
        "group": "policy",
        "version": "v1",
        "kind": "Eviction",
        "verbs": ["create"],
    }


async def test_the_aggregated_form_is_served_to_those_who_ask_for_it(api: Api) -> None:
    assert (await api.get("/apis", Accept=AGGREGATED)).body["kind"] == "APIGroupDiscoveryList"
    beta = AGGREGATED.replace("v=v2", "v=v2beta1")
    assert (await api.get("/apis", Accept=beta)).body["kind"] == "APIGroupList"


async def test_discovery_and_openapi_follow_the_definitions(api: Api) -> None:
    before = (await api.get("/openapi/v3")).body["paths"]
    await api.made(CRDS, definition())
    after = (await api.get("/openapi/v3")).body["paths"]
    assert after.keys() - before.keys() == {"apis/example.com/v1", "apis/example.com/v2"}
    assert "Thing" in str((await api.get("/openapi/v3/apis/example.com/v1")).body["components"]["schemas"])
    assert (await api.get("/apis/example.com/v1")).code == 200
    await api.delete(f"{CRDS}/things.example.com")
    assert (await api.get("/apis/example.com/v1")).code == 404


@pytest.mark.parametrize("path", ["/nope", "/apis/nope", "/apis/apps/v9", "/openapi/v3/apis/nope/v1", "/readyz/nope"])
async def test_other_paths_are_not_found(api: Api, path: str) -> None:
    assert (await api.get(path)).code == 404
