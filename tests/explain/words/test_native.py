"""What is proposed for Kubernetes' own PodGroups: little of them can change, and explain finds them by their names."""

from __future__ import annotations

import pytest

from tests.support.native import native_world
from tests.support.plans import DEFAULT_POLICY as POLICY
from vsched.explain.edits.base import Edit
from vsched.explain.edits.jobs import SetJobQueue, SetMinMember, SetPriority
from vsched.explain.edits.others import CreatePodGroup
from vsched.explain.explaining import explain
from vsched.explain.names import POD_GROUP
from vsched.explain.situation import Situation
from vsched.framework.cycle import run_cycle
from vsched.model.jobs.native import native_key
from vsched.settings.built_in import REGISTRY

KEY = native_key("ns", "g")
PATCH = """kubectl patch podgroups.scheduling.k8s.io g -n ns --type merge \
-p '{"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}}'"""


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
    assert edit.command(native_world(version)) == line


def test_a_smaller_minimum_is_called_as_in_the_object() -> None:
    assert SetMinMember(KEY, 2).sentence(Situation(native_world(), POLICY)) == "minCount 2 (1 fewer)"


@pytest.mark.parametrize("name", ["g", "g:scheduling.k8s.io"])
def test_explain_finds_a_group_by_its_name_and_by_its_key(name: str) -> None:
    snapshot = native_world()
    report = run_cycle(snapshot, POLICY, REGISTRY)
    found = explain(snapshot, POLICY, REGISTRY, report, "ns", name, kind=POD_GROUP, simulations=40)
    assert found is not None
    assert (found.key, found.message) == (KEY, report.jobs[KEY].message)
    assert "minCount 2 (1 fewer)" in {change.message for change in found.changes}
