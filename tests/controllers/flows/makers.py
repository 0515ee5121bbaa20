"""CronJobs, JobFlows and JobTemplates for tests."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.support.vcjob_cluster import task
from vsched import api
from vsched.controllers.flows.jobflows import FlowRecord, job_flow_of
from vsched.controllers.flows.jobtemplates import TemplateRecord
from vsched.controllers.flows.made import MadeJob
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
FLOWS, TEMPLATES = "flow.volcano.sh/jobflows", "flow.volcano.sh/jobtemplates"
CRONS = "batch.volcano.sh/cronjobs"
NOW = 1_000_000.0


def after(name: str, *targets: str, **probe: Any) -> Obj:
    """A flow that depends on others."""
    return {"name": name, "dependsOn": {"targets": list(targets), **({"probe": probe} if probe else {})}}


def job_flow(*flows: Obj, **spec: Any) -> Obj:
    """The JobFlow ``f``."""
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": "f", "namespace": "default"},
        "spec": {"flows": list(flows), **spec},
    }


def job_template(name: str, *tasks: Obj) -> Obj:
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulerName": "vsched", "tasks": list(tasks)},
    }


def cron_job(name: str, **spec: Any) -> Obj:
    """A CronJob that was scheduled last long ago."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedule": "0 0 1 1 *",
            "jobTemplate": {"spec": {"schedulerName": "vsched", "tasks": [task("worker", 1, "50ms")]}},
            **spec,
        },
        "status": {"lastScheduleTime": "2020-01-01T00:00:00Z"},
    }


def messages(cluster: Cluster, name: str, reason: str) -> list[str]:
    """What Events of a reason say about an object."""
    events = cluster.client.list("events", "default")
    return [each["message"] for each in events if (each["involvedObject"]["name"], each["reason"]) == (name, reason)]


def flow(*flows: Obj, status: Obj | None = None, **spec: Any) -> FlowRecord:
    """The JobFlow ``f`` as it is read."""
    body = {
        "metadata": {"name": "f", "namespace": "x", "uid": "u", "resourceVersion": "7"},
        "spec": {"flows": list(flows), **spec},
        "status": status or {},
    }
    found = api.decode("JobFlow", msgspec.json.encode(body))
    assert isinstance(found, api.JobFlow)
    return job_flow_of(found)


def made(name: str, phase: str = "Running", **fields: Any) -> MadeJob:
    return MadeJob("x", f"f-{name}", f"uid-{name}", "JobFlow x/f", "u", phase, NOW - 100.0, **fields)


def templates(*names: str) -> dict[str, TemplateRecord]:
    return {f"x/{name}": TemplateRecord({"tasks": [{"name": "t", "replicas": 1}]}) for name in names}
