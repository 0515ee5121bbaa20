"""Sample workloads: what they hold, and that the seed alone decides."""

from __future__ import annotations

from collections import Counter

from vsched.sim.workload import GROUP_NAME, QueueShape, gang, sample_gangs, sample_workload


def test_equal_seeds_give_equal_workloads() -> None:
    assert sample_workload(7, 20) == sample_workload(7, 20)
    assert sample_workload(7, 20) != sample_workload(8, 20)


def test_every_gang_has_its_group_and_all_its_pods() -> None:
    objects = sample_workload(1, 30, queues=[QueueShape("q")], namespaces=["a", "b"], gang_sizes=[2, 5])
    groups = {each["metadata"]["name"]: each for each in objects if each["kind"] == "PodGroup"}
    pods = Counter(each["metadata"]["annotations"][GROUP_NAME] for each in objects if each["kind"] == "Pod")
    assert len(groups) == 30
    assert {name: group["spec"]["minMember"] for name, group in groups.items()} == pods
    assert {group["spec"]["queue"] for group in groups.values()} == {"q"}
    assert {each["metadata"]["name"] for each in objects if each["kind"] == "Namespace"} == {"a", "b"}
    assert [each["kind"] for each in objects[:3]] == ["Queue", "Namespace", "Namespace"]


def test_a_draw_can_be_continued() -> None:
    names = [
        made[0]["metadata"]["name"]
        for first in (0, 3)
        for made in sample_gangs(1, 3, queues=["q"], namespaces=["n"], first=first)
    ]
    assert names == [f"gang-{number}" for number in range(6)]


def test_the_least_resources_of_a_gang_are_those_of_all_its_pods() -> None:
    group, *pods = gang("g", "n", "q", 3, {"cpu": "2", "memory": "4Gi"}, 5.0)
    assert group["spec"]["minResources"] == {"cpu": "6", "memory": "12Gi"}
    assert [each["metadata"]["name"] for each in pods] == ["g-0", "g-1", "g-2"]
    assert pods[0]["metadata"]["annotations"]["vsched.io/duration"] == "5.0s"
    assert pods[0]["spec"]["schedulerName"] == "vsched"
