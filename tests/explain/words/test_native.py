"""What is proposed for Kubernetes' own PodGroups: little of them can change, and explain finds them by their names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support import builders as make
from tests.support.plans import DEFAULT_POLICY as POLICY
from tests.support.plans import NOW
from vsched.explain.explaining import POD_GROUP, explain
from vsched.explain.situation import Situation
from vsched.explain.words.commands import command
from vsched.explain.words.telling import told
from vsched.framework.cycle import run_cycle
from vsched.mirror import wire
from vsched.mirror.cache import Cache
from vsched.mirror.whatif.edits import CreatePodGroup, Edit, SetJobQueue, SetMinMember, SetPriority
from vsched.model.jobs.native import native_key
from vsched.model.snapshot import Snapshot
from vsched.settings.built_in import REGISTRY

KEY = native_key("ns", "g")
PATCH = """kubectl patch podgroups.scheduling.k8s.io g -n ns --type merge \
-p '{"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}}'"""


def world(version: str = "v1beta1", **spec: Any) -> Snapshot:
    """A gang of 3 on a node with room for 2 pods."""
    group = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}, **spec},
    }
    grouped = {"schedulingGroup": {"podGroupName": "g"}, "containers": [make.container("1")]}
    pods = [make.pod(f"p{number}", spec=grouped) for number in range(3)]
    node = make.node("n1", status={"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "9"}})
    cache = Cache(frozenset({"volcano"}))
    for fields in (make.queue("default"), node, group, *pods):
        kind = wire.kind_of(fields.get("apiVersion", ""), fields["kind"])
        cache.apply(kind, "ADDED", wire.read(kind, msgspec.json.encode(fields)))
    return cache.snapshot(NOW)


@pytest.mark.parametrize(
    ("version", "edit", "line"),
    [
        pytest.param("v1beta1", SetMinMember(KEY, 2), PATCH, id="minCount is patched where it may change"),
        pytest.param("v1alpha2", SetMinMember(KEY, 2), "", id="in v1alpha2 nothing changes"),
        pytest.param(
            "v1alpha2",
            SetJobQueue(KEY, "q"),
            "kubectl annotate podgroups.scheduling.k8s.io g -n ns scheduling.volcano.sh/queue-name=q --overwrite",
            id="the queue is an annotation",
        ),
        pytest.param("v1beta1", SetPriority(KEY, 9, "high"), "", id="the priority stays"),
        pytest.param("v1beta1", CreatePodGroup(KEY, "q"), "", id="whoever makes the pods makes the group"),
    ],
)
def test_commands_are_those_that_the_api_server_accepts(version: str, edit: Edit, line: str) -> None:
    assert command(world(version), edit) == line


def test_a_smaller_minimum_is_called_as_in_the_object() -> None:
    assert told(Situation(world(), POLICY), SetMinMember(KEY, 2)) == "minCount 2 (1 fewer)"


@pytest.mark.parametrize("name", ["g", "g:scheduling.k8s.io"])
def test_explain_finds_a_group_by_its_name_and_by_its_key(name: str) -> None:
    snapshot = world()
    report = run_cycle(snapshot, POLICY, REGISTRY)
    found = explain(snapshot, POLICY, REGISTRY, report, "ns", name, kind=POD_GROUP, simulations=40)
    assert found is not None
    assert (found.key, found.message) == (KEY, report.jobs[KEY].message)
    assert "minCount 2 (1 fewer)" in {change.message for change in found.changes}
