"""Nodes: what a kubelet first reports, the taints that follow, and how long pods stand them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.workload_objects import NOW, ago, pod
from vsched.sim.controllers.nodes.lifecycle import tolerated_seconds
from vsched.sim.controllers.nodes.node_status import (
    is_node_ready,
    is_registered,
    lease_of,
    ready_status,
    register,
    retaint,
    wanted_taints,
)

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def node(ready: str = "", **spec: Any) -> dict[str, Any]:
    status = {"conditions": [{"type": "Ready", "status": ready}]} if ready else {}
    return {"metadata": {"name": "n1", "uid": "u"}, "spec": spec, "status": status}


def test_a_new_node_becomes_ready_and_keeps_what_it_brought() -> None:
    bare = node()
    bare["status"] = {"capacity": {"cpu": "4"}, "conditions": [{"type": "DiskPressure", "status": "True"}]}
    status = ready_status(bare, "172.16.0.7", "v1", NOW)
    assert status["capacity"] == status["allocatable"] == {"cpu": "4"}
    assert {each["type"]: each["status"] for each in status["conditions"]} == {
        "DiskPressure": "True", "MemoryPressure": "False", "PIDPressure": "False", "Ready": "True",
    }  # fmt: skip
    assert status["addresses"][0] == {"type": "InternalIP", "address": "172.16.0.7"}
    assert status["nodeInfo"]["kubeletVersion"] == "v1"
    whole = {**bare, "status": status}
    assert is_registered(whole)
    assert is_node_ready(whole)
    assert register(whole, "", "v1", NOW) == []


@pytest.mark.parametrize(
    ("obj", "keys"),
    [
        pytest.param(node("True", taints=[NOT_READY]), [], id="ready takes the admission's taint off"),
        pytest.param(node(taints=[NOT_READY]), ["not-ready:NoSchedule"], id="a node nobody spoke for keeps it"),
        pytest.param(node("False"), ["not-ready:NoSchedule", "not-ready:NoExecute"], id="not ready"),
        pytest.param(node("Unknown"), ["unreachable:NoSchedule", "unreachable:NoExecute"], id="unknown"),
        pytest.param(node("True", unschedulable=True), ["unschedulable:NoSchedule"], id="cordoned"),
    ],
)
def test_taints(obj: dict[str, Any], keys: list[str]) -> None:
    found = [f"{each['key'].rpartition('/')[2]}:{each['effect']}" for each in wanted_taints(obj, NOW)]
    assert found == keys


def test_taints_of_others_stay_and_their_order_too() -> None:
    own = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    [change] = retaint(node("True", taints=[NOT_READY, own]), NOW)
    assert change.obj["spec"]["taints"] == [own]  # type: ignore[union-attr]
    assert retaint(node("True", taints=[own]), NOW) == []
    assert retaint(node("True"), NOW) == []


def test_a_lease_belongs_to_its_node_and_has_six_decimals() -> None:
    lease = lease_of(node("True"), NOW, 40)
    assert lease["metadata"]["ownerReferences"][0]["uid"] == "u"
    assert lease["spec"] == {
        "holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": ago(0).replace("Z", ".000000Z")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        pytest.param([], 0.0, id="no toleration"),
        pytest.param([{"operator": "Exists"}], None, id="everything is tolerated"),
        pytest.param([{"key": "k", "operator": "Exists", "tolerationSeconds": 7}], 7.0, id="for a time"),
        pytest.param([{"key": "k", "value": "v", "effect": "NoExecute"}], None, id="this very taint"),
        pytest.param([{"key": "k", "value": "w"}], 0.0, id="another value"),
        pytest.param([{"key": "k", "value": "v", "effect": "NoSchedule"}], 0.0, id="another effect"),
        pytest.param([{"key": "k", "operator": "Exists", "tolerationSeconds": -1}], 0.0, id="a negative time is none"),
    ],
)
def test_tolerations(tolerations: list[dict[str, Any]], seconds: float | None) -> None:
    bound = pod()
    bound["spec"]["tolerations"] = tolerations
    assert tolerated_seconds(bound, {"key": "k", "value": "v", "effect": "NoExecute"}) == seconds
