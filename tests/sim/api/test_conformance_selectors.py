"""What selectors take and what they refuse, word for word."""

from __future__ import annotations

import pytest

from tests.sim.api_client import CRDS, PODS, SCHEDULING, Api
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.kinds import KindRegistry
from vsched.apimachinery.meta.label_selectors import parse_labels
from vsched.sim.store.selectors import selector_for

REGISTRY = KindRegistry()
PREFIX = "unable to parse requirement: "
NOT_LABELS = {
    "a===b": PREFIX + "found '=', expected: identifier",
    "a in": PREFIX + "found '' expected: '('",
    "a in b": PREFIX + "found 'b' expected: '('",
    "a in (b": PREFIX + "found '', expected: ',' or ')'",
    "a in (b c)": PREFIX + "found 'c', expected: ',' or ')'",
    "a in (": PREFIX + "found '', expected: ',', ')' or identifier",
    "a in (=)": PREFIX + "found '=', expected: ',', ')' or identifier",
    "a b": PREFIX + "found 'b', expected: in, notin, =, ==, !=, gt, lt",
    "a>b": PREFIX + "values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
    "!": PREFIX + "found '', expected: identifier",
    "=b": "found '=', expected: !, identifier, or 'end of string'",
    "()": "found '(', expected: !, identifier, or 'end of string'",
    ",a": "found ',', expected: !, identifier, or 'end of string'",
    "a=b,": "found '', expected: identifier after ','",
    "a,,b": "found ',', expected: identifier after ','",
    "a=b=c": "found '=', expected: ',' or 'end of string'",
    "!a=b": "found '=', expected: ',' or 'end of string'",
}


@pytest.mark.parametrize(("text", "why"), NOT_LABELS.items(), ids=NOT_LABELS)
def test_a_label_selector_is_refused_with_the_words_of_the_server(text: str, why: str) -> None:
    with pytest.raises(Failure) as refusal:
        parse_labels(text)
    assert (refusal.value.code, refusal.value.reason, refusal.value.message) == (400, "BadRequest", why)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("-a", '<nil>: Invalid value: "-a": name part must consist of alphanumeric characters'),
        ("a=b@c", 'values[0][a]: Invalid value: "b@c": a valid label must be an empty string or consist of'),
        ("a in (b,c@)", 'values[1][a]: Invalid value: "c@": a valid label'),
    ],
    ids=["a key", "a value", "a value in a list"],
)
def test_names_in_a_label_selector_are_checked(text: str, start: str) -> None:
    with pytest.raises(Failure) as refusal:
        parse_labels(text)
    assert refusal.value.message.startswith(PREFIX + start)


MATCHES = {
    "a in ()": {"": True, "x": False, None: False},
    "a notin ()": {"": False, "x": True, None: True},
    "a in (,x)": {"": True, "x": True, "y": False},
    "a in (in,notin)": {"in": True, "x": False},
    "in": {None: False},
    "a=": {"": True, "x": False, None: False},
    " a , !b ": {"x": True, None: False},
    "a>2": {"3": True, "2": False, "x": False, None: False},
    "a==x": {"x": True, "y": False},
}


@pytest.mark.parametrize(("text", "values"), MATCHES.items(), ids=MATCHES)
def test_a_label_selector_matches(text: str, values: dict[str | None, bool]) -> None:
    selector = selector_for(REGISTRY.resource("pods"), text, "")
    assert selector is not None
    for value, expected in values.items():
        labels = {} if value is None else {"a": value}
        assert selector.matches({"metadata": {"labels": labels}}) is expected, value


POD_FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
              "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.podIPs",
              "status.nominatedNodeName")  # fmt: skip
EVENT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
SUPPORTED = {
    "/api/v1/pods": POD_FIELDS,
    "/api/v1/nodes": ("metadata.name", "spec.unschedulable"),
    "/api/v1/namespaces": ("metadata.name", "status.phase"),
    "/api/v1/events": (*(f"involvedObject.{one}" for one in EVENT_FIELDS), "reason", "reportingComponent", "source",
                       "type", "metadata.name", "metadata.namespace"),
    "/apis/events.k8s.io/v1/events": (*(f"regarding.{one}" for one in EVENT_FIELDS), "reason", "reportingController",
                                      "metadata.name"),
    "/apis/coordination.k8s.io/v1/leases": ("metadata.name", "metadata.namespace"),
    f"{SCHEDULING}/queues": ("metadata.name",),
    f"{SCHEDULING}/podgroups": ("metadata.name", "metadata.namespace"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "fields"), SUPPORTED.items(), ids=SUPPORTED)
async def test_every_supported_field(api: Api, path: str, fields: tuple[str, ...]) -> None:
    for field in fields:
        reply = await api.get(f"{path}?fieldSelector={field}%3Dnobody")
        assert (reply.code, reply.body.get("items")) == (200, []), field


PLAIN = 'is not a known field selector: only "metadata.name", "metadata.namespace"'
UNSUPPORTED = [
    ("/api/v1/pods", "spec.nope", "field label not supported: spec.nope"),
    ("/api/v1/nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
    ("/api/v1/namespaces", "x", "field label not supported: x"),
    ("/api/v1/events", "regarding.name", "field label not supported: regarding.name"),
    ("/apis/events.k8s.io/v1/events", "involvedObject.name", "field label not supported: involvedObject.name"),
    ("/apis/events.k8s.io/v1/events", "source", "field label not supported: source"),
    ("/apis/coordination.k8s.io/v1/leases", "x", f'"x" {PLAIN}'),
    ("/apis/policy/v1/poddisruptionbudgets", "x", f'"x" {PLAIN}'),
    ("/api/v1/configmaps", "data.x", f'"data.x" {PLAIN}'),
    (CRDS, "x", f'"x" {PLAIN}'),
    (f"{SCHEDULING}/queues", "metadata.namespace", "field label not supported: metadata.namespace"),
    (f"{SCHEDULING}/queues", "spec.weight", "field label not supported: spec.weight"),
]


@pytest.mark.parametrize(("path", "field", "why"), UNSUPPORTED, ids=[f"{p} {f}" for p, f, _ in UNSUPPORTED])
async def test_any_other_field_is_refused(api: Api, path: str, field: str, why: str) -> None:
    for query in ("", "watch=1&"):
        reply = await api.get(f"{path}?{query}fieldSelector={field}%3D1")
        assert (reply.code, reply.reason, reply.message) == (400, "BadRequest", why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a=b", "invalid selector: 'metadata.name=a=b'; can't understand 'metadata.name=a=b'"),
        ("z=1,a=1", "field label not supported: a"),
    ],
    ids=["no operator", "two operators", "the first in order"],
)
async def test_a_field_selector_that_is_none(api: Api, text: str, why: str) -> None:
    reply = await api.get(f"{PODS}?fieldSelector={text.replace('=', '%3D')}")
    assert (reply.code, reply.message) == (400, why)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.nodeName=", ["a"]),
        ("spec.nodeName!=", ["b"]),
        ("spec.nodeName==n1,status.phase=Pending", ["b"]),
        ("metadata.name!=a,metadata.namespace=default", ["b"]),
        ("spec.hostNetwork=false", ["a", "b"]),
        ("", ["a", "b"]),
    ],
)
async def test_operators_of_field_selectors(api: Api, selector: str, names: list[str]) -> None:
    await api.pod("a")
    await api.pod("b", bound=True)
    encoded = selector.replace("=", "%3D").replace("!", "%21")
    assert (await api.get(f"{PODS}?fieldSelector={encoded}")).names() == names


async def test_a_field_selector_on_one_object_is_ignored(api: Api) -> None:
    await api.pod("a")
    assert (await api.get(f"{PODS}/a?fieldSelector=nonsense")).code == 200


async def test_the_source_of_an_event_may_be_its_reporting_controller(api: Api) -> None:
    events = "/api/v1/namespaces/default/events"
    about = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"}}
    await api.made(events, {"metadata": {"name": "a"}, **about, "source": {"component": "x"}})
    await api.made(events, {"metadata": {"name": "b"}, **about, "reportingComponent": "x"})
    assert (await api.get(f"{events}?fieldSelector=source%3Dx")).names() == ["a", "b"]
