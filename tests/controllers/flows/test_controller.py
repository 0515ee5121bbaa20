"""CronJobs and JobFlows at an embedded cluster with the daemon, applied with kubectl."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.controllers.flows.makers import CRONS, FLOWS, TEMPLATES, after, cron_job, job_flow, job_template, messages
from tests.support.builders import merged
from tests.support.running import node, reasons_of, scheduling
from tests.support.shell import shell
from tests.support.vcjob_cluster import VCJOBS, phase, phases, task
from tests.support.waiting import until
from vsched.clock import utc_now
from vsched.controllers.flows.controller import MakerSettings
from vsched.controllers.flows.prober import ProbeSettings
from vsched.sim.cluster import Cluster

Obj = dict[str, Any]
SAMPLES = Path(__file__).parents[3] / "config" / "samples" / "vcjobs"


async def apply(cluster: Cluster, folder: Path, sample: str) -> None:
    """Apply a sample as its first lines say; its pods run for a moment only."""
    text = (SAMPLES / sample).read_text(encoding="utf-8")
    assert f"# kubectl apply -f config/samples/vcjobs/{sample}\n" in text
    (folder / sample).write_text(re.sub(r"(vsched.io/duration): \w+", r"\1: 100ms", text), encoding="utf-8")
    await shell(cluster, folder, f"kubectl apply -f {folder}/{sample}")


def status(cluster: Cluster, resource: str, name: str) -> Obj:
    return (cluster.client.get(resource, "default", name) or {}).get("status") or {}


def jobs(cluster: Cluster) -> list[str]:
    """The names of all vcjobs."""
    return sorted(each["metadata"]["name"] for each in cluster.client.list(VCJOBS, "default"))


@pytest.mark.kubectl
async def test_a_flow_of_three_runs_one_after_the_other(tmp_path: Path) -> None:
    async with Cluster([node("n1", cpu="8")]) as cluster, scheduling(cluster.url):
        await apply(cluster, tmp_path, "jobflow.yaml")
        await until(lambda: status(cluster, FLOWS, "nightly").get("state") == {"phase": "Succeed"})
        found = status(cluster, FLOWS, "nightly")
        assert found["completedJobs"] == ["nightly-prepare", "nightly-fit", "nightly-check"]
        phases = [[seen["state"] for seen in each["runningHistories"]] for each in found["jobStatusList"]]
        assert all(seen[-1] == "Completed" for seen in phases)
        fit = cluster.client.get(VCJOBS, "default", "nightly-fit") or {}
        assert fit["spec"]["tasks"][0]["replicas"] == 4, "as the patch says"
        shown = await shell(cluster, tmp_path, "kubectl get jobflow nightly --no-headers")
        assert shown.split()[:2] == ["nightly", "Succeed"]
        await until(lambda: status(cluster, TEMPLATES, "fit") == {"jobDependsOnList": ["nightly-fit"]})
        await shell(cluster, tmp_path, "kubectl delete jobflow nightly")
        await until(lambda: jobs(cluster) == [])
        await until(lambda: status(cluster, TEMPLATES, "fit") == {})


@pytest.mark.kubectl
async def test_a_cron_job_makes_up_for_the_newest_run_it_missed_and_no_other(tmp_path: Path) -> None:
    async with Cluster([node("n1")]) as cluster, scheduling(cluster.url):
        await apply(cluster, tmp_path, "cronjob.yaml")
        missed = utc_now() - timedelta(minutes=10)
        patch = json.dumps({"status": {"lastScheduleTime": missed.strftime("%Y-%m-%dT%H:%M:%SZ")}})
        await shell(cluster, tmp_path, f"kubectl patch cronvcjob report --subresource=status --type=merge -p '{patch}'")
        (name,) = await until(lambda: jobs(cluster))
        due = int(name.rpartition("-")[2]) * 60
        assert 0 <= utc_now().timestamp() - due < 120
        await until(lambda: "lastSuccessfulTime" in status(cluster, CRONS, "report"))
        found = status(cluster, CRONS, "report")
        assert datetime.fromisoformat(found["lastScheduleTime"]).timestamp() >= due
        made = cluster.client.get(VCJOBS, "default", name) or {}
        assert (
            datetime.fromisoformat(
                made["metadata"]["annotations"]["volcano.sh/cronjob-scheduled-timestamp"]
            ).timestamp()
            == due
        )


async def test_a_flow_is_made_once_the_pods_of_its_target_answer() -> None:
    """The pods of an embedded cluster do not listen: their addresses are set to that of a server here."""
    code = b"503"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        assert request.startswith(b"GET /ready HTTP/1.1\r\n")
        assert b"\r\nX-From: flow\r\n" in request
        writer.write(b"HTTP/1.1 %b x\r\n\r\n" % code)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    header = {"name": "X-From", "value": "flow"}
    probe = {"httpGetList": [{"taskName": "server", "port": port, "path": "/ready", "httpHeader": header}]}
    made = job_flow({"name": "serve"}, after("ask", "serve", **probe))
    manifests = [made, job_template("serve", task("server", 2)), job_template("ask", task("client", 1, "50ms"))]
    soon = MakerSettings(probes=ProbeSettings(period_seconds=0.1, spacing_seconds=0.0, loopback=True))
    async with Cluster([node("n1")], manifests=manifests) as cluster, scheduling(cluster.url, makers=soon) as daemon:
        await until(lambda: [*phases(cluster, "f-serve").values()] == ["Running", "Running"])
        here = {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
        for name in phases(cluster, "f-serve"):
            cluster.client.patch_status("pods", "default", name, lambda found: merged(found, {"status": here}))
        await until(lambda: any("answered 503" in message for message in messages(cluster, "f", "ProbeFailed")))
        assert jobs(cluster) == ["f-serve"]
        code = b"200"
        await until(lambda: phase(cluster, "f-ask") == "Completed")
        assert phase(cluster, "f-serve") == "Running"
        assert daemon.telemetry.registry.get_sample_value("vsched_flow_probes_total", {"name": "answered"}) >= 2
        await until(lambda: daemon.health.ready().details["flows"] == {"jobFlows": 1})
    server.close()


async def test_the_next_daemon_goes_on_where_one_ended() -> None:
    async with Cluster([node("n1")], manifests=[cron_job("yearly")]) as cluster:
        async with scheduling(cluster.url):
            (name,) = await until(lambda: jobs(cluster))
        # As if the process had been killed before it could write the status.
        cluster.client.patch(
            CRONS, "default", "yearly", lambda found: {**found, "status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}
        )
        async with scheduling(cluster.url):
            await until(lambda: status(cluster, CRONS, "yearly")["lastScheduleTime"] > "2021")
            await until(lambda: phase(cluster, name) == "Completed")
        assert jobs(cluster) == [name]


async def test_a_schedule_that_cannot_be_followed_is_told_in_an_event() -> None:
    made = cron_job("broken", schedule="99 * * * *")
    async with Cluster([node("n1")], manifests=[made]) as cluster, scheduling(cluster.url):
        await until(lambda: "UnParseableCronJobSchedule" in reasons_of(cluster, "broken"))
        assert jobs(cluster) == []


async def test_what_nobody_thought_of_is_told_in_an_event() -> None:
    flow = job_flow({"name": "a", "patch": {"jobSpec": {"plugins": ["svc"]}}})
    async with Cluster([node("n1")], manifests=[flow, job_template("a", task("worker", 1))]) as cluster:
        async with scheduling(cluster.url):
            await until(lambda: "InvalidJobFlow" in reasons_of(cluster, "f"))
        assert jobs(cluster) == []


async def test_a_flow_goes_on_once_its_template_is_there_and_its_jobs_go_in_the_end() -> None:
    flow = job_flow({"name": "a"}, jobRetainPolicy="delete")
    template = job_template("a", task("worker", 1, "50ms"))
    async with Cluster([node("n1")], manifests=[flow]) as cluster, scheduling(cluster.url):
        await until(lambda: "MissingJobTemplate" in reasons_of(cluster, "f"))
        cluster.client.create(TEMPLATES, template)
        await until(lambda: status(cluster, FLOWS, "f").get("state") == {"phase": "Succeed"})
        await until(lambda: jobs(cluster) == [])


async def test_somebody_elses_vcjob_of_the_same_name_is_left_alone() -> None:
    other = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "f-a", "namespace": "default"},
        "spec": {"schedulerName": "vsched", "tasks": [task("worker", 1)]},
    }
    flow, template = job_flow({"name": "a"}), job_template("a", task("worker", 1))
    async with Cluster([node("n1")], manifests=[other, flow, template]) as cluster, scheduling(cluster.url):
        await until(lambda: "FailedCreate" in reasons_of(cluster, "f"))
        assert phase(cluster, "f-a") in ("", "Pending", "Running")
        assert not (cluster.client.get(VCJOBS, "default", "f-a") or {})["metadata"].get("ownerReferences")
