"""Updating and patching: what of a pod may change, versions, and the words of refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.api_client import JSON_PATCH, MERGE, PODS, SCHEDULING, STRATEGIC, Api, pod, queue

Obj = dict[str, Any]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
MAY_NOT = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing"
    " tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
    "  core.PodSpec{\n"
)
QUALITY = 'metadata: Invalid value: "Burstable": Pod QoS is immutable'
MORE_GATES = "only deletion is allowed, but found new scheduling gate 'h'"
MORE_NODES = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
REGISTERED = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'


def stored(deadline: int | None = None, **spec: Any) -> Obj:
    deadlines = {"activeDeadlineSeconds": deadline} if deadline else {}
    return pod("a", spec={**deadlines, **spec})


@pytest.mark.parametrize(
    ("before", "change"),
    [
        (stored(), {"containers": [{"name": "c", "image": "j"}]}),
        (stored(), {"activeDeadlineSeconds": 10}),
        (stored(10), {"activeDeadlineSeconds": 5}),
        (stored(), {"tolerations": [{"key": "k", "operator": "Exists"}]}),
        (stored(terminationGracePeriodSeconds=-1), {"terminationGracePeriodSeconds": 1}),
        (stored(schedulingGates=[{"name": "g"}]), {"schedulingGates": None}),
        (stored(schedulingGates=[{"name": "g"}]), {"nodeSelector": {"a": "b"}}),
    ],
    ids=[
        "its image",
        "its deadline",
        "a shorter deadline",
        "more tolerations",
        "a negative grace period",
        "its gates",
        "fewer nodes while gated",
    ],
)
async def test_a_pod_may_change(api: Api, before: Obj, change: Obj) -> None:
    await api.made(PODS, before)
    reply = await api.patch(f"{PODS}/a", {"spec": change}, STRATEGIC)
    assert (reply.code, reply.body["metadata"]["generation"]) == (200, 2)


@pytest.mark.parametrize(
    ("before", "change", "causes"),
    [
        (stored(), {"nodeName": "n1"}, [MAY_NOT]),
        (stored(), {"priority": 5}, [MAY_NOT]),
        (stored(), {"terminationGracePeriodSeconds": 5}, [MAY_NOT]),
        (stored(), {"schedulerName": "other"}, [MAY_NOT]),
        (stored(), {"nodeSelector": {"a": "b"}}, [MAY_NOT]),
        (stored(), {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}, [MAY_NOT]),
        (
            stored(),
            {
                "containers": [
                    {"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1"}, "requests": {"memory": "1"}}}
                ]
            },
            [QUALITY, MAY_NOT],
        ),
        (
            stored(),
            {"containers": [{"name": "d", "image": "i"}]},
            ["spec.containers: Forbidden: pod updates may not add or remove containers"],
        ),
        (
            stored(10),
            {"activeDeadlineSeconds": 20},
            ["spec.activeDeadlineSeconds: Invalid value: 20: must be less than or equal to previous value"],
        ),
        (
            stored(10),
            {"activeDeadlineSeconds": None},
            ['spec.activeDeadlineSeconds: Invalid value: "null": must not update from a positive integer to nil value'],
        ),
        (
            stored(schedulingGates=[{"name": "g"}]),
            {"schedulingGates": [{"name": "h"}]},
            [f"spec.schedulingGates: Forbidden: {MORE_GATES}"],
        ),
        (
            stored(schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"}),
            {"nodeSelector": {"a": None, "c": "d"}},
            [f'spec.nodeSelector: Invalid value: {{"c":"d"}}: {MORE_NODES}'],
        ),
    ],
    ids=[
        "its node",
        "its priority",
        "its grace period",
        "its scheduler",
        "its selector",
        "its requests",
        "its class of service",
        "its containers",
        "a longer deadline",
        "no deadline any more",
        "more gates",
        "more nodes while gated",
    ],
)
async def test_a_pod_may_not_change(api: Api, before: Obj, change: Obj, causes: list[str]) -> None:
    await api.made(PODS, before)
    reply = await api.patch(f"{PODS}/a", {"spec": change}, STRATEGIC)
    assert (reply.code, reply.reason) == (422, "Invalid")
    told = [f"{one['field']}: {one['message']}" for one in reply.body["details"]["causes"]]
    assert len(told) == len(causes)
    assert all(one.startswith(cause) for one, cause in zip(told, causes, strict=True))
    assert reply.message.startswith(f'Pod "a" is invalid: {"[" if len(causes) > 1 else ""}{causes[0]}')
    assert (await api.get(f"{PODS}/a")).body["metadata"]["generation"] == 1


async def test_default_tolerations_come_back_when_a_body_drops_them(api: Api) -> None:
    made = await api.pod("a")
    reply = await api.patch(f"{PODS}/a", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}})
    assert reply.body["spec"]["tolerations"] == [{"key": "k", "operator": "Exists"}, *made["spec"]["tolerations"]]
    dropped = await api.patch(f"{PODS}/a", {"spec": {"tolerations": None}})
    assert (dropped.code, dropped.message) == (
        422,
        'Pod "a" is invalid: spec.tolerations: Forbidden: existing toleration can not be modified except its'
        " tolerationSeconds",
    )


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"labels": {}},
        {"annotations": None},
        {"generation": 9},
        {"creationTimestamp": "2020-01-01T00:00:00Z"},
        {"selfLink": "/x"},
        {"uid": ""},
        {"resourceVersion": "0"},
        {"resourceVersion": None},
    ],
    ids=str,
)
async def test_nothing_changes_by(api: Api, metadata: Obj) -> None:
    made = await api.pod("a")
    reply = await api.patch(f"{PODS}/a", {"metadata": metadata})
    assert (reply.code, reply.body["metadata"]) == (200, made["metadata"])


async def test_labels_do_not_count_as_a_generation(api: Api) -> None:
    made = await api.pod("a")
    reply = await api.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
    assert reply.body["metadata"]["generation"] == 1
    assert reply.version > int(made["metadata"]["resourceVersion"])


STORAGE = (
    'Operation cannot be fulfilled on {resource} "{name}": StorageError: invalid object, Code: 4,'
    " Key: /registry/{key}/default/{name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed:"
    " UID in precondition: x, UID in object meta: "
)


@pytest.mark.parametrize(
    ("metadata", "code", "message"),
    [
        ({"resourceVersion": "1"}, 409, f'Operation cannot be fulfilled on pods "a": {MODIFIED}'),
        ({"resourceVersion": "abc"}, 500, 'strconv.ParseUint: parsing "abc": invalid syntax'),
        ({"uid": "x"}, 409, STORAGE.format(resource="pods", key="pods", name="a")),
        ({"uid": "x", "resourceVersion": "1"}, 409, STORAGE.format(resource="pods", key="pods", name="a")),
        ({"name": "b"}, 400, "the name of the object (b) does not match the name on the URL (a)"),
        ({"name": ""}, 400, "the name of the object (a based on URL) was undeterminable: name must be provided"),
        (
            {"namespace": "b"},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        ({"deletionTimestamp": "2020-01-01T00:00:00Z"}, 422, 'Pod "a" is invalid: metadata.deletionTimestamp: '),
        ({"deletionGracePeriodSeconds": 5}, 422, 'Pod "a" is invalid: metadata.deletionGracePeriodSeconds: '),
    ],
    ids=[
        "a stale version",
        "no version at all",
        "another uid",
        "another uid and a stale version",
        "another name",
        "no name",
        "another namespace",
        "a deletion mark",
        "a grace period",
    ],
)
async def test_a_put_is_refused_for(api: Api, metadata: Obj, code: int, message: str) -> None:
    made = await api.pod("a")
    reply = await api.put(f"{PODS}/a", {**made, "metadata": {**made["metadata"], **metadata}})
    assert reply.code == code
    assert reply.message.startswith(message)
    if code == 409:
        assert reply.body["details"] == {"name": "a", "kind": "pods"}


async def test_a_put_needs_no_version_and_no_uid(api: Api) -> None:
    made = await api.pod("a", labels={"a": "b"}, finalizers=["a.b/c"])
    reply = await api.put(f"{PODS}/a", {**made, "metadata": {"name": "a"}})
    assert reply.code == 200
    assert reply.body["metadata"]["uid"] == made["metadata"]["uid"]
    assert not reply.body["metadata"].keys() & {"labels", "finalizers"}


@pytest.mark.parametrize(
    ("metadata", "code", "message"),
    [
        ({"uid": "x"}, 422, 'Pod "a" is invalid: metadata.uid: Invalid value: "x": field is immutable'),
        ({"resourceVersion": "1"}, 409, f'Operation cannot be fulfilled on pods "a": {MODIFIED}'),
        ({"name": "b"}, 400, "the name of the object (b) does not match the name on the URL (a)"),
    ],
    ids=["another uid", "a stale version", "another name"],
)
async def test_a_patch_is_refused_for(api: Api, metadata: Obj, code: int, message: str) -> None:
    await api.pod("a")
    reply = await api.patch(f"{PODS}/a", {"metadata": metadata})
    assert (reply.code, reply.message) == (code, message)


@pytest.mark.parametrize("part", ["", "/status"], ids=["itself", "its status"])
async def test_a_put_to_a_missing_pod(api: Api, part: str) -> None:
    reply = await api.put(f"{PODS}/a{part}", pod("a"))
    assert (reply.code, reply.message) == (404, 'pods "a" not found')
    # One that names a uid is for a pod that was there: a conflict with what is gone.
    reply = await api.put(f"{PODS}/a{part}", pod("a", uid="x"))
    assert (reply.code, reply.message) == (409, STORAGE.format(resource="pods", key="pods", name="a"))


async def test_a_put_to_a_missing_lease_creates_it(api: Api) -> None:
    lease = {"metadata": {"name": "le"}, "spec": {"holderIdentity": ""}}
    refused = await api.put(f"{LEASES}/le", {**lease, "metadata": {"name": "le", "uid": "x"}})
    resource = "leases.coordination.k8s.io"
    assert (refused.code, refused.message) == (409, STORAGE.format(resource=resource, key="leases", name="le"))
    made = await api.put(f"{LEASES}/le", {**lease, "metadata": {"name": "le", "resourceVersion": "5"}})
    assert (made.code, made.body["spec"]) == (201, {"holderIdentity": ""})


@pytest.mark.parametrize(
    ("path", "body", "resource", "group"),
    [
        (LEASES, {"metadata": {"name": "le"}}, "leases", "coordination.k8s.io"),
        (f"{SCHEDULING}/queues", queue("le"), "queues", "scheduling.volcano.sh"),
    ],
    ids=["leases", "custom resources"],
)
async def test_a_version_must_be_given_for(api: Api, path: str, body: Obj, resource: str, group: str) -> None:
    await api.made(path, body)
    reply = await api.put(f"{path}/le", body)
    why = "Invalid value: 0: must be specified for an update"
    cause = {"reason": "FieldValueInvalid", "message": why, "field": "metadata.resourceVersion"}
    assert (reply.code, reply.body["details"]) == (
        422,
        {"name": "le", "group": group, "kind": resource, "causes": [cause]},
    )
    assert reply.message == f'{resource}.{group} "le" is invalid: metadata.resourceVersion: {why}'


MAP = "Go value of type map[string]interface {}"
DECODING = "error decoding patch: "
KINDS = ", ".join((JSON_PATCH, MERGE, STRATEGIC, "application/apply-patch+yaml"))


@pytest.mark.parametrize(
    ("media", "body", "code", "message"),
    [
        (
            JSON_PATCH,
            b'{"a":1}',
            400,
            f"{DECODING}json: cannot unmarshal object into Go value of type []interface {{}}",
        ),
        (JSON_PATCH, b"x", 400, f"{DECODING}invalid character 'x' looking for beginning of value"),
        (MERGE, b"[]", 400, f"{DECODING}json: cannot unmarshal array into {MAP}"),
        (MERGE, b"", 400, f"{DECODING}unexpected end of JSON input"),
        (STRATEGIC, b"[]", 400, f"json: cannot unmarshal array into {MAP}"),
        (STRATEGIC, b"{", 400, "unexpected end of JSON input"),
        (
            JSON_PATCH,
            b'[{"op":"test","path":"/metadata/name","value":"b"}]',
            422,
            "the server rejected our request due to an error in our request",
        ),
        (
            "application/json",
            b"{}",
            415,
            f"the body of the request was in an unknown format - accepted media types include: {KINDS}",
        ),
        (
            STRATEGIC,
            b'{"spec":{"containers":"x"}}',
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[containers:x]]": json: cannot unmarshal string into Go'
            " struct field PodSpec.spec.containers of type []v1.Container",
        ),
    ],
    ids=[
        "a JSON patch that is no list",
        "a JSON patch that is no JSON",
        "a merge patch that is a list",
        "an empty merge patch",
        "a strategic patch that is a list",
        "a strategic patch that ends early",
        "a test that fails",
        "plain JSON",
        "a strategic patch of the wrong type",
    ],
)
async def test_a_patch_makes_no_sense_as(api: Api, media: str, body: bytes, code: int, message: str) -> None:
    await api.pod("a")
    reply = await api.patch(f"{PODS}/a", body, media)
    assert (reply.code, reply.message) == (code, message)


@pytest.mark.parametrize(
    ("media", "shown"),
    [(MERGE, '"{\\"kind\\":\\"Pod\\"'), (STRATEGIC, '"map[spec:map[nope:1]]"')],
    ids=["the whole object in a merge patch", "the patch in a strategic one"],
)
async def test_an_unknown_field_in_a_patch_is_refused_strictly_showing(api: Api, media: str, shown: str) -> None:
    await api.pod("a")
    warned = await api.patch(f"{PODS}/a", {"spec": {"nope": 1}}, media)
    assert (warned.code, warned.headers["Warning"]) == (200, '299 - "unknown field \\"spec.nope\\""')
    reply = await api.patch(f"{PODS}/a?fieldValidation=Strict", {"spec": {"nope": 1}}, media)
    assert reply.code == 422
    assert reply.message.startswith(f' "" is invalid: patch: Invalid value: {shown}')
    assert reply.message.endswith(': strict decoding error: unknown field "spec.nope"')
    assert reply.body["details"]["causes"][0]["field"] == "patch"


async def test_a_patch_cannot_make_another_kind(api: Api) -> None:
    await api.pod("a")
    merged = await api.patch(f"{PODS}/a", {"kind": "Node"})
    assert merged.code == 422
    assert merged.message.endswith(": converting (v1.Node) to (core.Pod): unknown conversion")
    strategic = await api.patch(f"{PODS}/a", {"kind": "Node"}, STRATEGIC)
    assert (strategic.code, strategic.body["kind"]) == (200, "Pod")
    unknown = await api.put(f"{PODS}/a", {**pod("a"), "kind": "Foo"})
    why = f'Foo in version "v1" cannot be handled as a Pod: no kind "Foo" is registered for version "v1" {REGISTERED}'
    assert (unknown.code, unknown.message) == (400, why)


async def test_only_apply_can_be_forced(api: Api) -> None:
    await api.pod("a")
    reply = await api.patch(f"{PODS}/a?force=true", {})
    message = 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
    assert (reply.code, reply.message) == (422, message)
    assert reply.body["details"]["group"] == "meta.k8s.io"


async def test_new_list_items_of_a_strategic_patch_come_first(api: Api) -> None:
    def owner(name: str) -> Obj:
        return {"apiVersion": "v1", "kind": "X", "name": name, "uid": name}

    await api.pod("a", finalizers=["a/b"], ownerReferences=[owner("x")])
    patch = {"metadata": {"finalizers": ["c/d"], "ownerReferences": [owner("y")]}}
    metadata = (await api.patch(f"{PODS}/a", patch, STRATEGIC)).body["metadata"]
    assert metadata["finalizers"] == ["c/d", "a/b"]
    assert metadata["ownerReferences"] == [owner("y"), owner("x")]
    order = {"metadata": {"$setElementOrder/finalizers": ["a/b", "c/d"]}}
    assert (await api.patch(f"{PODS}/a", order, STRATEGIC)).body["metadata"]["finalizers"] == ["a/b", "c/d"]
    gone = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/b"]}}
    assert (await api.patch(f"{PODS}/a", gone, STRATEGIC)).body["metadata"]["finalizers"] == ["c/d"]


async def test_taints_are_replaced_by_a_strategic_patch(api: Api) -> None:
    await api.made("/api/v1/nodes", {"metadata": {"name": "n"}})
    taints = [{"key": "b", "effect": "NoSchedule"}]
    reply = await api.patch("/api/v1/nodes/n", {"spec": {"taints": taints}}, STRATEGIC)
    assert reply.body["spec"]["taints"] == taints


async def test_resources_change_through_resize_but_not_the_class_of_service(api: Api) -> None:
    await api.pod("a")

    def resources(**kinds: Obj) -> Obj:
        return {"spec": {"containers": [{"name": "c", "resources": kinds}]}}

    resized = await api.patch(f"{PODS}/a/resize", resources(requests={"cpu": "2"}), STRATEGIC)
    assert (resized.code, resized.body["metadata"]["generation"]) == (200, 2)
    both = {"cpu": "2", "memory": "1Gi"}
    refused = await api.patch(f"{PODS}/a/resize", resources(requests=both, limits=both), STRATEGIC)
    assert (refused.code, refused.message) == (
        422,
        'Pod "a" is invalid: spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    )


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param({"kubernetes.io/metadata.name": "other"}, id="changed"),
        pytest.param({"kubernetes.io/metadata.name": None}, id="taken away"),
        pytest.param(None, id="taken away with all others"),
    ],
)
async def test_the_label_with_the_name_of_a_namespace_stays(api: Api, labels: Obj | None) -> None:
    await api.made("/api/v1/namespaces", {"metadata": {"name": "x"}})
    found = await api.patch("/api/v1/namespaces/x", {"metadata": {"labels": labels}})
    assert found.body["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


async def test_a_stateful_set_mounts_what_its_claim_templates_are_called(api: Api) -> None:
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    spec = {
        "selector": {"matchLabels": {"a": "b"}},
        "serviceName": "s",
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}],
    }
    sets = "/apis/apps/v1/namespaces/default/statefulsets"
    assert (await api.post(sets, {"metadata": {"name": "good"}, "spec": spec})).code == 201
    refused = await api.post(sets, {"metadata": {"name": "bad"}, "spec": {**spec, "volumeClaimTemplates": []}})
    assert refused.code == 422
    assert 'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"' in refused.body["message"]
