"""What objects look like once a cycle has come true."""

from __future__ import annotations

from copy import deepcopy

from tests.support.plans import Manifest
from vsched.model.plan import CycleReport


def name_of(found: Manifest) -> str:
    return f"{found['metadata'].get('namespace')}/{found['metadata']['name']}"


def carried_out(objects: list[Manifest], report: CycleReport) -> list[Manifest]:
    """The objects once the report has come true: pods run, are gone or wait for a node, PodGroups have their phases."""
    evicted = {eviction.uid for eviction in report.evictions}
    objects = [found for found in deepcopy(objects) if found["metadata"].get("uid") not in evicted]
    nodes = {bind.uid: bind.node for bind in report.binds}
    nominated = {nomination.uid: nomination.node for nomination in report.nominations if nomination.lasting}
    for found in objects:
        metadata = found["metadata"]
        if found["kind"] == "Pod" and metadata["uid"] in nodes:
            found["spec"]["nodeName"] = nodes[metadata["uid"]]
            found["status"] |= {"phase": "Running", "startTime": "2027-01-15T08:00:00Z"}
        elif found["kind"] == "Pod" and metadata["uid"] in nominated:
            found["status"]["nominatedNodeName"] = nominated[metadata["uid"]]
        outcome = report.jobs.get(name_of(found))
        if found["kind"] == "PodGroup" and outcome is not None:
            found["status"]["phase"] = outcome.phase
    return objects
