"""Locks of nodes: when one may be taken, and what is written."""

from __future__ import annotations

import orjson
import pytest

from vsched.kube.client import MERGE_PATCH
from vsched.model.deviceshare.records import NODE_LOCKS
from vsched.model.plan import Bind
from vsched.writes.locked_bindings import NodeLock, lock_in, lock_value, lock_write

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def bind(lock: str = "hamivgpu") -> Bind:
    return Bind("uid-0", "ns", "pod-0", "n1", "ns/job", lock=lock)


@pytest.mark.parametrize(
    ("value", "is_free"),
    [
        pytest.param("", True, id="nobody holds it"),
        pytest.param("2027-01-15T08:00:00Z", False, id="just taken"),
        pytest.param("2027-01-15T16:00:00+08:00", False, id="just taken, in another zone"),
        pytest.param("2027-01-15T07:55:01Z", False, id="not yet five minutes old"),
        pytest.param("2027-01-15T07:54:59Z", True, id="more than five minutes old"),
        pytest.param("2027-01-15T08:04:59Z", False, id="a clock that is a little ahead"),
        pytest.param("2027-02-15T08:00:00Z", True, id="a time that cannot be"),
        pytest.param("2027-01-15T08:00:00Z,ns,pod-7", False, id="HAMi's lock names the pod"),
        pytest.param("yes", True, id="no time"),
    ],
)
def test_whether_a_lock_may_be_taken(value: str, is_free: bool) -> None:
    assert NodeLock("7", value).is_free(NOW) is is_free


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        pytest.param("vgpu", "hamivgpu", "2027-01-15T08:00:00.000000Z", id="vGPUs"),
        pytest.param("gpu", "gpu", "2027-01-15T08:00:00.000000Z", id="GPUs"),
        pytest.param("npu", "hami.io/mutex.lock", "2027-01-15T08:00:00.000000Z,ns,pod-0", id="NPUs name the pod"),
    ],
)
def test_what_a_lock_says(kind: str, name: str, value: str) -> None:
    assert NODE_LOCKS[kind] == name
    assert lock_value(bind(name), NOW) == value


def test_a_lock_is_written_only_over_what_was_read() -> None:
    node = b'{"metadata":{"name":"n1","resourceVersion":"7","annotations":{"other":"x"}},"spec":{}}'
    found = lock_in(node, "hamivgpu")
    write = lock_write("n1", "hamivgpu", "now", found.version)

    assert found == NodeLock("7")
    assert (write.method, write.path, write.content_type) == ("PATCH", "/api/v1/nodes/n1", MERGE_PATCH)
    assert orjson.loads(write.body) == {"metadata": {"resourceVersion": "7", "annotations": {"hamivgpu": "now"}}}
    assert orjson.loads(lock_write("n1", "hamivgpu", None, "7").body)["metadata"]["annotations"] == {"hamivgpu": None}
