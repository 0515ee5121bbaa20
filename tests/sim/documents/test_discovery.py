"""What clients are told is served."""

from __future__ import annotations

import pytest

from tests.support.builtin_kinds import WIDGET
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.sim.documents import discovery

_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_V2_BETA = _V2.replace("v=v2", "v=v2beta1")
_ACCEPT = {
    "what kubectl sends": (f"{_V2},{_V2_BETA},application/json", True),
    "what older clients send": (f"{_V2_BETA},application/json", False),
    "plain JSON": ("application/json", False),
    "plain JSON first": (f"application/json,{_V2}", False),
    "anything": ("*/*", False),
    "nothing": ("", False),
    "protobuf first": (f"application/vnd.kubernetes.protobuf;v=v2,{_V2}", True),
}


@pytest.mark.parametrize(("accept", "expected"), _ACCEPT.values(), ids=_ACCEPT)
def test_who_gets_the_aggregated_form(accept: str, expected: bool) -> None:
    assert discovery.wants_aggregated(accept) is expected


def test_evictions_are_found_where_drain_looks_for_them() -> None:
    listed = discovery.resources(KindRegistry(), "", "v1")
    by_name = {row["name"]: row for row in listed["resources"]}
    assert by_name["pods/eviction"] == {
        "name": "pods/eviction", "singularName": "", "namespaced": True, "group": "policy", "version": "v1",
        "kind": "Eviction", "verbs": ["create"],
    }  # fmt: skip
    assert by_name["pods/binding"]["kind"] == "Binding"
    assert by_name["pods"]["storageVersionHash"] == "xPOwRZ+Yhw8="
    assert [row["name"] for row in listed["resources"]] == sorted(by_name)
    assert (listed["groupVersion"], "apiVersion" in listed) == ("v1", False)


def test_groups_name_their_preferred_version() -> None:
    registry = KindRegistry()
    groups = {group["name"]: group for group in discovery.group_list(registry)["groups"]}
    assert "" not in groups
    assert groups["autoscaling"]["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}


def test_the_aggregated_form_has_everything_in_one() -> None:
    registry = KindRegistry()
    registry.add(WIDGET)
    (core,) = discovery.aggregated(registry, core=True)["items"]
    pods = next(row for row in core["versions"][0]["resources"] if row["resource"] == "pods")
    kinds = {sub["subresource"]: sub["responseKind"] for sub in pods["subresources"]}
    assert kinds["binding"] == {"group": "", "version": "", "kind": "Binding"}
    assert kinds["eviction"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert kinds["status"] == {"group": "", "version": "v1", "kind": "Pod"}
    names = [item["metadata"]["name"] for item in discovery.aggregated(registry, core=False)["items"]]
    assert "example.com" in names
