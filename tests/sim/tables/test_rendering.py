"""Objects as ``kubectl get`` shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.builtin_kinds import KINDS, NODE, POD, WIDGET, pod
from vsched.apimachinery.meta.kinds import Kind
from vsched.apimachinery.meta.times import format_time
from vsched.apimachinery.objects.field_decoding import conform
from vsched.model.amounts.durations import short_duration
from vsched.sim.tables import jsonpath
from vsched.sim.tables.ages import age_of
from vsched.sim.tables.rendering import partial, table

Obj = dict[str, Any]
_NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _cells(kind: Kind, obj: Obj) -> dict[str, Any]:
    named = {**obj, "metadata": {"name": "x", "creationTimestamp": "2026-01-01T00:00:00Z", **obj.get("metadata", {})}}
    shown = table(kind, [named], "", _NOW)
    names = [column["name"] for column in shown["columnDefinitions"]]
    return dict(zip(names, shown["rows"][0]["cells"], strict=True))


_AGES = {
    "seconds below two minutes": (119, "119s"),
    "minutes and seconds below ten minutes": (125, "2m5s"),
    "whole minutes alone": (180, "3m"),
    "minutes below three hours": (10_000, "166m"),
    "hours and minutes below eight hours": (3 * 3600 + 60, "3h1m"),
    "hours below two days": (47 * 3600, "47h"),
    "days and hours below eight days": (50 * 3600, "2d2h"),
    "days below two years": (400 * 86400, "400d"),
    "years and days": (800 * 86400, "2y70d"),
    "many years": (3650 * 86400, "10y"),
    "a little in the future": (-0.5, "0s"),
    "far in the future": (-10, "<invalid>"),
}


@pytest.mark.parametrize(("seconds", "text"), _AGES.values(), ids=_AGES)
def test_ages(seconds: float, text: str) -> None:
    assert short_duration(seconds) == text


def test_the_age_of_a_moment() -> None:
    assert age_of(format_time(_NOW - timedelta(seconds=5)), _NOW) == "5s"
    assert age_of(None, _NOW) == "<unknown>"
    assert age_of("soon", _NOW) == "<invalid>"


def test_a_bare_running_pod() -> None:
    obj = {**pod(), "status": {"phase": "Running"}}
    shown = table(POD, [{**obj, "metadata": {"name": "t1", "creationTimestamp": "2026-01-01T00:00:00Z"}}], "", _NOW)
    assert shown["rows"][0]["cells"] == ["t1", "0/1", "Running", "0", "24h", "<none>", "<none>", "<none>", "<none>"]
    assert [column["priority"] for column in shown["columnDefinitions"]] == [0] * 5 + [1] * 4
    assert shown["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


def _pod_status(**status: Any) -> Obj:
    return {**pod(), "status": status}


_REASONS: dict[str, tuple[Obj, str]] = {
    "pending": (_pod_status(phase="Pending"), "Pending"),
    "the reason of the status": (_pod_status(phase="Failed", reason="Evicted"), "Evicted"),
    "gated": (
        _pod_status(phase="Pending", conditions=[{"type": "PodScheduled", "reason": "SchedulingGated"}]),
        "SchedulingGated",
    ),
    "waiting": (
        _pod_status(phase="Pending", containerStatuses=[{"name": "c", "state": {"waiting": {"reason": "Slow"}}}]),
        "Slow",
    ),
    "ended by itself": (
        _pod_status(phase="Succeeded", containerStatuses=[{"state": {"terminated": {"reason": "Completed"}}}]),
        "Completed",
    ),
    "ended with a code": (
        _pod_status(phase="Failed", containerStatuses=[{"state": {"terminated": {"exitCode": 3}}}]), "ExitCode:3",
    ),
    "terminating": (
        {**pod(), "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}},
        "Terminating",
    ),
    "initializing": (
        {
            **pod(initContainers=[{"name": "i"}, {"name": "j"}]),
            "status": {"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {}}]},
        },
        "Init:0/2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("obj", "reason"), _REASONS.values(), ids=_REASONS)
def test_the_status_of_a_pod(obj: Obj, reason: str) -> None:
    obj["metadata"].pop("name", None)
    assert _cells(POD, obj)["Status"] == reason


def test_ready_containers_and_restarts() -> None:
    state = {"running": {}}
    last = {"terminated": {"finishedAt": "2026-01-01T23:59:00Z"}}
    one = {"name": "c", "ready": True, "restartCount": 2, "state": state, "lastState": last}
    cells = _cells(POD, {**pod(nodeName="n"), "status": {"phase": "Running", "containerStatuses": [one]}})
    assert (cells["Ready"], cells["Restarts"], cells["Node"]) == ("1/1", "2 (60s ago)", "n")


def test_nodes() -> None:
    node = {
        "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}},
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1"},
        },
    }
    cells = _cells(NODE, node)
    assert (cells["Status"], cells["Roles"]) == ("Ready,SchedulingDisabled", "gpu,worker")
    assert (cells["Version"], cells["Internal-IP"], cells["External-IP"]) == ("v1", "10.0.0.1", "<none>")


_CELLS: dict[str, tuple[str, Obj, dict[str, Any]]] = {
    "a deployment": (
        "apps/Deployment", {"spec": {"replicas": 3}, "status": {"readyReplicas": 2}},
        {"Ready": "2/3", "Available": 0, "Age": "24h"},
    ),
    "a service": (
        "/Service", {"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]}},
        {"Port(s)": "80:30080/TCP", "External-IP": "<none>"},
    ),
    "a budget": (
        "policy/PodDisruptionBudget", {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
        {"Min Available": "50%", "Max Unavailable": "N/A", "Allowed Disruptions": 1},
    ),
    "a job": (
        "batch/Job",
        {
            "spec": {"completions": 2},
            "status": {"succeeded": 2, "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:30Z",
                       "conditions": [{"type": "Complete", "status": "True"}]},
        },
        {"Status": "Complete", "Completions": "2/2", "Duration": "30s"},
    ),
    "a quota": (
        "/ResourceQuota", {"status": {"hard": {"pods": "4", "limits.cpu": "2"}, "used": {"pods": "1"}}},
        {"Request": "pods: 1/4", "Limit": "limits.cpu: 0/2"},
    ),
    "an event": (
        "/Event",
        {"involvedObject": {"kind": "Pod", "name": "p"}, "message": " hello ", "count": 3,
         "lastTimestamp": "2026-01-01T23:59:55Z"},
        {"Last Seen": "5s", "Object": "pod/p", "Message": "hello", "Count": 3},
    ),
    "a claim that is bound": (
        "/PersistentVolumeClaim",
        {"spec": {"volumeName": "v"},
         "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}},
        {"Status": "Bound", "Capacity": "1Gi", "Access Modes": "RWO"},
    ),
    "a role binding": (
        "rbac/RoleBinding",
        {"roleRef": {"kind": "Role", "name": "r"},
         "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "d"}]},
        {"Role": "Role/r", "ServiceAccounts": "d/s"},
    ),
    "a lease": ("coordination/Lease", {"spec": {"holderIdentity": "me"}}, {"Holder": "me"}),
    "endpoints": (
        "/Endpoints", {"subsets": [{"addresses": [{"ip": "1.1.1.1"}], "ports": [{"port": 80}]}]},
        {"Endpoints": "1.1.1.1:80"},
    ),
    "a kind without columns of its own": (
        "rbac/Role", {}, {"Name": "x", "Created At": "2026-01-01T00:00:00Z"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "obj", "expected"), _CELLS.values(), ids=_CELLS)
def test_cells(name: str, obj: Obj, expected: dict[str, Any]) -> None:
    cells = _cells(KINDS[name], obj)
    assert {column: cells[column] for column in expected} == expected


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "list" in kind.verbs])
def test_an_empty_object_of_any_kind_fits_its_columns(name: str) -> None:
    assert _cells(KINDS[name], conform(KINDS[name], {"metadata": {"name": "x"}})[0])


def test_custom_kinds_have_the_columns_of_their_definition() -> None:
    obj = {
        "spec": {"weight": 3},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "since": "2026-01-01T23:00:00Z"},
    }
    assert _cells(WIDGET, obj) == {"Name": "x", "Weight": 3, "Ready": "True", "Since": "60m"}
    assert _cells(WIDGET, {}) == {"Name": "x", "Weight": None, "Ready": None, "Since": None}


def test_what_goes_along_with_a_row() -> None:
    obj = {**pod(), "status": {"phase": "Running"}}
    assert table(POD, [obj], "None", _NOW)["rows"][0]["object"] is None
    assert table(POD, [obj], "Object", _NOW)["rows"][0]["object"] == obj
    assert table(POD, [obj], "Metadata", _NOW)["rows"][0]["object"] == partial(obj)
    assert table(POD, [obj], "", _NOW, with_columns=False)["columnDefinitions"] is None


_PATHS: dict[str, tuple[str, list[Any]]] = {
    "a field": (".a.b", [1]),
    "a field in braces": ("{.a.b}", [1]),
    "nothing there": (".a.x", []),
    "an index": (".list[0].name", ["x"]),
    "the last one": (".list[-1].name", ["y"]),
    "everything": (".list[*].name", ["x", "y"]),
    "a filter": ('.list[?(@.name=="y")].value', [2]),
    "a filter that excludes": (".list[?(@.name!='y')].value", [1]),
    "a quoted field": (".a['c.d']", [3]),
    "an escaped field": (r".a.c\.d", [3]),
    "what is not understood": (".a..b", []),
}


@pytest.mark.parametrize(("path", "expected"), _PATHS.values(), ids=_PATHS)
def test_json_paths(path: str, expected: list[Any]) -> None:
    obj = {"a": {"b": 1, "c.d": 3}, "list": [{"name": "x", "value": 1}, {"name": "y", "value": 2}]}
    assert jsonpath.find(obj, path) == expected
