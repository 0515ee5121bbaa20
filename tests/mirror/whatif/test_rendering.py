"""Records written as manifests and read again are the same records."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings

from tests.support import clusters
from tests.support.examples import examples
from tests.support.plans import NOW, manifests, mirror
from vsched import api
from vsched.mirror.ingest.nodes import NodeFacts, node_of
from vsched.mirror.ingest.podgroups import job_spec_of
from vsched.mirror.ingest.queues import ParsedQueue, queue_of
from vsched.mirror.whatif.rendering import Manifest, encoded, group_manifest, node_manifest, queue_manifest
from vsched.model.amounts.resources import ResourceAxis
from vsched.model.jobs.spec import JobSpec
from vsched.model.queues.queue import Queue


def read_group(manifest: Manifest, axis: ResourceAxis) -> JobSpec:
    found = api.decode("PodGroup", encoded(manifest))
    assert isinstance(found, api.PodGroup)
    return job_spec_of(found, axis, "default", [])


def read_queue(manifest: Manifest, axis: ResourceAxis) -> ParsedQueue:
    found = api.decode("Queue", encoded(manifest))
    assert isinstance(found, api.Queue)
    return queue_of(found, axis, True, [])


@settings(max_examples=examples(25))
@given(clusters.clusters())
def test_what_is_written_reads_the_same(text: str) -> None:
    snapshot = mirror(manifests(text)).snapshot(NOW)
    axis = snapshot.axis
    for job in snapshot.jobs.values():
        assert read_group(group_manifest(job.spec, axis), axis) == job.spec
    for queue in snapshot.queues.values():
        facts = ParsedQueue(queue, queue.priority, "")
        assert read_queue(queue_manifest(facts, axis), axis) == facts
    for row, attributes in enumerate(snapshot.nodes.statics.attributes):
        column = enumerate(snapshot.nodes.allocatable[:, row].tolist())
        allocatable = tuple((position, value) for position, value in column if value)
        found = api.decode("Node", encoded(node_manifest(attributes, allocatable, axis)))
        assert isinstance(found, api.Node)
        assert node_of(found, axis) == NodeFacts(attributes, allocatable)


GROUPS = {
    "limits and requests that only quotas know": {
        "spec": {"minMember": 2, "minResources": {"cpu": "2", "limits.cpu": "3", "requests.memory": "1Gi"}}
    },
    "a minimum of nothing": {"spec": {"minMember": 2, "minResources": {}}},
    "no minimum": {"spec": {"minMember": 2}},
    "annotations": {
        "metadata": {
            "annotations": {
                "volcano.sh/preemptable": "false",
                "volcano.sh/sla-waiting-time": "10m",
                "volcano.sh/jdb-min-available": "1",
            }
        }
    },
    "a label that says it may be preempted": {"metadata": {"labels": {"volcano.sh/preemptable": "true"}}},
    "roles and a class": {"spec": {"minTaskMember": {"ps": 1, "worker": 2}, "priorityClassName": "high"}},
    "sub-groups": {
        "spec": {
            "subGroupPolicy": [
                {
                    "name": "workers",
                    "subGroupSize": 4,
                    "minSubGroups": 2,
                    "labelSelector": {"matchLabels": {"role": "worker"}},
                    "matchLabelKeys": ["rack"],
                    "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
                },
                {"name": "driver", "networkTopology": {"highestTierName": "rack"}},
            ]
        }
    },
    "a status": {
        "status": {
            "phase": "Running",
            "running": 2,
            "failed": 1,
            "conditions": [{"type": "Scheduled", "status": "True", "reason": "Ready", "message": "…"}],
        }
    },
}


@pytest.mark.parametrize("said", GROUPS.values(), ids=GROUPS.keys())
def test_every_field_of_a_podgroup_survives(said: Manifest) -> None:
    metadata = {"name": "a", "namespace": "x", "creationTimestamp": "2026-01-31T12:00:00Z", **said.get("metadata", {})}
    axis = ResourceAxis()
    spec = read_group({**said, "kind": "PodGroup", "metadata": metadata}, axis)
    again = read_group(group_manifest(spec, axis), axis)
    # A label becomes an annotation of the same meaning, which is kept with the other annotations.
    assert msgspec.structs.replace(again, annotations=spec.annotations) == spec


def test_a_priority_that_comes_from_a_class_stays_the_class_s() -> None:
    facts = ParsedQueue(Queue("q"), None, "high")
    assert read_queue(queue_manifest(facts, ResourceAxis()), ResourceAxis()) == facts
