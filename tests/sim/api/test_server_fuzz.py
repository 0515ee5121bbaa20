"""Whatever is sent, the answer is an answer: no body may break the server, only be refused."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sim.api_client import APPLY, CRDS, JSON_PATCH, MERGE, PODS, SCHEDULING, STRATEGIC, pod, queue
from tests.sim.definitions import definition
from tests.support.examples import examples
from vsched.apimachinery.meta.api_errors import Failure
from vsched.sim.api.routes import Router
from vsched.sim.bootstrap import seed
from vsched.sim.requests.request import ApiRequest
from vsched.sim.store.store import Store
from vsched.sim.writer import ObjectWriter

Obj = dict[str, Any]
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
SELECTOR = {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
RICH = {
    "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}],
    "nodeSelector": {"a": "b"},
    "priorityClassName": "system-node-critical",
    "schedulingGates": [{"name": "g"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}]
            }
        },
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", "labelSelector": SELECTOR}]
        },
    },
    "volumes": [{"name": "v", "emptyDir": {}}],
    "initContainers": [{"name": "i", "image": "i", "ports": [{"containerPort": 80}]}],
}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}
NAMESPACE = "/namespaces/default"
BODIES: list[tuple[str, Obj]] = [
    (PODS, pod("new", labels={"a": "b"}, annotations={"c": "d"}, finalizers=["a.b/c"], ownerReferences=[OWNER])),
    (PODS, pod("rich", spec=RICH)),
    ("/api/v1/nodes", {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}),
    (
        f"/api/v1{NAMESPACE}/resourcequotas",
        {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "1", "volcano.sh/namespace.weight": 1}}},
    ),
    (
        f"/api/v1{NAMESPACE}/services",
        {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}}},
    ),
    (
        f"/api/v1{NAMESPACE}/events",
        {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "source": {}, "count": 1},
    ),
    (
        f"/apis/apps/v1{NAMESPACE}/deployments",
        {"metadata": {"name": "d"}, "spec": {"selector": SELECTOR, "template": TEMPLATE, "replicas": 1}},
    ),
    (f"/apis/batch/v1{NAMESPACE}/jobs", {"metadata": {"name": "j"}, "spec": {"template": TEMPLATE}}),
    (
        f"/apis/policy/v1{NAMESPACE}/poddisruptionbudgets",
        {"metadata": {"name": "p"}, "spec": {"minAvailable": "50%", "selector": SELECTOR}},
    ),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "c"}, "value": 5}),
    (f"/apis/coordination.k8s.io/v1{NAMESPACE}/leases", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}}),
    (f"{SCHEDULING}/queues", queue("q", weight=1, capability={"cpu": "1"}, affinity={"nodeGroupAffinity": {}})),
    (CRDS, definition(annotations={"a": "b"})),
    (f"{PODS}/old/binding", {"metadata": {"name": "old"}, "target": {"kind": "Node", "name": "n"}}),
    (f"{PODS}/old/eviction", {"metadata": {"name": "old"}, "deleteOptions": {"gracePeriodSeconds": 1}}),
]
VALUES: list[Any] = [None, True, -1, 1 << 70, 1.5, "", "x", "a/b", "50%", [], ["x"], [None], [{}], {}, {"x": None}]


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a value, but not the value itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, item in items:
        found += [(*path, key), *paths_of(item, (*path, key))]
    return found


def damaged(body: Obj, path: tuple[Any, ...], value: Any) -> Obj:
    result = copy.deepcopy(body)
    target: Any = result
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return result


def answer(router: Router, method: str, path: str, body: Any, media: str = "application/json") -> int:
    call = ApiRequest(method, path, {"fieldManager": "m"}, "", media, "fuzz", json.dumps(body).encode())
    try:
        return getattr(router.answer(call), "code", 200)
    except Failure as failure:
        return failure.code


@pytest.fixture(scope="module")
def router() -> Router:
    """One for all: what a damaged body may do to the next one is part of the question."""
    writer = ObjectWriter(Store(), seed=1)
    seed(writer)
    router = Router(writer)
    assert answer(router, "POST", PODS, pod("old", labels={"a": "b"})) == 201
    return router


@pytest.mark.parametrize(("path", "body"), BODIES, ids=[path for path, _ in BODIES])
def test_a_damaged_body_is_taken_or_refused(router: Router, path: str, body: Obj) -> None:
    for where in paths_of(body):
        for value in VALUES:
            answer(router, "POST", path, damaged(body, where, value))


@pytest.mark.parametrize(("path", "body"), BODIES[:13], ids=[path for path, _ in BODIES[:13]])
def test_a_damaged_patch_is_taken_or_refused(router: Router, path: str, body: Obj) -> None:
    answer(router, "POST", path, body)
    target = f"{path}/{body['metadata']['name']}"
    for number, where in enumerate(paths_of(body)):
        pointer = "/" + "/".join(str(step).replace("/", "~1") for step in where)
        for value in VALUES[number % 3 :: 3]:
            for media in (MERGE, STRATEGIC, APPLY):
                answer(router, "PATCH", target, damaged(body, where, value), media)
            for operation in ("add", "remove"):
                patch = [{"op": operation, "path": pointer, "value": value}]
                answer(router, "PATCH", target, patch, JSON_PATCH)
                answer(router, "PATCH", f"{target}/status", patch, JSON_PATCH)
            answer(router, "PUT", target, damaged(body, where, value))


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.text(alphabet="/abcdefipstv1.%", max_size=40)
    | st.sampled_from([PODS, f"{PODS}/old", "/apis", "/openapi/v3"]),
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]),
    query=st.dictionaries(
        st.sampled_from(["limit", "continue", "watch", "resourceVersion", "resourceVersionMatch", "labelSelector"]),
        st.sampled_from(["", "1", "0", "-1", "x", "Exact", "eyJ2IjoxfQ", "a=b", "é"]),
    ),
    body=st.sampled_from([b"", b"{}", b"[]", b"\xff", b"k8s\0", b"null"]),
    media=st.sampled_from(["", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "x"]),
)
def test_any_request_has_an_answer(
    router: Router, path: str, method: str, query: dict[str, str], body: bytes, media: str
) -> None:
    with suppress(Failure):
        router.answer(ApiRequest(method, path, query, "", media, "fuzz", body))
