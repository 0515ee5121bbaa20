"""Creating pods: what the API server fills in, what it ignores, and the words it refuses with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import PODS, Api

Obj = dict[str, Any]
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'


def bare(name: str = "a", *, metadata: Obj | None = None, **spec: Any) -> Obj:
    """A pod of one container that says nothing it need not."""
    return {
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }


def asking(requests: Any = None, limits: Any = None) -> Obj:
    given = {"requests": requests, "limits": limits}
    resources = {key: value for key, value in given.items() if value is not None}
    return bare(containers=[{"name": "c", "image": "i", "resources": resources}])


async def test_a_bare_pod_has_exactly_these_fields(api: Api) -> None:
    made = await api.made(PODS, bare())
    assert set(made["metadata"]) == {
        "name", "namespace", "uid", "creationTimestamp", "generation", "resourceVersion",
    }  # fmt: skip
    tolerated = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    assert made["spec"] == {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "imagePullPolicy": "Always",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": tolerated,
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_what_only_the_server_says_is_ignored_in_a_body(api: Api) -> None:
    moment = "2020-01-01T00:00:00Z"
    said = {
        "uid": "x",
        "generation": 7,
        "selfLink": "/x",
        "creationTimestamp": moment,
        "deletionTimestamp": moment,
        "deletionGracePeriodSeconds": 5,
    }
    made = await api.made(PODS, {**bare(metadata=said), "status": {"phase": "Running", "podIP": "1.2.3.4"}})
    metadata = made["metadata"]
    assert metadata["generation"] == 1
    assert metadata["uid"] != "x"
    assert metadata["creationTimestamp"] != moment
    assert not metadata.keys() & {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


@pytest.mark.parametrize(
    ("version", "code"),
    [("5", 500), ("0", 201), ("abc", 201)],
    ids=["a version is refused", "zero is none", "what is no number is none"],
)
async def test_a_new_object_has_no_version(api: Api, version: str, code: int) -> None:
    reply = await api.post(PODS, bare(metadata={"resourceVersion": version}))
    assert reply.code == code
    if code == 500:
        message = "resourceVersion should not be set on objects to be created"
        expected = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        assert reply.body == {**expected, "message": message, "code": 500}


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (0.5, "500m"),
        ("0.5", "500m"),
        (2, "2"),
        (1000000000, "1G"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1e3"),
        ("0", "0"),
        (None, "0"),
        ("1000m", "1"),
        ("1025Ki", "1025Ki"),
    ],
)
async def test_a_quantity_comes_back_in_its_canonical_form(api: Api, given: Any, written: str) -> None:
    made = await api.made(PODS, asking({"memory": given}))
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"memory": written}


@pytest.mark.parametrize(
    ("body", "quality"),
    [
        (asking(), "BestEffort"),
        (asking({"cpu": "1"}), "Burstable"),
        (asking(None, {"cpu": "1", "memory": "1Gi"}), "Guaranteed"),
        (asking(None, {"cpu": "1"}), "Burstable"),
        (asking({"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}), "Guaranteed"),
        (asking(None, {"nvidia.com/gpu": "1"}), "BestEffort"),
    ],
    ids=["nothing", "a request", "both limits", "one limit", "limits with their requests", "only a GPU"],
)
async def test_the_quality_of_service_of(api: Api, body: Obj, quality: str) -> None:
    assert (await api.made(PODS, body))["status"]["qosClass"] == quality


WHERE = "spec.containers[0].resources"
CUSTOM = "must be a standard resource type or fully qualified"
CONTAINER = "must be a standard resource for containers"


@pytest.mark.parametrize(
    ("body", "causes"),
    [
        (
            asking({"cpu": "2"}, {"cpu": "1"}),
            [f'{WHERE}.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ),
        (asking({"cpu": "-2"}), [f'{WHERE}.requests[cpu]: Invalid value: "-2": must be greater than or equal to 0']),
        (
            asking(None, {"nvidia.com/gpu": "1.5"}),
            [
                f'{WHERE}.{one}[nvidia.com/gpu]: Invalid value: "1500m": must be an integer'
                for one in ("limits", "requests")
            ],
        ),
        (
            asking({"nvidia.com/gpu": "1"}),
            [f"{WHERE}.limits: Required value: Limit must be set for non overcommitable resources"],
        ),
        (
            asking({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "2"}),
            [f'{WHERE}.requests: Invalid value: "1": must be equal to nvidia.com/gpu limit of 2'],
        ),
        (asking({"foo": "1"}), [f'{WHERE}.requests[foo]: Invalid value: "foo": {why}' for why in (CUSTOM, CONTAINER)]),
        (bare(containers=[]), ["spec.containers: Required value"]),
        (
            bare(nodeName="n", schedulingGates=[{"name": "g"}]),
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (bare(""), ["metadata.name: Required value: name or generateName is required"]),
        (bare("a" * 254), [f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 bytes']),
        (
            bare(dnsPolicy="Bar"),
            [
                'spec.dnsPolicy: Unsupported value: "Bar": supported values: "ClusterFirstWithHostNet", "ClusterFirst",'
                ' "Default", "None"'
            ],
        ),
        (
            bare(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]),
            [
                'spec.tolerations[0].operator: Invalid value: {"Key":"a","Operator":"Exists","Value":"x","Effect":"",'
                "\"TolerationSeconds\":null}: value must be empty when `operator` is 'Exists'"
            ],
        ),
    ],
    ids=[
        "a request above its limit",
        "a negative request",
        "a part of a GPU",
        "a GPU without a limit",
        "a GPU limited otherwise",
        "a bare unknown resource",
        "no containers",
        "a node in spite of gates",
        "no name",
        "a long name",
        "a DNS policy nobody has",
        "a toleration that exists and has a value",
    ],
)
async def test_a_pod_is_invalid_for(api: Api, body: Obj, causes: list[str]) -> None:
    reply = await api.post(PODS, body)
    name = body["metadata"]["name"]
    shown = causes[0] if len(causes) == 1 else f"[{', '.join(causes)}]"
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert reply.message == f'Pod "{name}" is invalid: {shown}'
    details = reply.body["details"]
    assert [f"{one['field']}: {one['message']}" for one in details.pop("causes")] == causes
    assert details == ({"name": name, "kind": "Pod"} if name else {"kind": "Pod"})


UNMARSHAL = "json: cannot unmarshal"
WRONG_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            bare(containers="x"),
            f"{UNMARSHAL} string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (bare(priority="x"), f"{UNMARSHAL} string into Go struct field PodSpec.spec.priority of type int32"),
        (bare(priority=1.5), f"{UNMARSHAL} number 1.5 into Go struct field PodSpec.spec.priority of type int32"),
        (
            bare(restartPolicy=5),
            f"{UNMARSHAL} number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            bare(metadata={"labels": {"a": 1}}),
            f"{UNMARSHAL} number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            bare(metadata={"uid": 1}),
            f"{UNMARSHAL} number into Go struct field ObjectMeta.metadata.uid of type types.UID",
        ),
        (
            asking("x"),
            f"{UNMARSHAL} string into Go struct field ResourceRequirements.spec.containers.resources.requests"
            " of type v1.ResourceList",
        ),
        (asking({"cpu": "abc"}), WRONG_QUANTITY),
        (asking({"cpu": True}), WRONG_QUANTITY),
        (asking({"cpu": "1kk"}), "unable to parse quantity's suffix"),
        ({"kind": "Foo"}, f'no kind "Foo" is registered for version "v1" {SCHEME}'),
        ({"apiVersion": "v2", "kind": "Pod"}, f'no kind "Pod" is registered for version "v2" {SCHEME}'),
        ({"apiVersion": "apps/v1"}, f'no kind "Pod" is registered for version "apps/v1" {SCHEME}'),
        ({"apiVersion": "v1", "kind": "Node"}, "converting (v1.Node) to (core.Pod): unknown conversion"),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment"},
            "converting (v1.Deployment) to (core.Pod): unknown conversion",
        ),
    ],
    ids=[
        "a text for a list",
        "a text for a number",
        "a fraction for a number",
        "a number for a word",
        "a number in a label",
        "a number for a uid",
        "a text for amounts",
        "no quantity",
        "true for a quantity",
        "a suffix nobody has",
        "an unknown kind",
        "an unknown version",
        "the version of another group",
        "another kind",
        "another kind of another group",
    ],
)
async def test_a_body_cannot_be_decoded_for(api: Api, body: Obj, why: str) -> None:
    kind = body.get("kind", "Pod")
    version = body.get("apiVersion", "v1").rpartition("/")[2]
    reply = await api.post(PODS, body)
    assert (reply.code, reply.reason, "details" in reply.body) == (400, "BadRequest", False)
    assert reply.message == f'{kind} in version "{version}" cannot be handled as a Pod: {why}'


NO_KIND = "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: "
STRUCT = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"hello", "invalid character 'h' looking for beginning of value (68656c6c6f)"),
        (b"nope", "invalid character 'o' in literal null (expecting 'u') (6e6f7065)"),
        (b"", "unexpected end of JSON input (<empty>)"),
        (b'{"a":', 'unexpected end of JSON input ({"a":)'),
        (b'{"a":"b', 'unexpected end of JSON input ({"a":"b)'),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string ({a:1})"),
        (b'{"a" 1}', "invalid character '1' after object key ({\"a\" 1})"),
        (b'{"a":1 "b":2}', 'invalid character \'"\' after object key:value pair ({"a":1 "b":2})'),
        (b'{"a":[1 2]}', "invalid character '2' after array element ({\"a\":[1 2]})"),
        (b'{"a":"\\x"}', 'invalid character \'x\' in string escape code ({"a":"\\x"})'),
        (b"{} x", "invalid character 'x' after top-level value ({} x)"),
        (b"[]", f"json: cannot unmarshal array into Go value of type {STRUCT} (5b5d)"),
        (b'"x"', f"json: cannot unmarshal string into Go value of type {STRUCT} (227822)"),
        (b'{"kind":5}', 'json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5})'),
        (b'{"metadata":{"name":"' + b"x" * 30, 'unexpected end of JSON input ({"metadata":{"name":"xxxxxxxxx ...)'),
    ],
    ids=[
        "a bare word",
        "a broken literal",
        "nothing",
        "no value",
        "an open string",
        "a bare key",
        "no colon",
        "no comma",
        "no comma in a list",
        "a bad escape",
        "more after the end",
        "a list",
        "a string",
        "a kind that is no text",
        "a long body",
    ],
)
async def test_a_text_that_is_no_object_is_refused(api: Api, body: bytes, why: str) -> None:
    reply = await api.post(PODS, body)
    assert (reply.code, reply.message) == (400, NO_KIND + why)


async def test_a_body_needs_neither_kind_nor_content_type(api: Api) -> None:
    made = await api.request("POST", PODS, bare(), Content_Type="")
    assert (made.code, made.body["kind"], made.body["apiVersion"]) == (201, "Pod", "v1")


async def test_a_namespace_must_be_the_one_of_the_path_and_there(api: Api) -> None:
    other = await api.post(PODS, bare(metadata={"namespace": "other"}))
    text = "the namespace of the provided object does not match the namespace sent on the request"
    assert (other.code, other.message) == (400, text)
    missing = await api.post("/api/v1/namespaces/nons/pods", bare())
    assert (missing.code, missing.message) == (404, 'namespaces "nons" not found')
    assert missing.body["details"] == {"name": "nons", "kind": "namespaces"}
    listed = await api.get("/api/v1/namespaces/nons/pods")
    assert (listed.code, listed.names()) == (200, [])
    assert (await api.post("/api/v1/pods", bare())).code == 405


@pytest.mark.parametrize(
    ("query", "code", "told"),
    [
        ("", 201, '299 - "unknown field \\"spec.nope\\""'),
        ("?fieldValidation=Warn", 201, '299 - "unknown field \\"spec.nope\\""'),
        ("?fieldValidation=Ignore", 201, ""),
        (
            "?fieldValidation=Strict",
            400,
            'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.nope"',
        ),
        (
            "?fieldValidation=Bad",
            422,
            'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Bad": supported values: "",'
            ' "Ignore", "Strict", "Warn"',
        ),
    ],
    ids=["by default", "warned of", "ignored", "refused", "in a way nobody knows"],
)
async def test_an_unknown_field_is(api: Api, query: str, code: int, told: str) -> None:
    reply = await api.post(PODS + query, bare(nope=1))
    assert reply.code == code
    assert (reply.headers.get("Warning", "") if code == 201 else reply.message) == told
    if code == 422:
        assert reply.body["details"]["kind"] == "CreateOptions"


async def test_a_dry_run_has_a_uid_and_no_version(api: Api) -> None:
    reply = await api.post(f"{PODS}?dryRun=All", bare())
    assert reply.code == 201
    assert reply.body["metadata"]["uid"]
    assert "resourceVersion" not in reply.body["metadata"]
    assert (await api.get(f"{PODS}/a")).code == 404
    bad = await api.post(f"{PODS}?dryRun=Some", bare())
    why = 'dryRun: Unsupported value: ["Some"]: supported values: "All"'
    assert (bad.code, bad.message) == (422, f'CreateOptions.meta.k8s.io "" is invalid: {why}')


async def test_a_pod_made_on_a_node_has_no_condition(api: Api) -> None:
    made = await api.made(PODS, bare(nodeName="nowhere"))
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


async def test_a_gated_pod_says_why_it_waits_even_after_its_gate_is_gone(api: Api) -> None:
    made = await api.made(PODS, bare(schedulingGates=[{"name": "g"}]))
    conditions = [
        {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": None,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
    ]
    assert made["status"]["conditions"] == conditions
    opened = await api.patch(f"{PODS}/a", {"spec": {"schedulingGates": None}})
    assert opened.body["status"]["conditions"] == conditions


PREFIX = 'pods "a" is forbidden: '
COMPUTED = "must not be provided in pod spec; priority admission controller computed"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        ({"priority": 7}, f"the integer value of priority (7) {COMPUTED} 0 from the given PriorityClass name"),
        (
            {"preemptionPolicy": "Never"},
            f"the string value of PreemptionPolicy (Never) {COMPUTED} PreemptLowerPriority"
            " from the given PriorityClass name",
        ),
    ],
    ids=["unknown class", "priority of its own", "preemption policy of its own"],
)
async def test_a_pod_is_forbidden_an(api: Api, spec: Obj, why: str) -> None:
    reply = await api.post(PODS, bare(**spec))
    assert (reply.code, reply.reason, reply.message) == (403, "Forbidden", PREFIX + why)
    assert reply.body["details"] == {"name": "a", "kind": "pods"}


async def test_a_pod_whose_name_is_yet_to_come_is_called_by_its_prefix(api: Api) -> None:
    body = bare("", metadata={"generateName": "web-"}, priorityClassName="nope")
    reply = await api.post(PODS, body)
    assert (reply.code, reply.body["details"]["name"]) == (403, "web-")
    made = await api.made(PODS, {**body, "spec": bare()["spec"]})
    assert made["metadata"]["generateName"] == "web-"
    assert len(made["metadata"]["name"]) == len("web-") + 5


async def test_a_default_class_names_itself_in_the_pod(api: Api) -> None:
    assert (await api.made(CLASSES, {"metadata": {"name": "zero"}}))["value"] == 0
    await api.made(CLASSES, {"metadata": {"name": "high"}, "value": 10, "globalDefault": True})
    await api.made(CLASSES, {"metadata": {"name": "low"}, "value": 5, "globalDefault": True})
    spec = (await api.made(PODS, bare()))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("low", 5)
    system = await api.made(PODS, bare("b", priorityClassName="system-node-critical"))
    assert system["spec"]["priority"] == 2000001000


async def test_topology_labels_of_the_node_overwrite_the_pods_own(api: Api) -> None:
    zone = "topology.kubernetes.io/zone"
    await api.made("/api/v1/nodes", {"metadata": {"name": "n1", "labels": {zone: "z1"}}})
    made = await api.made(PODS, bare(metadata={"labels": {zone: "mine"}}, nodeName="n1"))
    assert made["metadata"]["labels"] == {zone: "z1"}
