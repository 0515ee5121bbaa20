"""What the PodGroup of pods that name none is to say, and what is written to have it so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import builders as make
from tests.support.mirrors import World
from tests.support.operators import Seen, made_of, sample
from vsched.controllers import words
from vsched.controllers.podgroup_records import standing_of
from vsched.controllers.podgroups import (
    PodGroupContent,
    PodGroupOwner,
    PodGroupState,
    TopologyWish,
    content_of,
    correction,
    creation,
)
from vsched.mirror.ingest.implicit import ImplicitPodGroup
from vsched.sim.apply.patches import merge_patch

Fields = dict[str, Any]
OWNER = PodGroupOwner("apps/v1", "ReplicaSet", "web", "owner")
REFERENCE = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "owner", "controller": True}
MINIMUM, RESOURCES = "scheduling.volcano.sh/group-min-member", "scheduling.volcano.sh/group-min-resources"
MODE, TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"


def said(
    *, labels: dict[str, str] | None = None, spec: Fields | None = None, **annotations: str
) -> tuple[PodGroupContent, list[str]]:
    """What the PodGroup of one bare pod is to say, and the remarks."""
    pod = make.pod("p", metadata={"annotations": annotations, "labels": labels or {}}, spec=spec or {})
    here = World(pod)
    implicit_group = here.cache.implicit_group("ns/podgroup-uid-p")
    assert isinstance(implicit_group, ImplicitPodGroup)
    remarks: list[str] = []
    return content_of(implicit_group, here.cache.axis.names, remarks), remarks


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, {"min_resources": (("cpu", 1000),)}, id="what one pod asks for"),
        pytest.param({MINIMUM: "3"}, {"min_member": 3, "min_resources": (("cpu", 3000),)}, id="times the minimum"),
        pytest.param({MINIMUM: "3", RESOURCES: '{"cpu": "2"}'}, {"min_resources": (("cpu", 2000),)}, id="as stated"),
        pytest.param({MODE: "Soft"}, {"topology": TopologyWish("soft")}, id="near, if possible"),
        pytest.param({TIER: "2"}, {"topology": TopologyWish("hard", 2)}, id="near in any case"),
        pytest.param({"scheduling.volcano.sh/queue-name": "q"}, {"queue": "q"}, id="in a queue"),
        pytest.param(
            {"volcano.sh/sla-waiting-time": "1h", "volcano.sh/task-spec": "ps", "other.io/x": "y"},
            {"annotations": (("volcano.sh/sla-waiting-time", "1h"),)},
            id="with annotations about groups, not about pods or for others",
        ),
    ],
)
def test_what_a_podgroup_is_to_say(annotations: dict[str, str], expected: Fields) -> None:
    content, remarks = said(**annotations)
    assert ({field: getattr(content, field) for field in expected}, remarks) == (expected, [])


@pytest.mark.parametrize(
    ("annotations", "remark"),
    [
        pytest.param({RESOURCES: "cpu=2"}, words.AMOUNTS, id="resources that are no JSON"),
        pytest.param({RESOURCES: '{"cpu": "-2"}'}, "amounts by resource", id="less than nothing"),
        pytest.param({MODE: "near"}, "expected hard or soft): taken for hard", id="an unknown mode"),
        pytest.param({MODE: "hard", TIER: "-1"}, "expected a whole number): ignored", id="a tier below the lowest"),
    ],
)
def test_what_cannot_be_used_is_remarked_and_passed_over(annotations: dict[str, str], remark: str) -> None:
    content, remarks = said(**annotations)
    assert (content.min_resources, content.topology in (None, TopologyWish("hard"))) == ((("cpu", 1000),), True)
    assert len(remarks) == 1
    assert remark in remarks[0]


def test_priority_class_and_a_label_that_is_a_flag_are_passed_on() -> None:
    content, _ = said(labels={"volcano.sh/preemptable": "true"}, spec={"priorityClassName": "high"})
    assert (content.priority_class, content.annotations) == ("high", (("volcano.sh/preemptable", "true"),))


def test_minima_by_role_come_from_the_owner_and_each_role_counts_with_its_own_requests() -> None:
    obj = sample("pytorchjob")
    pods = made_of(obj)
    pods[0]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "4", "nvidia.com/gpu": "8"}
    here = Seen()
    here.tell(obj, *pods)
    implicit_group = here.cache.implicit_group("default/podgroup-pytorchjob-bert")
    assert implicit_group is not None
    content = content_of(implicit_group, here.cache.axis.names, [])
    assert content.roles == (("master", 1), ("worker", 3))
    assert (content.min_member, content.min_resources) == (4, (("cpu", 7000), ("nvidia.com/gpu", 8000)))


# -- writes

BASE = PodGroupContent("q", 2, "low", (("cpu", 2000),), TopologyWish("hard", 1), (("volcano.sh/preemptable", "true"),))
OTHERS = [
    BASE,
    BASE._replace(min_member=3, min_resources=(("cpu", 3000), ("memory", 1 << 30))),
    BASE._replace(queue="other", priority_class=""),
    BASE._replace(topology=None, annotations=()),
    BASE._replace(topology=TopologyWish("soft"), annotations=(("volcano.sh/sla-waiting-time", "5m"),)),
    BASE._replace(roles=(("driver", 1), ("worker", 1))),
    BASE._replace(roles=(("worker", 2),)),
    PodGroupContent("default", 1),
]


def read(body: Fields) -> PodGroupState:
    """An object as its feed tells of it."""
    metadata = body["metadata"] | {"uid": "u", "resourceVersion": "7"}
    found = standing_of(make.read(body | {"metadata": metadata}))
    assert found is not None
    return found


@pytest.mark.parametrize("before", OTHERS)
@pytest.mark.parametrize("after", OTHERS)
def test_a_correction_leads_from_any_content_to_any_other_and_then_there_is_nothing_to_correct(
    before: PodGroupContent, after: PodGroupContent
) -> None:
    made = creation("ns", "podgroup-owner", before, OWNER)
    standing = read(made)
    assert (standing.made, standing.owned, standing.content) == (True, True, before)
    patch = correction(standing, after, OWNER)
    assert (patch is None) is (before == after)
    if patch is not None:
        assert patch["metadata"]["resourceVersion"] == "7"
        assert read(merge_patch(made, patch)).content == after
        assert correction(read(merge_patch(made, patch)), after, OWNER) is None


def test_what_others_wrote_about_a_podgroup_stays() -> None:
    made = creation("ns", "podgroup-owner", BASE, OWNER)
    made["metadata"]["annotations"] |= {"volcano.sh/job-allocated-hypernode": "h", "other.io/x": "y"}
    assert correction(read(made), BASE, OWNER) is None


def test_a_podgroup_that_somebody_else_made_is_taken_over() -> None:
    made = creation("ns", "podgroup-owner", BASE, OWNER)
    del made["metadata"]["labels"], made["metadata"]["ownerReferences"]
    patch = correction(read(made), BASE, OWNER)
    assert patch is not None
    assert patch["metadata"]["ownerReferences"] == [REFERENCE]
    assert read(merge_patch(made, patch)).made


def test_podgroups_of_other_names_are_none_of_ours() -> None:
    assert standing_of(make.read(make.pod_group("mine"))) is None
    unreadable = make.pod_group("podgroup-owner", spec={"minResources": {"cpu": "much"}})
    found = standing_of(make.read(unreadable))
    assert found is not None
    assert correction(found, BASE, OWNER) is not None
