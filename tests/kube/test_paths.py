"""Paths of kinds, objects and subresources."""

from __future__ import annotations

import pytest

from vsched.errors import BadInput
from vsched.kube.paths import ApiResource, target, verb_of

PODS = ApiResource("", "v1", "pods")
NODES = ApiResource("", "v1", "nodes", namespaced=False)
QUEUES = ApiResource("scheduling.volcano.sh", "v1beta1", "queues", namespaced=False)
GROUPS = ApiResource("scheduling.volcano.sh", "v1beta1", "podgroups")

PATHS = {
    "pods of all namespaces": (PODS, (), "/api/v1/pods"),
    "pods of one namespace": (PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
    "one pod": (PODS, ("ns", "p"), "/api/v1/namespaces/ns/pods/p"),
    "the binding of a pod": (PODS, ("ns", "p", "binding"), "/api/v1/namespaces/ns/pods/p/binding"),
    "one node": (NODES, ("", "n"), "/api/v1/nodes/n"),
    "the status of a queue": (
        QUEUES,
        ("", "q", "status"),
        "/apis/scheduling.volcano.sh/v1beta1/queues/q/status",
    ),
    "one group": (GROUPS, ("ns", "g"), "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups/g"),
    "a name that needs quoting": (NODES, ("", "a/b?c d"), "/api/v1/nodes/a%2Fb%3Fc%20d"),
    "a name with a colon": (NODES, ("", "system:a"), "/api/v1/nodes/system:a"),
}


@pytest.mark.parametrize(("resource", "parts", "path"), PATHS.values(), ids=PATHS)
def test_paths(resource: ApiResource, parts: tuple[str, ...], path: str) -> None:
    assert resource.path(*parts) == path


REFUSED = {
    "a namespace for nodes": (NODES, ("ns",), "have no namespace"),
    "a pod without a namespace": (PODS, ("", "p"), "without its namespace"),
    "a subresource of nothing": (PODS, ("ns", "", "status"), "needs the name"),
    "a name that walks away": (NODES, ("", ".."), "is not the name"),
}


@pytest.mark.parametrize(("resource", "parts", "text"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_path_is_refused(resource: ApiResource, parts: tuple[str, ...], text: str) -> None:
    with pytest.raises(BadInput, match=text):
        resource.path(*parts)


def test_names_of_groups_and_versions() -> None:
    assert (PODS.api_version, str(PODS)) == ("v1", "pods")
    assert (GROUPS.api_version, str(GROUPS)) == ("scheduling.volcano.sh/v1beta1", "podgroups.scheduling.volcano.sh")


def test_queries_are_quoted() -> None:
    assert target("/p", {"labelSelector": "a=b,c"}) == "/p?labelSelector=a%3Db%2Cc"
    assert target("/p") == "/p"


VERBS = {
    "a list of all namespaces": ("GET", "/api/v1/pods?limit=500", "LIST"),
    "a list of one namespace": ("GET", "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups", "LIST"),
    "a list of namespaces": ("GET", "/api/v1/namespaces", "LIST"),
    "one namespace": ("GET", "/api/v1/namespaces/ns", "GET"),
    "one object": ("GET", "/apis/coordination.k8s.io/v1/namespaces/ns/leases/vsched", "GET"),
    "one object without a namespace": ("GET", "/api/v1/nodes/n1", "GET"),
    "a subresource": ("GET", "/api/v1/namespaces/ns/pods/p/status", "GET"),
    "discovery": ("GET", "/apis/scheduling.volcano.sh/v1beta1", "GET"),
    "the version": ("GET", "/version", "GET"),
    "a creation": ("POST", "/api/v1/pods", "POST"),
}


@pytest.mark.parametrize(("method", "path", "verb"), VERBS.values(), ids=VERBS)
def test_verbs_that_requests_are_counted_under(method: str, path: str, verb: str) -> None:
    assert verb_of(method, path) == verb
