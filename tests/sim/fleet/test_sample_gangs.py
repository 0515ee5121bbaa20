"""Sample workloads: what a gang holds."""

from __future__ import annotations

from vsched.sim.fleet.sample_gangs import gang


def test_the_least_resources_of_a_gang_are_those_of_all_its_pods() -> None:
    group, *pods = gang("g", "n", "q", 3, {"cpu": "2", "memory": "4Gi"}, 5.0)
    assert group["spec"]["minResources"] == {"cpu": "6", "memory": "12Gi"}
    assert [each["metadata"]["name"] for each in pods] == ["g-0", "g-1", "g-2"]
    assert pods[0]["metadata"]["annotations"]["vsched.io/duration"] == "5.0s"
    assert pods[0]["spec"]["schedulerName"] == "vsched"
