"""Decoding of built-in objects: types, canonical values, unknown fields, what is written when empty."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.builtin_kinds import KINDS, POD, WIDGET, container, pod
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.schema import schema_table
from vsched.apimachinery.objects.field_decoding import conform, unknown_fields

Obj = dict[str, Any]


def _complete() -> Obj:
    obj = pod()
    obj["spec"]["containers"][0]["resources"] = {}
    return {**obj, "status": {}}


def test_an_object_in_order_is_passed_on_as_it_is() -> None:
    obj = _complete()
    assert conform(POD, obj) == (obj, [])
    assert conform(POD, obj)[0] is obj


def test_equal_specs_of_new_pods_become_one_object() -> None:
    one, other = _complete(), _complete()
    specs = [conform(POD, obj, new=True)[0]["spec"] for obj in (one, other)]
    assert specs[0] is specs[1]
    assert conform(POD, one, new=True) == (one, [])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="the usual fields"),
        pytest.param({"status": {"phase": "Running"}}, id="a status"),
        pytest.param({"nope": 1}, id="an unknown field"),
        pytest.param({"metadata": {"name": "p", "nope": 1, "labels": {}}}, id="an unknown field of its metadata"),
        pytest.param({"metadata": {"name": "p", "creationTimestamp": None}}, id="a creation time"),
        pytest.param({"metadata": None}, id="no metadata"),
        pytest.param({"metadata": {"name": 1}}, id="a number for a name"),
        pytest.param({"metadata": "x"}, id="a text for its metadata"),
        pytest.param({"spec": None}, id="no spec"),
        pytest.param({"spec": {}}, id="an empty spec"),
        pytest.param({"spec": []}, id="a list for a spec"),
    ],
)
def test_a_new_pod_is_decoded_as_any_other_is(change: Obj) -> None:
    obj = {**pod(), **change}
    assert _decoded(obj, new=True) == _decoded(obj, new=False)


def _decoded(obj: Obj, *, new: bool) -> tuple[str, list[str]]:
    try:
        decoded, unknown = conform(POD, obj, new=new)
    except Failure as failure:
        return str(failure), []
    return json.dumps(decoded), unknown  # in which the order of the fields counts


def test_a_new_pod_with_an_odd_spec_is_told_so_each_time() -> None:
    odd, wrong = _complete(), _complete()
    odd["spec"]["extra"], wrong["spec"]["hostname"] = 1, 1
    for _ in range(2):
        assert conform(POD, odd, new=True) == (_complete(), ["spec.extra"])
        with pytest.raises(Failure, match="hostname of type string"):
            conform(POD, wrong, new=True)


def test_custom_objects_are_none_of_its_business() -> None:
    obj = {"spec": {"anything": 1}}
    assert conform(WIDGET, obj) == (obj, [])


def test_unknown_fields_are_dropped_and_named() -> None:
    obj = pod(nope=1, containers=[container(what={})])
    decoded, unknown = conform(POD, obj)
    assert sorted(unknown) == ["spec.containers[0].what", "spec.nope"]
    assert "nope" not in decoded["spec"]
    assert "what" not in decoded["spec"]["containers"][0]
    assert unknown_fields(POD, obj) == unknown


def test_what_go_leaves_out_when_empty_is_left_out() -> None:
    obj = pod(hostNetwork=False, nodeName="", tolerations=[], priority=0, securityContext={}, volumes=None)
    obj["metadata"]["labels"] = {}
    decoded, unknown = conform(POD, obj)
    assert unknown == []
    assert "labels" not in decoded["metadata"]
    assert set(decoded["spec"]) == {"containers", "priority", "securityContext"}


def test_what_go_writes_when_empty_is_written() -> None:
    status = {"conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "c"}]}
    decoded, _ = conform(POD, {**pod(), "status": status})
    assert decoded["status"]["conditions"][0] == {
        "type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None,
    }  # fmt: skip
    assert decoded["status"]["containerStatuses"][0] == {
        "name": "c", "state": {}, "lastState": {}, "ready": False, "restartCount": 0, "image": "", "imageID": "",
    }  # fmt: skip
    assert conform(POD, decoded)[0] is decoded


def test_quantities_become_canonical() -> None:
    decoded, _ = conform(POD, pod(containers=[container(resources={"requests": {"cpu": 0.5, "memory": "1024Mi"}})]))
    assert decoded["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}


_WRONG: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "a string is no priority": (
        ("spec", "priority"), "x",
        "json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32",
    ),
    "a fraction is no priority": (
        ("spec", "priority"), 1.5,
        "json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32",
    ),
    "a number is no label": (
        ("metadata", "labels"), {"a": 1},
        "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
    ),
    "a spec is an object": (
        ("spec",), "x", "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec",
    ),
    "containers are a list": (
        ("spec", "containers"), {},
        "json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container",
    ),
    "a quantity has a form": (
        ("spec", "overhead"), {"cpu": "lots"},
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "a time has a form": (
        ("metadata", "deletionTimestamp"), "today",
        'parsing time "today" as "2006-01-02T15:04:05Z07:00": cannot parse "today" as "2006"',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), _WRONG.values(), ids=_WRONG)
def test_wrong_types_are_a_400(path: tuple[str, ...], value: Any, message: str) -> None:
    obj = pod()
    holder = obj
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    with pytest.raises(Failure) as failure:
        conform(POD, obj)
    assert failure.value.code == 400
    assert failure.value.message == f'Pod in version "v1" cannot be handled as a Pod: {message}'


_MICRO = {
    "six decimals are right": ("2026-01-01T00:00:05.123456Z", "2026-01-01T00:00:05.123456Z"),
    "an offset becomes UTC": ("2026-01-01T01:00:05.123456+01:00", "2026-01-01T00:00:05.123456Z"),
    "no decimals are refused": ("2026-01-01T00:00:05Z", None),
    "three decimals are refused": ("2026-01-01T00:00:05.123Z", None),
    "nine decimals are refused": ("2026-01-01T00:00:05.123456789Z", None),
}


@pytest.mark.parametrize(("text", "expected"), _MICRO.values(), ids=_MICRO)
def test_micro_times_are_strict(text: str, expected: str | None) -> None:
    obj = {"metadata": {"name": "l"}, "spec": {"renewTime": text}}
    lease = KINDS["coordination/Lease"]
    if expected is None:
        with pytest.raises(Failure, match="cannot parse"):
            conform(lease, obj)
    else:
        assert conform(lease, obj)[0]["spec"]["renewTime"] == expected


def test_every_type_the_schema_refers_to_is_there() -> None:
    table = schema_table()
    missing = [
        (one.name, item.name) for one in table for item in one.fields.values()
        if not item.scalar and table.get(item.of) is None
    ]  # fmt: skip
    assert missing == []


def test_every_built_in_kind_has_a_type() -> None:
    assert [kind.kind for kind in KINDS.values() if schema_table().of_kind(kind) is None] == []


def test_no_type_uses_a_protobuf_number_twice() -> None:
    for one in schema_table():
        numbers = [item.number for item in one.fields.values() if item.number]
        inline = [item for item in one.wire.values() if item.inline]
        assert inline or len(numbers) == len(set(numbers)), one.name
