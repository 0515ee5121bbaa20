"""Protobuf bodies as Go clients send them, written here by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.builtin_kinds import KINDS
from vsched.apimachinery.meta.api_errors import Failure
from vsched.apimachinery.meta.schema import schema_table
from vsched.sim.requests.protobuf import decode, is_protobuf


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _bytes(number: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _entry(number: int, key: str, value: bytes | str) -> bytes:
    return _bytes(number, _bytes(1, key) + _bytes(2, value))


def _body(api_version: str, kind: str, raw: bytes) -> bytes:
    meta = _bytes(1, api_version) + _bytes(2, kind)
    return b"k8s\x00" + _bytes(1, meta) + _bytes(2, raw) + _bytes(3, b"") + _bytes(4, b"")


_META = _bytes(1, "p") + _bytes(2, "") + _bytes(3, "d") + _int(7, 0) + _bytes(8, b"") + _entry(11, "a", "b")
_TIME = _int(1, 1_700_000_000) + _int(2, 0)
_CONTAINER = (
    _bytes(1, "c") + _bytes(2, "img") + _bytes(3, "run") + _bytes(3, "it")
    + _bytes(8, _entry(2, "cpu", _bytes(1, "500m"))) + _bytes(13, "") + _int(16, 0)
)  # fmt: skip
_SPEC = (
    _bytes(2, _CONTAINER) + _bytes(3, "") + _int(4, 0) + _int(11, 0) + _bytes(14, b"") + _bytes(19, "vsched")
    + _int(25, -5) + _bytes(1, _bytes(1, "v") + _bytes(2, _bytes(2, b"")))
)  # fmt: skip
_STATUS = _bytes(1, "Running") + _bytes(2, _bytes(1, "Ready") + _bytes(2, "True") + _bytes(3, b"")) + _bytes(7, _TIME)


def test_a_pod() -> None:
    assert decode(_body("v1", "Pod", _bytes(1, _META) + _bytes(2, _SPEC) + _bytes(3, _STATUS))) == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "d", "labels": {"a": "b"}},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "img",
                    "command": ["run", "it"],
                    "resources": {"requests": {"cpu": "500m"}},
                }
            ],
            # Zero behind a pointer is something that was said.
            "terminationGracePeriodSeconds": 0,
            "securityContext": {},
            "schedulerName": "vsched",
            "priority": -5,
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "startTime": "2023-11-14T22:13:20Z",
        },
    }


_MICRO = _int(1, 1_700_000_000) + _int(2, 123_456_000)
_BODIES: dict[str, tuple[str, str, bytes, dict[str, Any]]] = {
    "a binding": (
        "v1", "Binding", _bytes(1, _bytes(1, "p") + _bytes(5, "u")) + _bytes(2, _bytes(1, "Node") + _bytes(3, "n")),
        {"metadata": {"name": "p", "uid": "u"}, "target": {"kind": "Node", "name": "n"}},
    ),
    "an eviction": (
        "policy/v1", "Eviction", _bytes(1, _bytes(1, "p")) + _bytes(2, _int(1, 0)),
        {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 0}},
    ),
    "delete options, in any version": (
        "apps/v1", "DeleteOptions", _bytes(2, _bytes(1, "u")) + _bytes(4, "Background") + _bytes(5, "All"),
        {"preconditions": {"uid": "u"}, "propagationPolicy": "Background", "dryRun": ["All"]},
    ),
    "a lease": (
        "coordination.k8s.io/v1", "Lease", _bytes(2, _bytes(1, "") + _int(2, 15) + _bytes(4, _MICRO)),
        {"spec": {"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2023-11-14T22:13:20.123456Z"}},
    ),
    "a secret": (
        "v1", "Secret", _entry(2, "k", b"\x00\x01") + _bytes(3, "Opaque"), {"data": {"k": "AAE="}, "type": "Opaque"},
    ),
    "a port by name and by number": (
        "v1", "Service",
        _bytes(2, _bytes(1, _int(3, 80) + _bytes(4, _int(1, 0) + _int(2, 8080)))
               + _bytes(1, _int(3, 81) + _bytes(4, _int(1, 1) + _bytes(3, "web")))),
        {"spec": {"ports": [{"port": 80, "targetPort": 8080}, {"port": 81, "targetPort": "web"}]}},
    ),
    "a review with wrapped lists": (
        "authorization.k8s.io/v1", "SubjectAccessReview", _bytes(2, _entry(5, "k", _bytes(1, "a") + _bytes(1, "b"))),
        {"spec": {"extra": {"k": ["a", "b"]}}},
    ),
    "managed fields": (
        "v1", "ConfigMap", _bytes(1, _bytes(17, _bytes(1, "m") + _bytes(7, _bytes(1, '{"f:a":{}}')))),
        {"metadata": {"managedFields": [{"manager": "m", "fieldsV1": {"f:a": {}}}]}},
    ),
    "exit codes, one by one and packed": (
        "batch/v1", "Job",
        _bytes(2, _bytes(11, _bytes(1, _bytes(2, _bytes(2, "In") + _int(3, 7) + _bytes(3, _varint(8) + _varint(9)))))),
        {"spec": {"podFailurePolicy": {"rules": [{"onExitCodes": {"operator": "In", "values": [7, 8, 9]}}]}}},
    ),
    "a zero time is none": ("v1", "Namespace", _bytes(1, _bytes(8, _int(1, -62135596800))), {"metadata": {}}),
}  # fmt: skip


@pytest.mark.parametrize(("api_version", "kind", "raw", "expected"), _BODIES.values(), ids=_BODIES)
def test_bodies(api_version: str, kind: str, raw: bytes, expected: dict[str, Any]) -> None:
    assert decode(_body(api_version, kind, raw)) == {"kind": kind, "apiVersion": api_version, **expected}


_REFUSED = {
    "no envelope": (b"{}", "expected prefix"),
    "an empty envelope": (b"k8s\x00", "no kind"),
    "an unknown kind": (_body("x/v1", "Foo", b""), 'no kind "Foo" is registered for version "x/v1"'),
    "a kind that has no protobuf form": (_body("apiextensions.k8s.io/v1", "CustomResourceDefinition", b""), "no kind"),
    "an unknown field": (_body("v1", "Pod", _int(99, 1)), "Pod has a field with number 99 that is not known here"),
    "data that ends early": (_body("v1", "Pod", b"\x0a\x05a"), "unexpected end"),
    "a number where a message belongs": (_body("v1", "Pod", _int(1, 1)), "a number where a message was expected"),
    "a group": (_body("v1", "Pod", b"\x0b"), "unknown wire type 3"),
    "text that is no text": (_body("v1", "Pod", _bytes(1, _bytes(1, b"\xff"))), "codec can't decode"),
}


@pytest.mark.parametrize(("body", "message"), _REFUSED.values(), ids=_REFUSED)
def test_refused(body: bytes, message: str) -> None:
    with pytest.raises(Failure, match="cannot be decoded") as failure:
        decode(body)
    assert failure.value.code == 400
    assert message in failure.value.message


@given(st.binary(max_size=40))
def test_any_bytes_decode_or_are_refused(raw: bytes) -> None:
    try:
        kind = decode(_body("v1", "Pod", raw))["kind"]
    except Failure as failure:
        kind = f"refused with {failure.code}"
    assert kind in ("Pod", "refused with 400")


def test_the_content_type() -> None:
    assert is_protobuf("application/vnd.kubernetes.protobuf; charset=utf-8")
    assert not is_protobuf("application/json")


_WITHOUT = {"resource", "apiextensions"}
"""Groups whose types have no numbers in the table; their clients send JSON."""


@pytest.mark.parametrize("name", [name for name in KINDS if name.partition("/")[0] not in _WITHOUT])
def test_kinds_that_clients_send_have_numbers(name: str) -> None:
    one = schema_table().of_kind(KINDS[name])
    assert one is not None
    assert one.wire, name
